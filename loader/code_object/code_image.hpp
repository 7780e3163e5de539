// Placing a code object in memory: segments where they belong, relocations applied, for code that may run
// from an address where the host cannot write.
//
// Two addresses are kept apart throughout: `staging`, where the host writes the image, and `device_address`,
// where the agent will see its first byte. For host code they are the same place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "loader/code_object/code_object.hpp"

namespace rigel {

/// How an address field is computed. S: address of the symbol, A: addend, B: load address less link address,
/// P: address of the field.
enum class RelocationRule : uint8_t {
  kNothing,
  kSymbol64,          ///< S, 8 bytes
  kSymbolAddend64,    ///< S + A, 8 bytes
  kSymbolAddend32,    ///< lower half of S + A
  kSymbolAddendHigh,  ///< upper half of S + A
  kRelative64,        ///< B + A, 8 bytes
  kPlaceRelative64,   ///< S + A - P, 8 bytes
};

struct RelocationKind {
  std::optional<RelocationRule> rule;  ///< none: not supported
  std::string_view why_not;            ///< set if there is no rule
};

/// What relocation type `type` of `machine` means.
RelocationKind relocation_kind(CodeMachine machine, uint32_t type);

/// Bytes that the field of a rule occupies.
uint64_t relocation_width(RelocationRule rule);

/// The address of a symbol that another definition may give: undefined or preemptible. None if there is no
/// other.
using SymbolResolver = std::function<std::optional<uint64_t>(const CodeSymbol&)>;

/// Builds the image in `staging`, for an agent that will see it at `device_address`.
///
/// `staging` has layout().size bytes, all zero; `device_address` is a multiple of layout().alignment.
/// VARIABLE_UNDEFINED if a symbol is neither defined here nor found by `resolve`, unless it is weak: that is
/// null.
Result<void> build_image(const CodeObject& object, std::span<std::byte> staging, uint64_t device_address,
                         const SymbolResolver& resolve);

/// Where an agent sees what was linked for `address`.
inline uint64_t device_address_of(const CodeObject& object, uint64_t device_address, uint64_t address) {
  return device_address + (address - object.layout().address);
}

}  // namespace rigel
