#include "plugins/vgpu/reference/soft_float.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace rigel::vgpu::exec::reference {
namespace {

__extension__ using Uint128 = unsigned __int128;

constexpr Format kFormats[] = {kHalf, kSingle, kDouble};
static_assert(kFormats[0].bits() == 16 && kFormats[1].bits() == 32 && kFormats[2].bits() == 64);

int bit_length(const Wide& w) {
  for (int i = 3; i >= 0; --i) {
    const uint64_t limb = w.limb[static_cast<size_t>(i)];
    if (limb != 0) return i * 64 + 64 - std::countl_zero(limb);
  }
  return 0;
}

bool bit_at(const Wide& w, int n) {
  return n >= 0 && n < 256 && (w.limb[static_cast<size_t>(n / 64)] >> n % 64 & 1) != 0;
}

Wide shifted_left(const Wide& w, int n) {
  Wide r;
  for (int i = 3; i >= 0; --i) {
    const int from = i - n / 64;
    if (from < 0) continue;
    uint64_t limb = w.limb[static_cast<size_t>(from)] << n % 64;
    if (n % 64 != 0 && from > 0) limb |= w.limb[static_cast<size_t>(from - 1)] >> (64 - n % 64);
    r.limb[static_cast<size_t>(i)] = limb;
  }
  return r;
}

Wide shifted_right(const Wide& w, int n) {
  Wide r;
  for (int i = 0; i < 4; ++i) {
    const int from = i + n / 64;
    if (from > 3) continue;
    uint64_t limb = w.limb[static_cast<size_t>(from)] >> n % 64;
    if (n % 64 != 0 && from < 3) limb |= w.limb[static_cast<size_t>(from) + 1] << (64 - n % 64);
    r.limb[static_cast<size_t>(i)] = limb;
  }
  return r;
}

bool any_below(const Wide& w, int n) {
  for (int i = 0; i < std::min(n, 256); ++i) {
    if (bit_at(w, i)) return true;
  }
  return false;
}

// Bits that are shifted out set the lowest bit (sticky).
Wide jammed_right(const Wide& w, int n) {
  Wide r = shifted_right(w, std::min(n, 255));
  if (n > 255) r = {};
  if (any_below(w, n)) r.limb[0] |= 1;
  return r;
}

int compare(const Wide& a, const Wide& b) {
  for (size_t i = 4; i-- > 0;) {
    if (a.limb[i] != b.limb[i]) return a.limb[i] < b.limb[i] ? -1 : 1;
  }
  return 0;
}

Wide plus(const Wide& a, const Wide& b) {
  Wide r;
  Uint128 carry = 0;
  for (size_t i = 0; i < 4; ++i) {
    carry += static_cast<Uint128>(a.limb[i]) + b.limb[i];
    r.limb[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  return r;
}

Wide minus(const Wide& a, const Wide& b) {
  Wide r;
  uint64_t borrow = 0;
  for (size_t i = 0; i < 4; ++i) {
    const uint64_t difference = a.limb[i] - b.limb[i] - borrow;
    borrow = a.limb[i] < b.limb[i] || (a.limb[i] == b.limb[i] && borrow != 0) ? 1 : 0;
    r.limb[i] = difference;
  }
  return r;
}

// Returns the magnitude divided by 2^drop, rounded.
Wide rounded_shift(const Wide& w, int drop, bool negative, uint8_t round) {
  if (drop <= 0) return shifted_left(w, -drop);
  Wide r = drop > 255 ? Wide{} : shifted_right(w, drop);
  const bool half = bit_at(w, drop - 1), below = any_below(w, drop - 1);
  bool up = false;
  switch (round) {
    case 0:
      up = half && (below || (r.limb[0] & 1) != 0);
      break;
    case 1:
      up = !negative && (half || below);
      break;
    case 2:
      up = negative && (half || below);
      break;
    default:
      break;
  }
  return up ? plus(r, Wide{{1, 0, 0, 0}}) : r;
}

uint64_t fraction_of(Format f, uint64_t x) {
  return x & ((uint64_t{1} << f.fraction_bits) - 1);
}

}  // namespace

int exponent_field(Format f, uint64_t x) {
  return static_cast<int>(x >> f.fraction_bits & ((uint64_t{1} << f.exponent_bits) - 1));
}

bool is_nan(Format f, uint64_t x) {
  return (x & ~f.sign_bit()) > f.infinity();
}
bool is_signalling(Format f, uint64_t x) {
  return is_nan(f, x) && (x & f.quiet_bit()) == 0;
}
bool is_infinite(Format f, uint64_t x) {
  return (x & ~f.sign_bit()) == f.infinity();
}
bool is_zero(Format f, uint64_t x) {
  return (x & ~f.sign_bit()) == 0;
}
bool is_denormal(Format f, uint64_t x) {
  return !is_zero(f, x) && exponent_field(f, x) == 0;
}
bool is_negative(Format f, uint64_t x) {
  return (x & f.sign_bit()) != 0;
}
uint64_t quieted(Format f, uint64_t x) {
  return x | f.quiet_bit();
}
uint64_t default_nan(Format f) {
  return f.sign_bit() | f.infinity() | f.quiet_bit();
}

uint64_t flushed_input(Format f, uint64_t x, const Rules& rules) {
  return !rules.keep_inputs && is_denormal(f, x) ? x & f.sign_bit() : x;
}

uint64_t flushed_result(Format f, uint64_t x, const Rules& rules) {
  return !rules.keep_results && is_denormal(f, x) ? x & f.sign_bit() : x;
}

Exact exact_of(Format f, uint64_t x) {
  Exact e;
  e.negative = is_negative(f, x);
  const int field = exponent_field(f, x);
  e.magnitude.limb[0] = fraction_of(f, x) | (field == 0 ? 0 : uint64_t{1} << f.fraction_bits);
  e.exponent = std::max(field, 1) - f.bias() - f.fraction_bits;
  return e;
}

Exact exact_of(uint64_t integer, bool negative) {
  return {negative, {{integer, 0, 0, 0}}, 0};
}

bool is_zero(const Exact& x) {
  return bit_length(x.magnitude) == 0;
}

Exact product(const Exact& a, const Exact& b) {
  // Both have at most 64 bits.
  const Uint128 p = static_cast<Uint128>(a.magnitude.limb[0]) * b.magnitude.limb[0];
  return {a.negative != b.negative,
          {{static_cast<uint64_t>(p), static_cast<uint64_t>(p >> 64), 0, 0}},
          a.exponent + b.exponent};
}

Exact sum(const Exact& a, const Exact& b) {
  if (is_zero(a)) return is_zero(b) ? Exact{} : b;
  if (is_zero(b)) return a;
  const int top = std::max(bit_length(a.magnitude) + a.exponent, bit_length(b.magnitude) + b.exponent);
  const int low = std::max(std::min(a.exponent, b.exponent), top - 250);
  const auto aligned = [low](const Exact& x) {
    return x.exponent >= low ? shifted_left(x.magnitude, x.exponent - low)
                             : jammed_right(x.magnitude, low - x.exponent);
  };
  const Wide wa = aligned(a), wb = aligned(b);
  if (a.negative == b.negative) return {a.negative, plus(wa, wb), low};
  const int order = compare(wa, wb);
  if (order == 0) return {};
  return order > 0 ? Exact{a.negative, minus(wa, wb), low} : Exact{b.negative, minus(wb, wa), low};
}

Exact scaled(Exact x, int exponent) {
  x.exponent += exponent;
  return x;
}

uint64_t rounded(Format f, const Exact& x, const Rules& rules) {
  const uint64_t sign = x.negative ? f.sign_bit() : 0;
  const int length = bit_length(x.magnitude);
  if (length == 0) return sign;
  const int precision = f.fraction_bits + 1;
  const int smallest = 1 - f.bias();  // Exponent of the smallest normal number.
  // With an unlimited exponent range: decides whether the result is tiny.
  const Wide unbounded = rounded_shift(x.magnitude, length - precision, x.negative, rules.round);
  const int carried = bit_length(unbounded) > precision ? 1 : 0;
  const int exponent = x.exponent + length - 1 + carried;
  if (exponent < smallest) {
    const int unit = smallest - f.fraction_bits;
    // Rounding up may result in the smallest normal number, whose bits are the next value.
    const uint64_t magnitude = rounded_shift(x.magnitude, unit - x.exponent, x.negative, rules.round).limb[0];
    // When flushing, x86 tests the result with an unlimited exponent range; for halves, the rounded result.
    const bool is_normal = f == kHalf && exponent_field(f, magnitude) != 0;
    return rules.keep_results || is_normal ? sign | magnitude : sign;
  }
  if (exponent > f.bias()) {
    const bool to_infinity =
        rules.round == 0 || (rules.round == 1 && !x.negative) || (rules.round == 2 && x.negative);
    return sign | (to_infinity && !rules.stay_finite ? f.infinity() : f.largest());
  }
  const uint64_t fraction = carried != 0 ? 0 : fraction_of(f, unbounded.limb[0]);
  return sign | static_cast<uint64_t>(exponent + f.bias()) << f.fraction_bits | fraction;
}

Integer rounded_to_integer(const Exact& x, uint8_t round) {
  if (x.exponent >= 0) {
    // Saturates values that are too large for every integer type.
    if (bit_length(x.magnitude) + x.exponent > 200) return {x.negative, shifted_left({{1, 0, 0, 0}}, 200)};
    return {x.negative, shifted_left(x.magnitude, x.exponent)};
  }
  return {x.negative, rounded_shift(x.magnitude, -x.exponent, x.negative, round)};
}

uint64_t fused(Format f, uint64_t a, uint64_t b, uint64_t c, const Rules& rules) {
  a = flushed_input(f, a, rules);
  b = flushed_input(f, b, rules);
  c = flushed_input(f, c, rules);
  for (const uint64_t x : {a, b, c}) {
    if (is_nan(f, x)) return quieted(f, x);
  }
  const bool negative = is_negative(f, a) != is_negative(f, b);
  if (is_infinite(f, a) || is_infinite(f, b)) {
    if (is_zero(f, a) || is_zero(f, b)) return default_nan(f);
    if (is_infinite(f, c) && is_negative(f, c) != negative) return default_nan(f);
    return (negative ? f.sign_bit() : 0) | f.infinity();
  }
  if (is_infinite(f, c)) return c;
  const Exact p = product(exact_of(f, a), exact_of(f, b)), addend = exact_of(f, c);
  Exact s = sum(p, addend);
  if (is_zero(s)) {
    // Zeros of equal sign keep it; an exact cancellation is +0, or -0 when rounding down.
    s.negative = is_zero(p) && is_zero(addend) && negative == addend.negative ? negative : rules.round == 2;
  }
  return rounded(f, s, rules);
}

uint64_t add(Format f, uint64_t a, uint64_t b, const Rules& rules) {
  return fused(f, a, f.one(), b, rules);
}

uint64_t subtract(Format f, uint64_t a, uint64_t b, const Rules& rules) {
  return fused(f, a, f.one(), is_nan(f, b) ? b : b ^ f.sign_bit(), rules);
}

uint64_t multiply(Format f, uint64_t a, uint64_t b, const Rules& rules) {
  // Adding a zero with the product's sign has no effect, even on a zero.
  const uint64_t zero = is_negative(f, a) != is_negative(f, b) ? f.sign_bit() : 0;
  return fused(f, a, b, zero, rules);
}

uint64_t converted(Format from, uint64_t x, const Rules& from_rules, Format to, const Rules& to_rules) {
  x = flushed_input(from, x, from_rules);
  const uint64_t sign = is_negative(from, x) ? to.sign_bit() : 0;
  if (is_infinite(from, x)) return sign | to.infinity();
  if (is_nan(from, x)) {
    const uint64_t fraction = fraction_of(from, x);
    const int shift = to.fraction_bits - from.fraction_bits;
    return sign | quieted(to, to.infinity() | (shift >= 0 ? fraction << shift : fraction >> -shift));
  }
  return rounded(to, exact_of(from, x), to_rules);
}

uint64_t integral(Format f, uint64_t x, uint8_t round, const Rules& rules) {
  x = flushed_input(f, x, rules);
  if (is_nan(f, x)) return quieted(f, x);
  if (is_infinite(f, x) || exponent_field(f, x) >= f.bias() + f.fraction_bits) return x;
  const Integer i = rounded_to_integer(exact_of(f, x), round);
  return rounded(f, {is_negative(f, x), i.magnitude, 0}, rules);
}

uint64_t to_integer(Format f, uint64_t x, uint8_t round, unsigned bits, bool is_signed, const Rules& rules) {
  x = flushed_input(f, x, rules);
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const uint64_t largest = is_signed ? mask >> 1 : mask, smallest = is_signed ? (mask >> 1) + 1 : 0;
  if (is_nan(f, x)) return 0;
  if (is_infinite(f, x)) return is_negative(f, x) ? smallest : largest;
  const Integer i = rounded_to_integer(exact_of(f, x), round);
  const Wide limit{{i.negative ? smallest : largest, 0, 0, 0}};
  if (compare(i.magnitude, limit) >= 0) return i.negative ? smallest : largest;
  return (i.negative ? ~i.magnitude.limb[0] + 1 : i.magnitude.limb[0]) & mask;
}

uint64_t from_integer(Format f, uint64_t x, bool is_signed, unsigned bits, const Rules& rules) {
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  x &= mask;
  const bool negative = is_signed && (x >> (bits - 1) & 1) != 0;
  return rounded(f, exact_of(negative ? (~x + 1) & mask : x, negative), rules);
}

int compare(Format f, uint64_t a, uint64_t b) {
  if (is_nan(f, a) || is_nan(f, b)) return 2;
  if (is_zero(f, a) && is_zero(f, b)) return 0;
  const auto key = [f](uint64_t x) {
    const int64_t magnitude = static_cast<int64_t>(x & ~f.sign_bit());
    return is_negative(f, x) ? -magnitude : magnitude;
  };
  return key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0;
}

long double to_long_double(Format f, uint64_t x) {
  const long double sign = is_negative(f, x) ? -1.0L : 1.0L;
  if (is_nan(f, x)) return std::nanl("");
  if (is_infinite(f, x)) return sign * static_cast<long double>(INFINITY);
  const Exact e = exact_of(f, x);
  return sign * std::ldexp(static_cast<long double>(e.magnitude.limb[0]), e.exponent);
}

uint64_t from_long_double(Format f, long double x) {
  const uint64_t sign = std::signbit(x) ? f.sign_bit() : 0;
  if (std::isnan(x)) return default_nan(f);
  if (std::isinf(x)) return sign | f.infinity();
  if (x == 0) return sign;
  int exponent = 0;
  const long double mantissa = std::frexp(std::fabs(x), &exponent);
  const uint64_t integer = static_cast<uint64_t>(std::ldexp(mantissa, 64));
  return rounded(f, {sign != 0, {{integer, 0, 0, 0}}, exponent - 64}, Rules{});
}

}  // namespace rigel::vgpu::exec::reference
