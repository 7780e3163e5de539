// Operands of packed and mixed-precision operations (VOP3P).
#pragma once

#include "plugins/vgpu/exec/vector/handlers.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

/// Index of Entry::fast for kPacked: as kInOrder, with denormal sources flushed.
constexpr unsigned kFlushing = 2;

/// Packed bits without conversion.
struct Packed {
  U32 bits;
};

/// All halves of packed lanes, in two vectors. Their order is not specified, but conversion back restores
/// it.
struct Singles {
  F32 a, b;
};

/// Single precision, or a half converted to it.
struct Mixed {
  F32 v;
};

/// Single-precision operand of an operation with packed sources.
struct Addend {
  F32 v;
};
/// The same, with NEG_HI as its absolute value.
struct AddendWithAbs {
  F32 v;
};

template <class V>
struct Pair {
  V first, second;
};
template <class V>
constexpr uint8_t kRowsOf<Pair<V>> = 2;

template <class T>
constexpr bool kIsPacked = std::is_same_v<T, Packed> || std::is_same_v<T, U16x2> ||
                           std::is_same_v<T, I16x2> || std::is_same_v<T, Singles>;

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

/// A source of two halves, selected by op_sel and op_sel_hi, with floating-point signs. If Modified is
/// false, the halves are in the order of the row.
template <class T, Kind K, bool Modified>
requires kIsPacked<T>
class Input<T, K, Modified> {
 public:
  [[gnu::always_inline]] Input(const MicroOp* op, const std::byte* registers, unsigned index)
      : lanes_(op, registers, index, 0) {
    if constexpr (Modified) {
      low_ = (op->imm & packed::kSelect << index) != 0 ? 16 : 0;
      high_ = (op->imm & packed::kSelectHigh << index) != 0 ? 16 : 0;
      flip_ = ((op->imm & packed::kNeg << index) != 0 ? 0x8000 : 0) |
              ((op->imm & packed::kNegHigh << index) != 0 ? 0x80000000 : 0);
    }
  }
  [[gnu::always_inline]] T at(size_t lane, Control control) const {
    U32 bits = lanes_.at(lane);
    if constexpr (Modified) bits = (((bits >> low_) & 0xffff) | ((bits >> high_) << 16)) ^ flip_;
    if constexpr (std::is_same_v<T, Singles>) {
      return unpacked(bits, control);
    } else {
      return bits_as<T>(bits);
    }
  }

 private:
  Lanes<U32, K> lanes_;
  uint32_t low_ = 0, high_ = 16, flip_ = 0;
};

/// A half selected by op_sel if op_sel_hi is set, otherwise single precision. neg_hi means abs. Handlers
/// for rows do not support abs.
template <Kind K, bool Modified>
class Input<Mixed, K, Modified> {
 public:
  [[gnu::always_inline]] Input(const MicroOp* op, const std::byte* registers, unsigned index)
      : lanes_(op, registers, index, 0) {
    half_ = (op->imm & packed::kSelectHigh << index) != 0;
    shift_ = (op->imm & packed::kSelect << index) != 0 ? 16 : 0;
    if constexpr (K == Kind::kAny)
      clear_ = (op->imm & packed::kNegHigh << index) != 0 ? 0x7fffffff : 0xffffffff;
    flip_ = (op->imm & packed::kNeg << index) != 0 ? 0x80000000 : 0;
  }
  [[gnu::always_inline]] Mixed at(size_t lane, Control control) const {
    U32 bits = lanes_.at(lane);
    if (half_) {
      bits = bits >> shift_;
      if (control.flush_inputs16()) bits = flush_half(bits);
      bits = bits_as<U32>(half_to_single(bits));
    }
    if constexpr (K == Kind::kAny) bits = bits & clear_;
    return {bits_as<F32>(bits ^ flip_)};
  }

 private:
  Lanes<U32, K> lanes_;
  uint32_t shift_, clear_ = 0, flip_;
  bool half_;
};

template <Kind K, bool Modified>
class Input<Addend, K, Modified> {
 public:
  [[gnu::always_inline]] Input(const MicroOp* op, const std::byte* registers, unsigned index)
      : lanes_(op, registers, index, 0),
        flip_(Modified && (op->imm & packed::kNeg << index) != 0 ? 0x80000000 : 0) {}
  [[gnu::always_inline]] Addend at(size_t lane, Control) const {
    return {bits_as<F32>(lanes_.at(lane) ^ flip_)};
  }

