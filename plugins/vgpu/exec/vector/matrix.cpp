// Matrix instructions (MFMA, SMFMAC), and moves between VGPRs and accumulation registers.
//
// Arithmetic (isa::MatrixSums): AMD does not document it. The rules are those of MMA-Sim (arXiv 2511.10909),
// which was compared with hardware. A NaN result is 0x7fc00000 (F64: 0x7ff8000000000000). Integers wrap
// around. MFMA ignores EXEC and MODE (CDNA ISA manuals, "Matrix arithmetic instructions").
#include <cstring>
#include <limits>

#include "plugins/vgpu/exec/float_environment.hpp"
#include "plugins/vgpu/exec/memory_ops/memory_handlers.hpp"
#include "plugins/vgpu/exec/vector/half.hpp"
#include "plugins/vgpu/exec/vector/lower.hpp"
#include "plugins/vgpu/isa/matrix_shape.hpp"
#include "plugins/vgpu/isa/op_class.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::MatrixShape;
using isa::MatrixSums;
using isa::MatrixType;
using isa::Op;

constexpr unsigned kLanesOfWave = 64;
constexpr unsigned kMostSide = 32;

struct MatrixAccess {
  MatrixShape shape;
  uint32_t a = 0, b = 0, c = 0, d = 0;  // offsets of the first rows
  uint32_t indices = 0;                 // of a sparse A
  uint8_t first_index_bit = 0;
  uint8_t negations = 0;      // bits 0 to 2: A, B, C
  bool has_constant = false;  // C is `constant` in all elements.
  uint64_t constant = 0;
  uint8_t broadcast = 0;  // CBSZ: groups of 2^CBSZ blocks use one block of A.
  uint8_t block = 0;      // ABID: which one
  uint8_t pattern = 0;    // BLGP
  MatrixSums sums{};
  uint8_t group = 1;  // products that are added before C, for F16 and BF16
};

const uint32_t* row_at(const std::byte* registers, uint32_t offset, unsigned index) {
  return reinterpret_cast<const uint32_t*>(registers + offset) + index * kLanesOfWave;
}

// BLGP: the lane whose B a lane uses.
constexpr unsigned source_lane(unsigned pattern, unsigned lane) {
  switch (pattern) {
    case 1:
      return lane % 32;
    case 2:
      return lane % 32 + 32;
    case 3:
      return (lane + 16) % 64;
    case 4:
    case 5:
    case 6:
    case 7:
      return lane % 16 + 16 * (pattern - 4);
    default:
      return lane;
  }
}

// Lanes of C and D that are computed at a time: F32, U32 or F64.
template <class Value>
struct VectorOf {
  using Lanes = F32;
};
template <>
struct VectorOf<uint32_t> {
  using Lanes = U32;  // Sums of integers wrap around.
};
template <>
struct VectorOf<int32_t> {
  using Lanes = I32;
};
template <>
struct VectorOf<double> {
  using Lanes = F64;
};

template <MatrixType kType>
using SumOf = std::conditional_t<kType == MatrixType::kI8, uint32_t,
                                 std::conditional_t<kType == MatrixType::kF64, double, float>>;

constexpr bool is_half(MatrixType type) {
  return type == MatrixType::kF16 || type == MatrixType::kBf16;
}
// Whether the products of several k are added before they are added to C.
constexpr bool has_groups(MatrixType type) {
  return is_half(type) || type == MatrixType::kXf32 || type == MatrixType::kFp8;
}

constexpr uint32_t kMagnitude = 0x7fffffff, kLeastNormal = 0x800000;
constexpr unsigned kSingleFraction = 23, kSpecialExponent = 0xff;
constexpr int kBias = 127;

F32 flushed(F32 value) {
  const U32 bits = bits_as<U32>(value);
  return bits_as<F32>(select((bits & kMagnitude) < kLeastNormal, bits & ~kMagnitude, bits));
}
F32 positive_if_denormal(F32 value) {
  const U32 bits = bits_as<U32>(value), magnitude = bits & kMagnitude;
  return bits_as<F32>(select((magnitude < kLeastNormal) & (magnitude != 0), U32{}, bits));
}

