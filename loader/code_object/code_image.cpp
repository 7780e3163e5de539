#include "loader/code_object/code_image.hpp"

#include <elf.h>
#include <hsa/amd_hsa_elf.h>

#include <bit>
#include <cstring>

namespace rigel {
namespace {

static_assert(std::endian::native == std::endian::little, "fields are written in the host's byte order");

using Rule = RelocationRule;

constexpr RelocationKind supported(Rule rule) {
  return {rule, {}};
}
constexpr RelocationKind refused(std::string_view why_not) {
  return {std::nullopt, why_not};
}

constexpr std::string_view kLinkTime = "is resolved by a linker, not a loader";
constexpr std::string_view kThreadLocal = "is for thread-local storage, which kernels do not have";
constexpr std::string_view kIndirect = "calls a resolver in the code object, which is not supported";
constexpr std::string_view kCopy = "copies a variable into an executable, which is not supported";
constexpr std::string_view kUnknown = "is unknown";

RelocationKind amdgpu_kind(uint32_t type) {
  switch (type) {
    case ELF::R_AMDGPU_NONE:
      return supported(Rule::kNothing);
    case ELF::R_AMDGPU_ABS32_LO:
      return supported(Rule::kSymbolAddend32);
    case ELF::R_AMDGPU_ABS32_HI:
      return supported(Rule::kSymbolAddendHigh);
    case ELF::R_AMDGPU_ABS64:
      return supported(Rule::kSymbolAddend64);
    // Truncates: such a field contains a pointer of a 32-bit address space.
    case ELF::R_AMDGPU_ABS32:
      return supported(Rule::kSymbolAddend32);
    case ELF::R_AMDGPU_RELATIVE64:
      return supported(Rule::kRelative64);
    case 4:
    case 5:
    case 7:
    case 8:
    case 9:
    case 10:
    case 11:
    case 14:  // REL32 to REL16
      return refused(kLinkTime);
    default:
      return refused(kUnknown);
  }
}

RelocationKind x86_64_kind(uint32_t type) {
  switch (type) {
    case R_X86_64_NONE:
      return supported(Rule::kNothing);
    case R_X86_64_64:
      return supported(Rule::kSymbolAddend64);
    case R_X86_64_GLOB_DAT:
    case R_X86_64_JUMP_SLOT:
      return supported(Rule::kSymbol64);
    case R_X86_64_RELATIVE:
      return supported(Rule::kRelative64);
    case R_X86_64_PC64:
      return supported(Rule::kPlaceRelative64);
    case R_X86_64_COPY:
      return refused(kCopy);
    case R_X86_64_IRELATIVE:
      return refused(kIndirect);
    case R_X86_64_DTPMOD64:
    case R_X86_64_DTPOFF64:
    case R_X86_64_TPOFF64:
    case R_X86_64_TLSGD:
    case R_X86_64_TLSLD:
    case R_X86_64_DTPOFF32:
    case R_X86_64_GOTTPOFF:
    case R_X86_64_TPOFF32:
    case R_X86_64_TLSDESC:
    case R_X86_64_TLSDESC_CALL:
    case R_X86_64_GOTPC32_TLSDESC:
      return refused(kThreadLocal);
    default:
      return refused(type <= R_X86_64_REX_GOTPCRELX ? kLinkTime : kUnknown);
  }
}

RelocationKind aarch64_kind(uint32_t type) {
  switch (type) {
    case R_AARCH64_NONE:
    case 256:
      return supported(Rule::kNothing);  // 256: "none" in the first ABI drafts
    case R_AARCH64_ABS64:
    case R_AARCH64_GLOB_DAT:
    case R_AARCH64_JUMP_SLOT:
      return supported(Rule::kSymbolAddend64);
    case R_AARCH64_RELATIVE:
      return supported(Rule::kRelative64);
    case R_AARCH64_PREL64:
      return supported(Rule::kPlaceRelative64);
    case R_AARCH64_COPY:
      return refused(kCopy);
    case R_AARCH64_IRELATIVE:
      return refused(kIndirect);
    case R_AARCH64_TLS_DTPMOD:
    case R_AARCH64_TLS_DTPREL:
    case R_AARCH64_TLS_TPREL:
    case R_AARCH64_TLSDESC:
      return refused(kThreadLocal);
    default:
      return refused(type < R_AARCH64_COPY ? kLinkTime : kUnknown);
  }
}

/// Addresses of symbols; each is resolved once.
class SymbolAddresses {
 public:
  SymbolAddresses(const CodeObject& object, uint64_t device_address, const SymbolResolver& resolve)
      : object_(object),
        device_address_(device_address),
        resolve_(resolve),
        known_(object.symbols().size()) {}

