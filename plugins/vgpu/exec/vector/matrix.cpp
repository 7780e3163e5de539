// Matrix instructions (MFMA, SMFMAC), and moves between VGPRs and accumulation registers.
//
// Arithmetic (isa::MatrixSums): AMD does not document it. The rules are those of MMA-Sim (arXiv 2511.10909),
// which was compared with hardware. A NaN result is 0x7fc00000 (F64: 0x7ff8000000000000). Integers wrap
// around. MFMA ignores EXEC and MODE (CDNA ISA manuals, "Matrix arithmetic instructions").
#include <bit>
#include <cmath>
#include <limits>

#include "plugins/vgpu/exec/float_environment.hpp"
#include "plugins/vgpu/exec/memory_ops/memory_handlers.hpp"
#include "plugins/vgpu/exec/vector/lower.hpp"
#include "plugins/vgpu/images/halves.hpp"
#include "plugins/vgpu/isa/matrix_shape.hpp"
#include "plugins/vgpu/isa/op_class.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::MatrixShape;
using isa::MatrixType;
using isa::Op;

constexpr unsigned kLanesOfWave = 64;
constexpr unsigned kMostSide = 32, kMostInner = 64;

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
  isa::MatrixSums sums{};
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

template <MatrixType kType>
struct Element {
  using Value = float;
  using Sum = float;
};
template <>
struct Element<MatrixType::kI8> {
  using Value = int32_t;
  using Sum = int32_t;
};
template <>
struct Element<MatrixType::kF64> {
  using Value = double;
  using Sum = double;
};

// Returns element `e` of a lane.
template <MatrixType kType>
typename Element<kType>::Value element(const std::byte* registers, uint32_t offset, unsigned lane,
                                       unsigned e) {
  if constexpr (kType == MatrixType::kF64) {
    const uint64_t bits = row_at(registers, offset, 0)[lane] | uint64_t{row_at(registers, offset, 1)[lane]}
                                                                   << 32;
    return std::bit_cast<double>(bits);
  } else if constexpr (kType == MatrixType::kF32) {
    return std::bit_cast<float>(row_at(registers, offset, 0)[lane]);
  } else if constexpr (kType == MatrixType::kI8) {
    return static_cast<int8_t>(row_at(registers, offset, e / 4)[lane] >> 8 * (e % 4));
  } else {
    const uint32_t half = row_at(registers, offset, e / 2)[lane] >> 16 * (e % 2) & 0xffff;
    if constexpr (kType == MatrixType::kF16) return images::float_from_half(half);
    return std::bit_cast<float>(half << 16);
  }
}

template <class Sum>
Sum multiply_add(Sum a, Sum b, Sum sum) {
  if constexpr (std::is_same_v<Sum, int32_t>) {
    return static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(a * b));
  } else {
    return std::fma(a, b, sum);
  }
}

// Sums of two doubles and their rounding errors (Knuth's TwoSum).
struct DoubleSum {
  double sum, error;
  DoubleSum(double a, double b) : sum(a + b) {
    const double b_part = sum - a;
    error = (a - (sum - b_part)) + (b - b_part);
  }
};

// Rounds a + b to odd: if the sum is inexact, the last bit of the result is 1 (Boldo and Melquiond, 2008).
double odd_sum(double a, double b) {
  const DoubleSum exact(a, b);
  uint64_t bits = std::bit_cast<uint64_t>(exact.sum);
  if (exact.error == 0 || (bits & 1) != 0) return exact.sum;
  bits += (exact.error > 0) == (exact.sum > 0) ? 1 : ~uint64_t{0};
  return std::bit_cast<double>(bits);
}

// Returns a + b + c, rounded once to single precision.
float rounded_sum(double a, double b, double c) {
  const DoubleSum upper(b, c), all(a, upper.sum);
  return static_cast<float>(odd_sum(all.sum, odd_sum(all.error, upper.error)));
}