// FP8 and BF8 of CDNA 3 as singles: a byte has no infinity, and one NaN.
F32 of_byte(U32 byte, bool is_bf8) {
  const unsigned fraction = is_bf8 ? 2 : 3;
  const U32 magnitude = byte & 0x7f;
  const U32 normal =
      (magnitude << (kSingleFraction - fraction)) + ((is_bf8 ? 111u : 119u) << kSingleFraction);
  const F32 denormal = convert<F32>(bits_as<I32>(magnitude)) * (is_bf8 ? 0x1p-17f : 0x1p-10f);
  const U32 bits = select(magnitude < (1u << fraction), bits_as<U32>(denormal), normal) | (byte & 0x80) << 24;
  return bits_as<F32>(select((byte & 0xff) == 0x80, splat<U32>(0x7fc00000u), bits));
}

// Element `e` of lanes of a row of registers. The type of bytes is `type`.
template <MatrixType kType>
auto elements(const MatrixAccess& access, MatrixType type, const std::byte* registers, uint32_t offset,
              unsigned lane, unsigned e) {
  const auto row = [&](unsigned index) {
    return reinterpret_cast<const std::byte*>(row_at(registers, offset, index) + lane);
  };
  if constexpr (kType == MatrixType::kF64) {
    return bits_as<F64>(widened(load<U32h>(row(0)), load<U32h>(row(1))));
  } else if constexpr (kType == MatrixType::kF32) {
    return load<F32>(row(0));
  } else if constexpr (kType == MatrixType::kXf32) {
    return bits_as<F32>(load<U32>(row(e)) & ~uint32_t{0x1fff});
  } else if constexpr (kType == MatrixType::kI8) {
    return bits_as<U32>(bits_as<I32>(load<U32>(row(e / 4)) << (24 - 8 * (e % 4))) >> 24);
  } else if constexpr (kType == MatrixType::kFp8) {
    return of_byte(load<U32>(row(e / 4)) >> (8 * (e % 4)), type == MatrixType::kBf8);
  } else {
    const U32 half = load<U32>(row(e / 2)) >> (16 * (e % 2)) & 0xffff;
    const F32 value = kType == MatrixType::kF16 ? half_to_single(half) : bits_as<F32>(half << 16);
    if (access.sums != MatrixSums::kFlushed) return value;
    const U32 magnitude = half & 0x7fff;
    return select((magnitude < (kType == MatrixType::kF16 ? 0x400u : 0x80u)) & (magnitude != 0), F32{},
                  value);
  }
}

constexpr unsigned kMostElements = kLanesOfWave * 16;  // of A or B

// Elements of A or B: [block][k][i], where k counts those that registers have.
template <class T>
struct Elements {
  using Value = T;
  unsigned count = 0;
  alignas(64) Value values[kMostElements];

  // pick(array) returns lanes of an array like `values`.
  template <class Pick>
  auto lanes(Pick pick) const {
    return pick(values);
  }
};

// An element is mantissa × 2^(exponent - fraction of its format).
struct NumberLanes {
  I32 mantissa, exponent;
  F32 value;
};

struct Numbers : Elements<float> {
  alignas(64) int32_t mantissas[kMostElements];
  alignas(64) int32_t exponents[kMostElements];

  template <class Pick>
  NumberLanes lanes(Pick pick) const {
    return {pick(mantissas), pick(exponents), pick(values)};
  }
};

F32 value_of(F32 value) {
  return value;
}
F32 value_of(const NumberLanes& number) {
  return number.value;
}

template <MatrixType kType, MatrixSums kSums>
using ElementsOf =
    std::conditional_t<has_groups(kType) && kSums == MatrixSums::kTruncated, Numbers, Elements<SumOf<kType>>>;

// Reads A or B, of which a lane has `per_lane` elements.
template <MatrixType kType, unsigned kSide, class Value>
void read_elements(const MatrixAccess& access, MatrixType type, const std::byte* registers, uint32_t offset,
                   unsigned pattern, unsigned per_lane, Elements<Value>& to) {
  const MatrixShape& shape = access.shape;
  const unsigned k = shape.k / shape.per_lane * per_lane;
  to.count = kLanesOfWave * per_lane;
  for (unsigned e = 0; e < per_lane; ++e) {
    Value row[kLanesOfWave];
    for (unsigned lane = 0; lane < kLanesOfWave; lane += kCount<typename VectorOf<Value>::Lanes>) {
      store(reinterpret_cast<std::byte*>(row + lane),
            elements<kType>(access, type, registers, offset, lane, e));
    }
    for (unsigned first = 0; first < kLanesOfWave; first += kSide) {
      const unsigned part = first / kSide;
      Value* const place = to.values + (part % shape.blocks * k + part / shape.blocks * per_lane + e) * kSide;
      for (unsigned i = 0; i < kSide; ++i)
        place[i] = row[pattern == 0 ? first + i : source_lane(pattern, first + i)];
    }
  }
}

