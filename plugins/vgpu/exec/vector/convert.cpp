// Conversions between formats. Conversions to integers saturate, and NaN becomes 0.
#include "plugins/vgpu/exec/vector/float_math.hpp"
#include "plugins/vgpu/exec/vector/handlers.hpp"
#include "plugins/vgpu/exec/vector/integer_math.hpp"
#include "plugins/vgpu/exec/vector/ocp_bytes.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

// Rounds toward zero. Values out of range are replaced first, because the host's result would differ.
I32 to_signed(F32 a) {
  const I32 in_range = (a < 0x1p31f) & (a >= -0x1p31f);
  const I32 whole = convert<I32>(select(in_range, a, F32{}));
  const I32 limit = a > 0 ? I32{} + 0x7fffffff : I32{} + INT32_MIN;
  const I32 number = a == a;
  return in_range ? whole : limit & number;
}

U32 to_unsigned(F32 a) {
  const I32 upper = a >= 0x1p31f;
  const I32 in_range = (a > 0) & (a < 0x1p32f);
  const F32 reduced = select(in_range, select(upper, a - 0x1p31f, a), F32{});
  const U32 whole = bits_as<U32>(convert<I32>(reduced)) ^ (bits_as<U32>(upper) & 0x80000000);
  const U32 limit = bits_as<U32>(a > 0);
  return bits_as<U32>(select(in_range, bits_as<I32>(whole), bits_as<I32>(limit)));
}

I32h to_signed(F64 a) {
  const F64 low = a > -0x1p31 ? a : F64{} - 0x1p31;
  const F64 limited = low < 0x1.fffffffcp30 ? low : F64{} + 0x1.fffffffcp30;
  const F64 number = a == a ? limited : F64{};
  return convert<I32h>(number);
}

U32h to_unsigned(F64 a) {
  const F64 low = a > 0 ? a : F64{};
  const F64 limited = low < 0x1.fffffffep31 ? low : F64{} + 0x1.fffffffep31;
  // The low digits of a number between 2^52 and 2^53 are the integer.
  const F64 shifted = round_to_integer<Rounding::kTowardZero>(limited) + 0x1p52;
  return low_dwords(bits_as<U64>(shifted));
}

// Converts a non-negative number. The asm hides from LLVM that the number is not negative. Otherwise LLVM
// uses an unsigned conversion, which without AVX-512 is a subtraction: 0 becomes -0 when rounding down.
F32 from_positive(U32 a) {
  I32 number = bits_as<I32>(a);
#ifdef RIGEL_KERNEL_CODE
  asm("" : "+v"(number));
#endif
  return convert<F32>(number);
}

F32 from_unsigned(U32 a) {
#if RIGEL_SIMD_LEVEL == 2
  return convert<F32>(a);
#else
  // Both parts and the product are exact; the addition rounds.
  return from_positive(a >> 16) * 0x1p16f + from_positive(a & 0xffff);
#endif
}

F64 from_unsigned(U32h a) {
  return bits_as<F64>(zero_extended(a) | 0x4330000000000000) - 0x1p52;
}

template <unsigned Byte>
F32 from_byte(U32 a) {
  return from_positive((a >> (Byte * 8)) & 0xff);
}

// Converts [-1, 1] to 16 bits, rounding to nearest even.
I32 to_signed_normal(F32 a) {
  const F32 low = a > -1 ? a : F32{} - 1;
  const F32 limited_value = low < 1 ? low : F32{} + 1;
  const F32 number = a == a ? limited_value : F32{};
  return convert<I32>(round_to_integer<Rounding::kNearestEven>(number * 32767.0f));
}
U32 to_unsigned_normal(F32 a) {
  const F32 low = a > 0 ? a : F32{};
  const F32 limited_value = low < 1 ? low : F32{} + 1;
  return bits_as<U32>(convert<I32>(round_to_integer<Rounding::kNearestEven>(limited_value * 65535.0f)));
}

U32 pair(U32 low, U32 high) {
  return (low & 0xffff) | (high << 16);
}
U32 pair(I32 low, I32 high) {
  return pair(bits_as<U32>(low), bits_as<U32>(high));
}

