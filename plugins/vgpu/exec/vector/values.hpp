// Operands of vector operations: reading the lanes of a source from its row or scalar, with modifiers, and
// writing results to a row under EXEC. A function's parameter types determine how its sources are read:
//
//   U32 I32 F32      a row of 32-bit values
//   U64 I64 F64      two rows; functions with such a parameter process half of the lanes at a time,
//   U32h I32h F32h   and have these 32-bit operands
//   Rows<N>          N rows, with as many lanes as 32-bit operands
//   U16 I16 Half     the low or (op_sel) the high half of a row's dwords, extended to 32 bits; halves become
//                    single precision, and results are rounded once: see half.hpp
//   HalfBits         a half without conversion
//   Mask, Mask64     one bit of a scalar per lane, for 32 or 64 bits
//   Old              after the sources: the destination's previous value
//   Control          the last parameter: modes
//
// Modifiers are data (MicroOp::aux), so that one handler supports all of them. Operations that compilers
// often emit have further handlers without modifiers: see fast_lanes() in handlers.hpp.
#pragma once

#include <type_traits>

#include "plugins/vgpu/exec/micro_op.hpp"
#include "plugins/vgpu/exec/vector/half.hpp"
#include "plugins/vgpu/exec/vector/lanes.hpp"
#include "plugins/vgpu/exec/vector/operand_fields.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

/// NaNs as operands of minimum and maximum.
enum class NanRule : uint8_t {
  kNumberWins,       ///< A number is the result; the second of two NaNs.
  kSignalingWins,    ///< As before, but a signaling NaN is the result, quieted. MODE.IEEE.
  kQuietNumberWins,  ///< A number is the result; the first of two NaNs, quieted. IEEE 754-2019's
                     ///< minimumNumber.
  kNanWins,          ///< A signaling NaN is the result, else a NaN; quieted. IEEE 754-2019's minimum.
};

struct Control {
  uint32_t aux;

  constexpr NanRule nan_rule() const {
    return (aux & aux::kIeee) != 0            ? NanRule::kSignalingWins
           : (aux & aux::kQuietsNumbers) != 0 ? NanRule::kQuietNumberWins
                                              : NanRule::kNumberWins;
  }
  constexpr bool dx10_clamp() const { return (aux & aux::kDx10Clamp) != 0; }
  constexpr bool finite_halves() const { return (aux & aux::kFiniteHalves) != 0; }
  /// Rounding mode of halves, see half.hpp.
  constexpr unsigned round16() const {
    return (aux >> aux::kRound16Shift & 3) | (finite_halves() ? kStayFinite : 0);
  }
  constexpr bool flush_inputs16() const { return (aux & aux::kFlushInputs16) != 0; }
  constexpr bool flush_results16() const { return (aux & aux::kFlushResults16) != 0; }
  constexpr bool flush_inputs32() const { return (aux & aux::kFlushInputs32) != 0; }
  /// Whether single precision flushes operands and results.
  constexpr bool flushes32() const {
    constexpr uint32_t kBoth = aux::kFlushInputs32 | aux::kFlushResults32;
    return (aux & kBoth) == kBoth;
  }
  constexpr bool knows_few_turns() const { return (aux & aux::kFewTurns) != 0; }
};

/// Separate dwords of wide operands, for operations that need fewer steps on them.
template <size_t N>
struct Rows {
  U32 row[N];
};

struct U16 {
  U32 v;
};
struct I16 {
  I32 v;
};
struct Half {
  F32 v;
};

/// A half's bits, in the low 16 bits.
struct HalfBits {
  U32 v;
};

struct Old {
  U32 v;
};

