// Conversions and comparisons of one lane.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "plugins/vgpu/reference/lane.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using isa::Op;

// Converts to a fraction of the largest integer: -1 … 1, or 0 … 1.
uint64_t normalised(Format f, uint64_t x, bool is_signed, const Rules& rules) {
  x = flushed_input(f, x, rules);
  if (is_nan(f, x)) return 0;
  const uint64_t limit = is_signed ? 0x7fff : 0xffff;
  if (compare(f, x, f.one()) >= 0) return limit;
  if (!is_signed && compare(f, x, 0) <= 0) return 0;
  if (compare(f, x, f.one() | f.sign_bit()) <= 0) return 0x8001;
  const Integer i = rounded_to_integer(product(exact_of(f, x), exact_of(limit, false)), 0);
  return (i.negative ? ~i.magnitude.limb[0] + 1 : i.magnitude.limb[0]) & 0xffff;
}

uint64_t saturated(int64_t x, int64_t low, int64_t high) {
  return static_cast<uint64_t>(std::clamp(x, low, high)) & 0xffff;
}

// FP8 (1 + 4 + 3 bits) and BF8 (1 + 5 + 2 bits) of CDNA 3. The code of -0 is the NaN. Infinities do not
// exist.
struct ByteFormat {
  int fraction_bits, bias;
};
constexpr ByteFormat kFp8{3, 8}, kBf8{2, 16};
constexpr unsigned kByteNaN = 0x80, kLargestByte = 0x7f;

// The value of a positive code. Code 0x80 continues the sequence: the limit of rounding.
double value_of(ByteFormat f, unsigned code) {
  const int exponent = static_cast<int>(code) >> f.fraction_bits;
  const double fraction = std::ldexp(code & ((1u << f.fraction_bits) - 1), -f.fraction_bits);
  return exponent == 0 ? std::ldexp(fraction, 1 - f.bias) : std::ldexp(1 + fraction, exponent - f.bias);
}

uint64_t single_of_byte(ByteFormat f, uint64_t byte) {
  const auto code = static_cast<unsigned>(byte & 0xff);
  if (code == kByteNaN) return 0x7fc00000;
  const auto value = static_cast<float>(value_of(f, code & kLargestByte));
  return std::bit_cast<uint32_t>((code & 0x80) != 0 ? -value : value);
}

// Rounds to nearest even, or adds 20 or 21 bits of noise to the fraction of a unit and truncates.
uint64_t byte_of_single(ByteFormat f, uint64_t single, bool stay_finite, std::optional<uint64_t> noise = {}) {
  if (is_nan(kSingle, single)) return kByteNaN;
  const uint64_t sign = is_negative(kSingle, single) ? 0x80 : 0;
  const uint64_t overflow = stay_finite ? sign | kLargestByte : kByteNaN;
  const double size = std::fabs(double{std::bit_cast<float>(static_cast<uint32_t>(single))});
  if (size >= value_of(f, kLargestByte + 1)) return overflow;
  unsigned code = 0;
  while (value_of(f, code + 1) <= size) ++code;
  const double unit = value_of(f, code + 1) - value_of(f, code), rest = (size - value_of(f, code)) / unit;
  if (noise) {
    const int bits = 23 - f.fraction_bits;
    const double limit = std::ldexp(1, bits);
    if (std::floor(rest * limit) + std::fmod(static_cast<double>(*noise), limit) >= limit) ++code;
  } else if (rest > 0.5 || (rest == 0.5 && code % 2 != 0)) {
    ++code;
  }
  if (code > kLargestByte) return overflow;
  return code == 0 ? 0 : code | sign;
}

// OCP's FP8 and BF8. Codes above the largest number: FP8 has a NaN, BF8 an infinity and NaNs, as halves have.
struct OcpFormat {
  int fraction_bits, bias;
  unsigned largest;
};
constexpr OcpFormat kOcpFp8{3, 7, 0x7e}, kOcpBf8{2, 15, 0x7b};

