// Floating-point operations of one lane.
#include <algorithm>
#include <cmath>

#include "plugins/vgpu/reference/lane.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using isa::Op;

uint64_t negated(Format f, uint64_t x) {
  return x ^ f.sign_bit();
}
uint64_t absolute(Format f, uint64_t x) {
  return x & ~f.sign_bit();
}

// DX9: zero times any value is zero.
uint64_t legacy_product(Format f, uint64_t a, uint64_t b, const Rules& rules) {
  if (is_zero(f, flushed_input(f, a, rules)) || is_zero(f, flushed_input(f, b, rules))) return 0;
  return multiply(f, a, b, rules);
}

// Not fused; denormals are always flushed.
uint64_t multiplied_and_added(Format f, uint64_t a, uint64_t b, uint64_t c, Rules rules) {
  rules.keep_inputs = rules.keep_results = false;
  return add(f, multiply(f, a, b, rules), c, rules);
}

// Computes a function that the manuals specify as approximate. Accepts an error of one unit in the last
// place, and flushed denormals in sources and results.
template <typename Function>
void approximate(Lane& lane, Format f, Function function) {
  const auto with_neighbours = [&](uint64_t x) {
    uint64_t value = is_nan(f, x) ? quieted(f, x) : from_long_double(f, function(to_long_double(f, x)));
    if (lane.state.rules(f).stay_finite && is_infinite(f, value) && !is_infinite(f, x) && !is_zero(f, x)) {
      // An overflow. It does not include an infinity that is the exact result for zero.
      lane.accept(--value);
      lane.accept(value - 1);
      return value;
    }
    lane.accept(value);
    if (is_zero(f, value)) lane.accept(value ^ f.sign_bit());
    if (!is_nan(f, value)) {
      if (!is_infinite(f, value)) lane.accept(value + 1);
      if (!is_zero(f, value)) lane.accept(value - 1);
      if (is_denormal(f, value) || is_denormal(f, value - 1) || is_zero(f, value))
        lane.accept(value & f.sign_bit());
    }
    return value;
  };
  const uint64_t x = lane.s[0];
  if (is_denormal(f, x)) with_neighbours(x & f.sign_bit());
  const uint64_t value = with_neighbours(flushed_input(f, x, lane.state.rules(f)));
  if (is_denormal(f, x)) with_neighbours(x);
  lane.set(value);
}

constexpr long double kTwoPi = 6.283185307179586476925286766559L;

// S0 is an angle in full turns. gfx8 and gfx9 treat more than 256 turns as 0; gfx10 accepts all angles.
template <typename Function>
void approximate_angle(Lane& lane, Format f, Function function) {
  const long double turns = to_long_double(f, lane.s[0]);
  if (lane.state.target.major < 10 && std::isfinite(turns) && std::fabs(turns) > 256) {
    return lane.set(function(0) == 0 ? 0 : f.one());
  }
  approximate(lane, f, [&](long double x) { return function(x - std::round(x)); });
}

// At zeros of the function, kTwoPi's rounding error would make the result nonzero.
long double sine_of_turns(long double x) {
  return std::fabs(x) == 0.5L ? 0 : std::sin(x * kTwoPi);
}
long double cosine_of_turns(long double x) {
  return std::fabs(x) == 0.25L ? 0 : std::cos(x * kTwoPi);
}

uint64_t fraction_of(Lane& lane, Format f, const Rules& rules) {
  const uint64_t x = lane.s[0];
  if (is_infinite(f, x)) {
    lane.accept(default_nan(f));
    lane.accept(0);
    return default_nan(f);
  }
  const uint64_t floor = integral(f, x, 2, rules);
  const uint64_t value = add(f, x, negated(f, floor), rules);
  if (value == f.one()) lane.accept(f.one() - 1);
  if (is_zero(f, value)) {
    lane.accept(0);
    lane.accept(f.sign_bit());
  }
  return value;
}

