// Builds the memory image of a code object: segments at their addresses, relocations applied. The code may
// run at an address that the host cannot write.
//
// `staging` is the host's address of the image, and `device_address` the agent's address of its first byte.
// They are the same for host code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "loader/code_object/code_object.hpp"

namespace rigel {

/// Computation of an address field. S: address of the symbol, A: addend, B: load address minus link address,
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

/// Returns the meaning of relocation type `type` of `machine`.
RelocationKind relocation_kind(CodeMachine machine, uint32_t type);

/// Returns the size of a rule's field in bytes.
uint64_t relocation_width(RelocationRule rule);

/// Returns the address of a symbol that may be defined elsewhere: undefined or preemptible. None if there is
/// no such definition.
using SymbolResolver = std::function<std::optional<uint64_t>(const CodeSymbol&)>;

/// Builds the image in `staging`, for an agent that uses it at `device_address`.
///
/// `staging` has layout().size bytes, all zero; `device_address` is a multiple of layout().alignment. Fails
/// with VARIABLE_UNDEFINED if a symbol is neither defined nor resolved. A weak symbol is null then.
Result<void> build_image(const CodeObject& object, std::span<std::byte> staging, uint64_t device_address,
                         const SymbolResolver& resolve);

/// Returns the agent's address of the link-time address `address`.
inline uint64_t device_address_of(const CodeObject& object, uint64_t device_address, uint64_t address) {
  return device_address + (address - object.layout().address);
}

}  // namespace rigel