struct Format {
  int fraction;        // bits after the binary point
  int least_exponent;  // of normal numbers
};

constexpr Format format_of(MatrixType type) {
  switch (type) {
    case MatrixType::kF16:
      return {10, -14};
    case MatrixType::kBf16:
      return {7, -126};
    case MatrixType::kFp8:
      return {3, -7};
    case MatrixType::kBf8:
      return {2, -15};
    default:
      return {10, -126};
  }
}

constexpr int kExponentOfZero = -126;

// Negative if `sign` is -1.
I32 with_sign(I32 value, I32 sign) {
  return (value ^ sign) - sign;
}
I32 larger(I32 a, I32 b) {
  return select(a > b, a, b);
}
// Shifts right by at most 31.
I32 shifted(I32 value, I32 by) {
  return value >> select(by > 31, splat<I32>(31), by);
}

// Mantissa and exponent of a finite single, whose exponent is at least that of its format.
NumberLanes number_of(F32 value, Format format) {
  const I32 bits = bits_as<I32>(value);
  const I32 biased = bits >> kSingleFraction & kSpecialExponent;
  I32 mantissa = (bits & 0x7fffff) | select(biased != 0, splat<I32>(1 << kSingleFraction), I32{});
  I32 exponent = larger(biased, splat<I32>(1)) - kBias;
  const I32 least = splat<I32>(format.least_exponent);
  mantissa = shifted(mantissa, larger(least - exponent, I32{})) >>
             (static_cast<int>(kSingleFraction) - format.fraction);
  exponent = select((bits & static_cast<int32_t>(kMagnitude)) == 0, splat<I32>(kExponentOfZero),
                    larger(exponent, least));
  return {with_sign(mantissa, bits >> 31), exponent, value};
}

void separate(Numbers& numbers, Format format) {
  for (unsigned i = 0; i < numbers.count; i += kLanes) {
    const auto place = [i](auto* values) { return reinterpret_cast<std::byte*>(values + i); };
    const NumberLanes number = number_of(load<F32>(place(numbers.values)), format);
    store(place(numbers.mantissas), number.mantissa);
    store(place(numbers.exponents), number.exponent);
  }
}

// Returns the largest exponent of single precision: 0xff if an element is an infinity or NaN.
unsigned largest_exponent(const Elements<float>& elements) {
  U32 largest{};
  for (unsigned i = 0; i < elements.count; i += kLanes) {
    const U32 bits = load<U32>(reinterpret_cast<const std::byte*>(elements.values + i)) & kMagnitude;
    largest = select(bits > largest, bits, largest);
  }
  uint32_t most = 0;
  for (int i = 0; i < kLanes; ++i) most = std::max<uint32_t>(most, largest[i]);
  return most >> kSingleFraction;
}

// Whether a product of finite elements may be 2^128 or more, or an element is not finite.
bool has_special_products(const Elements<float>& a, const Elements<float>& b) {
  const unsigned of_a = largest_exponent(a), of_b = largest_exponent(b);
  constexpr unsigned kLimit = 127 + 127 + 126;  // biased; the fractions are below 2.
  return std::max(of_a, of_b) == kSpecialExponent || of_a + of_b > kLimit;
}

// Sums of two doubles and their rounding errors (Knuth's TwoSum).
struct DoubleSum {
  F64 sum, error;
  DoubleSum(F64 a, F64 b) : sum(a + b) {
    const F64 b_part = sum - a;
    error = (a - (sum - b_part)) + (b - b_part);
  }
};