uint64_t ocp_byte_of_single(bool is_bf8, uint64_t single, bool stay_finite,
                            std::optional<uint64_t> noise = {}) {
  const OcpFormat f = is_bf8 ? kOcpBf8 : kOcpFp8;
  const uint64_t sign = is_negative(kSingle, single) ? 0x80 : 0;
  if (is_nan(kSingle, single)) return sign | 0x7f;
  const ByteFormat scale{f.fraction_bits, f.bias};
  const uint64_t overflow = sign | (stay_finite ? f.largest : f.largest + 1);
  const double size = std::fabs(double{std::bit_cast<float>(static_cast<uint32_t>(single))});
  if (size >= value_of(scale, f.largest + 1)) return overflow;
  unsigned code = 0;
  while (value_of(scale, code + 1) <= size) ++code;
  const double unit = value_of(scale, code + 1) - value_of(scale, code),
               rest = (size - value_of(scale, code)) / unit;
  if (noise) {
    const double limit = std::ldexp(1, 23 - f.fraction_bits);
    if (std::floor(rest * limit) + std::fmod(static_cast<double>(*noise), limit) >= limit) ++code;
  } else if (rest > 0.5 || (rest == 0.5 && code % 2 != 0)) {
    ++code;
  }
  return code > f.largest ? overflow : code | sign;
}

// Rounding to nearest or truncation of fractions is not specified.
void accept_neighbours(Lane& lane, uint64_t low_half, uint64_t high_half) {
  for (int i = -1; i <= 1; ++i) {
    for (int j = -1; j <= 1; ++j) {
      lane.accept(((low_half + static_cast<uint64_t>(i)) & 0xffff) |
                  ((high_half + static_cast<uint64_t>(j)) & 0xffff) << 16);
    }
  }
}

}  // namespace

uint64_t single_of_ocp_byte(uint64_t byte, bool is_bf8) {
  const OcpFormat f = is_bf8 ? kOcpBf8 : kOcpFp8;
  const auto code = static_cast<unsigned>(byte & 0x7f);
  const uint64_t sign = (byte & 0x80) << 24;
  if (code > f.largest) return sign | (is_bf8 && code == f.largest + 1 ? 0x7f800000 : 0x7fc00000);
  return sign | std::bit_cast<uint32_t>(static_cast<float>(value_of({f.fraction_bits, f.bias}, code)));
}

