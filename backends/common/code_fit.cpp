#include "backends/common/code_fit.hpp"

#include <cstddef>
#include <cstring>
#include <utility>

#include <hsa/hsa.h>

#include "backends/common/select.hpp"

namespace rigel::gfx {
namespace {

constexpr uint32_t kMachineAmdgpu = 224;
constexpr uint32_t kOsAbiHsa = 64;
constexpr uint32_t kAbiVersion2 = 0, kAbiVersion3 = 1, kAbiVersion4 = 2, kAbiVersion6 = 4;

constexpr uint32_t kMachMask = 0xff;
constexpr uint32_t kV3Xnack = 1u << 8, kV3Sramecc = 1u << 9;
constexpr uint32_t kXnackShift = 8, kSrameccShift = 10;  // two bits each, version 4 and later
constexpr uint32_t kGenericVersionShift = 24;

/// Setting of a feature for which code was compiled. The values are those of the two bits in e_flags.
enum Setting : uint32_t { kUnsupported = 0, kAny = 1, kOff = 2, kOn = 3 };

struct CodeFeatures {
  Setting xnack = kUnsupported;
  Setting sramecc = kUnsupported;
};

/// Returns the setting that follows `feature`, such as ":xnack", in the name of an ISA. The runtime makes the
/// name of code of version 2 from its note. The e_flags of such code are not reliable: newer compilers use
/// the bits of the old XNACK flag for the processor.
Setting setting_of_name(std::string_view isa, std::string_view feature) {
  const size_t at = isa.find(feature);
  if (at == isa.npos || at + feature.size() >= isa.size()) return kAny;
  return isa[at + feature.size()] == '+' ? kOn : kOff;
}

CodeFeatures features_of(uint32_t abi_version, uint32_t flags, std::string_view isa, const Chip& chip) {
  const auto one_bit = [](bool has, bool set) { return !has ? kUnsupported : set ? kOn : kOff; };
  if (abi_version >= kAbiVersion4)
    return {static_cast<Setting>(flags >> kXnackShift & 3), static_cast<Setting>(flags >> kSrameccShift & 3)};
  if (abi_version == kAbiVersion3)
    return {one_bit(chip.features.has_xnack, (flags & kV3Xnack) != 0),
            one_bit(chip.features.has_sramecc, (flags & kV3Sramecc) != 0)};
  return {setting_of_name(isa, ":xnack"), setting_of_name(isa, ":sramecc")};
}

// Whether code with this setting runs on a chip. `has`: the chip has the feature; `on`: it is enabled.
bool agrees(Setting code, bool has, bool on) {
  return !has || code == kAny || code == kUnsupported || (code == kOn) == on;
}

template <class T>
T field(const void* base, size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(base) + offset, sizeof(value));
  return value;
}

// Offsets of the kernel descriptor; see LLVM's AMDGPU user guide, "Kernel Descriptor".
constexpr size_t kGroupSize = 0, kPrivateSize = 4, kKernargSize = 8, kProperties = 56;
constexpr uint16_t kWave32 = 1u << 10, kDynamicStack = 1u << 11;
constexpr uint32_t kKernargAlignment = 16;

}  // namespace

Fit fit_of(const Chip& chip, const NodeFacts& facts, const hsabe_code_target_t& target, std::string* why) {
  const auto refuse = [&](std::string reason) {
    if (why != nullptr) *why = std::move(reason);
    return kFitNone;
  };
  if (target.elf_machine != kMachineAmdgpu) return refuse("the code is not for an AMD GPU");
  if (target.elf_os_abi != kOsAbiHsa) return refuse("the OS ABI of the code is not HSA");
  if (target.elf_abi_version > kAbiVersion6)
    return refuse("unknown code object version " + std::to_string(target.elf_abi_version + 2));

  // Code of version 2 names its processor in a note; the runtime has made target.isa_name from it.
  const std::string agent(hsabe::view(isa_name(chip, facts)));
  const std::string named(hsabe::view(target.isa_name));
  const auto mismatch = [&] {
    return refuse("code for " + (named.empty() ? "an unknown processor" : named) + " does not run on " +
                  agent);
  };
  const uint32_t mach = target.elf_flags & kMachMask;
  bool generic = false;
  if (target.elf_abi_version == kAbiVersion2) {
    std::string_view processor = hsabe::view(target.isa_name);
    constexpr std::string_view kPrefix = "amdgcn-amd-amdhsa--";
    if (processor.starts_with(kPrefix)) processor.remove_prefix(kPrefix.size());
    if (processor.substr(0, processor.find(':')) != chip.processor) return mismatch();
  } else if (mach != chip.mach) {
    generic = chip.generic_mach != 0 && mach == chip.generic_mach;
    if (!generic) return mismatch();
    if (target.elf_abi_version != kAbiVersion6 || target.elf_flags >> kGenericVersionShift == 0)
      return refuse("the generic code has no version");
  }

  const CodeFeatures code = features_of(target.elf_abi_version, target.elf_flags, named, chip);
  const bool sramecc_on = (facts.capability & kCapabilitySramEcc) != 0;
  if (!agrees(code.xnack, chip.features.has_xnack, facts.xnack) ||
      !agrees(code.sramecc, chip.features.has_sramecc, sramecc_on))
    return mismatch();
  const bool exact = (!chip.features.has_xnack || code.xnack >= kOff) &&
                     (!chip.features.has_sramecc || code.sramecc >= kOff);
  if (generic) return exact ? kFitGenericExact : kFitGeneric;
  return exact ? kFitExact : kFitAny;
}

hsabe_status_t describe_kernel(const Family& family, const void* descriptor, hsabe_kernel_info_t* info) {
  info->group_size = field<uint32_t>(descriptor, kGroupSize);
  info->private_size = field<uint32_t>(descriptor, kPrivateSize);
  info->kernarg_size = field<uint32_t>(descriptor, kKernargSize);
  const auto properties = field<uint16_t>(descriptor, kProperties);
  info->wavefront_size = family.wave_size == 32 && (properties & kWave32) != 0 ? 32 : 64;
  info->dynamic_callstack = (properties & kDynamicStack) != 0;
  info->kernarg_alignment = kKernargAlignment;
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel::gfx