int exponent_of(Format f, uint64_t x) {
  const Exact e = exact_of(f, x);
  int length = 64;
  while ((e.magnitude.limb[0] >> (length - 1) & 1) == 0) --length;
  return e.exponent + length;
}

uint64_t ldexp(Format f, uint64_t x, int64_t n, const Rules& rules) {
  x = flushed_input(f, x, rules);
  if (is_nan(f, x)) return quieted(f, x);
  if (is_infinite(f, x) || is_zero(f, x)) return x;
  const int bounded = static_cast<int>(std::clamp<int64_t>(n, -10'000, 10'000));
  return rounded(f, scaled(exact_of(f, x), bounded), rules);
}

// gfx8's min and max keep denormals, but clamping may flush them.
void extreme(Lane& lane, Format f, uint64_t value) {
  if (lane.state.target.major >= 9) value = flushed_result(f, value, lane.state.rules(f));
  lane.set_exactly(value);
  if (lane.state.target.major == 8 && is_denormal(f, value)) lane.accept(value & f.sign_bit());
}

bool cube(Lane& lane) {
  const Format f = kSingle;
  const Rules rules = lane.state.single();
  const uint64_t x = flushed_input(f, lane.s[0], rules), y = flushed_input(f, lane.s[1], rules),
                 z = flushed_input(f, lane.s[2], rules);
  const auto at_least = [f](uint64_t a, uint64_t b) {
    const int order = compare(f, absolute(f, a), absolute(f, b));
    return order == 0 || order == 1;
  };
  const auto below_zero = [f](uint64_t a) { return compare(f, a, 0) == -1; };
  const bool is_z = at_least(z, x) && at_least(z, y), is_y = !is_z && at_least(y, x);
  switch (lane.in.op) {
    case Op::v_cubeid_f32: {
      const unsigned face = is_z   ? (below_zero(z) ? 5 : 4)
                            : is_y ? (below_zero(y) ? 3 : 2)
                                   : (below_zero(x) ? 1 : 0);
      lane.set(from_integer(f, face, false, 32, rules));
      return true;
    }
    case Op::v_cubesc_f32:
      lane.set(is_z ? (below_zero(z) ? negated(f, x) : x) : is_y ? x : (below_zero(x) ? z : negated(f, z)));
      break;
    case Op::v_cubetc_f32:
      lane.set(is_z ? negated(f, y) : is_y ? (below_zero(y) ? negated(f, z) : z) : negated(f, y));
      break;
    case Op::v_cubema_f32:
      lane.set(add(f, is_z ? z : is_y ? y : x, is_z ? z : is_y ? y : x, rules));
      break;
    default:
      return false;
  }
  if (is_nan(f, lane.d)) lane.accept(quieted(f, lane.d));
  // Values that are only selected may keep their denormals.
  for (const uint64_t s : {lane.s[0], lane.s[1], lane.s[2]}) {
    if (!is_denormal(f, s) || !is_zero(f, lane.d)) continue;
    lane.accept(s);
    lane.accept(negated(f, s));
  }
  return true;
}