// Rounds a + b to odd: if the sum is inexact, the last bit of the result is 1 (Boldo and Melquiond, 2008).
F64 odd_sum(F64 a, F64 b) {
  const DoubleSum exact(a, b);
  const U64 bits = bits_as<U64>(exact.sum);
  const U64 odd = select((exact.error > 0) == (exact.sum > 0), bits + 1, bits - 1);
  return bits_as<F64>(select((exact.error == 0) | ((bits & 1) != 0), bits, odd));
}

// Returns a + b + c, rounded once to single precision.
F32h rounded_sum(F64 a, F64 b, F64 c) {
  const DoubleSum upper(b, c), all(a, upper.sum);
  return convert<F32h>(odd_sum(all.sum, odd_sum(all.error, upper.error)));
}

// Calls f(half) for both halves of lanes: half(vector) returns its half of F32 as F64.
template <class F>
F32 for_halves(F f) {
  return joined<F32>(f([](F32 v) { return convert<F64>(low_half<F32h>(v)); }),
                     f([](F32 v) { return convert<F64>(high_half<F32h>(v)); }));
}

F32 unless_special(F32 c, F32 sum) {
  return select((bits_as<U32>(c) >> kSingleFraction & kSpecialExponent) == kSpecialExponent, c, sum);
}

// Returns c plus the products of a(k) and b(k), rounded once. Products of F16 are multiples of 2^-48 below
// 2^33, those of BF16 are exact doubles.
template <MatrixType kType, class A, class B>
F32 exact_sum(F32 c, A a, B b) {
  return for_halves([&](auto half) {
    const auto product = [&](unsigned k) { return half(a(k)) * half(b(k)); };
    if constexpr (kType == MatrixType::kBf16) return rounded_sum(half(c), product(0), product(1));
    F64 high{}, low{};
    for (unsigned k = 0; k < 4; ++k) {
      constexpr double kMultiples = 0x1.8p44;  // of 2^-8
      const F64 whole = product(k), upper = (whole + kMultiples) - kMultiples;
      high += upper;
      low += whole - upper;
    }
    return rounded_sum(half(c), high, low);
  });
}

constexpr int kUnit = 24, kFineUnit = 31;  // fraction bits of aligned products and of the sum

// sum × 2^(exponent - kUnit)
struct Aligned {
  I32 sum, exponent;
};

// Adds every kStep-th product, truncated to the unit of the largest.
template <unsigned kCountOfProducts, unsigned kStep>
Aligned aligned_products(const I32* mantissas, const I32* exponents, int fraction) {
  I32 largest = exponents[0];
  for (unsigned k = kStep; k < kCountOfProducts; k += kStep) largest = larger(largest, exponents[k]);
  I32 sum{};
  for (unsigned k = 0; k < kCountOfProducts; k += kStep) {
    const I32 sign = mantissas[k] >> 31;
    const I32 magnitude = with_sign(mantissas[k], sign) << (kUnit - fraction);
    sum += with_sign(shifted(magnitude, largest - exponents[k]), sign);
  }
  return {sum, largest};
}

// 2^power
F64 power_of_two(I32h power) {
  constexpr int kBiasOfDoubles = 1023, kFractionOfDoubles = 52;
  return bits_as<F64>(zero_extended(bits_as<U32h>(power + kBiasOfDoubles)) << kFractionOfDoubles);
}

