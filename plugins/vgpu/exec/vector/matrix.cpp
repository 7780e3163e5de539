// Matrix instructions (MFMA), and moves between VGPRs and accumulation registers.
//
// Arithmetic (isa::MatrixSums): AMD does not document it. The rules are those of MMA-Sim (arXiv 2511.10909), which
// was compared with hardware. A NaN result is 0x7fc00000 (F64: 0x7ff8000000000000). Integers wrap around. MFMA
// ignores EXEC and MODE (CDNA ISA manuals, "Matrix arithmetic instructions").
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
constexpr unsigned kMostSide = 32, kMostInner = 16;

struct MatrixAccess {
  MatrixShape shape;
  uint32_t a = 0, b = 0, c = 0, d = 0;  // offsets of the first rows
  bool has_constant = false;            // C is `constant` in all elements.
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
    return static_cast<int8_t>(row_at(registers, offset, 0)[lane] >> 8 * e);
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
      const isa::MatrixPlace place = isa::place_of_result(shape, lane, v);
      std::memcpy(&sum_at(place.block, place.i, place.j), &bits, sizeof(Sum));
    }
  }
  const unsigned broadcast_mask = std::min((1u << access.broadcast) - 1, blocks - 1);
  for (unsigned block = 0; block < blocks; ++block) {
    const unsigned a_block = (block & ~broadcast_mask) | (access.block & broadcast_mask);
    Value a[kMostInner][kSide], b[kMostInner][kSide];
    for (unsigned k = 0; k < shape.k; ++k) {
      const unsigned group = k / per_lane * blocks, e = k % per_lane;
      for (unsigned i = 0; i < kSide; ++i) {
        a[k][i] = element<kType>(registers, access.a, i + kSide * (a_block + group), e);
        const unsigned lane = source_lane(access.pattern, i + kSide * (block + group));
        b[k][i] = element<kType>(registers, access.b, lane, e);
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

Refusal lower_multiplication(Lowering& lowering, const MatrixShape& shape) {
  const isa::Instruction& in = lowering.instruction;
  const RegisterLayout& layout = lowering.context.layout;
  if (layout.wave_size != kLanesOfWave) return "matrix instructions need waves of 64";
  MatrixAccess access;
  access.shape = shape;
  if (!row_offset(in.src[0], layout, access.a) || !row_offset(in.src[1], layout, access.b) ||
      !row_offset(in.dst[0], layout, access.d)) {
    return kRefuseRegister;
  }
  if (!row_offset(in.src[2], layout, access.c)) {
    access.has_constant = constant_of(in.src[2], in, access.constant);
    if (!access.has_constant) return kRefuseRegister;
  }
  // F64 has neither broadcasts nor patterns (AMD's matrix instruction calculator).
  if (shape.type != MatrixType::kF64) {
    access.broadcast = in.cbsz;
    access.block = in.abid;
    access.pattern = in.blgp;
  }
  access.sums = lowering.context.traits().matrix_sums;
  // Lanes of one register add their two elements.
  const bool has_pairs =
      shape.type == MatrixType::kBf16 && (shape.per_lane == 2 || access.sums == isa::MatrixSums::kExact);
  access.group = has_pairs ? 2 : 4;
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
