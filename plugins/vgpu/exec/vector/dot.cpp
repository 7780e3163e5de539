// Dot products: of two halves, and of two, four or eight integers in each lane.
#include "plugins/vgpu/exec/vector/integer_math.hpp"
#include "plugins/vgpu/exec/vector/ordered.hpp"
#include "plugins/vgpu/exec/vector/packed_values.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

/// Fn(U32, U32, C): two packed sources and an addend of type C. Without modifiers Aux is what there is of
/// flags.
template <auto Fn, class C, Halves H, uint32_t Aux = 0>
[[gnu::flatten]] void dot_lanes(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  {  // Sources have to be gone before the tail call.
    const Control control{H == Halves::kAny ? op->aux : Aux};
    const PackedInput<H> a(op, registers, 0), b(op, registers, 1);
    const Lanes<C, H == Halves::kAny ? Kind::kAny : Kind::kRow> c(op, registers, 2, 0);
    const uint32_t flip = H == Halves::kAny && (op->imm & packed::kNeg << 2) != 0 ? 0x80000000 : 0;
    const Output<C, true> output(op, registers);
    each_chunk<kLanes>(
        op->aux, exec, [&](size_t lane, uint32_t bits) __attribute__((always_inline)) {
          C addend = c.at(lane);
          if constexpr (std::is_same_v<C, F32>) addend = bits_as<F32>(bits_as<U32>(addend) ^ flip);
          output.put_at(lane, Fn(a.at(lane), b.at(lane), addend, control), bits, control);
        });
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

template <auto Fn, class C, auto Clamped = nullptr, bool Whole = false>
constexpr Entry dot(Op op) {
  Entry entry{op, Form::kPacked};
  entry.sources = entry.row_sources = 3;
  entry.generic = dot_lanes<Fn, C, Halves::kAny>;
  entry.fast[kInOrder] = dot_lanes<Fn, C, Halves::kRowsInOrder>;
  if constexpr (std::is_same_v<C, F32>) {
    entry.fast[kFlushing] = dot_lanes<Fn, C, Halves::kRowsInOrder, aux::kFlushInputs16>;
  }
  entry.whole_sources = Whole;
  entry.float_result = entry.float_sources = std::is_same_v<C, F32>;
  if constexpr (!std::is_same_v<decltype(Clamped), std::nullptr_t>)
    entry.clamped = dot_lanes<Clamped, C, Halves::kAny>;
  return entry;
}

/// Both halves, zeros instead of denormals.
U32 flush_halves(U32 halves) {
  const auto bits = bits_as<U16x2>(halves);
  return bits_as<U32>((bits & 0x7c00) == 0 ? bits & 0x8000 : bits);
}

// The products are exact; the sums round, in this order. Denormals of the addend count as zeros whatever the
// mode (LLVM says so); sums of what is left are none.
F32 dot2_f32(U32 a, U32 b, F32 c, Control control) {
  const U32 addend = bits_as<U32>(c);
  c = bits_as<F32>((addend & 0x7f800000) == 0 ? addend & 0x80000000 : addend);
  if (control.flush_inputs16()) a = flush_halves(a), b = flush_halves(b);
  const F32 first = sum(c, product(half_to_single(a & 0xffff), half_to_single(b & 0xffff)));
  return sum(first, product(half_to_single(a >> 16), half_to_single(b >> 16)));
}

/// Part `index`, of `Bits` bits, extended.
template <int Bits>
I32 signed_part(U32 a, int index) {
  return bits_as<I32>(a << (32 - Bits - Bits * index)) >> (32 - Bits);
}
template <int Bits>
U32 unsigned_part(U32 a, int index) {
  return (a >> (Bits * index)) & ((1u << Bits) - 1);
}

template <int Bits>
I32 signed_products(U32 a, U32 b) {
  I32 sum{};
  for (int i = 0; i < 32 / Bits; ++i) sum += signed_part<Bits>(a, i) * signed_part<Bits>(b, i);
  return sum;
}
template <int Bits>
U32 unsigned_products(U32 a, U32 b) {
  U32 sum{};
  for (int i = 0; i < 32 / Bits; ++i) sum += unsigned_part<Bits>(a, i) * unsigned_part<Bits>(b, i);
  return sum;
}

template <int Bits>
I32 dot_signed(U32 a, U32 b, I32 c, Control) {
  return bits_as<I32>(bits_as<U32>(signed_products<Bits>(a, b)) + bits_as<U32>(c));
}
template <int Bits>
I32 dot_signed_clamped(U32 a, U32 b, I32 c, Control) {
  if constexpr (Bits == 16) {  // The sum of the products alone can be 1 << 31.
    const I32 low = signed_part<16>(a, 0) * signed_part<16>(b, 0);
    const I32 high = signed_part<16>(a, 1) * signed_part<16>(b, 1);
    const I32 half_sum = (low >> 1) + (high >> 1) + (low & high & 1);
    const I32 odd = (low ^ high) & 1;
    // (low + high + c) / 2, rounded down, decides about saturation.
    const I32 c_half = c >> 1, c_odd = c & 1;
    const I32 whole_half = saturating_add(half_sum, c_half + (odd & c_odd));
    const I32 wrapped = bits_as<I32>(bits_as<U32>(low) + bits_as<U32>(high) + bits_as<U32>(c));
    const I32 too_high = whole_half > 0x3fffffff, too_low = whole_half < -0x40000000;
    return too_high ? I32{} + 0x7fffffff : too_low ? I32{} + INT32_MIN : wrapped;
  } else {
    return saturating_add(signed_products<Bits>(a, b), c);
  }
}
template <int Bits>
U32 dot_unsigned(U32 a, U32 b, U32 c, Control) {
  return unsigned_products<Bits>(a, b) + c;
}
template <int Bits>
U32 dot_unsigned_clamped(U32 a, U32 b, U32 c, Control) {
  if constexpr (Bits == 16) {
    const U32 low = unsigned_part<16>(a, 0) * unsigned_part<16>(b, 0);
    const U32 high = unsigned_part<16>(a, 1) * unsigned_part<16>(b, 1);
    return saturating_add(saturating_add(low, high), c);
  } else {
    return saturating_add(unsigned_products<Bits>(a, b), c);
  }
}

constexpr Entry kTable[] = {
    dot<dot2_f32, F32>(Op::v_dot2_f32_f16),
    dot<dot2_f32, F32>(Op::v_dot2c_f32_f16),
    dot<dot_signed<16>, I32, dot_signed_clamped<16>>(Op::v_dot2_i32_i16),
    dot<dot_signed<16>, I32, dot_signed_clamped<16>>(Op::v_dot2c_i32_i16),
    dot<dot_unsigned<16>, U32, dot_unsigned_clamped<16>>(Op::v_dot2_u32_u16),
    dot<dot_signed<8>, I32, dot_signed_clamped<8>, true>(Op::v_dot4_i32_i8),
    dot<dot_signed<8>, I32, dot_signed_clamped<8>, true>(Op::v_dot4c_i32_i8),
    dot<dot_unsigned<8>, U32, dot_unsigned_clamped<8>, true>(Op::v_dot4_u32_u8),
    dot<dot_signed<4>, I32, dot_signed_clamped<4>, true>(Op::v_dot8_i32_i4),
    dot<dot_signed<4>, I32, dot_signed_clamped<4>, true>(Op::v_dot8c_i32_i4),
    dot<dot_unsigned<4>, U32, dot_unsigned_clamped<4>, true>(Op::v_dot8_u32_u4),
};

}  // namespace

Table dot_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