// Returns c plus the products of a(k) and b(k), rounded down to units of the largest.
template <unsigned kCountOfProducts, bool kByHalves, class A, class B>
F32 truncated_sum(F32 c, A a, B b, int fraction) {
  I32 mantissas[kCountOfProducts], exponents[kCountOfProducts];
  for (unsigned k = 0; k < kCountOfProducts; ++k) {
    const NumberLanes left = a(k), right = b(k);
    mantissas[k] = left.mantissa * right.mantissa;
    exponents[k] = left.exponent + right.exponent;
  }
  Aligned products;
  if constexpr (kByHalves) {
    const Aligned even = aligned_products<kCountOfProducts, 2>(mantissas, exponents, fraction);
    const Aligned odd = aligned_products<kCountOfProducts - 1, 2>(mantissas + 1, exponents + 1, fraction);
    products.exponent = larger(even.exponent, odd.exponent);
    products.sum = shifted(even.sum, products.exponent - even.exponent) +
                   shifted(odd.sum, products.exponent - odd.exponent);
  } else {
    products = aligned_products<kCountOfProducts, 1>(mantissas, exponents, fraction);
  }
  const NumberLanes start = number_of(c, {kSingleFraction, kExponentOfZero});
  const I32 exponent = larger(products.exponent, start.exponent), below = exponent - start.exponent;
  I32 rounded = shifted(start.mantissa << (kUnit - static_cast<int>(kSingleFraction)), below);
  if constexpr (kByHalves) rounded = select(below <= kUnit + 1, rounded, I32{});
  // All shifted bits are lost with kMostShift.
  constexpr int kMostShift = 64;
  const I32 shift = exponent - products.exponent;
  const I32 scale = (kFineUnit - kUnit) - select(shift > kMostShift, splat<I32>(kMostShift), shift);
  const auto of_half = [&](auto half) {
    const F64 fine =
        round_to_integer<Rounding::kDown>(convert<F64>(half(products.sum)) * power_of_two(half(scale)));
    const F64 sum = fine + convert<F64>(half(rounded)) * double{1 << (kFineUnit - kUnit)};
    return convert<F32h>(sum * power_of_two(half(exponent) - kFineUnit));
  };
  return joined<F32>(of_half([](I32 v) { return low_half<I32h>(v); }),
                     of_half([](I32 v) { return high_half<I32h>(v); }));
}

// Replaces sums of which a product is not finite, or, with kTruncated, overflows.
template <MatrixSums kSums, class A, class B>
F32 with_special(F32 c, F32 sum, unsigned count, A a, B b) {
  return for_halves([&](auto half) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity(),
                     kNan = std::numeric_limits<double>::quiet_NaN();
    F64 plain = half(c), largest{}, least{};
    for (unsigned k = 0; k < count; ++k) {
      const F64 product = half(value_of(a(k))) * half(value_of(b(k)));
      plain += product;
      largest = select(product > largest, product, largest);
      least = select(product < least, product, least);
    }
    F64 result = half(sum);
    if constexpr (kSums == MatrixSums::kTruncated) {
      constexpr double kOverflow = 0x1p128;
      result = select(least <= -kOverflow, splat<F64>(-kInfinity), result);
      result = select(largest >= kOverflow,
                      select(least <= -kOverflow, splat<F64>(kNan), splat<F64>(kInfinity)), result);
    }
    return convert<F32h>(select(plain - plain != 0, plain, result));
  });
}

// Returns sum + the products of a(k) and b(k).
template <MatrixType kType, MatrixSums kSums, bool kHasSpecial, class Lanes, class A, class B>
[[gnu::always_inline]] inline Lanes added(const MatrixAccess& access, unsigned count, Lanes sum, A a, B b) {
  if constexpr (!has_groups(kType)) {
    for (unsigned k = 0; k < count; ++k) {
      if constexpr (kType == MatrixType::kI8) {
        sum += a(k) * b(k);
      } else {
        sum = fused(a(k), b(k), sum);
      }
    }
  } else if constexpr (kSums == MatrixSums::kFlushed) {
    // Without fused operations; denormals are flushed.
    for (unsigned k = 0; k < count; k += access.group) {
      const auto product = [&](unsigned index) { return flushed(a(k + index) * b(k + index)); };
      F32 products = flushed(product(0) + product(1));
      if (access.group == 4) products = flushed(products + flushed(product(2) + product(3)));
      sum = flushed(positive_if_denormal(sum) + products);
    }
  } else {
    const unsigned group = std::min<unsigned>(access.group, count);
    const int fraction = format_of(access.shape.type).fraction + format_of(access.shape.b_type).fraction;
    for (unsigned first = 0; first < count; first += group) {
      const auto left = [&](unsigned k) { return a(first + k); };
      const auto right = [&](unsigned k) { return b(first + k); };
      F32 next;
      if constexpr (kSums == MatrixSums::kExact) {
        next = exact_sum<kType>(sum, left, right);
      } else if constexpr (kType == MatrixType::kFp8) {
        next = truncated_sum<16, true>(sum, left, right, fraction);
      } else if (is_half(kType) && group == 8) {
        next = truncated_sum<8, false>(sum, left, right, fraction);
      } else {
        next = truncated_sum<4, false>(sum, left, right, fraction);
      }
      sum = kHasSpecial ? with_special<kSums>(sum, next, group, left, right) : unless_special(sum, next);
    }
  }
  return sum;
}

