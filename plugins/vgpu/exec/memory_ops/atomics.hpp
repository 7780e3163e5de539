// Atomic operations on global memory and LDS: their new values, and the host atomics that apply them to
// global memory.
//
// Floating point:
//  * Memory and LDS round to nearest even, independent of MODE.
//  * LDS follows MODE's denormals, except for additions of doubles. Memory flushes denormal operands and
//    results of single-precision additions, and keeps those of other types.
//  * An addition returns the first NaN, quieted; memory's precedes the operand's.
//  * Min and max return a signaling NaN, quieted, or else one of the two values unchanged: a quiet NaN
//    loses, -0 is less than +0, and memory's value stays if neither is less. Flushed denormals are flushed
//    for the comparison only.
//  * In compare-and-swap, zeros of both signs are equal and NaNs are equal to nothing. A flushed denormal
//    is stored as zero.
// docs/internals/numerics.md has the sources.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "plugins/vgpu/exec/float_environment.hpp"
#include "plugins/vgpu/exec/memory_ops/rows.hpp"
#include "plugins/vgpu/exec/memory_ops/shape.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

template <class T>
struct FloatBits {
  using Number = std::conditional_t<sizeof(T) == 4, float, double>;
  static constexpr T kSign = T{1} << (sizeof(T) * 8 - 1);
  static constexpr T kQuiet = sizeof(T) == 4 ? T{0x400000} : static_cast<T>(0x8'0000'0000'0000);
  static constexpr T kInfinity = sizeof(T) == 4 ? T{0x7f800000} : static_cast<T>(0x7ff0'0000'0000'0000);

  static Number number(T bits) { return std::bit_cast<Number>(bits); }
  static bool is_nan(T bits) { return (bits & ~kSign) > kInfinity; }
  static bool is_signaling(T bits) { return is_nan(bits) && (bits & kQuiet) == 0; }
  /// Returns zero for a denormal that MXCSR flushes, and other values unchanged.
  static T flushed(T bits) { return number(bits) == 0 ? bits & kSign : bits; }
  /// Whether `a` is less than `b`, and -0 less than +0. Neither is a NaN.
  static bool less(T a, T b) {
    const auto sort_key = [](T bits) {
      const auto value = static_cast<std::make_signed_t<T>>(flushed(bits));
      return value < 0 ? value ^ static_cast<std::make_signed_t<T>>(~kSign) : value;
    };
    return sort_key(a) < sort_key(b);
  }
};

template <class T>
inline T float_sum(T old, T source) {
  using Bits = FloatBits<T>;
  const auto sum = std::bit_cast<T>(Bits::number(old) + Bits::number(source));
  if (!Bits::is_nan(sum)) [[likely]]
    return sum;
  if (Bits::is_nan(old)) return old | Bits::kQuiet;
  if (Bits::is_nan(source)) return source | Bits::kQuiet;
  return Bits::kSign | Bits::kInfinity | Bits::kQuiet;
}

template <bool kMax, class T>
inline T float_extreme(T old, T source) {
  using Bits = FloatBits<T>;
  if (Bits::is_signaling(old)) return old | Bits::kQuiet;
  if (Bits::is_signaling(source)) return source | Bits::kQuiet;
  if (Bits::is_nan(source)) return old;
  if (Bits::is_nan(old)) return source;
  return (kMax ? Bits::less(old, source) : Bits::less(source, old)) ? source : old;
}

/// Adds halves in single precision, which is exact enough to round once.
uint32_t add_packed_halves(uint32_t a, uint32_t b);
/// The same for BF16.
uint32_t add_packed_bf16(uint32_t a, uint32_t b);

/// Returns the new value. Compare-and-swap stores `source` if the old value equals `other`.
template <Atomic kAtomic, class T>
inline T next_value(T old, T source, [[maybe_unused]] T other) {
  using Signed = std::make_signed_t<T>;
  if constexpr (kAtomic == Atomic::kSwap) return source;
  if constexpr (kAtomic == Atomic::kCmpSwap) return old == other ? source : old;
  if constexpr (kAtomic == Atomic::kAdd) return old + source;
  if constexpr (kAtomic == Atomic::kSub) return old - source;
  if constexpr (kAtomic == Atomic::kReverseSub) return source - old;
  if constexpr (kAtomic == Atomic::kSmin) {
    return static_cast<Signed>(source) < static_cast<Signed>(old) ? source : old;
  }
  if constexpr (kAtomic == Atomic::kUmin) return source < old ? source : old;
  if constexpr (kAtomic == Atomic::kSmax) {
    return static_cast<Signed>(source) > static_cast<Signed>(old) ? source : old;
  }
  if constexpr (kAtomic == Atomic::kUmax) return source > old ? source : old;
  if constexpr (kAtomic == Atomic::kAnd) return old & source;
  if constexpr (kAtomic == Atomic::kOr) return old | source;
  if constexpr (kAtomic == Atomic::kXor) return old ^ source;
  if constexpr (kAtomic == Atomic::kInc) return old >= source ? 0 : old + 1;
  if constexpr (kAtomic == Atomic::kDec) return old == 0 || old > source ? source : old - 1;
  if constexpr (kAtomic == Atomic::kClampSub) return old < source ? 0 : old - source;
  if constexpr (kAtomic == Atomic::kCondSub) return old < source ? old : old - source;
  if constexpr (kAtomic == Atomic::kMaskOr) return (old & ~source) | other;
  if constexpr (kAtomic == Atomic::kWrap) return old >= source ? old - source : old + other;
  if constexpr (kAtomic == Atomic::kCondXchg) {
    const auto half = [](uint32_t old_half, uint32_t new_half) {
      return new_half >> 31 != 0 ? new_half & 0x7fffffff : old_half;
    };
    const uint64_t old_bits = old, new_bits = source;
    const uint64_t high = half(static_cast<uint32_t>(old_bits >> 32), static_cast<uint32_t>(new_bits >> 32));
    return static_cast<T>(half(static_cast<uint32_t>(old_bits), static_cast<uint32_t>(new_bits)) | high
                                                                                                       << 32);
  }
  if constexpr (kAtomic == Atomic::kFloatCmpSwap) {
    using Bits = FloatBits<T>;
    return Bits::number(old) == Bits::number(other) ? Bits::flushed(source) : old;
  }
  if constexpr (kAtomic == Atomic::kFloatMin) return float_extreme<false>(old, source);
  if constexpr (kAtomic == Atomic::kFloatMax) return float_extreme<true>(old, source);
  if constexpr (kAtomic == Atomic::kFloatAdd) return float_sum(old, source);
  if constexpr (kAtomic == Atomic::kPackedAddF16) {
    return add_packed_halves(static_cast<uint32_t>(old), static_cast<uint32_t>(source));
  }
  if constexpr (kAtomic == Atomic::kPackedAddBf16) {
    return add_packed_bf16(static_cast<uint32_t>(old), static_cast<uint32_t>(source));
  }
}

/// Returns the new value for DS instructions. Their compare-and-store has the operands in reverse order:
/// the expected value is first.
template <Atomic kAtomic, class T>
inline T next_in_lds(T old, T first, T second) {
  if constexpr (kAtomic == Atomic::kCmpSwap || kAtomic == Atomic::kFloatCmpSwap) std::swap(first, second);
  return next_value<kAtomic>(old, first, second);
}

/// Reads a lane's operand, which has one or two rows from `data` on.
template <class T>
inline T operand(const uint32_t* data, unsigned lane, unsigned width) {
  if constexpr (sizeof(T) == 4) {
    return data[lane];
  } else {
    return data[lane] | uint64_t{data[width + lane]} << 32;
  }
}

template <class T>
inline void put_result(uint32_t* rows, unsigned lane, unsigned width, T value) {
  rows[lane] = static_cast<uint32_t>(value);
  if constexpr (sizeof(T) == 8) rows[width + lane] = static_cast<uint32_t>(value >> 32);
}

/// Calls `with(std::integral_constant<Atomic, …>)` for the operation.
template <class With>
inline void with_atomic(Atomic atomic, With with) {
#define RIGEL_CASE(name) \
  case Atomic::name:     \
    return with(std::integral_constant<Atomic, Atomic::name>())
  switch (atomic) {
    RIGEL_CASE(kSwap);
    RIGEL_CASE(kCmpSwap);
    RIGEL_CASE(kAdd);
    RIGEL_CASE(kSub);
    RIGEL_CASE(kReverseSub);
    RIGEL_CASE(kSmin);
    RIGEL_CASE(kUmin);
    RIGEL_CASE(kSmax);
    RIGEL_CASE(kUmax);
    RIGEL_CASE(kAnd);
    RIGEL_CASE(kOr);
    RIGEL_CASE(kXor);
    RIGEL_CASE(kInc);
    RIGEL_CASE(kDec);
    RIGEL_CASE(kClampSub);
    RIGEL_CASE(kCondSub);
    RIGEL_CASE(kMaskOr);
    RIGEL_CASE(kWrap);
    RIGEL_CASE(kCondXchg);
    RIGEL_CASE(kFloatCmpSwap);
    RIGEL_CASE(kFloatMin);
    RIGEL_CASE(kFloatMax);
    RIGEL_CASE(kFloatAdd);
    RIGEL_CASE(kPackedAddF16);
    RIGEL_CASE(kPackedAddBf16);
  }
#undef RIGEL_CASE
}

/// Applies the operation to memory that other threads may access. Returns the old value.
template <Atomic kAtomic, class T>
inline T atomically(T* address, T source, T other) {
  if constexpr (kAtomic == Atomic::kAdd) return __atomic_fetch_add(address, source, __ATOMIC_SEQ_CST);
  if constexpr (kAtomic == Atomic::kSub) return __atomic_fetch_sub(address, source, __ATOMIC_SEQ_CST);
  if constexpr (kAtomic == Atomic::kSwap) return __atomic_exchange_n(address, source, __ATOMIC_SEQ_CST);
  T old = kAtomic == Atomic::kCmpSwap ? other : __atomic_load_n(address, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(address, &old, next_value<kAtomic>(old, source, other), false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    if constexpr (kAtomic == Atomic::kCmpSwap) break;
  }
  return old;
}

/// Applies the operation for the first lane of `left` and for the directly following lanes with
/// `is_there(lane)`, which access the same address. Memory sees one operation with the effect of all of
/// them in sequence, which is one of the possible orders. Stores each lane's old value in `olds`, and
/// returns the mask of these lanes.
template <Atomic kAtomic, class T, class IsThere, class Source, class Other>
inline uint64_t atomically_in_a_row(T* address, uint64_t remaining, T* olds, IsThere is_same_address,
                                    Source source, Other other) {
  const unsigned first = first_lane(remaining);
  uint64_t merged = remaining & (~remaining + 1);
  for (remaining &= remaining - 1; remaining != 0 && is_same_address(first_lane(remaining));
       remaining &= remaining - 1)
    merged |= remaining & (~remaining + 1);
  if ((merged & (merged - 1)) == 0) {
    olds[first] = atomically<kAtomic>(address, source(first), other(first));
    return merged;
  }
  T expected = __atomic_load_n(address, __ATOMIC_RELAXED);
  T next = 0;
  do {
    next = expected;
    for (const unsigned lane : lanes_of(merged)) {
      olds[lane] = next;
      next = next_value<kAtomic>(next, source(lane), other(lane));
    }
  } while (!__atomic_compare_exchange_n(address, &expected, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return merged;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