// Returns c plus the products of `count` (2 or 4) elements, rounded once. Products of halves are multiples of
// 2^-48 below 2^33, those of BF16 are exact doubles.
template <MatrixType kType>
float exact_sum(const float* a, const float* b, size_t stride, unsigned count, float c) {
  double products[4] = {};
  double plain = c;
  for (unsigned k = 0; k < count; ++k) {
    products[k] = double{a[k * stride]} * double{b[k * stride]};
    plain += products[k];
  }
  if (!std::isfinite(plain)) return static_cast<float>(plain);
  if constexpr (kType == MatrixType::kBf16) return rounded_sum(c, products[0], products[1]);
  __extension__ using Wide = __int128;
  constexpr double kUnit = 0x1p-48;
  Wide sum = 0;
  for (unsigned k = 0; k < count; ++k) {
    // In two parts, because the conversion of a double to 128 bits is slow.
    const double upper = std::trunc(products[k]);
    sum += Wide{static_cast<int64_t>(upper)} << 48;
    sum += static_cast<int64_t>((products[k] - upper) / kUnit);
  }
  constexpr unsigned kLowBits = 40;
  const auto high = static_cast<int64_t>(sum >> kLowBits);
  const auto low = static_cast<int64_t>(static_cast<uint64_t>(sum) & ((uint64_t{1} << kLowBits) - 1));
  // 44 and 40 bits.
  return rounded_sum(c, static_cast<double>(high) * (kUnit * 0x1p40), static_cast<double>(low) * kUnit);
}

float flushed(float value) {
  return std::fabs(value) < std::numeric_limits<float>::min() ? std::copysign(0.0f, value) : value;
}
float positive_if_denormal(float value) {
  return std::fabs(value) < std::numeric_limits<float>::min() && value != 0 ? 0.0f : value;
}

// Replaces a denormal F16 or BF16, as a single, by +0.
template <MatrixType kType>
float positive_if_denormal_half(float value) {
  constexpr float kLeastNormal = kType == MatrixType::kF16 ? 0x1p-14f : 0x1p-126f;
  return std::fabs(value) < kLeastNormal && value != 0 ? 0.0f : value;
}

// Returns c plus products without fused operations; denormals are flushed.
float flushed_sum(const float* a, const float* b, size_t stride, unsigned count, float c) {
  float products[4] = {};
  for (unsigned k = 0; k < count; ++k) products[k] = flushed(a[k * stride] * b[k * stride]);
  float sum = flushed(products[0] + products[1]);
  if (count == 4) sum = flushed(sum + flushed(products[2] + products[3]));
  return flushed(positive_if_denormal(c) + sum);
}

// Returns sum + the products of A's row and B's column.
template <MatrixType kType, unsigned kSide>
float grouped_sum(const MatrixAccess& access, const float* a, const float* b, float sum) {
  for (unsigned k = 0; k < access.shape.k; k += access.group) {
    const float* const from_a = a + k * kSide;
    const float* const from_b = b + k * kSide;
    sum = access.sums == isa::MatrixSums::kFlushed
              ? flushed_sum(from_a, from_b, kSide, access.group, sum)
              : exact_sum<kType>(from_a, from_b, kSide, access.group, sum);
  }
  return sum;
}

// The stored elements of a row of A, and the k of each.
template <class Value>
struct RowOfA {
  Value value[kMostInner];
  uint8_t k[kMostInner];
};

// Returns the k of a sparse A's stored element: two of each four have an index of two bits.
unsigned sparse_k(const MatrixAccess& access, const std::byte* registers, unsigned lane, unsigned e) {
  const uint32_t indices = row_at(registers, access.indices, 0)[lane] >> access.first_index_bit;
  return e / 2 * 4 + (indices >> 2 * e & 3);
}

// Reads row i of A: read(lane, element) returns an element. Returns the number of elements.
template <class Value, class Read>
unsigned read_row_of_a(const MatrixAccess& access, const std::byte* registers, unsigned i, unsigned block,
                       RowOfA<Value>& row, Read read) {
  const MatrixShape& shape = access.shape;
  const unsigned stored = shape.is_sparse ? shape.per_lane / 2u : shape.per_lane;
  const unsigned lanes = shape.k / shape.per_lane;
  for (unsigned group = 0; group < lanes; ++group) {
    const unsigned lane = i + shape.m * (block + group * shape.blocks);
    for (unsigned e = 0; e < stored; ++e) {
      const unsigned place = shape.is_sparse ? sparse_k(access, registers, lane, e) : e;
      row.value[group * stored + e] = read(lane, e);
      row.k[group * stored + e] = static_cast<uint8_t>(group * shape.per_lane + place);
    }
  }
  return lanes * stored;
}