// Reads the k of the stored elements of a sparse A, [k][i]: two of each four have an index of two bits.
template <unsigned kSide>
void read_indices(const MatrixAccess& access, const std::byte* registers, uint8_t* to) {
  const unsigned per_lane = access.shape.per_lane, stored = per_lane / 2u;
  for (unsigned lane = 0; lane < kLanesOfWave; ++lane) {
    const unsigned part = lane / kSide;
    const uint32_t indices = row_at(registers, access.indices, 0)[lane] >> access.first_index_bit;
    for (unsigned e = 0; e < stored; ++e) {
      to[(part * stored + e) * kSide + lane % kSide] =
          static_cast<uint8_t>(part * per_lane + e / 2 * 4 + (indices >> 2 * e & 3));
    }
  }
}

// A row of C and D has parts of kSide lanes, which are rows of a block, so that sums are computed in place.
template <MatrixType kType, unsigned kSide, MatrixSums kSums, bool kHasSpecial>
void multiply_rows(const MatrixAccess& access, std::byte* registers, const ElementsOf<kType, kSums>& a,
                   const ElementsOf<kType, kSums>& b) {
  using Value = SumOf<kType>;
  using Lanes = typename VectorOf<Value>::Lanes;
  constexpr unsigned kAtOnce = kCount<Lanes>, kDwords = sizeof(Value) / 4;
  MatrixShape shape = access.shape;
  shape.m = shape.n = kSide;
  const unsigned results = shape.results(), stored = shape.is_sparse ? shape.k / 2u : shape.k,
                 broadcast_mask = std::min((1u << access.broadcast) - 1, shape.blocks - 1u);
  uint8_t k_of_stored[kMostElements];
  if (shape.is_sparse) read_indices<kSide>(access, registers, k_of_stored);
  const std::byte* c = registers + access.c;
  std::byte* const d = registers + access.d;
  const size_t bytes = results * kDwords * kLanesOfWave * 4;
  alignas(64) std::byte copy[kMostSide * kLanesOfWave * 4];
  if (!access.has_constant && c != d && c < d + bytes && d < c + bytes) {
    std::memcpy(copy, c, bytes);
    c = copy;
  }
  // Indices of the elements with k = 0; those of the next k are kSide further.
  const auto first_of_a = [&](const isa::MatrixPlace& place) {
    const unsigned block = (place.block & ~broadcast_mask) | (access.block & broadcast_mask);
    return block * stored * kSide + place.i;
  };
  const auto first_of_b = [&](const isa::MatrixPlace& place) {
    return place.block * shape.k * kSide + place.j;
  };
  for (unsigned v = 0; v < results; ++v) {
    for (unsigned lane = 0; lane < kLanesOfWave; lane += kAtOnce) {
      const size_t low = (v * kDwords * kLanesOfWave + lane) * 4, high = low + kLanesOfWave * 4;
      Lanes sum;
      if constexpr (kDwords == 2) {
        U64 bits = splat<U64>(access.constant);
        if (!access.has_constant) bits = widened(load<U32h>(c + low), load<U32h>(c + high));
        if ((access.negations & 4) != 0) bits ^= splat<U64>(uint64_t{1} << 63);
        sum = bits_as<Lanes>(bits);
      } else {
        sum = access.has_constant ? bits_as<Lanes>(splat<U32>(static_cast<uint32_t>(access.constant)))
                                  : load<Lanes>(c + low);
      }
      const auto add = [&](auto of_a, auto of_b) {
        return added<kType, kSums, kHasSpecial>(access, stored, sum, of_a, of_b);
      };
      if constexpr (kSide >= kAtOnce) {
        const isa::MatrixPlace place = isa::place_of_result(shape, lane, v);
        const unsigned in_a = first_of_a(place), in_b = first_of_b(place);
        sum = add(
            [&](unsigned k) {
              return a.lanes([at = in_a + k * kSide](const auto* from) {
                return splat<typename VectorOf<std::remove_cvref_t<decltype(*from)>>::Lanes>(from[at]);
              });
            },
            [&](unsigned k) {
              if (shape.is_sparse) k = k_of_stored[k * kSide + place.i];
              return b.lanes([at = in_b + k * kSide](const auto* from) {
                return load<typename VectorOf<std::remove_cvref_t<decltype(*from)>>::Lanes>(
                    reinterpret_cast<const std::byte*>(from + at));
              });
            });
      } else {  // Several blocks of 4×4.
        unsigned in_a[kAtOnce], in_b[kAtOnce];
        for (unsigned i = 0; i < kAtOnce; ++i) {
          const isa::MatrixPlace place = isa::place_of_result(shape, lane + i, v);
          in_a[i] = first_of_a(place);
          in_b[i] = first_of_b(place);
        }
        const auto gathered = [](const unsigned* places, unsigned k) {
          return [=](const auto* from) {
            typename VectorOf<std::remove_cvref_t<decltype(*from)>>::Lanes values{};
            for (unsigned i = 0; i < kAtOnce; ++i) values[i] = from[places[i] + k * kSide];
            return values;
          };
        };
        sum = add([&](unsigned k) { return a.lanes(gathered(in_a, k)); },
                  [&](unsigned k) { return b.lanes(gathered(in_b, k)); });
      }
      if constexpr (kType != MatrixType::kI8)
        sum = select(sum != sum, splat<Lanes>(std::numeric_limits<Value>::quiet_NaN()), sum);
      if constexpr (kDwords == 2) {
        store(d + low, low_dwords(bits_as<U64>(sum)));
        store(d + high, low_dwords(bits_as<U64>(sum) >> 32));
      } else {
        store(d + low, sum);
      }
    }
  }
}

