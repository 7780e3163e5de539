// Arithmetic on values some of whose bits are undefined: they depend on memory or registers that nothing has
// written (docs/guide/checking.md, check `init`).
//
// The rules are exact for moves, bitwise logic, selections and shifts by a known count. Sums and products are
// undefined from their lowest undefined bit on. Any other result is undefined if a bit of a source is.
//
// *Threads:* any; functions without state.
#pragma once

#include <cstdint>

namespace rigel::vgpu::exec {

struct Bits {
  uint64_t value = 0;
  uint64_t undefined = 0;  ///< Bit i: bit i of the value is undefined.
};

constexpr uint64_t low_bits(unsigned count) {
  return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

/// How the bits of a result depend on the sources a, b and c. Functions of the low `width` bits.
enum class BitRule : uint8_t {
  kAny,            ///< All bits depend on all bits.
  kMove,           ///< a
  kReverse,        ///< The bits of a in reverse order
  kAnd,            ///< a & b, also with the result inverted
  kAndNot,         ///< a & ~b
  kOr,             ///< a | b, also with the result inverted
  kOrNot,          ///< a | ~b
  kXor,            ///< a ^ b ^ c
  kAndOr,          ///< (a & b) | c
  kOr3,            ///< a | b | c
  kBitSelect,      ///< (a & b) | (~a & c)
  kSelect,         ///< c's lowest bit selects b, otherwise a.
  kShiftLeft,      ///< a << b
  kShiftRight,     ///< a >> b
  kShiftSigned,    ///< a >> b, signed
  kShiftOr,        ///< (a << b) | c
  kShiftAdd,       ///< (a << b) + c
  kAddShift,       ///< (a + b) << c
  kAlignBits,      ///< The 64 bits a:b, shifted right by c
  kAlignBytes,     ///< The 64 bits a:b, shifted right by c bytes
  kPermute,        ///< The bytes of a:b that c selects
  kExtract,        ///< c bits of a from bit b on
  kExtractSigned,  ///< The same, with the sign
  kSum,            ///< a + b + c, products and differences
  kSum24,          ///< Of the low 24 bits of a and b; all bits of c
  kProductSum,     ///< a * b + c, where a and b have 32 bits and c has 64
  kEqual,          ///< Whether a and b are equal, or are not
};

/// Returns the result's undefined bits, among the low `width` bits. Fields of `value` are defined only for
/// moves, logic, selections and shifts.
Bits apply(BitRule rule, const Bits& a, const Bits& b, const Bits& c, unsigned width);

/// Whether it is undefined if the value is 0: no bit that is known is set, and some bit is unknown.
constexpr bool is_zero_undefined(const Bits& bits) {
  return bits.undefined != 0 && (bits.value & ~bits.undefined) == 0;
}

}  // namespace rigel::vgpu::exec