bool compute_conversion(Lane& lane) {
  const State& state = lane.state;
  const Rules single = state.single(), other = state.other(), half = state.half();
  const uint64_t a = lane.s[0], b = lane.s[1];
  switch (lane.in.op) {
    case Op::v_cvt_i32_f64:
      lane.set(to_integer(kDouble, a, 3, 32, true, other));
      return true;
    case Op::v_cvt_u32_f64:
      lane.set(to_integer(kDouble, a, 3, 32, false, other));
      return true;
    case Op::v_cvt_i32_f32:
      lane.set(to_integer(kSingle, a, 3, 32, true, single));
      return true;
    case Op::v_cvt_u32_f32:
      lane.set(to_integer(kSingle, a, 3, 32, false, single));
      return true;
    case Op::v_cvt_i16_f16:
      lane.set(to_integer(kHalf, a, 3, 16, true, other));
      return true;
    case Op::v_cvt_u16_f16:
      lane.set(to_integer(kHalf, a, 3, 16, false, other));
      return true;
    case Op::v_cvt_flr_i32_f32:
      lane.set(to_integer(kSingle, a, 2, 32, true, single));
      return true;
    case Op::v_cvt_rpi_i32_f32: {
      // floor(x + 0.5): exact, or with a rounded addition.
      const uint64_t one_half = kSingle.one() - (uint64_t{1} << kSingle.fraction_bits);
      lane.accept(to_integer(kSingle, add(kSingle, a, one_half, single), 2, 32, true, single));
      const uint64_t x = flushed_input(kSingle, a, single);
      if (is_nan(kSingle, x) || is_infinite(kSingle, x)) {
        lane.set(to_integer(kSingle, x, 2, 32, true, single));
      } else {
        const Exact doubled = sum(scaled(exact_of(kSingle, x), 1), exact_of(1, false));
        lane.set(lane.also.back());
        // In double precision, the addition is exact where it matters.
        lane.accept(
            to_integer(kDouble, rounded(kDouble, scaled(doubled, -1), Rules{2}), 2, 32, true, Rules{}));
      }
      return true;
    }
    case Op::v_cvt_f64_i32:
      lane.set(from_integer(kDouble, a, true, 32, other));
      return true;
    case Op::v_cvt_f64_u32:
      lane.set(from_integer(kDouble, a, false, 32, other));
      return true;
    case Op::v_cvt_f32_i32:
      lane.set(from_integer(kSingle, a, true, 32, single));
      return true;
    case Op::v_cvt_f32_u32:
      lane.set(from_integer(kSingle, a, false, 32, single));
      return true;
    case Op::v_cvt_f16_i16:
      lane.set(from_integer(kHalf, a, true, 16, half));
      return true;
    case Op::v_cvt_f16_u16:
      lane.set(from_integer(kHalf, a, false, 16, half));
      return true;
    case Op::v_cvt_f32_ubyte0:
    case Op::v_cvt_f32_ubyte1:
    case Op::v_cvt_f32_ubyte2:
    case Op::v_cvt_f32_ubyte3: {
      const unsigned byte = static_cast<unsigned>(lane.in.op) - static_cast<unsigned>(Op::v_cvt_f32_ubyte0);
      lane.set(from_integer(kSingle, a >> 8 * byte & 0xff, false, 32, single));
      return true;
    }
    case Op::v_cvt_off_f32_i4: {
      // 0 … 7 and -8 … -1, in sixteenths.
      const int64_t i = static_cast<int64_t>(a & 15) - ((a & 8) != 0 ? 16 : 0);
      lane.set(rounded(kSingle, {i < 0, {{static_cast<uint64_t>(i < 0 ? -i : i), 0, 0, 0}}, -4}, single));
      return true;
    }
    case Op::v_cvt_f16_f32:
      lane.set(converted(kSingle, a, single, kHalf, half));
      return true;
    case Op::v_cvt_f32_f16:
      lane.set(converted(kHalf, a, other, kSingle, single));
      return true;
    case Op::v_cvt_f32_f64:
      lane.set(converted(kDouble, a, other, kSingle, single));
      return true;
    case Op::v_cvt_f64_f32:
      lane.set(converted(kSingle, a, single, kDouble, other));
      return true;
    case Op::v_cvt_pkrtz_f16_f32: {
      Rules to_zero = other;
      to_zero.round = 3;
      lane.set(converted(kSingle, a, single, kHalf, to_zero) | converted(kSingle, b, single, kHalf, to_zero)
                                                                   << 16);
      return true;
    }
    case Op::v_cvt_pknorm_i16_f32:
    case Op::v_cvt_pknorm_u16_f32: {
      const bool is_signed = lane.in.op == Op::v_cvt_pknorm_i16_f32;
      const uint64_t low = normalised(kSingle, a, is_signed, single),
                     high = normalised(kSingle, b, is_signed, single);
      lane.set(low | high << 16);
      accept_neighbours(lane, low, high);
      return true;
    }
    case Op::v_cvt_pknorm_i16_f16:
    case Op::v_cvt_pknorm_u16_f16: {
      const bool is_signed = lane.in.op == Op::v_cvt_pknorm_i16_f16;
      const uint64_t low = normalised(kHalf, a, is_signed, other),
                     high = normalised(kHalf, b, is_signed, other);
      lane.set(low | high << 16);
      accept_neighbours(lane, low, high);
      return true;
    }
    case Op::v_cvt_norm_i16_f16:
    case Op::v_cvt_norm_u16_f16: {
      const uint64_t x = normalised(kHalf, a, lane.in.op == Op::v_cvt_norm_i16_f16, other);
      lane.set(x);
      lane.accept((x + 1) & 0xffff);
      lane.accept((x - 1) & 0xffff);
      return true;
    }
    case Op::v_cvt_pk_i16_f32:
    case Op::v_cvt_pk_u16_f32: {
      const bool is_signed = lane.in.op == Op::v_cvt_pk_i16_f32;
      lane.set(to_integer(kSingle, a, 3, 16, is_signed, single) |
               to_integer(kSingle, b, 3, 16, is_signed, single) << 16);
      return true;
    }
    case Op::v_cvt_i32_i16:
      lane.set(static_cast<uint32_t>(static_cast<int16_t>(a)));
      return true;
    case Op::v_cvt_u32_u16:
      lane.set(a & 0xffff);
      return true;
    case Op::v_cvt_pk_u16_u32:
      lane.set(std::min<uint64_t>(a, 0xffff) | std::min<uint64_t>(b, 0xffff) << 16);
      return true;
    case Op::v_cvt_pk_i16_i32:
      lane.set(saturated(static_cast<int32_t>(a), -32768, 32767) |
               saturated(static_cast<int32_t>(b), -32768, 32767) << 16);
      return true;
    case Op::v_cvt_f32_fp8:
    case Op::v_cvt_f32_bf8:
      lane.set_exactly(single_of_byte(lane.in.op == Op::v_cvt_f32_fp8 ? kFp8 : kBf8, a));
      return true;
    case Op::v_cvt_pk_f32_fp8:
    case Op::v_cvt_pk_f32_bf8: {
      const ByteFormat f = lane.in.op == Op::v_cvt_pk_f32_fp8 ? kFp8 : kBf8;
      lane.set(single_of_byte(f, a) | single_of_byte(f, a >> 8) << 32);
      return true;
    }
    case Op::v_cvt_pk_fp8_f32:
    case Op::v_cvt_pk_bf8_f32: {
      const ByteFormat f = lane.in.op == Op::v_cvt_pk_fp8_f32 ? kFp8 : kBf8;
      const uint64_t pair = byte_of_single(f, a, half.stay_finite) | byte_of_single(f, b, half.stay_finite)
                                                                         << 8;
      const unsigned shift = (lane.in.op_sel & 8) != 0 ? 16 : 0;
      lane.set((lane.old & ~(uint64_t{0xffff} << shift) & 0xffffffff) | pair << shift);
      return true;
    }
    case Op::v_cvt_sr_fp8_f32:
    case Op::v_cvt_sr_bf8_f32: {
      const ByteFormat f = lane.in.op == Op::v_cvt_sr_fp8_f32 ? kFp8 : kBf8;
      const unsigned shift = lane.in.op_sel / 4u * 8;
      lane.set((lane.old & ~(uint64_t{0xff} << shift) & 0xffffffff) |
               byte_of_single(f, a, half.stay_finite, b) << shift);
      return true;
    }
    case Op::v_cvt_f32_fp8_ocp:
    case Op::v_cvt_f32_bf8_ocp: {
      // The two bits of OP_SEL are exchanged.
      const unsigned byte = (lane.in.op_sel >> 1 & 1u) | (lane.in.op_sel & 1u) << 1;
      lane.set_exactly(single_of_ocp_byte(a >> 8 * byte, lane.in.op == Op::v_cvt_f32_bf8_ocp));
      return true;
    }
    case Op::v_cvt_pk_f32_fp8_ocp:
    case Op::v_cvt_pk_f32_bf8_ocp: {
      const bool is_bf8 = lane.in.op == Op::v_cvt_pk_f32_bf8_ocp;
      const uint64_t pair = (lane.in.op_sel & 1) != 0 ? a >> 16 : a;
      lane.set(single_of_ocp_byte(pair, is_bf8) | single_of_ocp_byte(pair >> 8, is_bf8) << 32);
      return true;
    }
    case Op::v_cvt_pk_fp8_f32_ocp:
    case Op::v_cvt_pk_bf8_f32_ocp: {
      const bool is_bf8 = lane.in.op == Op::v_cvt_pk_bf8_f32_ocp;
      const uint64_t pair = ocp_byte_of_single(is_bf8, a, half.stay_finite) |
                            ocp_byte_of_single(is_bf8, b, half.stay_finite) << 8;
      const unsigned shift = (lane.in.op_sel & 8) != 0 ? 16 : 0;
      lane.set((lane.old & ~(uint64_t{0xffff} << shift) & 0xffffffff) | pair << shift);
      return true;
    }
    case Op::v_cvt_sr_fp8_f32_ocp:
    case Op::v_cvt_sr_bf8_f32_ocp: {
      const bool is_bf8 = lane.in.op == Op::v_cvt_sr_bf8_f32_ocp;
      const unsigned shift = lane.in.op_sel / 4u * 8;
      lane.set((lane.old & ~(uint64_t{0xff} << shift) & 0xffffffff) |
               ocp_byte_of_single(is_bf8, a, half.stay_finite, b) << shift);
      return true;
    }
    case Op::v_sat_pk_u8_i16:
      lane.set(saturated(static_cast<int16_t>(a), 0, 255) | saturated(static_cast<int16_t>(a >> 16), 0, 255)
                                                                << 8);
      return true;
    case Op::v_cvt_pk_u8_f32:
    case Op::v_cvt_pkaccum_u8_f32: {
      const bool accumulates = lane.in.op == Op::v_cvt_pkaccum_u8_f32;
      const unsigned shift = static_cast<unsigned>(b & 3) * 8;
      const uint64_t rest = (accumulates ? lane.old : lane.s[2]) & ~(uint64_t{0xff} << shift) & 0xffffffff;
      // The rounding is not specified: by mode, to nearest or to zero.
      lane.set(rest | to_integer(kSingle, a, single.round, 8, false, single) << shift);
      lane.accept(rest | to_integer(kSingle, a, 3, 8, false, single) << shift);
      lane.accept(rest | to_integer(kSingle, a, 0, 8, false, single) << shift);
      return true;
    }
    default:
      return false;
  }
}