U32 to_byte(F32 a) {
  const F32 low = a > 0 ? a : F32{};
  const F32 limited_value = low < 255 ? low : F32{} + 255;
  return bits_as<U32>(convert<I32>(round_to_integer<Rounding::kNearestEven>(limited_value)));
}
U32 with_byte(F32 a, U32 byte, U32 old) {
  const U32 shift = (byte & 3) * 8;
  return (old & ~((U32{} + 0xff) << shift)) | (to_byte(a) << shift);
}

U32 half_toward_zero(F32 a, Control control) {
  const U32 bits = single_to_half(flushed(a, control), 3);
  return control.flush_results16() ? flush_half(bits) : bits;
}

// FP8 (1 + 4 + 3 bits) and BF8 (1 + 5 + 2 bits) of CDNA 3. Both have no infinities and no negative zero; its
// code is the NaN.
struct Bytes {
  int fraction, bias;
};
constexpr Bytes kFp8{3, 8}, kBf8{2, 16};
constexpr uint32_t kByteNaN = 0x80, kMostOfByte = 0x7f;
constexpr int kSingleFraction = 23, kSingleBias = 127;

constexpr uint32_t rebias(Bytes format) {
  return static_cast<uint32_t>(kSingleBias - format.bias);
}

template <Bytes kFormat>
F32 from_small(U32 byte) {
  constexpr int kDropped = kSingleFraction - kFormat.fraction;
  constexpr uint32_t kImplicit = 1u << kFormat.fraction;
  const U32 magnitude = byte & kMostOfByte;
  const U32 normal = (magnitude << kDropped) + (rebias(kFormat) << kSingleFraction);
  constexpr float kUnit = kFormat.bias == kFp8.bias ? 0x1p-10f : 0x1p-17f;  // 2^(1 - bias - fraction)
  const U32 denormal = bits_as<U32>(from_positive(magnitude) * kUnit);
  const U32 value = (magnitude < kImplicit ? denormal : normal) | ((byte & 0x80) << 24);
  return bits_as<F32>((byte & 0xff) == kByteNaN ? U32{} + 0x7fc00000 : value);
}

// Returns the byte of a number whose magnitude rounds to the code `magnitude`.
U32 finished_byte(F32 a, U32 magnitude, Control control) {
  const U32 bits = bits_as<U32>(a), sign = (bits >> 24) & 0x80;
  const U32 overflow = control.finite_halves() ? sign | kMostOfByte : U32{} + kByteNaN;
  const U32 number = magnitude == 0 ? U32{} : magnitude | sign;
  const U32 finite = magnitude > kMostOfByte ? overflow : number;
  return (bits & 0x7fffffff) > 0x7f800000 ? U32{} + kByteNaN : finite;
}

template <Bytes kFormat>
U32 to_small(F32 a, Control control) {
  constexpr int kDropped = kSingleFraction - kFormat.fraction;
  constexpr uint32_t kLeastNormal = (rebias(kFormat) + 1) << kSingleFraction;
  const U32 size = bits_as<U32>(a) & 0x7fffffff;
  const U32 rounded = size + ((size >> kDropped) & 1) + ((1u << (kDropped - 1)) - 1);
  const U32 normal = (rounded >> kDropped) - (rebias(kFormat) << kFormat.fraction);
  constexpr float kUnits = kFormat.bias == kFp8.bias ? 0x1p10f : 0x1p17f;
  const U32 is_small = bits_as<U32>(size < kLeastNormal);
  const F32 units = bits_as<F32>(size & is_small) * kUnits;
  const U32 denormal = bits_as<U32>(convert<I32>(round_to_integer<Rounding::kNearestEven>(units)));
  return finished_byte(a, size < kLeastNormal ? denormal : normal, control);
}

// Stochastic rounding: adds the low bits of `noise` to the bits that are dropped.
template <Bytes kFormat>
U32 to_small_with_noise(F32 a, U32 noise, Control control) {
  constexpr int kDropped = kSingleFraction - kFormat.fraction;
  constexpr uint32_t kLeastNormal = (rebias(kFormat) + 1) << kSingleFraction;
  const U32 size = bits_as<U32>(a) & 0x7fffffff, added = noise & ((1u << kDropped) - 1);
  const U32 normal = ((size + added) >> kDropped) - (rebias(kFormat) << kFormat.fraction);
  const U32 exponent = size >> kSingleFraction;
  const U32 whole = (size & 0x7fffff) | (exponent == 0 ? U32{} : U32{} + (1u << kSingleFraction));
  const U32 denormal = (shift_right(whole, rebias(kFormat) + 1 - exponent) + added) >> kDropped;
  return finished_byte(a, size < kLeastNormal ? denormal : normal, control);
}