// A scalar with one bit per lane. It follows the other sources; the fourth source is at dst2.
struct Mask {
  uint32_t bits;
  [[gnu::always_inline]] I32 lanes() const { return lane_mask<U32>(bits); }
};
struct Mask64 {
  uint32_t bits;
  [[gnu::always_inline]] I64 lanes() const { return lane_mask64(bits); }
};
template <class V>
[[gnu::always_inline]] inline V select(Mask mask, V yes, V no) {
#if RIGEL_SIMD_LEVEL == 2
  return bits_as<V>(_mm512_mask_blend_epi32(static_cast<__mmask16>(mask.bits), bits_as<__m512i>(no),
                                            bits_as<__m512i>(yes)));
#else
  return select(mask.lanes(), yes, no);
#endif
}
/// Returns x + by in the lanes of the mask, otherwise x.
[[gnu::always_inline]] inline U32 add_where(Mask mask, U32 x, uint32_t addend) {
#if RIGEL_SIMD_LEVEL == 2
  return bits_as<U32>(_mm512_mask_add_epi32(bits_as<__m512i>(x), static_cast<__mmask16>(mask.bits),
                                            bits_as<__m512i>(x),
                                            _mm512_set1_epi32(static_cast<int>(addend))));
#else
  return x + (bits_as<U32>(mask.lanes()) & addend);
#endif
}

// Results with one bit per lane, which are written to a scalar. Built from bits, as comparisons return them
// (lanes.hpp), or from lanes that are -1 or 0.
struct Test {
  uint32_t bits;
  [[gnu::always_inline]] explicit Test(uint32_t mask) : bits(mask & ((uint32_t{1} << kLanes) - 1)) {}
  [[gnu::always_inline]] Test(I32 lanes) : bits(mask_bits(lanes)) {}
};
struct Test64 {
  uint32_t bits;
  [[gnu::always_inline]] explicit Test64(uint32_t mask) : bits(mask & ((uint32_t{1} << (kLanes / 2)) - 1)) {}
  [[gnu::always_inline]] Test64(I64 lanes) : bits(mask_bits(lanes)) {}
};
/// A value and a test, which is written to dst2.
template <class T, class M>
struct WithTest {
  using Value = T;
  T value;
  M test;
};

template <class T>
constexpr bool kIsMask = std::is_same_v<T, Mask> || std::is_same_v<T, Mask64>;
template <class T>
constexpr bool kIsTest = std::is_same_v<T, Test> || std::is_same_v<T, Test64>;
template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, HalfBits> || std::is_same_v<T, U16> ||
                         std::is_same_v<T, I16>;
template <class T>
constexpr bool kIs64 = std::is_same_v<T, U64> || std::is_same_v<T, I64> || std::is_same_v<T, F64>;
template <class T>
constexpr bool kIsFloat = std::is_same_v<T, Half> || std::is_same_v<T, HalfBits> || std::is_same_v<T, F32> ||
                          std::is_same_v<T, F64> || std::is_same_v<T, F32h>;
template <class T>
constexpr uint8_t kRowsOf = kIs64<T> ? 2 : 1;
template <size_t N>
constexpr uint8_t kRowsOf<Rows<N>> = N;
template <class T>
constexpr int kLanesOf = kIs64<T> || std::is_same_v<T, Mask64> || std::is_same_v<T, U32h> ||
                                 std::is_same_v<T, I32h> || std::is_same_v<T, F32h>
                             ? kLanes / 2
                             : kLanes;

[[gnu::always_inline]] inline const std::byte* uniform_place(const MicroOp* op, const std::byte* registers,
                                                             unsigned index) {
  return (op->aux & (aux::kConstant << index)) != 0 ? reinterpret_cast<const std::byte*>(&op->src[index])
                                                    : registers + op->src[index].offset;
}
template <class T>
[[gnu::always_inline]] inline T uniform_value(const MicroOp* op, const std::byte* registers, unsigned index) {
  T value;
  std::memcpy(&value, uniform_place(op, registers, index), sizeof value);
  return value;
}

template <class V>
[[gnu::always_inline]] inline V splat_dword(const std::byte* source) {
  uint32_t value;
  std::memcpy(&value, source, sizeof value);
  return bits_as<V>(splat<std::conditional_t<sizeof(V) == sizeof(U32), U32, U32h>>(value));
}

[[gnu::always_inline]] inline uint32_t row_bytes(const MicroOp* op) {
  return (op->aux & aux::kWave64) != 0 ? 256 : 128;
}

/// Specialisation of a handler for a source.
enum class Kind : uint8_t { kAny, kRow, kUniform };

/// 32-bit lanes of a source: dword `part` of each lane.
template <class V, Kind K>
class Lanes;

template <class V>
class Lanes<V, Kind::kRow> {
 public:
  [[gnu::always_inline]] Lanes(const MicroOp* op, const std::byte* registers, unsigned index, uint32_t part)
      : at_(registers + op->src[index].offset + part * row_bytes(op)) {}
  [[gnu::always_inline]] V at(size_t lane) const { return load<V>(at_ + lane * 4); }