// S1 is the denominator, S2 the numerator. S0 is a copy of one of them and selects which is scaled.
void div_scale(Lane& lane, Format f) {
  const Rules rules = lane.state.rules(f);
  const bool single = f == kSingle;
  const uint64_t s0 = flushed_input(f, lane.s[0], rules), s1 = flushed_input(f, lane.s[1], rules),
                 s2 = flushed_input(f, lane.s[2], rules);
  const int step = single ? 64 : 128, far = single ? 96 : 768;
  const int e1 = exponent_field(f, s1), e2 = exponent_field(f, s2);
  const auto is_tiny_quotient = [&](uint64_t n, uint64_t d) {
    // Whether n / d is a denormal, computed with 80 bits.
    if (is_nan(f, n) || is_nan(f, d) || is_infinite(f, n) || is_infinite(f, d)) return false;
    const long double q = std::fabs(to_long_double(f, n) / to_long_double(f, d));
    return q != 0 && q < std::ldexp(1.0L, 1 - f.bias());
  };
  uint64_t d = s0;
  bool vcc = false;
  if (is_zero(f, s2) || is_zero(f, s1)) {
    d = default_nan(f);
  } else if (e2 - e1 >= far) {
    vcc = true;
    if (s0 == s1) d = ldexp(f, s0, step, rules);
  } else if (is_denormal(f, s1)) {
    d = ldexp(f, s0, step, rules);
  } else if (is_tiny_quotient(f.one(), s1) && is_tiny_quotient(s2, s1)) {
    // The manuals scale S0 up, but a denominator this large would overflow.
    vcc = true;
    if (s0 == s1) d = ldexp(f, s0, -step, rules);
  } else if (is_tiny_quotient(f.one(), s1)) {
    d = ldexp(f, s0, -step, rules);
  } else if (is_tiny_quotient(s2, s1)) {
    vcc = true;
    if (s0 == s2) d = ldexp(f, s0, step, rules);
  } else if (e2 <= (single ? 23 : 53)) {
    d = ldexp(f, s0, step, rules);
  }
  lane.set(d);
  if (is_denormal(f, lane.s[0]) && is_zero(f, d)) lane.accept(lane.s[0]);
  lane.d1 = vcc;
}

void div_fixup(Lane& lane, Format f) {
  const Rules rules = lane.state.rules(f);
  const uint64_t s0 = lane.s[0], s1 = flushed_input(f, lane.s[1], rules),
                 s2 = flushed_input(f, lane.s[2], rules);
  const uint64_t sign = (s1 ^ s2) & f.sign_bit();
  const uint64_t magnitude = absolute(f, s0);
  if (is_nan(f, s2)) return lane.set_exactly(quieted(f, s2));
  if (is_nan(f, s1)) return lane.set_exactly(quieted(f, s1));
  if (is_zero(f, s1) && is_zero(f, s2)) return lane.set_exactly(default_nan(f));
  if (is_infinite(f, s1) && is_infinite(f, s2)) return lane.set_exactly(default_nan(f));
  if (is_zero(f, s1) || is_infinite(f, s2)) return lane.set(sign | f.infinity());
  if (is_infinite(f, s1) || is_zero(f, s2)) return lane.set(sign);
  const int difference = exponent_field(f, s2) - exponent_field(f, s1);
  if (f != kHalf && difference < (f == kSingle ? -150 : -1075)) {
    // Underflow: the rounding mode selects zero or the smallest denormal.
    const bool away = (rules.round == 1 && sign == 0) || (rules.round == 2 && sign != 0);
    lane.accept(sign);
    lane.accept(sign | 1);
    return lane.set(away && rules.keep_results ? sign | 1 : sign);
  }
  if (f != kHalf && exponent_field(f, s1) == (1 << f.exponent_bits) - 1) return lane.set(sign | f.infinity());
  lane.set(sign | magnitude);
  if (is_nan(f, s0)) {
    lane.accept(sign | quieted(f, magnitude));
    lane.accept(sign | f.infinity());  // A quotient whose computation overflowed.
  }
  if (is_denormal(f, s0)) lane.accept(sign);
}

// Returns 53 bits of 2/pi. S1, in steps of 53 bits, and the exponent of S0 select the first one. The hardware
// has 1201 bits after the binary point; all others are 0.
uint64_t trig_preop(Lane& lane) {
  static const uint64_t kTwoOverPi[] = {
      // The first 1216 bits after the binary point.
      0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
      0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
      0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
      0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};
  const int field = exponent_field(kDouble, lane.s[0]);
  int shift = static_cast<int>(lane.s[1] & 31) * 53;
  if (field > 1077) shift += field - 1077;
  uint64_t bits = 0;
  for (int i = 0; i < 53; ++i) {
    const int place = shift + i;  // after the binary point
    const uint64_t bit = place < 1201 ? kTwoOverPi[place / 64] >> (63 - place % 64) & 1 : 0;
    bits = bits << 1 | bit;
  }
  int scale = -53 - shift;
  if (field >= 1968) scale += 128;
  Exact e{false, {{bits, 0, 0, 0}}, scale};
  return rounded(kDouble, e, lane.state.other());
}

}  // namespace

