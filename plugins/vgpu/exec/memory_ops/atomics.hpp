// What atomic operations make of the old value, for global memory and LDS alike, and the host atomics that do
// it to global memory.
//
// Floating point: memory and LDS round to nearest even, whatever MODE says. LDS follows MODE's denormals, but
// for the operands of a sum of doubles; memory flushes those of single precision that an addition sees or
// makes, and keeps those of other types. A sum gives the first NaN, memory's before the operand's, quieted. A
// minimum or maximum gives a signaling NaN, quieted, or else one of the two as it is: a quiet NaN loses, -0
// is less than +0, and if neither is less, memory stays. Denormals that are flushed are so for the
// comparison. Compare-and-swap takes zeros for equal and no NaNs, and stores a flushed denormal as zero.
// docs/internals/numerics.md has where that is from.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "plugins/vgpu/exec/float_environment.hpp"
#include "plugins/vgpu/exec/memory_ops/rows.hpp"
#include "plugins/vgpu/exec/memory_ops/shape.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

/// The parts of a floating-point number of T's size.
template <class T>
struct FloatBits {
  using Number = std::conditional_t<sizeof(T) == 4, float, double>;
  static constexpr T kSign = T{1} << (sizeof(T) * 8 - 1);
  static constexpr T kQuiet = sizeof(T) == 4 ? T{0x400000} : static_cast<T>(0x8'0000'0000'0000);
  static constexpr T kInfinity = sizeof(T) == 4 ? T{0x7f800000} : static_cast<T>(0x7ff0'0000'0000'0000);

  static Number number(T bits) { return std::bit_cast<Number>(bits); }
  static bool is_nan(T bits) { return (bits & ~kSign) > kInfinity; }
  static bool is_signaling(T bits) { return is_nan(bits) && (bits & kQuiet) == 0; }
  /// A denormal that the environment flushes becomes zero.
  static T flushed(T bits) { return number(bits) == 0 ? bits & kSign : bits; }
  /// Whether a comes before b, zeros by their signs; of numbers.
  static bool less(T a, T b) {
    const auto place = [](T bits) {
      const auto is = static_cast<std::make_signed_t<T>>(flushed(bits));
      return is < 0 ? is ^ static_cast<std::make_signed_t<T>>(~kSign) : is;
    };
    return place(a) < place(b);
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

/// Halves are added in single precision, which is exact enough to round once.
uint32_t add_packed_halves(uint32_t a, uint32_t b);

/// The new value. Compare-and-swap: `source` goes in if the old one equals `other`.
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
  if constexpr (kAtomic == Atomic::kMaskOr) return (old & ~source) | other;
  if constexpr (kAtomic == Atomic::kWrap) return old >= source ? old - source : old + other;
  if constexpr (kAtomic == Atomic::kCondXchg) {
    const auto half = [](uint32_t was, uint32_t is) { return is >> 31 != 0 ? is & 0x7fffffff : was; };
    const uint64_t was = old, is = source;
    const uint64_t high = half(static_cast<uint32_t>(was >> 32), static_cast<uint32_t>(is >> 32));
    return static_cast<T>(half(static_cast<uint32_t>(was), static_cast<uint32_t>(is)) | high << 32);
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
}

/// … of the instructions of LDS. Compare-and-store has its operands the other way round: the first is what is expected.
template <Atomic kAtomic, class T>
inline T next_in_lds(T old, T first, T second) {
  if constexpr (kAtomic == Atomic::kCmpSwap || kAtomic == Atomic::kFloatCmpSwap) std::swap(first, second);
  return next_value<kAtomic>(old, first, second);
}

/// A lane's operand, in one row or two from `data` on, and its result likewise.
template <class T>
inline T operand(const uint32_t* data, unsigned lane, unsigned width) {
  if constexpr (sizeof(T) == 4) {
    return data[lane];
  } else {
    return data[lane] | uint64_t{data[width + lane]} << 32;
  }
}

template <class T>
inline void put_result(uint32_t* to, unsigned lane, unsigned width, T value) {
  to[lane] = static_cast<uint32_t>(value);
  if constexpr (sizeof(T) == 8) to[width + lane] = static_cast<uint32_t>(value >> 32);
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
    RIGEL_CASE(kMaskOr);
    RIGEL_CASE(kWrap);
    RIGEL_CASE(kCondXchg);
    RIGEL_CASE(kFloatCmpSwap);
    RIGEL_CASE(kFloatMin);
    RIGEL_CASE(kFloatMax);
    RIGEL_CASE(kFloatAdd);
    RIGEL_CASE(kPackedAddF16);
  }
#undef RIGEL_CASE
}

/// Does it to memory that others may access, and gives the old value.
template <Atomic kAtomic, class T>
inline T atomically(T* place, T source, T other) {
  if constexpr (kAtomic == Atomic::kAdd) return __atomic_fetch_add(place, source, __ATOMIC_SEQ_CST);
  if constexpr (kAtomic == Atomic::kSub) return __atomic_fetch_sub(place, source, __ATOMIC_SEQ_CST);
  if constexpr (kAtomic == Atomic::kSwap) return __atomic_exchange_n(place, source, __ATOMIC_SEQ_CST);
  T seen = kAtomic == Atomic::kCmpSwap ? other : __atomic_load_n(place, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(place, &seen, next_value<kAtomic>(seen, source, other), false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    if constexpr (kAtomic == Atomic::kCmpSwap) break;
  }
  return seen;
}

/// Does it for the first lane of `left` and for those directly behind it of which `is_there` says that they have the same
/// place: memory sees one operation that has the effect of theirs in a row, which is one of the orders in which it could
/// have seen them. `olds` receives what each found; says which lanes these were.
template <Atomic kAtomic, class T, class IsThere, class Source, class Other>
inline uint64_t atomically_in_a_row(T* place, uint64_t left, T* olds, IsThere is_there, Source source,
                                    Other other) {
  const unsigned first = first_lane(left);
  uint64_t together = left & (~left + 1);
  for (left &= left - 1; left != 0 && is_there(first_lane(left)); left &= left - 1)
    together |= left & (~left + 1);
  if ((together & (together - 1)) == 0) {
    olds[first] = atomically<kAtomic>(place, source(first), other(first));
    return together;
  }
  T seen = __atomic_load_n(place, __ATOMIC_RELAXED);
  T next = 0;
  do {
    next = seen;
    for (const unsigned lane : lanes_of(together)) {
      olds[lane] = next;
      next = next_value<kAtomic>(next, source(lane), other(lane));
    }
  } while (!__atomic_compare_exchange_n(place, &seen, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return together;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
