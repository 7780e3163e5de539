#include "loader/code_object/code_identity.hpp"

#include <elf.h>
// After <elf.h>: undefines one of its macros.
#include <hsa/amd_hsa_elf.h>

#include <algorithm>
#include <iterator>

#include "loader/code_object/bounds.hpp"
#include "loader/code_object/target_id.hpp"

namespace rigel {
namespace {

constexpr std::string_view kVersion2NoteName = "AMD";

/// ISA versions of version 2 notes, which specify a feature setting as well as a processor. Source: LLVM
/// AMDGPU user guide, "Code Object V2 Supported Processors and Fixed Target Feature Settings".
struct Version2Isa {
  uint32_t major, minor, stepping;
  TargetId target;
};
constexpr auto kAny = TargetFeature::kAny;
constexpr auto kOff = TargetFeature::kOff;
constexpr auto kOn = TargetFeature::kOn;
constexpr Version2Isa kVersion2Isas[] = {
    // clang-format off
    {6, 0, 0,  {"gfx600"}},
    {6, 0, 1,  {"gfx601"}},
    {6, 0, 2,  {"gfx602"}},
    {7, 0, 0,  {"gfx700"}},
    {7, 0, 1,  {"gfx701"}},
    {7, 0, 2,  {"gfx702"}},
    {7, 0, 3,  {"gfx703"}},
    {7, 0, 4,  {"gfx704"}},
    {7, 0, 5,  {"gfx705"}},
    {8, 0, 0,  {"gfx802"}},
    {8, 0, 1,  {"gfx801", kAny, kOn}},
    {8, 0, 2,  {"gfx802"}},
    {8, 0, 3,  {"gfx803"}},
    {8, 0, 4,  {"gfx803"}},
    {8, 0, 5,  {"gfx805"}},
    {8, 1, 0,  {"gfx810", kAny, kOn}},
    {9, 0, 0,  {"gfx900", kAny, kOff}},
    {9, 0, 1,  {"gfx900", kAny, kOn}},
    {9, 0, 2,  {"gfx902", kAny, kOff}},
    {9, 0, 3,  {"gfx902", kAny, kOn}},
    {9, 0, 4,  {"gfx904", kAny, kOff}},
    {9, 0, 5,  {"gfx904", kAny, kOn}},
    {9, 0, 6,  {"gfx906", kOff, kOff}},
    {9, 0, 7,  {"gfx906", kOff, kOn}},
    {9, 0, 12, {"gfx90c", kAny, kOff}},
    // clang-format on
};

template <class T>
std::optional<T> version2_note(std::span<const CodeNote> notes, uint32_t type, size_t size = sizeof(T)) {
  const auto note = std::find_if(notes.begin(), notes.end(), [type](const CodeNote& candidate) {
    return candidate.name == kVersion2NoteName && candidate.type == type;
  });
  if (note == notes.end() || note->description.size() < size) return std::nullopt;
  return read_unaligned<T>(note->description.data());
}

/// The fixed part of amdgpu_hsa_note_isa_t, which is followed by names of variable length.
struct IsaNote {
  uint16_t vendor_name_size;
  uint16_t architecture_name_size;
  uint32_t major;
  uint32_t minor;
  uint32_t stepping;
};

/// The fields of amdgpu_hsa_note_hsail_t, which may lack the padding at its end.
struct HsailNote {
  static constexpr size_t kBytes = 11;
  uint8_t bytes[kBytes];
  uint8_t profile() const { return bytes[8]; }
  uint8_t machine_model() const { return bytes[9]; }
  uint8_t rounding_mode() const { return bytes[10]; }
};

std::string isa_name(const TargetId& target) {
  return std::string(kAmdIsaPrefix) + to_string(target);
}

Result<void> identify_version2(CodeIdentity& identity, std::span<const CodeNote> notes,
                               const Rejection& reject) {
  const auto version =
      version2_note<amdgpu_hsa_note_code_object_version_t>(notes, NT_AMD_HSA_CODE_OBJECT_VERSION);
  if (!version) return reject("code object version 1 or 2: the version note is missing");
  if (version->major_version != 2) {
    return reject("code object version {}.{} (of an HSAIL finalizer) is not supported",
                  version->major_version, version->minor_version);
  }
  identity.version = 2;
  const auto isa = version2_note<IsaNote>(notes, NT_AMD_HSA_ISA_VERSION);
  if (!isa) return reject("code object version 2: the ISA note is missing");
  const auto known =
      std::find_if(std::begin(kVersion2Isas), std::end(kVersion2Isas), [&](const Version2Isa& entry) {
        return entry.major == isa->major && entry.minor == isa->minor && entry.stepping == isa->stepping;
      });
  if (known == std::end(kVersion2Isas)) {
    return reject("code object version 2: unknown ISA AMD:AMDGPU:{}:{}:{}", isa->major, isa->minor,
                  isa->stepping);
  }
  TargetId target = known->target;
  if (const auto hsail = version2_note<HsailNote>(notes, NT_AMD_HSA_HSAIL, HsailNote::kBytes)) {
    // The finalizer set a flag instead of the fixed settings.
    if ((identity.flags & ELF::EF_AMDGPU_FEATURE_XNACK_V2) != 0) {
      target.xnack = kOn;
    } else if (target.xnack == kOn) {
      target.xnack = kOff;
    }
    if (hsail->profile() > HSA_PROFILE_FULL || hsail->machine_model() > HSA_MACHINE_MODEL_LARGE ||
        hsail->rounding_mode() > HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR) {
      return reject("HSAIL note: invalid profile {}, machine model {} or rounding mode {}", hsail->profile(),
                    hsail->machine_model(), hsail->rounding_mode());
    }
    identity.profile = static_cast<hsa_profile_t>(hsail->profile());
    identity.machine_model = static_cast<hsa_machine_model_t>(hsail->machine_model());
    identity.rounding_mode = static_cast<hsa_default_float_rounding_mode_t>(hsail->rounding_mode());
  }
  identity.isa_name = isa_name(target);
  return {};
}

TargetFeature feature_of_bits(uint32_t bits, uint32_t off, uint32_t on) {
  return bits == on ? kOn : bits == off ? kOff : kAny;
}

void identify_version3_and_later(CodeIdentity& identity) {
  const AmdProcessor* processor = find_amd_processor(identity.flags & ELF::EF_AMDGPU_MACH);
  if (processor == nullptr) return;
  TargetId target{.processor = processor->name};
  if (identity.version == 3) {
    // One bit per feature: code is for on or for off.
    if (processor->has_sramecc)
      target.sramecc = (identity.flags & ELF::EF_AMDGPU_FEATURE_SRAMECC_V3) ? kOn : kOff;
    if (processor->has_xnack) target.xnack = (identity.flags & ELF::EF_AMDGPU_FEATURE_XNACK_V3) ? kOn : kOff;
  } else {
    target.sramecc =
        feature_of_bits(identity.flags & ELF::EF_AMDGPU_FEATURE_SRAMECC_V4,
                        ELF::EF_AMDGPU_FEATURE_SRAMECC_OFF_V4, ELF::EF_AMDGPU_FEATURE_SRAMECC_ON_V4);
    target.xnack = feature_of_bits(identity.flags & ELF::EF_AMDGPU_FEATURE_XNACK_V4,
                                   ELF::EF_AMDGPU_FEATURE_XNACK_OFF_V4, ELF::EF_AMDGPU_FEATURE_XNACK_ON_V4);
  }
  if (identity.version >= 6) {
    identity.generic_version =
        (identity.flags & ELF::EF_AMDGPU_GENERIC_VERSION) >> ELF::EF_AMDGPU_GENERIC_VERSION_OFFSET;
  }
  identity.isa_name = isa_name(target);
}

Result<void> identify_host(CodeIdentity& identity, const Rejection& reject) {
  if (identity.os_abi != ELFOSABI_NONE && identity.os_abi != ELFOSABI_GNU) {
    return reject("CPU code: OS ABI {} is not supported", identity.os_abi);
  }
  // The minimum: an ELF header does not specify the extensions that the code uses.
  identity.isa_name = identity.machine == CodeMachine::kX86_64 ? "x86_64-unknown-linux-gnu--x86-64"
                                                               : "aarch64-unknown-linux-gnu--armv8-a";
  return {};
}

}  // namespace

Result<CodeIdentity> identify_code(const Elf64_Ehdr& header, std::span<const CodeNote> notes,
                                   const Rejection& reject) {
  CodeIdentity identity;
  identity.machine = static_cast<CodeMachine>(header.e_machine);
  identity.os_abi = header.e_ident[EI_OSABI];
  identity.abi_version = header.e_ident[EI_ABIVERSION];
  identity.flags = header.e_flags;

  Result<void> done;
  switch (identity.machine) {
    case CodeMachine::kX86_64:
    case CodeMachine::kAarch64:
      done = identify_host(identity, reject);
      break;
    case CodeMachine::kAmdGpu:
      if (identity.os_abi != ELF::ELFOSABI_AMDGPU_HSA) {
        return reject("AMD GPU code: OS ABI {} is not HSA", identity.os_abi);
      }
      if (identity.abi_version > ELF::ELFABIVERSION_AMDGPU_HSA_V6) {
        return reject("ABI version {} (newer than code object version 6) is not supported",
                      identity.abi_version);
      }
      if (identity.abi_version == ELF::ELFABIVERSION_AMDGPU_HSA_V2) {
        done = identify_version2(identity, notes, reject);
      } else {
        identity.version = identity.abi_version + 2u;
        identify_version3_and_later(identity);
      }
      break;
    default:
      return reject("ELF machine {} is not supported", header.e_machine);
  }
  if (!done) return tl::unexpected(done.error());
  return identity;
}

}  // namespace rigel