template <MatrixType kType, unsigned kSide, MatrixSums kSums>
void multiply(const MatrixAccess& access, std::byte* registers) {
  const MatrixShape& shape = access.shape;
  ElementsOf<kType, kSums> a, b;
  read_elements<kType, kSide>(access, shape.type, registers, access.a, 0,
                              shape.is_sparse ? shape.per_lane / 2u : shape.per_lane, a);
  read_elements<kType, kSide>(access, shape.b_type, registers, access.b, access.pattern, shape.per_lane, b);
  if constexpr (kType == MatrixType::kF64) {
    for (unsigned i = 0; i < kLanesOfWave; ++i) {
      if ((access.negations & 1) != 0) a.values[i] = -a.values[i];
      if ((access.negations & 2) != 0) b.values[i] = -b.values[i];
    }
  }
  if constexpr (has_groups(kType) && kSums != MatrixSums::kFlushed) {
    if constexpr (kSums == MatrixSums::kTruncated) {
      separate(a, format_of(shape.type));
      separate(b, format_of(shape.b_type));
    }
    if (has_special_products(a, b)) return multiply_rows<kType, kSide, kSums, true>(access, registers, a, b);
  }
  multiply_rows<kType, kSide, kSums, false>(access, registers, a, b);
}

template <MatrixType kType, unsigned kSide>
void multiply(const MatrixAccess& access, std::byte* registers) {
  if constexpr (is_half(kType)) {
    if (access.sums == MatrixSums::kExact)
      return multiply<kType, kSide, MatrixSums::kExact>(access, registers);
    if (access.sums == MatrixSums::kFlushed)
      return multiply<kType, kSide, MatrixSums::kFlushed>(access, registers);
  }
  multiply<kType, kSide, MatrixSums::kTruncated>(access, registers);
}

template <MatrixType kType>
void multiply_blocks(const MatrixAccess& access, std::byte* registers) {
  switch (access.shape.m) {
    case 4:
      return multiply<kType, 4>(access, registers);
    case 16:
      return multiply<kType, 16>(access, registers);
    default:
      return multiply<kType, 32>(access, registers);
  }
}

