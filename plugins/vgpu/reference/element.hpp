// What memory instructions do with one element of one lane, apart from where it lies: read off the mnemonic.
// Shared by the memory parts of the model.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "plugins/vgpu/reference/model.hpp"

namespace rigel::vgpu::exec::reference {

/// The manuals' MEM = f(MEM, DATA).
enum class Change : uint8_t {
  kSwap,
  kCompareSwap,
  kAdd,
  kSubtract,
  kReverseSubtract,
  kClampedSubtract,
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
};

struct Element {
  enum class Kind : uint8_t { kLoad, kStore, kAtomic };
  enum class Part : uint8_t { kWhole, kLow, kHigh };  ///< Of the register.
  Kind kind = Kind::kLoad;
  unsigned bytes = 4;
  bool is_signed = false;
  Part part = Part::kWhole;
  Change change = Change::kSwap;

  unsigned registers() const { return bytes < 4 ? 1 : bytes / 4; }
};

/// `what` as in flat_<what>, buffer_<what>, s_<what>: "load_ubyte_d16_hi", "atomic_umin_x2".
std::optional<Element> element_of(std::string_view what);

/// Of an atomic: the value that memory gets. `source` goes into it; `other` is what it is compared with, or
/// the second operand. `rules` are those of floating-point numbers.
uint64_t changed(Change change, unsigned bytes, uint64_t memory, uint64_t source, uint64_t other,
                 const Rules& rules);

/// What a register becomes when `loaded` (of less than four bytes) arrives.
uint32_t narrow_loaded(const Element& element, uint32_t loaded, uint32_t before);
uint32_t narrow_stored(const Element& element, uint32_t held);

}  // namespace rigel::vgpu::exec::reference