template <Bytes kFormat>
Rows<2> from_small_pair(U32 bytes) {
  return {{bits_as<U32>(from_small<kFormat>(bytes & 0xff)),
           bits_as<U32>(from_small<kFormat>((bytes >> 8) & 0xff))}};
}

template <Bytes kFormat>
U16 to_small_pair(F32 a, F32 b, Control control) {
  return {to_small<kFormat>(a, control) | (to_small<kFormat>(b, control) << 8)};
}

// OP_SEL[3:2] is the number of the destination's byte.
template <Bytes kFormat>
U32 with_small(F32 a, U32 noise, Old into, Control control) {
  const uint32_t shift =
      ((control.aux & aux::kHighResult) != 0 ? 16 : 0) + ((control.aux & aux::kHigh << 2) != 0 ? 8 : 0);
  const uint32_t kept = ~(0xffu << shift);
  return (into.v & kept) | (to_small_with_noise<kFormat>(a, noise, control) << static_cast<int>(shift));
}

// Rounds to nearest even without noise; with it, adds its low bits to the bits that are dropped.
template <bool kIsBf8, bool kHasNoise>
U32 to_ocp(F32 a, U32 noise, Control control) {
  using Format = Ocp<kIsBf8>;
  constexpr int kDropped = kSingleFraction - Format::kFraction;
  constexpr uint32_t kRebias = Format::kRebias;
  constexpr uint32_t kLeastNormal = (kRebias + 1) << kSingleFraction;
  const U32 bits = bits_as<U32>(a), size = bits & 0x7fffffff, sign = (bits >> 24) & 0x80;
  U32 normal, denormal;
  if constexpr (kHasNoise) {
    const U32 added = noise & ((1u << kDropped) - 1);
    normal = ((size + added) >> kDropped) - (kRebias << Format::kFraction);
    const U32 exponent = size >> kSingleFraction;
    const U32 whole = (size & 0x7fffff) | (exponent == 0 ? U32{} : U32{} + (1u << kSingleFraction));
    denormal = (shift_right(whole, kRebias + 1 - exponent) + added) >> kDropped;
  } else {
    const U32 rounded = size + ((size >> kDropped) & 1) + ((1u << (kDropped - 1)) - 1);
    normal = (rounded >> kDropped) - (kRebias << Format::kFraction);
    const F32 units = bits_as<F32>(size & bits_as<U32>(size < kLeastNormal)) * (kIsBf8 ? 0x1p16f : 0x1p9f);
    denormal = bits_as<U32>(convert<I32>(round_to_integer<Rounding::kNearestEven>(units)));
  }
  const U32 magnitude = size < kLeastNormal ? denormal : normal;
  // An infinity stays infinite unless FP16_OVFL is set.
  const U32 limit = U32{} + (control.finite_halves() ? Format::kLargest : Format::kOverflow);
  const U32 finite = ((magnitude > Format::kLargest) | (size >= 0x7f800000)) ? limit : magnitude;
  return sign | (size > 0x7f800000 ? U32{} + Format::kNaN : finite);
}

// OP_SEL[1:0] is the byte's number with exchanged bits.
template <bool kIsBf8>
F32 from_selected_ocp(U32 bytes, Control control) {
  const int shift =
      ((control.aux & aux::kHigh) != 0 ? 16 : 0) + ((control.aux & aux::kHigh << 1) != 0 ? 8 : 0);
  return from_ocp<kIsBf8>((bytes >> shift) & 0xff);
}

template <bool kIsBf8>
Rows<2> from_ocp_pair(U32 bytes, Control control) {
  const U32 pair = (control.aux & aux::kHigh) != 0 ? bytes >> 16 : bytes;
  return {{bits_as<U32>(from_ocp<kIsBf8>(pair & 0xff)), bits_as<U32>(from_ocp<kIsBf8>((pair >> 8) & 0xff))}};
}

template <bool kIsBf8>
U16 to_ocp_pair(F32 a, F32 b, Control control) {
  return {to_ocp<kIsBf8, false>(a, U32{}, control) | (to_ocp<kIsBf8, false>(b, U32{}, control) << 8)};
}