 private:
  const std::byte* at_;
};

template <class V>
class Lanes<V, Kind::kUniform> {
 public:
  [[gnu::always_inline]] Lanes(const MicroOp* op, const std::byte* registers, unsigned index, uint32_t part)
      : value_(splat_dword<V>(uniform_place(op, registers, index) + part * 4)) {}
  [[gnu::always_inline]] V at(size_t) const { return value_; }

 private:
  V value_;
};

#ifdef RIGEL_KERNEL_CODE
/// The kind is not fixed, but known after the compiler has inlined the handler.
template <class V>
class Lanes<V, Kind::kAny> {
 public:
  [[gnu::always_inline]] Lanes(const MicroOp* op, const std::byte* registers, unsigned index, uint32_t part)
      : op_(op), registers_(registers), index_(index), part_(part) {}
  [[gnu::always_inline]] V at(size_t lane) const {
    if ((op_->aux & (aux::kUniform << index_)) != 0) {
      return splat_dword<V>(uniform_place(op_, registers_, index_) + part_ * 4);
    }
    return load<V>(registers_ + op_->src[index_].offset + part_ * row_bytes(op_) + lane * 4);
  }

 private:
  const MicroOp* op_;
  const std::byte* registers_;
  unsigned index_;
  uint32_t part_;
};
#else
/// The kind is not fixed. If the source is uniform, all chunks read one slot.
template <class V>
class Lanes<V, Kind::kAny> {
 public:
  [[gnu::always_inline]] Lanes(const MicroOp* op, const std::byte* registers, unsigned index, uint32_t part) {
    if ((op->aux & (aux::kUniform << index)) != 0) {
      slot_ = splat_dword<V>(uniform_place(op, registers, index) + part * 4);
      at_ = reinterpret_cast<const std::byte*>(&slot_);
    } else {
      at_ = registers + op->src[index].offset + part * row_bytes(op);
      step_ = 4;
    }
  }
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;
  [[gnu::always_inline]] V at(size_t lane) const { return load<V>(at_ + lane * step_); }

 private:
  V slot_;
  const std::byte* at_;
  size_t step_ = 0;
};
#endif

/// A source of parameter type T. Modified: abs, neg and op_sel apply.
template <class T, Kind K, bool Modified>
class Input {
 public:
  [[gnu::always_inline]] Input(const MicroOp* op, const std::byte* registers, unsigned index)
      : lanes_(op, registers, index, 0) {
    if constexpr (Modified && kIsFloat<T>) {
      clear_ = (op->aux & (aux::kAbs << index)) != 0 ? 0x7fffffff : 0xffffffff;
      flip_ = (op->aux & (aux::kNeg << index)) != 0 ? 0x80000000 : 0;
    }
  }
  [[gnu::always_inline]] T at(size_t lane, Control) const {
    if constexpr (Modified && kIsFloat<T>) {
      using Bits = std::conditional_t<std::is_same_v<T, F32>, U32, U32h>;
      return bits_as<T>((bits_as<Bits>(lanes_.at(lane)) & clear_) ^ flip_);
    } else {
      return lanes_.at(lane);
    }
  }

 private:
  Lanes<T, K> lanes_;
  uint32_t clear_ = 0, flip_ = 0;
};

template <class T, Kind K, bool Modified>
requires kIs64<T>
class Input<T, K, Modified> {
 public:
  [[gnu::always_inline]] Input(const MicroOp* op, const std::byte* registers, unsigned index)
      : low_(op, registers, index, 0), high_(op, registers, index, 1) {
    if constexpr (Modified && kIsFloat<T>) {
      clear_ = (op->aux & (aux::kAbs << index)) != 0 ? 0x7fffffff : 0xffffffff;
      flip_ = (op->aux & (aux::kNeg << index)) != 0 ? 0x80000000 : 0;
    }
  }
  [[gnu::always_inline]] T at(size_t lane, Control) const {
    U32h high = high_.at(lane);
    if constexpr (Modified && kIsFloat<T>) high = (high & clear_) ^ flip_;
    return bits_as<T>(widened(low_.at(lane), high));
  }

