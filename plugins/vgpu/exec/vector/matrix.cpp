// Matrix instructions (MFMA), and moves between VGPRs and accumulation registers.
//
// Arithmetic: products are added in the order of k with fused multiply-add, first to C, rounded to nearest.
// AMD documents neither the order nor the precision between the additions. A NaN result is 0x7fc00000 (F64:
// 0x7ff8000000000000). Integers wrap around. On gfx90a, instructions with F16 and BF16 flush denormal inputs
// and results (PyTorch's "Numerical accuracy", section on MI200). MFMA ignores EXEC and MODE (CDNA ISA manuals,
// "Matrix arithmetic instructions").
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
constexpr unsigned kMostSide = 32, kMostInner = 16, kMostResults = 32;

struct MatrixAccess {
  MatrixShape shape;
  uint32_t a = 0, b = 0, c = 0, d = 0;  // offsets of the first rows
  bool has_constant = false;            // C is `constant` in all elements.
  uint64_t constant = 0;
  uint8_t broadcast = 0;  // CBSZ: groups of 2^CBSZ blocks use one block of A.
  uint8_t block = 0;      // ABID: which one
  uint8_t pattern = 0;    // BLGP
  bool flushes = false;
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
typename Element<kType>::Value element(const std::byte* registers, uint32_t offset, unsigned lane, unsigned e,
                                       bool flushes) {
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
    constexpr uint32_t kExponent = kType == MatrixType::kF16 ? 0x7c00 : 0x7f80;
    const uint32_t bits = flushes && (half & kExponent) == 0 ? half & 0x8000 : half;
    if constexpr (kType == MatrixType::kF16) return images::float_from_half(bits);
    return std::bit_cast<float>(bits << 16);
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

template <MatrixType kType, unsigned kSide>
void multiply(const MatrixAccess& access, std::byte* registers) {
  using Value = typename Element<kType>::Value;
  using Sum = typename Element<kType>::Sum;
  constexpr unsigned kDwords = sizeof(Sum) / 4;
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
        a[k][i] = element<kType>(registers, access.a, i + kSide * (a_block + group), e, access.flushes);
        const unsigned lane = source_lane(access.pattern, i + kSide * (block + group));
        b[k][i] = element<kType>(registers, access.b, lane, e, access.flushes);
      }
    }
    for (unsigned i = 0; i < kSide; ++i) {
      Sum* const sum = &sum_at(block, i, 0);
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
    const MxcsrScope environment(access.flushes ? kFlushingMxcsr : kDefaultMxcsr);
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
  const bool is_half = shape.type == MatrixType::kF16 || shape.type == MatrixType::kBf16;
  access.flushes = is_half && lowering.context.traits().matrix_flushes_halves;
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
