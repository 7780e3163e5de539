// Operands of packed and mixed-precision operations (VOP3P).
#pragma once

#include "plugins/vgpu/exec/vector/handlers.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

/// Entry::fast of kPacked, where a flush of halves matters to the sources alone: as kInOrder, with the flush.
constexpr unsigned kFlushing = 2;

/// How a handler was specialised for its packed sources.
enum class Halves : uint8_t {
  kAny,
  kRows,         ///< Vector rows, with op_sel.
  kRowsInOrder,  ///< Vector rows, their halves as they are.
};

/// A source of two halves, each from where op_sel says, with its sign. Signs are for floating point only.
template <Halves H>
class PackedInput {
 public:
  [[gnu::always_inline]] PackedInput(const MicroOp* op, const std::byte* registers, unsigned index)
      : lanes_(op, registers, index, 0) {
    if constexpr (H != Halves::kRowsInOrder) {
      low_ = (op->imm & packed::kSelect << index) != 0 ? 16 : 0;
      high_ = (op->imm & packed::kSelectHigh << index) != 0 ? 16 : 0;
      flip_ = ((op->imm & packed::kNeg << index) != 0 ? 0x8000 : 0) |
              ((op->imm & packed::kNegHigh << index) != 0 ? 0x80000000 : 0);
    }
  }
  [[gnu::always_inline]] U32 at(size_t lane) const {
    const U32 bits = lanes_.at(lane);
    if constexpr (H == Halves::kRowsInOrder) return bits;
    return (((bits >> low_) & 0xffff) | ((bits >> high_) << 16)) ^ flip_;
  }

 private:
  Lanes<U32, H == Halves::kAny ? Kind::kAny : Kind::kRow> lanes_;
  uint32_t low_ = 0, high_ = 16, flip_ = 0;
};

/// All halves of packed lanes, in two vectors; which is where does not matter as long as it goes back the
/// same way.
struct Singles {
  F32 a, b;
};

[[gnu::always_inline]] inline Singles unpacked(U32 bits, Control control) {
  if (control.flush_inputs16()) {
    bits = (bits & 0x7c00) == 0 ? bits & 0xffff8000 : bits;
    bits = (bits & 0x7c000000) == 0 ? bits & 0x8000ffff : bits;
  }
#if RIGEL_SIMD_LEVEL == 2
  return {
      reinterpret_cast<F32>(_mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(low_half<U32h>(bits)))),
      reinterpret_cast<F32>(_mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(high_half<U32h>(bits))))};
#elif RIGEL_SIMD_LEVEL == 1
  return {reinterpret_cast<F32>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(low_half<U32h>(bits)))),
          reinterpret_cast<F32>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(high_half<U32h>(bits))))};
#else
  return {half_to_single(bits & 0xffff), half_to_single(bits >> 16)};
#endif
}

[[gnu::always_inline]] inline U32 repacked(Singles values, Control control) {
  values.a = modified_result(values.a, control);
  values.b = modified_result(values.b, control);
  U32 bits;
#if RIGEL_SIMD_LEVEL > 0
  bits = joined<U32>(bits_as<U32h>(packed_halves(values.a, control.round16())),
                     bits_as<U32h>(packed_halves(values.b, control.round16())));
#else
  bits = single_to_half(values.a, control.round16()) | (single_to_half(values.b, control.round16()) << 16);
#endif
  if (control.flush_results16()) {
    bits = (bits & 0x7c00) == 0 ? bits & 0xffff8000 : bits;
    bits = (bits & 0x7c000000) == 0 ? bits & 0x8000ffff : bits;
  }
  return bits;
}

/// A source of a mix operation: single precision, or the half that op_sel says. neg_hi stands for abs. Those
/// of handlers for rows have no abs.
template <Halves H>
class MixInput {
 public:
  [[gnu::always_inline]] MixInput(const MicroOp* op, const std::byte* registers, unsigned index)
      : lanes_(op, registers, index, 0) {
    half_ = (op->imm & packed::kSelectHigh << index) != 0;
    shift_ = (op->imm & packed::kSelect << index) != 0 ? 16 : 0;
    if constexpr (H == Halves::kAny)
      clear_ = (op->imm & packed::kNegHigh << index) != 0 ? 0x7fffffff : 0xffffffff;
    flip_ = (op->imm & packed::kNeg << index) != 0 ? 0x80000000 : 0;
  }
  [[gnu::always_inline]] F32 at(size_t lane, Control control) const {
    U32 bits = lanes_.at(lane);
    if (half_) {
      bits = bits >> shift_;
      if (control.flush_inputs16()) bits = flush_half(bits);
      bits = bits_as<U32>(half_to_single(bits));
    }
    if constexpr (H == Halves::kAny) bits = bits & clear_;
    return bits_as<F32>(bits ^ flip_);
  }

 private:
  Lanes<U32, H == Halves::kAny ? Kind::kAny : Kind::kRow> lanes_;
  uint32_t shift_, clear_ = 0, flip_;
  bool half_;
};

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