uint64_t minimum(Format f, uint64_t a, uint64_t b, const State& state) {
  // Before gfx9, min and max keep denormals.
  if (state.target.major >= 9) {
    a = flushed_input(f, a, state.rules(f));
    b = flushed_input(f, b, state.rules(f));
  }
  if (state.ieee() && is_signalling(f, a)) return quieted(f, a);
  if (state.ieee() && is_signalling(f, b)) return quieted(f, b);
  if (!state.has_float_modes() && is_nan(f, a) && is_nan(f, b)) return quieted(f, a);
  if (is_nan(f, a)) return b;
  if (is_nan(f, b)) return a;
  if (is_zero(f, a) && is_zero(f, b)) return is_negative(f, a) ? a : b;
  return compare(f, a, b) < 0 ? a : b;
}

uint64_t maximum(Format f, uint64_t a, uint64_t b, const State& state) {
  if (state.target.major >= 9) {
    a = flushed_input(f, a, state.rules(f));
    b = flushed_input(f, b, state.rules(f));
  }
  if (state.ieee() && is_signalling(f, a)) return quieted(f, a);
  if (state.ieee() && is_signalling(f, b)) return quieted(f, b);
  if (!state.has_float_modes() && is_nan(f, a) && is_nan(f, b)) return quieted(f, a);
  if (is_nan(f, a)) return b;
  if (is_nan(f, b)) return a;
  if (is_zero(f, a) && is_zero(f, b)) return is_negative(f, a) ? b : a;
  return compare(f, a, b) > 0 ? a : b;
}

// v_minimum and v_maximum: a signaling NaN is the result, then a quiet one.
uint64_t nan_or_minimum(Format f, uint64_t a, uint64_t b, const State& state) {
  for (const uint64_t x : {a, b}) {
    if (is_signalling(f, x)) return quieted(f, x);
  }
  for (const uint64_t x : {a, b}) {
    if (is_nan(f, x)) return x;
  }
  return minimum(f, a, b, state);
}
uint64_t nan_or_maximum(Format f, uint64_t a, uint64_t b, const State& state) {
  for (const uint64_t x : {a, b}) {
    if (is_signalling(f, x)) return quieted(f, x);
  }
  for (const uint64_t x : {a, b}) {
    if (is_nan(f, x)) return x;
  }
  return maximum(f, a, b, state);
}

uint64_t modified_result(Format f, uint64_t x, const isa::Instruction& in, const State& state) {
  const Rules rules = state.rules(f);
  if (in.omod != 0 && !state.ieee() && !rules.keep_results) {
    const int power = in.omod == 1 ? 1 : in.omod == 2 ? 2 : -1;
    x = ldexp(f, x, power, rules);
    if (is_zero(f, x)) x = 0;
  }
  if (in.clamp) {
    // Halves are clamped like singles, which quiets NaNs; the manuals do not specify it.
    if (is_nan(f, x)) return state.dx10_clamp() ? 0 : f == kHalf ? quieted(f, x) : x;
    if (compare(f, x, 0) <= 0) return 0;
    if (compare(f, x, f.one()) > 0) return f.one();
  }
  return x;
}

