// VOP3P: two halves or two 16-bit integers in each lane, and operations of mixed precision.
#include "plugins/vgpu/exec/vector/float_math.hpp"
#include "plugins/vgpu/exec/vector/integer_math.hpp"
#include "plugins/vgpu/exec/vector/ordered.hpp"
#include "plugins/vgpu/exec/vector/packed_values.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

/// body(inputs...), one for each parameter of Fn.
template <auto Fn, class In, class Body>
[[gnu::always_inline]] inline void with_packed(const MicroOp* op, const std::byte* registers, Body body) {
  auto expand = [&]<size_t... I>(std::index_sequence<I...>) __attribute__((always_inline)) {
    body(In(op, registers, I)...);
  };
  expand(std::make_index_sequence<ParametersOf<Fn>::kSources>());
}

/// Fn(F32..., Control) on each half. Those with rows are for the usual modes: nothing is flushed, clamped or
/// rounded but to nearest.
template <auto Fn, Halves H>
[[gnu::flatten]] void packed_halves_lanes(const MicroOp* op, Wave* wave, std::byte* registers,
                                          uint64_t exec) {
  with_packed<Fn, PackedInput<H>>(
      op, registers, [&](const auto&... inputs) __attribute__((always_inline)) {
        const Control control{H == Halves::kAny ? op->aux : 0};
        each_chunk<kLanes>(
            op->aux, exec, [&](size_t lane, uint32_t bits) __attribute__((always_inline)) {
              const auto apply = [&](auto... values) __attribute__((always_inline)) {
                return Singles{Fn(values.a..., control), Fn(values.b..., control)};
              };
              const Singles result = apply(unpacked(inputs.at(lane), control)...);
              put(registers + op->dst + lane * 4, repacked(result, control), bits);
            });
      });
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

/// Fn(U32..., Control) on the bits of each half, in the low 16.
template <auto Fn>
[[gnu::flatten]] void packed_bits_lanes(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  with_packed<Fn, PackedInput<Halves::kAny>>(
      op, registers, [&](const auto&... inputs) __attribute__((always_inline)) {
        const Control control{op->aux};
        each_chunk<kLanes>(
            op->aux, exec, [&](size_t lane, uint32_t bits) __attribute__((always_inline)) {
              U32 result = Fn((inputs.at(lane) & 0xffff)..., control) |
                           (Fn((inputs.at(lane) >> 16)..., control) << 16);
              if ((op->aux & aux::kClamp) != 0) result = repacked(unpacked(result, control), control);
              put(registers + op->dst + lane * 4, result, bits);
            });
      });
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

/// Fn(U16x2...) or Fn(I16x2...).
template <auto Fn>
[[gnu::flatten]] void packed_integer_lanes(const MicroOp* op, Wave* wave, std::byte* registers,
                                           uint64_t exec) {
  with_packed<Fn, PackedInput<Halves::kAny>>(
      op, registers, [&](const auto&... inputs) __attribute__((always_inline)) {
        each_chunk<kLanes>(
            op->aux, exec, [&](size_t lane, uint32_t bits) __attribute__((always_inline)) {
              put(registers + op->dst + lane * 4, bits_as<U32>(Fn(bits_as<ResultOf<Fn>>(inputs.at(lane))...)),
                  bits);
            });
      });
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

/// What has become infinite of finite numbers in single precision has overflowed as a half all the more.
template <class... Sources>
F32 overflowed_to_half(F32 result, Sources... sources) {
  const auto is_infinite = [](F32 x) { return (bits_as<U32>(x) & 0x7fffffff) == 0x7f800000; };
  const I32 overflow = bits_as<I32>(is_infinite(result) & ~(is_infinite(sources) | ...));
  const U32 largest = (bits_as<U32>(result) & 0x80000000) | 0x477fe000;
  return bits_as<F32>(select(overflow, largest, bits_as<U32>(result)));
}

/// Fn(F32...) -> F32 or Half.
template <auto Fn, Halves H>
[[gnu::flatten]] void mix_lanes(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  with_packed<Fn, MixInput<H>>(
      op, registers, [&](const auto&... inputs) __attribute__((always_inline)) {
        const Control control{H == Halves::kAny ? op->aux : 0};
        const Output<ResultOf<Fn>, H == Halves::kAny> output(op, registers);
        each_chunk<kLanes>(
            op->aux, exec, [&](size_t lane, uint32_t bits) __attribute__((always_inline)) {
              const auto apply = [&](auto... values) __attribute__((always_inline)) {
                auto result = Fn(values...);
                if constexpr (std::is_same_v<decltype(result), Half>) {
                  if (control.finite_halves()) result.v = overflowed_to_half(result.v, values...);
                }
                return result;
              };
              output.put_at(lane, apply(inputs.at(lane, control)...), bits, control);
            });
      });
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

template <auto Fn>
constexpr Entry packed_entry(Op op, Handler handler, Raises raises) {
  Entry entry{op, Form::kPacked};
  entry.raises = raises;
  entry.sources = entry.row_sources = ParametersOf<Fn>::kSources;
  entry.generic = handler;
  entry.float_result = entry.float_sources = raises != Raises::kNothing;
  return entry;
}

template <auto Fn>
constexpr Entry halves(Op op, Raises raises) {
  Entry entry = packed_entry<Fn>(op, packed_halves_lanes<Fn, Halves::kAny>, raises);
  entry.fast[kInOrder] = packed_halves_lanes<Fn, Halves::kRowsInOrder>;
  entry.fast[kSelected] = packed_halves_lanes<Fn, Halves::kRows>;
  return with_unit(entry, FloatUnit::kNearest);
}
template <auto Fn>
constexpr Entry half_bits_of(Op op, Raises raises) {
  return packed_entry<Fn>(op, packed_bits_lanes<Fn>, raises);
}
template <auto Fn>
constexpr Entry integers(Op op) {
  return packed_entry<Fn>(op, packed_integer_lanes<Fn>, Raises::kNothing);
}
template <auto Fn>
constexpr Entry clamping(Entry entry) {
  entry.clamped = packed_integer_lanes<Fn>;
  return entry;
}
template <auto Fn>
constexpr Entry mix(Op op, Raises raises) {
  Entry entry = packed_entry<Fn>(op, mix_lanes<Fn, Halves::kAny>, raises);
  entry.form = Form::kMix;
  entry.fast[kSelected] = mix_lanes<Fn, Halves::kRows>;
  return entry;
}
// The result goes to one half; the other stays.
constexpr Entry into(uint32_t half, Entry entry) {
  entry.half_result = true;
  entry.fixed_aux = half;
  return entry;
}

template <bool Max>
U32 extreme16(U32 a, U32 b, Control control) {
  return extreme<Format16, Max>(a, b, control.ieee(), control.flush_inputs16());
}

F32 fma(F32 a, F32 b, F32 c, Control control) {
  return in_order(fused_half(a, b, c, control.round16()), a, b, c);
}

// Saturating 16-bit arithmetic.
U16x2 add_clamped(U16x2 a, U16x2 b) {
  const U16x2 sum = a + b;
  return sum | bits_as<U16x2>(sum < a);
}
U16x2 sub_clamped(U16x2 a, U16x2 b) {
  return (a - b) & bits_as<U16x2>(a > b);
}
I16x2 add_clamped_signed(I16x2 a, I16x2 b) {
  const I16x2 sum = bits_as<I16x2>(bits_as<U16x2>(a) + bits_as<U16x2>(b));
  return ((a ^ sum) & (b ^ sum)) < 0 ? (a >> 15) ^ 0x7fff : sum;
}
I16x2 sub_clamped_signed(I16x2 a, I16x2 b) {
  const I16x2 difference = bits_as<I16x2>(bits_as<U16x2>(a) - bits_as<U16x2>(b));
  return ((a ^ b) & (a ^ difference)) < 0 ? (a >> 15) ^ 0x7fff : difference;
}

// By halves in 32 bits.
I16x2 mad_clamped_signed(I16x2 a, I16x2 b, I16x2 c) {
  const auto low = [](I16x2 x) { return (bits_as<I32>(x) << 16) >> 16; };
  const auto high = [](I16x2 x) { return bits_as<I32>(x) >> 16; };
  const I32 result_low = limited(low(a) * low(b) + low(c), -0x8000, 0x7fff);
  const I32 result_high = limited(high(a) * high(b) + high(c), -0x8000, 0x7fff);
  return bits_as<I16x2>((result_low & 0xffff) | (result_high << 16));
}
U16x2 mad_clamped(U16x2 a, U16x2 b, U16x2 c) {
  const auto low = [](U16x2 x) { return bits_as<U32>(x) & 0xffff; };
  const auto high = [](U16x2 x) { return bits_as<U32>(x) >> 16; };
  const U32 result_low = min_of(low(a) * low(b) + low(c), U32{} + 0xffff);
  const U32 result_high = min_of(high(a) * high(b) + high(c), U32{} + 0xffff);
  return bits_as<U16x2>(result_low | (result_high << 16));
}

I16x2 as_signed(U16x2 a) {
  return bits_as<I16x2>(a);
}
U16x2 as_unsigned(I16x2 a) {
  return bits_as<U16x2>(a);
}

constexpr Entry kTable[] = {
    halves<([](F32 a, F32 b, Control control) { return in_order(half_sum(a, b, control.round16()), a, b); })>(
        Op::v_pk_add_f16, Raises::kSum),
    halves<([](F32 a, F32 b, Control) { return product(a, b); })>(Op::v_pk_mul_f16, Raises::kProduct),
    halves<fma>(Op::v_pk_fma_f16, Raises::kFused),
    halves<fma>(Op::v_pk_fmac_f16, Raises::kFused),
    half_bits_of<extreme16<false>>(Op::v_pk_min_f16, Raises::kExtreme),
    half_bits_of<extreme16<true>>(Op::v_pk_max_f16, Raises::kExtreme),

    clamping<add_clamped>(integers<([](U16x2 a, U16x2 b) { return a + b; })>(Op::v_pk_add_u16)),
    clamping<sub_clamped>(integers<([](U16x2 a, U16x2 b) { return a - b; })>(Op::v_pk_sub_u16)),
    clamping<add_clamped_signed>(integers<([](U16x2 a, U16x2 b) { return a + b; })>(Op::v_pk_add_i16)),
    clamping<sub_clamped_signed>(integers<([](U16x2 a, U16x2 b) { return a - b; })>(Op::v_pk_sub_i16)),
    integers<([](U16x2 a, U16x2 b) { return a * b; })>(Op::v_pk_mul_lo_u16),
    clamping<mad_clamped>(integers<([](U16x2 a, U16x2 b, U16x2 c) { return a * b + c; })>(Op::v_pk_mad_u16)),
    clamping<mad_clamped_signed>(
        integers<([](U16x2 a, U16x2 b, U16x2 c) { return a * b + c; })>(Op::v_pk_mad_i16)),
    integers<([](U16x2 a, U16x2 b) { return b << (a & 15); })>(Op::v_pk_lshlrev_b16),
    integers<([](U16x2 a, U16x2 b) { return b >> (a & 15); })>(Op::v_pk_lshrrev_b16),
    integers<([](U16x2 a, U16x2 b) { return as_unsigned(as_signed(b) >> as_signed(a & 15)); })>(
        Op::v_pk_ashrrev_i16),
    integers<([](U16x2 a, U16x2 b) { return min_of(a, b); })>(Op::v_pk_min_u16),
    integers<([](U16x2 a, U16x2 b) { return max_of(a, b); })>(Op::v_pk_max_u16),
    integers<([](I16x2 a, I16x2 b) { return min_of(a, b); })>(Op::v_pk_min_i16),
    integers<([](I16x2 a, I16x2 b) { return max_of(a, b); })>(Op::v_pk_max_i16),

    mix<([](F32 a, F32 b, F32 c) { return product_sum(a, b, c); })>(Op::v_fma_mix_f32, Raises::kFused),
    into(aux::kKeepHigh, mix<([](F32 a, F32 b, F32 c) { return Half{product_sum(a, b, c)}; })>(
                             Op::v_fma_mixlo_f16, Raises::kFused)),
    into(aux::kHighResult, mix<([](F32 a, F32 b, F32 c) { return Half{product_sum(a, b, c)}; })>(
                               Op::v_fma_mixhi_f16, Raises::kFused)),
    with_unit(mix<([](F32 a, F32 b, F32 c) { return sum(product(a, b), c); })>(Op::v_mad_mix_f32,
                                                                               Raises::kMultiplyAdd),
              FloatUnit::kFlushing),
    with_unit(into(aux::kKeepHigh, mix<([](F32 a, F32 b, F32 c) { return Half{sum(product(a, b), c)}; })>(
                                       Op::v_mad_mixlo_f16, Raises::kMultiplyAdd)),
              FloatUnit::kFlushing),
    with_unit(into(aux::kHighResult, mix<([](F32 a, F32 b, F32 c) { return Half{sum(product(a, b), c)}; })>(
                                         Op::v_mad_mixhi_f16, Raises::kMultiplyAdd)),
              FloatUnit::kFlushing),
};

}  // namespace

Table packed_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
