// Effect of memory instructions on a lane's element, parsed from the mnemonic. Shared by the memory parts of
// the model.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "plugins/vgpu/reference/model.hpp"

namespace rigel::vgpu::exec::reference {

/// MEM = f(MEM, DATA) of the manuals.
enum class Change : uint8_t {
  kSwap,
  kCompareSwap,
  kAdd,
  kSubtract,
  kReverseSubtract,
  kClampedSubtract,
  kConditionalSubtract,  ///< Nothing if the result were negative.
  kSignedMin,
  kUnsignedMin,
  kSignedMax,
  kUnsignedMax,
  kAnd,
  kOr,
  kXor,
  kIncrement,
  kDecrement,
  kMaskedOr,
  kWrap,
  kConditionalExchange,
  kFloatAdd,
  kFloatMin,
  kFloatMax,
  kFloatCompareSwap,
  kPackedAdd,
  kPackedAddBf16,
};

struct Element {
  enum class Kind : uint8_t { kLoad, kStore, kAtomic };
  enum class Part : uint8_t { kWhole, kLow, kHigh };  ///< Part of the register.
  Kind kind = Kind::kLoad;
  unsigned bytes = 4;
  bool is_signed = false;
  Part part = Part::kWhole;
  Change change = Change::kSwap;

  unsigned registers() const { return bytes < 4 ? 1 : bytes / 4; }
};

/// Parses the mnemonic after flat_, buffer_ or s_, such as "load_ubyte_d16_hi" or "atomic_umin_x2".
std::optional<Element> element_of(std::string_view mnemonic);

/// Returns the new memory value of an atomic. `source` is the operand; `other` is the second operand or the
/// comparison value. `rules` apply to floats.
uint64_t changed(Change change, unsigned bytes, uint64_t memory, uint64_t source, uint64_t other,
                 const Rules& rules);

/// Whether D16 loads clear the other half of the register. Chips whose registers have ECC do.
bool d16_clears(const isa::Target& target);

/// Returns the register's value after a load of less than four bytes.
uint32_t narrow_loaded(const Element& element, uint32_t loaded, uint32_t before, const isa::Target& target);
uint32_t narrow_stored(const Element& element, uint32_t held);

}  // namespace rigel::vgpu::exec::reference