 private:
  Lanes<U32h, K> low_, high_;
  uint32_t clear_ = 0, flip_ = 0;
};

template <class T, bool Modified>
requires kIs64<T>
class Input<T, Kind::kUniform, Modified> {
 public:
  [[gnu::always_inline]] Input(const MicroOp* op, const std::byte* registers, unsigned index)
      : value_(bits_as<T>(splat<U64>(uniform_value<uint64_t>(op, registers, index)))) {}
  [[gnu::always_inline]] T at(size_t, Control) const { return value_; }

 private:
  T value_;
};

template <size_t N, Kind K, bool Modified>
class Input<Rows<N>, K, Modified> {
 public:
  [[gnu::always_inline]] Input(const MicroOp* op, const std::byte* registers, unsigned index)
      : Input(op, registers, index, std::make_index_sequence<N>()) {}
  [[gnu::always_inline]] Rows<N> at(size_t lane, Control) const {
    return rows_at(lane, std::make_index_sequence<N>());
  }

 private:
  template <size_t... I>
  [[gnu::always_inline]] Input(const MicroOp* op, const std::byte* registers, unsigned index,
                               std::index_sequence<I...>)
      : lanes_{Lanes<U32, K>(op, registers, index, I)...} {}
  template <size_t... I>
  [[gnu::always_inline]] Rows<N> rows_at(size_t lane, std::index_sequence<I...>) const {
    return {{lanes_[I].at(lane)...}};
  }

  Lanes<U32, K> lanes_[N];
};

template <Kind K, bool Modified>
class Input<Old, K, Modified> {
 public:
  [[gnu::always_inline]] Input(const MicroOp* op, const std::byte* registers, unsigned)
      : at_(registers + op->dst) {}
  [[gnu::always_inline]] Old at(size_t lane, Control) const { return {load<U32>(at_ + lane * 4)}; }

 private:
  const std::byte* at_;
};

template <class T, Kind K, bool Modified>
requires kIsHalf<T>
class Input<T, K, Modified> {
 public:
  [[gnu::always_inline]] Input(const MicroOp* op, const std::byte* registers, unsigned index)
      : lanes_(op, registers, index, 0) {
    if constexpr (Modified) {
      shift_ = (op->aux & (aux::kHigh << index)) != 0 ? 16 : 0;
      clear_ = (op->aux & (aux::kAbs << index)) != 0 ? 0x7fff : 0xffff;
      flip_ = (op->aux & (aux::kNeg << index)) != 0 ? 0x8000 : 0;
    }
  }
  [[gnu::always_inline]] T at(size_t lane, Control control) const {
    U32 bits = lanes_.at(lane);
    if constexpr (Modified) bits = bits >> shift_;
    if constexpr (std::is_same_v<T, U16>) {
      return U16{bits & 0xffff};
    } else if constexpr (std::is_same_v<T, I16>) {
      return I16{bits_as<I32>(bits << 16) >> 16};
    } else if constexpr (std::is_same_v<T, HalfBits>) {
      if constexpr (Modified) bits = (bits & clear_) ^ flip_;
      return HalfBits{bits & 0xffff};
    } else {
      if constexpr (Modified) bits = (bits & clear_) ^ flip_;
      if (control.flush_inputs16()) bits = flush_half(bits);
      return Half{half_to_single(bits)};
    }
  }

 private:
  Lanes<U32, K> lanes_;
  uint32_t shift_ = 0, clear_ = 0, flip_ = 0;
};

template <class T, Kind K, bool Modified>
requires kIsMask<T>
class Input<T, K, Modified> {
 public:
  [[gnu::always_inline]] Input(const MicroOp* op, const std::byte* registers, unsigned index) {
    const std::byte* const source = index < 3 ? uniform_place(op, registers, index) : registers + op->dst2;
    // The same width as the store: see put_mask().
    if ((op->aux & aux::kWave64) != 0) {
      std::memcpy(&bits_, source, 8);
    } else {
      std::memcpy(&bits_, source, 4);
    }
  }
  [[gnu::always_inline]] T at(size_t lane, Control) const { return T{static_cast<uint32_t>(bits_ >> lane)}; }

 private:
  uint64_t bits_ = 0;
};