// Sums of MatrixSums::kTruncated. An element is mantissa × 2^(exponent - fraction of its format).
struct Number {
  int32_t mantissa;
  int32_t exponent;
  float value;
};

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
constexpr unsigned kSingleFraction = 23;

Number number_of(float value, Format format) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto biased = static_cast<int>(bits >> kSingleFraction & 0xff);
  if (value == 0 || biased == 0xff) return {0, kExponentOfZero, value};
  auto mantissa = static_cast<int32_t>(bits & 0x7fffff) | (biased != 0 ? 1 << kSingleFraction : 0);
  int exponent = std::max(biased, 1) - 127;
  if (exponent < format.least_exponent) {
    mantissa >>= format.least_exponent - exponent;
    exponent = format.least_exponent;
  }
  mantissa >>= static_cast<int>(kSingleFraction) - format.fraction;
  return {value < 0 ? -mantissa : mantissa, exponent, value};
}

float eight_bits(MatrixType type, uint32_t byte) {
  if (byte == 0x80) return std::numeric_limits<float>::quiet_NaN();
  const bool is_fp8 = type == MatrixType::kFp8;
  const int fraction = is_fp8 ? 3 : 2, bias = is_fp8 ? 8 : 16;
  const auto magnitude = static_cast<int>(byte & 0x7f);
  const int exponent = magnitude >> fraction, rest = magnitude & ((1 << fraction) - 1);
  const float value = std::ldexp(static_cast<float>(exponent == 0 ? rest : rest | 1 << fraction),
                                 std::max(exponent, 1) - bias - fraction);
  return (byte & 0x80) != 0 ? -value : value;
}

Number number_at(MatrixType type, const std::byte* registers, uint32_t offset, unsigned lane, unsigned e) {
  const Format format = format_of(type);
  switch (type) {
    case MatrixType::kF16:
      return number_of(element<MatrixType::kF16>(registers, offset, lane, e), format);
    case MatrixType::kBf16:
      return number_of(element<MatrixType::kBf16>(registers, offset, lane, e), format);
    case MatrixType::kFp8:
    case MatrixType::kBf8:
      return number_of(eight_bits(type, row_at(registers, offset, e / 4)[lane] >> 8 * (e % 4) & 0xff),
                       format);
    default:
      break;
  }
  constexpr uint32_t kIgnored = 0x1fff;  // XF32
  return number_of(std::bit_cast<float>(row_at(registers, offset, e)[lane] & ~kIgnored), format);
}

// Returns value × 2^by, rounded down; if `to_zero`, toward zero.
int64_t scaled(int64_t value, int by, bool to_zero = false) {
  if (by >= 0) return value << by;
  const int right = std::min(-by, 63);
  return to_zero && value < 0 ? -(-value >> right) : value >> right;
}

constexpr int kUnit = 24, kFineUnit = 31;  // fraction bits of aligned products and of the sum

// sum × 2^(exponent - kUnit)
struct Aligned {
  int64_t sum;
  int exponent;
};

// Adds every step-th product, truncated to the unit of the largest.
Aligned aligned_products(const int64_t* mantissas, const int* exponents, unsigned first, unsigned count,
                         unsigned step, int fraction) {
  int largest = exponents[first];
  for (unsigned k = first; k < count; k += step) largest = std::max(largest, exponents[k]);
  int64_t sum = 0;
  for (unsigned k = first; k < count; k += step)
    sum += scaled(mantissas[k], kUnit - fraction + exponents[k] - largest, true);
  return {sum, largest};
}