bool compute_float(Lane& lane) {
  Format f{};
  if (!format_of(lane.in.dst[0].type, f) && !format_of(lane.in.src[0].type, f)) return false;
  const State& state = lane.state;
  const Rules rules = state.rules(f);
  const uint64_t a = lane.s[0], b = lane.s[1], c = lane.s[2];
  switch (lane.in.op) {
    case Op::v_add_f16:
    case Op::v_add_f32:
    case Op::v_add_f64:
      lane.set_exactly(add(f, a, b, rules));
      return true;
    case Op::v_sub_f16:
    case Op::v_sub_f32:
      lane.set_exactly(subtract(f, a, b, rules));
      return true;
    case Op::v_subrev_f16:
    case Op::v_subrev_f32:
      lane.set_exactly(subtract(f, b, a, rules));
      return true;
    case Op::v_mul_f16:
    case Op::v_mul_f32:
    case Op::v_mul_f64:
      lane.set_exactly(multiply(f, a, b, rules));
      return true;
    case Op::v_mul_legacy_f32:
      lane.set_exactly(legacy_product(f, a, b, rules));
      return true;
    case Op::v_mullit_f32: {
      // D3D's lit: the most negative number if S1 is that, -infinity or a NaN, or if S2 is not positive.
      const uint64_t smallest = f.sign_bit() | f.largest();
      const uint64_t fb = flushed_input(f, b, rules), fc = flushed_input(f, c, rules);
      const bool odd = fb == smallest || fb == (f.sign_bit() | f.infinity()) || is_nan(f, fb) ||
                       compare(f, fc, 0) <= 0 || is_nan(f, fc);
      lane.set_exactly(odd ? smallest : legacy_product(f, a, b, rules));
      // How flushed denormals compare is not specified.
      if (is_denormal(f, a) || is_denormal(f, b) || is_denormal(f, c)) {
        lane.accept(smallest);
        lane.accept(legacy_product(f, a, b, rules));
        lane.accept(multiply(f, a, b, rules));
      }
      return true;
    }
    case Op::v_mac_f32:
    case Op::v_mad_f32:
    case Op::v_madmk_f32:
    case Op::v_madak_f32:
    case Op::v_mac_f16:
    case Op::v_mad_f16:
    case Op::v_mad_legacy_f16:
    case Op::v_madmk_f16:
    case Op::v_madak_f16:
      lane.set_exactly(multiplied_and_added(f, a, b, c, rules));
      return true;
    case Op::v_mad_legacy_f32:
    case Op::v_mac_legacy_f32: {
      const Rules flush{rules.round, false, false};
      lane.set_exactly(add(f, legacy_product(f, a, b, flush), c, flush));
      return true;
    }
    case Op::v_fma_f16:
    case Op::v_fma_f32:
    case Op::v_fma_f64:
    case Op::v_fma_legacy_f16:
    case Op::v_fmac_f16:
    case Op::v_fmac_f32:
    case Op::v_fmac_f64:
    case Op::v_fmaak_f16:
    case Op::v_fmaak_f32:
    case Op::v_fmamk_f16:
    case Op::v_fmamk_f32:
      lane.set_exactly(fused(f, a, b, c, rules));
      return true;
    case Op::v_fma_legacy_f32:
    case Op::v_fmac_legacy_f32:
      if (is_zero(f, flushed_input(f, a, rules)) || is_zero(f, flushed_input(f, b, rules))) {
        lane.set_exactly(add(f, 0, c, rules));
      } else {
        lane.set_exactly(fused(f, a, b, c, rules));
      }
      return true;
    case Op::v_min_f16:
    case Op::v_min_f32:
    case Op::v_min_f64:
      extreme(lane, f, minimum(f, a, b, state));
      return true;
    case Op::v_max_f16:
    case Op::v_max_f32:
    case Op::v_max_f64:
      extreme(lane, f, maximum(f, a, b, state));
      return true;
    case Op::v_min3_f16:
    case Op::v_min3_f32:
      extreme(lane, f, minimum(f, minimum(f, a, b, state), c, state));
      return true;
    case Op::v_max3_f16:
    case Op::v_max3_f32:
      extreme(lane, f, maximum(f, maximum(f, a, b, state), c, state));
      return true;
    case Op::v_minmax_f16:
    case Op::v_minmax_f32:
      extreme(lane, f, maximum(f, minimum(f, a, b, state), c, state));
      return true;
    case Op::v_maxmin_f16:
    case Op::v_maxmin_f32:
      extreme(lane, f, minimum(f, maximum(f, a, b, state), c, state));
      return true;
    case Op::v_minimum_f16:
    case Op::v_minimum_f32:
    case Op::v_minimum_f64:
      extreme(lane, f, nan_or_minimum(f, a, b, state));
      return true;
    case Op::v_maximum_f16:
    case Op::v_maximum_f32:
    case Op::v_maximum_f64:
      extreme(lane, f, nan_or_maximum(f, a, b, state));
      return true;
    case Op::v_minimum3_f16:
    case Op::v_minimum3_f32:
      extreme(lane, f, nan_or_minimum(f, nan_or_minimum(f, a, b, state), c, state));
      return true;
    case Op::v_maximum3_f16:
    case Op::v_maximum3_f32:
      extreme(lane, f, nan_or_maximum(f, nan_or_maximum(f, a, b, state), c, state));
      return true;
    case Op::v_minimummaximum_f16:
    case Op::v_minimummaximum_f32:
      extreme(lane, f, nan_or_maximum(f, nan_or_minimum(f, a, b, state), c, state));
      return true;
    case Op::v_maximumminimum_f16:
    case Op::v_maximumminimum_f32:
      extreme(lane, f, nan_or_minimum(f, nan_or_maximum(f, a, b, state), c, state));
      return true;
    case Op::v_med3_f16:
    case Op::v_med3_f32: {
      if (is_nan(f, a) || is_nan(f, b) || is_nan(f, c)) {
        extreme(lane, f, minimum(f, minimum(f, a, b, state), c, state));
        return true;
      }
      const uint64_t largest = maximum(f, maximum(f, a, b, state), c, state);
      const bool flushes = state.target.major >= 9;
      const uint64_t fa = flushes ? flushed_input(f, a, rules) : a,
                     fb = flushes ? flushed_input(f, b, rules) : b;
      if (compare(f, largest, fa) == 0) {
        lane.set(maximum(f, b, c, state));
      } else if (compare(f, largest, fb) == 0) {
        lane.set(maximum(f, a, c, state));
      } else {
        lane.set(maximum(f, a, b, state));
      }
      extreme(lane, f, lane.d);
      if (is_zero(f, lane.d)) lane.accept(lane.d ^ f.sign_bit());
      return true;
    }
    case Op::v_trunc_f16:
    case Op::v_trunc_f32:
    case Op::v_trunc_f64:
      lane.set(integral(f, a, 3, rules));
      return true;
    case Op::v_ceil_f16:
    case Op::v_ceil_f32:
    case Op::v_ceil_f64:
      lane.set(integral(f, a, 1, rules));
      return true;
    case Op::v_floor_f16:
    case Op::v_floor_f32:
    case Op::v_floor_f64:
      lane.set(integral(f, a, 2, rules));
      return true;
    case Op::v_rndne_f16:
    case Op::v_rndne_f32:
    case Op::v_rndne_f64:
      lane.set(integral(f, a, 0, rules));
      return true;
    case Op::v_fract_f16:
    case Op::v_fract_f32:
    case Op::v_fract_f64:
      lane.set(fraction_of(lane, f, rules));
      return true;
    case Op::v_frexp_mant_f16:
    case Op::v_frexp_mant_f32:
    case Op::v_frexp_mant_f64: {
      const uint64_t x = flushed_input(f, a, rules);
      if (is_nan(f, x)) {
        lane.set(quieted(f, x));
        lane.accept(x);
      } else if (is_infinite(f, x) || is_zero(f, x)) {
        lane.set(x);
      } else {
        lane.set(rounded(f, scaled(exact_of(f, x), -exponent_of(f, x)), rules));
      }
      return true;
    }
    case Op::v_ldexp_f16:
      lane.set(ldexp(f, a, static_cast<int16_t>(b), rules));
      return true;
    case Op::v_ldexp_f32:
    case Op::v_ldexp_f64:
      lane.set(ldexp(f, a, static_cast<int32_t>(b), rules));
      return true;
    case Op::v_rcp_f16:
    case Op::v_rcp_f32:
    case Op::v_rcp_f64:
    case Op::v_rcp_iflag_f32:
      approximate(lane, f, [](long double x) { return 1 / x; });
      return true;
    case Op::v_rsq_f16:
    case Op::v_rsq_f32:
    case Op::v_rsq_f64:
      approximate(lane, f, [](long double x) { return x == 0 ? 1 / x : 1 / std::sqrt(x); });
      return true;
    case Op::v_sqrt_f16:
    case Op::v_sqrt_f32:
    case Op::v_sqrt_f64:
      approximate(lane, f, [](long double x) { return std::sqrt(x); });
      return true;
    case Op::v_exp_f16:
    case Op::v_exp_f32:
    case Op::v_exp_legacy_f32:
      approximate(lane, f, [](long double x) { return std::exp2(x); });
      return true;
    case Op::v_log_f16:
    case Op::v_log_f32:
    case Op::v_log_legacy_f32:
      approximate(lane, f,
                  [](long double x) { return x == 0 ? -static_cast<long double>(INFINITY) : std::log2(x); });
      return true;
    case Op::v_sin_f16:
    case Op::v_sin_f32:
      approximate_angle(lane, f, sine_of_turns);
      return true;
    case Op::v_cos_f16:
    case Op::v_cos_f32:
      approximate_angle(lane, f, cosine_of_turns);
      return true;
    case Op::v_div_scale_f32:
    case Op::v_div_scale_f64:
      div_scale(lane, f);
      return true;
    case Op::v_div_fmas_f32:
    case Op::v_div_fmas_f64: {
      // Reverses v_div_scale's scaling of the quotient. The addend, which is close to the quotient,
      // determines the direction. The exponent must be that of v_div_scale; the manuals specify half of it.
      const bool scale = (state.mask_at(isa::code::kVccLo) >> lane.number & 1) != 0;
      const uint64_t value = fused(f, a, b, c, rules);
      const int power = f == kSingle ? 64 : 128;
      const bool up = exponent_field(f, flushed_input(f, c, rules)) > f.bias();
      lane.set_exactly(scale ? ldexp(f, value, up ? power : -power, rules) : value);
      // A denormal may be rounded once or twice, so both neighbours are accepted.
      if (scale && exponent_field(f, lane.d) <= 1) {
        lane.accept(lane.d + 1);
        lane.accept(lane.d - 1);
      }
      return true;
    }
    case Op::v_div_fixup_f16:
    case Op::v_div_fixup_legacy_f16:
    case Op::v_div_fixup_f32:
    case Op::v_div_fixup_f64:
      div_fixup(lane, f);
      return true;
    case Op::v_trig_preop_f64:
      lane.set(trig_preop(lane));
      return true;
    case Op::v_cubeid_f32:
    case Op::v_cubesc_f32:
    case Op::v_cubetc_f32:
    case Op::v_cubema_f32:
      return cube(lane);
    case Op::v_frexp_exp_i16_f16:
    case Op::v_frexp_exp_i32_f32:
    case Op::v_frexp_exp_i32_f64: {
      format_of(lane.in.src[0].type, f);
      const uint64_t x = flushed_input(f, a, state.rules(f));
      const bool odd = is_nan(f, x) || is_infinite(f, x) || is_zero(f, x);
      const int exponent = odd ? 0 : exponent_of(f, x);
      lane.set(f == kHalf ? static_cast<uint16_t>(exponent) : static_cast<uint32_t>(exponent));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace rigel::vgpu::exec::reference
