// Floating-point arithmetic in software: values are converted to integers, computed exactly and rounded once.
// Slow and obvious, as the reference for handlers that use the CPU's floating point.
//
// Values are the bits of their format in a uint64_t. If several operands are NaNs, the result is the first in
// the manual's order, quieted; the manuals specify this for v_div_fixup and v_min only. A NaN made from
// numbers is negative without payload, 0xffc00000, as in the manuals' examples of v_sqrt and v_log.
#pragma once

#include <array>
#include <cstdint>

namespace rigel::vgpu::exec::reference {

struct Format {
  int exponent_bits;
  int fraction_bits;

  constexpr int bits() const { return 1 + exponent_bits + fraction_bits; }
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr uint64_t sign_bit() const { return uint64_t{1} << (bits() - 1); }
  constexpr uint64_t infinity() const { return ((uint64_t{1} << exponent_bits) - 1) << fraction_bits; }
  constexpr uint64_t quiet_bit() const { return uint64_t{1} << (fraction_bits - 1); }
  constexpr uint64_t one() const { return static_cast<uint64_t>(bias()) << fraction_bits; }
  constexpr uint64_t largest() const { return infinity() - 1; }
  constexpr bool operator==(const Format&) const = default;
};
constexpr Format kHalf{5, 10}, kBf16{8, 7}, kSingle{8, 23}, kDouble{11, 52};

/// Rounding and denormals of a format, as in MODE.
struct Rules {
  uint8_t round = 0;  ///< 0 nearest even, 1 +inf, 2 -inf, 3 zero
  bool keep_inputs = true;
  bool keep_results = true;
  bool stay_finite =
      false;  ///< FP16_OVFL: overflow results in the largest finite value in every rounding mode.
};

/// A 256-bit integer.
struct Wide {
  std::array<uint64_t, 4> limb{};
};

/// An unrounded value: (-1)^negative * magnitude * 2^exponent.
struct Exact {
  bool negative = false;
  Wide magnitude;
  int exponent = 0;
};

bool is_nan(Format f, uint64_t x);
bool is_signalling(Format f, uint64_t x);
bool is_infinite(Format f, uint64_t x);
bool is_zero(Format f, uint64_t x);
bool is_denormal(Format f, uint64_t x);
bool is_negative(Format f, uint64_t x);
uint64_t quieted(Format f, uint64_t x);
/// NaN of inf - inf, 0 * inf and similar.
uint64_t default_nan(Format f);
/// Returns the exponent field.
int exponent_field(Format f, uint64_t x);

/// Returns x, or a zero with its sign if x is a denormal that the rules flush.
uint64_t flushed_input(Format f, uint64_t x, const Rules& rules);
uint64_t flushed_result(Format f, uint64_t x, const Rules& rules);

/// Requires a finite x.
Exact exact_of(Format f, uint64_t x);
Exact exact_of(uint64_t integer, bool negative);
bool is_zero(const Exact& x);
Exact product(const Exact& a, const Exact& b);
/// Exact to the precision that rounding needs. A zero sum is positive.
Exact sum(const Exact& a, const Exact& b);
Exact scaled(Exact x, int exponent);

/// Rounds to the format. Zeros keep their sign.
uint64_t rounded(Format f, const Exact& x, const Rules& rules);

/// Rounds to an integer value according to `round`.
struct Integer {
  bool negative = false;
  Wide magnitude;
};
Integer rounded_to_integer(const Exact& x, uint8_t round);

uint64_t add(Format f, uint64_t a, uint64_t b, const Rules& rules);
/// NaNs keep their sign.
uint64_t subtract(Format f, uint64_t a, uint64_t b, const Rules& rules);
uint64_t multiply(Format f, uint64_t a, uint64_t b, const Rules& rules);
uint64_t fused(Format f, uint64_t a, uint64_t b, uint64_t c, const Rules& rules);

/// Converts between formats.
uint64_t converted(Format from, uint64_t x, const Rules& from_rules, Format to, const Rules& to_rules);
/// Rounds to an integral value in the same format; zeros have the sign of x.
uint64_t integral(Format f, uint64_t x, uint8_t round, const Rules& rules);
/// Converts to a saturated integer of `bits` bits; NaN becomes 0.
uint64_t to_integer(Format f, uint64_t x, uint8_t round, unsigned bits, bool is_signed, const Rules& rules);
uint64_t from_integer(Format f, uint64_t x, bool is_signed, unsigned bits, const Rules& rules);

/// -1: a < b, 0: equal, 1: a > b, 2: unordered. Does not flush inputs.
int compare(Format f, uint64_t a, uint64_t b);

long double to_long_double(Format f, uint64_t x);
/// Rounds to nearest even, keeps denormals.
uint64_t from_long_double(Format f, long double x);

}  // namespace rigel::vgpu::exec::reference