// Returns c plus `count` products; b has a column's elements at the row's k.
float truncated_sum(const Number* a, const uint8_t* k, const Number (*b)[kMostSide], unsigned j,
                    unsigned count, int fraction, bool by_halves, float c) {
  constexpr unsigned kMostProducts = 16;
  int64_t mantissas[kMostProducts];
  int exponents[kMostProducts];
  double plain = c;
  bool overflows = false, underflows = false;
  for (unsigned i = 0; i < count; ++i) {
    const Number& other = b[k[i]][j];
    const double product = double{a[i].value} * double{other.value};
    plain += product;
    overflows = overflows || product >= 0x1p128;
    underflows = underflows || product <= -0x1p128;
    mantissas[i] = int64_t{a[i].mantissa} * other.mantissa;
    exponents[i] = a[i].exponent + other.exponent;
  }
  if (!std::isfinite(plain)) return static_cast<float>(plain);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (overflows) return underflows ? std::numeric_limits<float>::quiet_NaN() : kInfinity;
  if (underflows) return -kInfinity;
  Aligned products{};
  if (by_halves) {
    const Aligned even = aligned_products(mantissas, exponents, 0, count, 2, fraction);
    const Aligned odd = aligned_products(mantissas, exponents, 1, count, 2, fraction);
    products.exponent = std::max(even.exponent, odd.exponent);
    products.sum = scaled(even.sum, even.exponent - products.exponent) +
                   scaled(odd.sum, odd.exponent - products.exponent);
  } else {
    products = aligned_products(mantissas, exponents, 0, count, 1, fraction);
  }
  const Number start = number_of(c, {kSingleFraction, kExponentOfZero});
  const int exponent = std::max(products.exponent, start.exponent);
  int64_t sum = scaled(products.sum, kFineUnit - kUnit + products.exponent - exponent);
  if (!by_halves || start.exponent >= exponent - kUnit - 1) {
    const int64_t rounded = scaled(start.mantissa, kUnit - int{kSingleFraction} + start.exponent - exponent);
    sum += rounded << (kFineUnit - kUnit);
  }
  return static_cast<float>(std::ldexp(static_cast<double>(sum), exponent - kFineUnit));
}

void multiply_truncated(const MatrixAccess& access, const std::byte* registers, unsigned block,
                        unsigned a_block, float* sums) {
  const MatrixShape& shape = access.shape;
  Number b[kMostInner][kMostSide];
  for (unsigned k = 0; k < shape.k; ++k) {
    for (unsigned j = 0; j < shape.n; ++j) {
      const unsigned lane = j + shape.n * (block + k / shape.per_lane * shape.blocks);
      b[k][j] =
          number_at(shape.b_type, registers, access.b, source_lane(access.pattern, lane), k % shape.per_lane);
    }
  }
  const int fraction = format_of(shape.type).fraction + format_of(shape.b_type).fraction;
  const bool is_of_bytes = isa::bits_of(shape.type) == 8;
  for (unsigned i = 0; i < shape.m; ++i) {
    RowOfA<Number> row;
    const unsigned count = read_row_of_a(access, registers, i, a_block, row, [&](unsigned lane, unsigned e) {
      return number_at(shape.type, registers, access.a, lane, e);
    });
    for (unsigned j = 0; j < shape.n; ++j) {
      float& sum = sums[i * shape.n + j];
      for (unsigned first = 0; first < count; first += access.group) {
        sum = truncated_sum(row.value + first, row.k + first, b, j,
                            std::min<unsigned>(access.group, count - first), fraction, is_of_bytes, sum);
      }
    }
  }
}