namespace {

// The sixteen conditions of floating-point comparisons, as functions of compare().
enum Condition { kF, kLt, kEq, kLe, kGt, kLg, kGe, kO, kU, kNge, kNlg, kNgt, kNle, kNeq, kNlt, kTru };

bool holds(Condition condition, int order) {
  const bool less = order == -1, equal = order == 0, greater = order == 1, unordered = order == 2;
  switch (condition) {
    case kF:
      return false;
    case kLt:
      return less;
    case kEq:
      return equal;
    case kLe:
      return less || equal;
    case kGt:
      return greater;
    case kLg:
      return less || greater;
    case kGe:
      return greater || equal;
    case kO:
      return !unordered;
    case kU:
      return unordered;
    case kNge:
      return !(greater || equal);
    case kNlg:
      return !(less || greater);
    case kNgt:
      return !greater;
    case kNle:
      return !(less || equal);
    case kNeq:
      return !equal;
    case kNlt:
      return !less;
    case kTru:
      return true;
  }
  return false;
}

struct Comparison {
  Condition condition;
  bool is_float, is_signed;
  unsigned bits;
};

bool find_comparison(Op op, Comparison& c) {
  switch (op) {
#define RIGEL_FLOATS(name, condition) \
  case Op::v_cmp_##name##_f16:        \
  case Op::v_cmpx_##name##_f16:       \
    c = {condition, true, true, 16};  \
    return true;                      \
  case Op::v_cmp_##name##_f32:        \
  case Op::v_cmpx_##name##_f32:       \
    c = {condition, true, true, 32};  \
    return true;                      \
  case Op::v_cmp_##name##_f64:        \
  case Op::v_cmpx_##name##_f64:       \
    c = {condition, true, true, 64};  \
    return true;
    RIGEL_FLOATS(f, kF)
    RIGEL_FLOATS(lt, kLt)
    RIGEL_FLOATS(eq, kEq)
    RIGEL_FLOATS(le, kLe)
    RIGEL_FLOATS(gt, kGt)
    RIGEL_FLOATS(lg, kLg)
    RIGEL_FLOATS(ge, kGe)
    RIGEL_FLOATS(o, kO)
    RIGEL_FLOATS(u, kU)
    RIGEL_FLOATS(nge, kNge)
    RIGEL_FLOATS(nlg, kNlg)
    RIGEL_FLOATS(ngt, kNgt)
    RIGEL_FLOATS(nle, kNle)
    RIGEL_FLOATS(neq, kNeq)
    RIGEL_FLOATS(nlt, kNlt)
    RIGEL_FLOATS(tru, kTru)
#undef RIGEL_FLOATS
#define RIGEL_INTEGERS_OF(name, condition, type, is_signed, bits) \
  case Op::v_cmp_##name##_##type:                                 \
  case Op::v_cmpx_##name##_##type:                                \
    c = {condition, false, is_signed, bits};                      \
    return true;
#define RIGEL_INTEGERS(name, condition)              \
  RIGEL_INTEGERS_OF(name, condition, i16, true, 16)  \
  RIGEL_INTEGERS_OF(name, condition, u16, false, 16) \
  RIGEL_INTEGERS_OF(name, condition, i32, true, 32)  \
  RIGEL_INTEGERS_OF(name, condition, u32, false, 32) \
  RIGEL_INTEGERS_OF(name, condition, i64, true, 64)  \
  RIGEL_INTEGERS_OF(name, condition, u64, false, 64)
    RIGEL_INTEGERS(f, kF)
    RIGEL_INTEGERS(lt, kLt)
    RIGEL_INTEGERS(eq, kEq)
    RIGEL_INTEGERS(le, kLe)
    RIGEL_INTEGERS(gt, kGt)
    RIGEL_INTEGERS(ne, kLg)
    RIGEL_INTEGERS(ge, kGe)
    RIGEL_INTEGERS(t, kTru)
#undef RIGEL_INTEGERS
#undef RIGEL_INTEGERS_OF
    default:
      return false;
  }
}

bool classified(Format f, uint64_t x, uint64_t wanted) {
  const bool negative = is_negative(f, x);
  unsigned bit;
  if (is_signalling(f, x)) {
    bit = 0;
  } else if (is_nan(f, x)) {
    bit = 1;
  } else if (is_infinite(f, x)) {
    bit = negative ? 2 : 9;
  } else if (is_zero(f, x)) {
    bit = negative ? 5 : 6;
  } else if (is_denormal(f, x)) {
    bit = negative ? 4 : 7;
  } else {
    bit = negative ? 3 : 8;
  }
  return (wanted >> bit & 1) != 0;
}

int64_t extended(uint64_t x, unsigned bits) {
  return static_cast<int64_t>(x << (64 - bits)) >> (64 - bits);
}

}  // namespace