  Result<uint64_t> operator[](uint32_t index) {
    if (index == 0) return 0;
    auto& known = known_[index];
    if (!known) {
      auto found = look_up(object_.symbols()[index]);
      if (!found) return found;
      known = *found;
    }
    return *known;
  }

 private:
  Result<uint64_t> look_up(const CodeSymbol& symbol) {
    const bool undefined = symbol.place == CodeSymbol::Place::kUndefined;
    // As in every ELF linker, a weak definition yields to an existing one; others are bound here.
    const bool may_yield = symbol.binding == CodeSymbol::Binding::kWeak && symbol.preemptible;
    if (undefined || may_yield) {
      if (const auto elsewhere = resolve_(symbol)) return *elsewhere;
    }
    if (undefined) {
      if (symbol.binding == CodeSymbol::Binding::kWeak) return 0;
      return fail(HSA_STATUS_ERROR_VARIABLE_UNDEFINED, "symbol {}: not defined", symbol.name);
    }
    if (symbol.place == CodeSymbol::Place::kAbsolute) return symbol.value;
    return device_address_of(object_, device_address_, symbol.value);
  }

  const CodeObject& object_;
  const uint64_t device_address_;
  const SymbolResolver& resolve_;
  std::vector<std::optional<uint64_t>> known_;
};

}  // namespace

RelocationKind relocation_kind(CodeMachine machine, uint32_t type) {
  switch (machine) {
    case CodeMachine::kAmdGpu:
      return amdgpu_kind(type);
    case CodeMachine::kX86_64:
      return x86_64_kind(type);
    case CodeMachine::kAarch64:
      return aarch64_kind(type);
  }
  return refused(kUnknown);
}

uint64_t relocation_width(RelocationRule rule) {
  switch (rule) {
    case Rule::kNothing:
      return 0;
    case Rule::kSymbolAddend32:
    case Rule::kSymbolAddendHigh:
      return 4;
    case Rule::kSymbol64:
    case Rule::kSymbolAddend64:
    case Rule::kRelative64:
    case Rule::kPlaceRelative64:
      return 8;
  }
  return 0;
}

Result<void> build_image(const CodeObject& object, std::span<std::byte> staging, uint64_t device_address,
                         const SymbolResolver& resolve) {
  const CodeLayout& layout = object.layout();
  if (staging.size() != layout.size || device_address % layout.alignment != 0) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION,
                "code object memory: {} bytes at {:#x} do not fit {} bytes aligned to {}", staging.size(),
                device_address, layout.size, layout.alignment);
  }
  for (const CodeSegment& segment : object.segments()) {
    if (segment.file_size == 0) continue;
    std::memcpy(staging.data() + (segment.address - layout.address),
                object.bytes().data() + segment.file_offset, segment.file_size);
  }

  SymbolAddresses addresses(object, device_address, resolve);
  const uint64_t base = device_address - layout.address;
  for (const CodeRelocation& relocation : object.relocations()) {
    // The parser rejects types without a rule.
    const Rule rule = *relocation_kind(object.identity().machine, relocation.type).rule;
    const auto addend = static_cast<uint64_t>(relocation.addend);
    uint64_t value = 0;
    if (rule == Rule::kNothing) continue;
    if (rule == Rule::kRelative64) {
      value = base + addend;
    } else {
      const auto symbol = addresses[relocation.symbol];
      if (!symbol) return tl::unexpected(symbol.error());
      value = rule == Rule::kSymbol64 ? *symbol : *symbol + addend;
      if (rule == Rule::kPlaceRelative64) value -= base + relocation.address;
      if (rule == Rule::kSymbolAddendHigh) value >>= 32;
    }
    std::memcpy(staging.data() + (relocation.address - layout.address), &value, relocation_width(rule));
  }
  return {};
}

}  // namespace rigel