template <bool kIsBf8>
U32 with_ocp(F32 a, U32 noise, Old into, Control control) {
  const int shift =
      ((control.aux & aux::kHighResult) != 0 ? 16 : 0) + ((control.aux & aux::kHigh << 2) != 0 ? 8 : 0);
  return (into.v & ~(0xffu << shift)) | (to_ocp<kIsBf8, true>(a, noise, control) << shift);
}

// SDWA's clamp and omod have no effect on pairs (CDNA manuals, "Converts from 8-bit formats").
constexpr Entry ignoring_clamp(Entry entry) {
  entry.takes_clamp = true;
  return entry;
}

constexpr Entry to_nearest(Entry entry) {
  return with_unit(entry, FloatUnit::kNearest);
}
constexpr Entry in_single_mode(Entry entry) {
  return with_unit(entry, FloatUnit::kNone);
}
constexpr Entry narrowing(Entry entry) {
  return with_unit(entry, FloatUnit::kNarrowing);
}

constexpr Entry kTable[] = {
    rare<([](F32 a) { return to_signed(a); })>(Op::v_cvt_i32_f32),
    rare<([](F32 a) { return to_unsigned(a); })>(Op::v_cvt_u32_f32),
    rare<([](F32 a, Control control) { return to_signed(rounded<Rounding::kDown>(a, control)); })>(
        Op::v_cvt_flr_i32_f32),
    rare<([](F32 a, Control control) {
      a = flushed(a, control);
      // floor(a + 1/2) without rounding the sum.
      const F32 whole = round_to_integer<Rounding::kDown>(a);
      return to_signed(a - whole >= 0.5f ? whole + 1 : whole);
    })>(Op::v_cvt_rpi_i32_f32),
    rare<([](I32 a) { return convert<F32>(a); })>(Op::v_cvt_f32_i32),
    rare<([](U32 a) { return from_unsigned(a); })>(Op::v_cvt_f32_u32),
    rare<([](F64 a) { return to_signed(a); })>(Op::v_cvt_i32_f64),
    rare<([](F64 a) { return to_unsigned(a); })>(Op::v_cvt_u32_f64),
    to_nearest(rare<([](I32h a) { return convert<F64>(a); })>(Op::v_cvt_f64_i32)),
    to_nearest(rare<([](U32h a) { return from_unsigned(a); })>(Op::v_cvt_f64_u32)),
    narrowing(
        rare<([](F64 a, Control control) { return convert<F32h>(flushed(a, control)); })>(Op::v_cvt_f32_f64)),
    in_single_mode(rare<([](F32h a) { return convert<F64>(a); })>(Op::v_cvt_f64_f32)),
    rare<from_byte<0>>(Op::v_cvt_f32_ubyte0),
    rare<from_byte<1>>(Op::v_cvt_f32_ubyte1),
    rare<from_byte<2>>(Op::v_cvt_f32_ubyte2),
    rare<from_byte<3>>(Op::v_cvt_f32_ubyte3),
    // Sixteenths, from -8/16 on.
    rare<([](U32 a) { return convert<F32>(bits_as<I32>(a << 28) >> 28) * 0.0625f; })>(Op::v_cvt_off_f32_i4),

    in_single_mode(
        hot<([](F32 a, Control control) { return Half{flushed(a, control)}; })>(Op::v_cvt_f16_f32)),
    hot<([](Half a) { return a.v; })>(Op::v_cvt_f32_f16),
    rare<([](U16 a) { return Half{from_positive(a.v)}; })>(Op::v_cvt_f16_u16),
    rare<([](I16 a) { return Half{convert<F32>(a.v)}; })>(Op::v_cvt_f16_i16),
    rare<([](Half a) { return U16{min_of(to_unsigned(a.v), U32{} + 0xffff)}; })>(Op::v_cvt_u16_f16),
    rare<([](Half a) { return I16{limited(to_signed(a.v), -0x8000, 0x7fff)}; })>(Op::v_cvt_i16_f16),
    rare<([](Half a) { return I16{to_signed_normal(a.v)}; })>(Op::v_cvt_norm_i16_f16),
    rare<([](Half a) { return U16{to_unsigned_normal(a.v)}; })>(Op::v_cvt_norm_u16_f16),

    hot<([](F32 a, F32 b, Control control) {
      return pair(half_toward_zero(a, control), half_toward_zero(b, control));
    })>(Op::v_cvt_pkrtz_f16_f32),
    rare<([](F32 a, F32 b) { return pair(to_signed_normal(a), to_signed_normal(b)); })>(
        Op::v_cvt_pknorm_i16_f32),
    rare<([](F32 a, F32 b) { return pair(to_unsigned_normal(a), to_unsigned_normal(b)); })>(
        Op::v_cvt_pknorm_u16_f32),
    rare<([](Half a, Half b) { return pair(to_signed_normal(a.v), to_signed_normal(b.v)); })>(
        Op::v_cvt_pknorm_i16_f16),
    rare<([](Half a, Half b) { return pair(to_unsigned_normal(a.v), to_unsigned_normal(b.v)); })>(
        Op::v_cvt_pknorm_u16_f16),
    rare<([](F32 a, F32 b) {
      return pair(limited(to_signed(a), -0x8000, 0x7fff), limited(to_signed(b), -0x8000, 0x7fff));
    })>(Op::v_cvt_pk_i16_f32),
    rare<([](F32 a, F32 b) {
      return pair(min_of(to_unsigned(a), U32{} + 0xffff), min_of(to_unsigned(b), U32{} + 0xffff));
    })>(Op::v_cvt_pk_u16_f32),
    rare<([](I32 a, I32 b) { return pair(limited(a, -0x8000, 0x7fff), limited(b, -0x8000, 0x7fff)); })>(
        Op::v_cvt_pk_i16_i32),
    rare<([](U32 a, U32 b) { return pair(min_of(a, U32{} + 0xffff), min_of(b, U32{} + 0xffff)); })>(
        Op::v_cvt_pk_u16_u32),
    rare<with_byte>(Op::v_cvt_pk_u8_f32),
    rare<([](F32 a, U32 byte, Old into) { return with_byte(a, byte, into.v); })>(Op::v_cvt_pkaccum_u8_f32),
    rare<([](HalfBits a, HalfBits b) { return pair(a.v, b.v); })>(Op::v_pack_b32_f16),
    rare<([](U32 a) { return from_small<kFp8>(a & 0xff); })>(Op::v_cvt_f32_fp8),
    rare<([](U32 a) { return from_small<kBf8>(a & 0xff); })>(Op::v_cvt_f32_bf8),
    ignoring_clamp(rare<from_small_pair<kFp8>>(Op::v_cvt_pk_f32_fp8)),
    ignoring_clamp(rare<from_small_pair<kBf8>>(Op::v_cvt_pk_f32_bf8)),
    rare<to_small_pair<kFp8>>(Op::v_cvt_pk_fp8_f32),
    rare<to_small_pair<kBf8>>(Op::v_cvt_pk_bf8_f32),
    rare<with_small<kFp8>>(Op::v_cvt_sr_fp8_f32),
    rare<with_small<kBf8>>(Op::v_cvt_sr_bf8_f32),
    rare<from_selected_ocp<false>>(Op::v_cvt_f32_fp8_ocp),
    rare<from_selected_ocp<true>>(Op::v_cvt_f32_bf8_ocp),
    ignoring_clamp(rare<from_ocp_pair<false>>(Op::v_cvt_pk_f32_fp8_ocp)),
    ignoring_clamp(rare<from_ocp_pair<true>>(Op::v_cvt_pk_f32_bf8_ocp)),
    rare<to_ocp_pair<false>>(Op::v_cvt_pk_fp8_f32_ocp),
    rare<to_ocp_pair<true>>(Op::v_cvt_pk_bf8_f32_ocp),
    rare<with_ocp<false>>(Op::v_cvt_sr_fp8_f32_ocp),
    rare<with_ocp<true>>(Op::v_cvt_sr_bf8_f32_ocp),
    rare<([](U32 a) {
      const U32 low = bits_as<U32>(limited(bits_as<I32>(a << 16) >> 16, 0, 255));
      const U32 high = bits_as<U32>(limited(bits_as<I32>(a) >> 16, 0, 255));
      return U16{low | (high << 8)};
    })>(Op::v_sat_pk_u8_i16),
};

}  // namespace

Table convert_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