bool compute_comparison(Lane& lane) {
  Format f{};
  switch (lane.in.op) {
    case Op::v_cmp_class_f16:
    case Op::v_cmpx_class_f16:
      lane.d1 = classified(kHalf, lane.s[0], lane.s[1]);
      return true;
    case Op::v_cmp_class_f32:
    case Op::v_cmpx_class_f32:
      lane.d1 = classified(kSingle, lane.s[0], lane.s[1]);
      return true;
    case Op::v_cmp_class_f64:
    case Op::v_cmpx_class_f64:
      lane.d1 = classified(kDouble, lane.s[0], lane.s[1]);
      return true;
    default:
      break;
  }
  Comparison c{};
  if (!find_comparison(lane.in.op, c)) return false;
  int order;
  if (c.is_float) {
    f = c.bits == 16 ? kHalf : c.bits == 32 ? kSingle : kDouble;
    const Rules rules = lane.state.rules(f);
    order = compare(f, flushed_input(f, lane.s[0], rules), flushed_input(f, lane.s[1], rules));
  } else if (c.is_signed) {
    const int64_t a = extended(lane.s[0], c.bits), b = extended(lane.s[1], c.bits);
    order = a < b ? -1 : a > b ? 1 : 0;
  } else {
    const uint64_t mask = c.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << c.bits) - 1;
    const uint64_t a = lane.s[0] & mask, b = lane.s[1] & mask;
    order = a < b ? -1 : a > b ? 1 : 0;
  }
  lane.d1 = holds(c.condition, order);
  return true;
}

}  // namespace rigel::vgpu::exec::reference