 private:
  Lanes<U32, K> lanes_;
  uint32_t flip_;
};

template <Kind K, bool Modified>
class Input<AddendWithAbs, K, Modified> {
 public:
  [[gnu::always_inline]] Input(const MicroOp* op, const std::byte* registers, unsigned index)
      : lanes_(op, registers, index, 0),
        clear_(Modified && (op->imm & packed::kNegHigh << index) != 0 ? 0x7fffffff : 0xffffffff),
        flip_(Modified && (op->imm & packed::kNeg << index) != 0 ? 0x80000000 : 0) {}
  [[gnu::always_inline]] AddendWithAbs at(size_t lane, Control) const {
    return {bits_as<F32>((lanes_.at(lane) & clear_) ^ flip_)};
  }

 private:
  Lanes<U32, K> lanes_;
  uint32_t clear_, flip_;
};

/// A pair of dwords: op_sel selects the dword for the first result, op_sel_hi that for the second.
template <class V, Kind K, bool Modified>
class Input<Pair<V>, K, Modified> {
 public:
  [[gnu::always_inline]] Input(const MicroOp* op, const std::byte* registers, unsigned index)
      : first_(op, registers, index, (op->imm & packed::kSelect << index) != 0 ? 1 : 0),
        second_(op, registers, index, (op->imm & packed::kSelectHigh << index) != 0 ? 1 : 0) {
    if constexpr (kIsFloat<V>) {
      flip_first_ = (op->imm & packed::kNeg << index) != 0 ? 0x80000000 : 0;
      flip_second_ = (op->imm & packed::kNegHigh << index) != 0 ? 0x80000000 : 0;
    }
  }
  [[gnu::always_inline]] Pair<V> at(size_t lane, Control) const {
    return {bits_as<V>(first_.at(lane) ^ flip_first_), bits_as<V>(second_.at(lane) ^ flip_second_)};
  }

 private:
  Lanes<U32, K> first_, second_;
  uint32_t flip_first_ = 0, flip_second_ = 0;
};

template <class T, bool Modified>
requires kIsPacked<T>
class Output<T, Modified> {
 public:
  [[gnu::always_inline]] Output(const MicroOp* op, std::byte* registers) : at_(registers + op->dst) {}
  [[gnu::always_inline]] void put_at(size_t lane, T value, uint32_t bits, Control control) const {
    if constexpr (std::is_same_v<T, Singles>) {
      put(at_ + lane * 4, repacked(value, control), bits);
    } else {
      put(at_ + lane * 4, bits_as<U32>(value), bits);
    }
  }

 private:
  std::byte* at_;
};

template <class V, bool Modified>
class Output<Pair<V>, Modified> {
 public:
  [[gnu::always_inline]] Output(const MicroOp* op, std::byte* registers)
      : first_(registers + op->dst), second_(first_ + row_bytes(op)) {}
  [[gnu::always_inline]] void put_at(size_t lane, Pair<V> value, uint32_t bits, Control control) const {
    if constexpr (kIsFloat<V>) {
      value = {modified_result(value.first, control), modified_result(value.second, control)};
    }
    put(first_ + lane * 4, value.first, bits);
    put(second_ + lane * 4, value.second, bits);
  }

 private:
  std::byte *first_, *second_;
};

/// For VGPR rows in the default modes: no flushing and clamping, rounding to nearest, except for Aux.
template <auto Fn, bool Modified, uint32_t Aux = 0>
[[gnu::flatten]] void packed_rows(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  run_lanes<Fn, Modified, 0, false>(op, registers, exec, Control{Aux});
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

template <auto Fn>
constexpr Entry packed_entry(isa::Op op) {
  Entry entry = rare<Fn>(op);
  entry.form = Form::kPacked;
  entry.unit = FloatUnit::kNone;
  entry.float_sources = entry.float_result = std::is_same_v<ResultOf<Fn>, F32>;
  return entry;
}

/// As packed_entry(), for halves, singles and mixed precision.
template <auto Fn>
constexpr Entry packed_floats(isa::Op op) {
  Entry entry = packed_entry<Fn>(op);
  entry.float_sources = entry.float_result = true;
  return entry;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