template <MatrixType kType, unsigned kSide>
void multiply(const MatrixAccess& access, std::byte* registers) {
  using Value = typename Element<kType>::Value;
  using Sum = typename Element<kType>::Sum;
  constexpr unsigned kDwords = sizeof(Sum) / 4;
  constexpr bool kIsHalf = kType == MatrixType::kF16 || kType == MatrixType::kBf16;
  const MatrixShape& shape = access.shape;
  const unsigned per_lane = shape.per_lane, blocks = shape.blocks, results = shape.results();
  Sum sums[kMostSide * kMostSide * 2];  // all blocks: [block][i][j]
  const auto sum_at = [&](unsigned block, unsigned i, unsigned j) -> Sum& {
    return sums[(block * kSide + i) * kSide + j];
  };
  for (unsigned v = 0; v < results; ++v) {
    for (unsigned lane = 0; lane < kLanesOfWave; ++lane) {
      uint64_t bits = access.constant;
      if (!access.has_constant) {
        bits = row_at(registers, access.c, v * kDwords)[lane];
        if (kDwords == 2) bits |= uint64_t{row_at(registers, access.c, v * kDwords + 1)[lane]} << 32;
      }
      if ((access.negations & 4) != 0) bits ^= uint64_t{1} << (8 * sizeof(Sum) - 1);
      const isa::MatrixPlace place = isa::place_of_result(shape, lane, v);
      std::memcpy(&sum_at(place.block, place.i, place.j), &bits, sizeof(Sum));
    }
  }
  const unsigned broadcast_mask = std::min((1u << access.broadcast) - 1, blocks - 1);
  for (unsigned block = 0; block < blocks; ++block) {
    const unsigned a_block = (block & ~broadcast_mask) | (access.block & broadcast_mask);
    if constexpr (std::is_same_v<Sum, float> && kType != MatrixType::kF32) {
      if (access.sums == isa::MatrixSums::kTruncated) {
        multiply_truncated(access, registers, block, a_block, &sum_at(block, 0, 0));
        continue;
      }
    }
    Value a[kMostInner][kSide], b[kMostInner][kSide];
    for (unsigned k = 0; k < shape.k; ++k) {
      const unsigned group = k / per_lane * blocks, e = k % per_lane;
      for (unsigned i = 0; i < kSide; ++i) {
        // The elements of a sparse A, which are half of these, are read below.
        const unsigned stored = shape.is_sparse ? e / 2 : e;
        a[k][i] = element<kType>(registers, access.a, i + kSide * (a_block + group), stored);
        const unsigned lane = source_lane(access.pattern, i + kSide * (block + group));
        b[k][i] = element<kType>(registers, access.b, lane, e);
        if constexpr (kType == MatrixType::kF64) {
          if ((access.negations & 1) != 0) a[k][i] = -a[k][i];
          if ((access.negations & 2) != 0) b[k][i] = -b[k][i];
        }
        if constexpr (kIsHalf) {
          if (access.sums != isa::MatrixSums::kFlushed) continue;
          a[k][i] = positive_if_denormal_half<kType>(a[k][i]);
          b[k][i] = positive_if_denormal_half<kType>(b[k][i]);
        }
      }
    }
    for (unsigned i = 0; i < kSide; ++i) {
      Sum* const sum = &sum_at(block, i, 0);
      if constexpr (kIsHalf) {
        for (unsigned j = 0; j < kSide; ++j)
          sum[j] = grouped_sum<kType, kSide>(access, &a[0][i], &b[0][j], sum[j]);
        continue;
      }
      if (shape.is_sparse) {
        RowOfA<Value> row;
        const unsigned count = read_row_of_a(access, registers, i, 0, row, [&](unsigned lane, unsigned e) {
          return element<kType>(registers, access.a, lane, e);
        });
        for (unsigned e = 0; e < count; ++e) {
          for (unsigned j = 0; j < kSide; ++j)
            sum[j] =
                multiply_add<Sum>(static_cast<Sum>(row.value[e]), static_cast<Sum>(b[row.k[e]][j]), sum[j]);
        }
        continue;
      }
      for (unsigned k = 0; k < shape.k; ++k) {
        for (unsigned j = 0; j < kSide; ++j)
          sum[j] = multiply_add<Sum>(static_cast<Sum>(a[k][i]), static_cast<Sum>(b[k][j]), sum[j]);
      }
    }
  }
  for (unsigned v = 0; v < results; ++v) {
    for (unsigned lane = 0; lane < kLanesOfWave; ++lane) {
      const isa::MatrixPlace place = isa::place_of_result(shape, lane, v);
      Sum sum = sum_at(place.block, place.i, place.j);
      if constexpr (std::is_floating_point_v<Sum>) {
        if (sum != sum) sum = std::numeric_limits<Sum>::quiet_NaN();
      }
      uint32_t dwords[kDwords];
      std::memcpy(dwords, &sum, sizeof sum);
      for (unsigned d = 0; d < kDwords; ++d) {
        std::memcpy(registers + access.d + ((v * kDwords + d) * kLanesOfWave + lane) * 4, &dwords[d], 4);
      }
    }
  }
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
uint8_t products_of_group(const MatrixShape& shape, isa::MatrixSums sums) {
  if (sums == isa::MatrixSums::kTruncated) {
    if (shape.type == MatrixType::kXf32) return 4;
    return isa::bits_of(shape.type) == 8 ? 16 : 8;
  }
  // Lanes of one register add their two elements.
  const bool has_pairs =
      shape.type == MatrixType::kBf16 && (shape.per_lane == 2 || sums == isa::MatrixSums::kExact);
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