template <MatrixType kType>
void matrix(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  const auto& access = details<MatrixAccess>(op);
  {
    const MxcsrScope environment(kDefaultMxcsr);
    multiply_blocks<kType>(access, registers);
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

Handler matrix_handler(MatrixType type) {
  switch (type) {
    case MatrixType::kF32:
      return matrix<MatrixType::kF32>;
    case MatrixType::kF16:
      return matrix<MatrixType::kF16>;
    case MatrixType::kBf16:
      return matrix<MatrixType::kBf16>;
    case MatrixType::kI8:
      return matrix<MatrixType::kI8>;
    case MatrixType::kXf32:
      return matrix<MatrixType::kXf32>;
    case MatrixType::kFp8:
    case MatrixType::kI4:
    case MatrixType::kI32:  // of RDNA
    case MatrixType::kBf8:  // The shape has the types.
      return matrix<MatrixType::kFp8>;
    case MatrixType::kF64:
      break;
  }
  return matrix<MatrixType::kF64>;
}

// Copies a row, or a uniform value, to active lanes.
void move_row(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  {
    const bool uniform = (op->aux & aux::kUniform) != 0;
    const U32 value = uniform ? splat_dword<U32>(uniform_place(op, registers, 0)) : U32{};
    each_chunk<kLanes>(
        op->aux, exec, [&](size_t lane, uint32_t bits) __attribute__((always_inline)) {
          put(registers + op->dst + lane * 4,
              uniform ? value : load<U32>(registers + op->src[0].offset + lane * 4), bits);
        });
  }
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

// Returns how many products are added at once (MMA-Sim).
uint8_t products_of_group(const MatrixShape& shape, MatrixSums sums) {
  if (sums == MatrixSums::kTruncated) {
    if (shape.type == MatrixType::kXf32) return 4;
    return isa::bits_of(shape.type) == 8 ? 16 : 8;
  }
  // Lanes of one register add their two elements.
  const bool has_pairs =
      shape.type == MatrixType::kBf16 && (shape.per_lane == 2 || sums == MatrixSums::kExact);
  return has_pairs ? 2 : 4;
}

Refusal lower_multiplication(Lowering& lowering, const MatrixShape& shape) {
  const isa::Instruction& in = lowering.instruction;
  const RegisterLayout& layout = lowering.context.layout;
  if (layout.wave_size != kLanesOfWave) return "matrix instructions need waves of 64";
  const isa::Traits& traits = lowering.context.traits();
  MatrixAccess access;
  access.shape = shape;
  if (!row_offset(in.src[0], layout, access.a) || !row_offset(in.src[1], layout, access.b) ||
      !row_offset(in.dst[0], layout, access.d)) {
    return kRefuseRegister;
  }
  if (shape.is_sparse) {
    access.c = access.d;
    if (!row_offset(in.src[2], layout, access.indices)) return kRefuseRegister;
  } else if (!row_offset(in.src[2], layout, access.c)) {
    access.has_constant = constant_of(in.src[2], in, access.constant);
    if (!access.has_constant) return kRefuseRegister;
  }
  if (shape.has_lane_controls) {
    access.broadcast = in.cbsz;
    access.block = in.abid;
    access.pattern = in.blgp;
  }
  if (shape.type == MatrixType::kF64 && traits.matrix_negates_doubles) access.negations = in.blgp;
  if (shape.is_sparse) {
    // CBSZ other than 0 selects the first set of indices, otherwise ABID does.
    const unsigned bits = 2 * (shape.per_lane / 2u), sets = 32 / bits;
    access.first_index_bit = static_cast<uint8_t>((in.cbsz & 3) != 0 ? 0 : bits * (in.abid % sets));
  }
  access.sums = traits.matrix_sums;
  access.group = products_of_group(shape, access.sums);
  lowering.out.emit(matrix_handler(shape.type)).imm =
      reinterpret_cast<uint64_t>(&allocate(lowering.out, access));
  return {};
}

Refusal lower_move(Lowering& lowering) {
  if (!lowering.place_sources(1)) return "source operand is not readable";
  if (!row_offset(lowering.instruction.dst[0], lowering.context.layout, lowering.dst))
    return "destination operand is not writable";
  lowering.emit(move_row, {});
  return {};
}

}  // namespace

std::optional<Refusal> lower_matrix(Lowering& lowering) {
  const Op op = lowering.instruction.op;
  if (isa::op_class(op) != isa::OpClass::kMatrix) return std::nullopt;
  if (lowering.context.gpr_index != 0) return "matrix instruction while GPR indexing is on";
  const MatrixShape* const shape = isa::matrix_shape(op);
  return shape != nullptr ? lower_multiplication(lowering, *shape) : lower_move(lowering);
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