/// Stores the lanes of a vector whose bit in `bits` is set.
template <class V>
[[gnu::always_inline]] inline void put(std::byte* at, V value, uint32_t bits) {
  constexpr uint32_t kAll = (uint32_t{1} << kCount<V>)-1;
  if (bits != kAll) {
    using Bits = std::conditional_t<sizeof(V) == sizeof(U32), U32, U32h>;
    value = bits_as<V>(blended(bits, bits_as<Bits>(value), load<Bits>(at)));
  }
  store(at, value);
}

/// Applies omod and clamp. The lowering omits omod if the mode ignores it.
template <class F>
[[gnu::always_inline]] inline F modified_result(F value, Control control) {
  if ((control.aux & aux::kPost) == 0) return value;
  if (const unsigned omod = control.aux >> aux::kOmodShift & 3; omod != 0) {
    value = value * (omod == 1 ? 2.0f : omod == 2 ? 4.0f : 0.5f);
    value = value == 0 ? F{} : value;  // -0 becomes +0
  }
  if ((control.aux & aux::kClamp) != 0) {
    // Compared as integers, because MODE may keep denormal results but flush operands.
    using Bits = decltype(value == value);
    const Bits bits = bits_as<Bits>(value), one = bits_as<Bits>(F{} + 1);
    const F clamped = bits > 0 ? (bits < one ? value : F{} + 1) : F{};
    value = value != value ? (control.dx10_clamp() ? F{} : value) : clamped;
  }
  return value;
}

[[gnu::always_inline]] inline U32 half_bits(F32 value, Control control) {
#if RIGEL_SIMD_LEVEL == 0
  // MXCSR makes the host's conversion treat single-precision denormals as operands; this code does the
  // same.
  const U32 single = bits_as<U32>(value);
  if (control.flush_inputs32()) {
    value = bits_as<F32>((single & 0x7f800000) == 0 ? single & 0x80000000 : single);
  }
#endif
  U32 bits = single_to_half(value, control.round16());
  if (control.flush_results16()) bits = flush_half(bits);
  return bits;
}

template <class T, bool Modified>
class Output {
 public:
  [[gnu::always_inline]] Output(const MicroOp* op, std::byte* registers) : at_(registers + op->dst) {
    if constexpr (kRowsOf<T> != 1) next_row_ = row_bytes(op);
    if constexpr (kIsHalf<T>) {
      shift_ = (op->aux & aux::kHighResult) != 0 ? 16 : 0;
      keep_ = (op->aux & aux::kHighResult) != 0 ? 0xffff : (op->aux & aux::kKeepHigh) != 0 ? 0xffff0000 : 0;
    }
  }

  [[gnu::always_inline]] void put_at(size_t lane, T value, uint32_t bits, Control control) const {
    std::byte* const at = at_ + lane * 4;
    if constexpr (kIs64<T>) {
      if constexpr (Modified && kIsFloat<T>) value = modified_result(value, control);
      const U64 whole = bits_as<U64>(value);
      put(at, low_dwords(whole), bits);
      put(at + next_row_, low_dwords(whole >> 32), bits);
    } else if constexpr (kRowsOf<T> != 1) {
      put_rows(at, value, bits, std::make_index_sequence<kRowsOf<T>>());
    } else if constexpr (kIsHalf<T>) {
      U32 low;
      if constexpr (std::is_same_v<T, HalfBits>) {
        low = value.v;
        if (Modified && (control.aux & aux::kPost) != 0) {
          low = half_bits(modified_result(half_to_single(low), control), control);
        }
      } else if constexpr (std::is_same_v<T, Half>) {
        low = half_bits(modified_result(value.v, control), control);
      } else {
        low = bits_as<U32>(value.v) & 0xffff;
      }
      if (keep_ != 0) low = (low << shift_) | (load<U32>(at) & keep_);
      put(at, low, bits);
    } else {
      if constexpr (Modified && kIsFloat<T>) value = modified_result(value, control);
      put(at, value, bits);
    }
  }

 private:
  template <size_t... I>
  [[gnu::always_inline]] void put_rows(std::byte* at, const T& value, uint32_t bits,
                                       std::index_sequence<I...>) const {
    (put(at + next_row_ * I, value.row[I], bits), ...);
  }

  std::byte* at_;
  uint32_t next_row_ = 0, shift_ = 0, keep_ = 0;
};

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
