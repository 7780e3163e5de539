// WMMA of RDNA 3 and 4: D = A × B + C, with 16×16 elements; SWMMAC of RDNA 4: D = A × B + D with a sparse A.
//
// Registers of RDNA 4: split_matrix.hpp. Those of RDNA 3 (ISA manual, "Wave Matrix Multiply Accumulate"):
// lanes 0 to 15 have row l of A and column l of B, with consecutive k in a lane's registers. The other lanes
// repeat them, and are not read here. C and D: register v of lane l has column l % 16 and row 2 × v + l / 16
// (waves of 64: 4 × v + l / 16). Elements of 16 bits of C and D are the halves of their registers that
// OP_SEL[2] selects; the other halves are kept.
//
// Arithmetic is not documented, so it is a choice: products are added to C one after the other, with
// increasing k, in single precision, rounded to nearest even, with denormals of single precision flushed.
// Results of 16 bits are rounded once. A NaN is 0x7fc00000 (F16: 0x7e00, BF16: 0x7fc0). WMMA ignores EXEC and
// MODE. Integers wrap around unless CLAMP is set.
#include <algorithm>
#include <bit>
#include <limits>

#include "plugins/vgpu/exec/float_environment.hpp"
#include "plugins/vgpu/exec/memory_ops/memory_handlers.hpp"
#include "plugins/vgpu/exec/vector/lower.hpp"
#include "plugins/vgpu/exec/vector/split_matrix.hpp"
#include "plugins/vgpu/images/halves.hpp"
#include "plugins/vgpu/isa/matrix_shape.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

constexpr unsigned kSide = 16;

struct WaveMatrixAccess {
  isa::WaveMatrixShape shape;
  uint32_t a = 0, b = 0, c = 0, d = 0;  // offsets of the first rows
  uint32_t indices = 0;                 // SWMMAC: offset of S2's row
  uint32_t index_shift = 0;             // SWMMAC: the first bit of a lane's indices
  uint32_t wave_size = 32;
  bool has_constant = false;
  uint32_t constant = 0;        // C's elements
  uint8_t neg = 0, neg_hi = 0;  // of A's and B's elements with even and odd k; of C: sign and absolute value
  bool high_c = false, high_d = false;
  bool clamp = false;
};

template <class T>
using Square = T[kSide][kSide];

uint32_t dword_at(const std::byte* registers, uint32_t offset, uint32_t wave_size, unsigned row,
                  unsigned lane) {
  uint32_t value;
  std::memcpy(&value, registers + offset + (row * wave_size + lane) * 4, sizeof value);
  return value;
}

enum class Half : uint8_t { kF16, kBf16 };

template <Half kType>
float value_of(uint32_t half) {
  if constexpr (kType == Half::kF16) return images::float_from_half(half & 0xffff);
  return std::bit_cast<float>(half << 16);
}

template <Half kType>
uint32_t half_of(float value) {
  if (value != value) return kType == Half::kF16 ? 0x7e00 : 0x7fc0;
  if constexpr (kType == Half::kF16) return images::half_from_float(value);
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

uint32_t single_of(float value) {
  return value != value ? 0x7fc00000 : std::bit_cast<uint32_t>(value);
}

/// Calls body(row of the matrix, column, register, lane) for each element of C and D.
template <class Body>
void each_result(uint32_t wave_size, Body body) {
  const unsigned groups = wave_size / kSide;
  for (unsigned v = 0; v < kSide / groups; ++v) {
    for (unsigned lane = 0; lane < wave_size; ++lane) body(groups * v + lane / kSide, lane % kSide, v, lane);
  }
}

template <Half kType, bool kWideResult>
void multiply_halves(const WaveMatrixAccess& access, std::byte* registers) {
  const MxcsrScope scope(kFlushingMxcsr);
  Square<float> a, b, sums;
  for (unsigned i = 0; i < kSide; ++i) {
    for (unsigned k = 0; k < kSide; ++k) {
      const uint8_t signs = k % 2 == 0 ? access.neg : access.neg_hi;
      const auto element = [&](uint32_t offset, unsigned sign) {
        const uint32_t pair = dword_at(registers, offset, access.wave_size, k / 2, i);
        const float value = value_of<kType>(pair >> 16 * (k % 2) & 0xffff);
        return (signs >> sign & 1) != 0 ? -value : value;
      };
      a[i][k] = element(access.a, 0);
      b[k][i] = element(access.b, 1);
    }
  }
  each_result(access.wave_size, [&](unsigned i, unsigned j, unsigned v, unsigned lane) {
    const uint32_t bits =
        access.has_constant ? access.constant : dword_at(registers, access.c, access.wave_size, v, lane);
    float value = kWideResult
                      ? std::bit_cast<float>(bits)
                      : value_of<kType>((access.high_c && !access.has_constant ? bits >> 16 : bits) & 0xffff);
    if ((access.neg_hi >> 2 & 1) != 0)
      value = std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0x7fffffff);
    if ((access.neg >> 2 & 1) != 0) value = -value;
    sums[i][j] = value;
  });
  // Products of two halves are exact in single precision.
  for (unsigned k = 0; k < kSide; ++k) {
    for (unsigned i = 0; i < kSide; ++i) {
      for (unsigned j = 0; j < kSide; ++j) {
        const float product = a[i][k] * b[k][j];
        sums[i][j] = sums[i][j] + product;
      }
    }
  }
  each_result(access.wave_size, [&](unsigned i, unsigned j, unsigned v, unsigned lane) {
    std::byte* const to = registers + access.d + (v * access.wave_size + lane) * 4;
    if constexpr (kWideResult) {
      const uint32_t single = single_of(sums[i][j]);
      std::memcpy(to, &single, 4);
    } else {
      const auto half = static_cast<uint16_t>(half_of<kType>(sums[i][j]));
      std::memcpy(to + (access.high_d ? 2 : 0), &half, 2);
    }
  });
}

template <unsigned kBits>
void multiply_integers(const WaveMatrixAccess& access, std::byte* registers) {
  constexpr unsigned kPerDword = 32 / kBits;
  Square<int32_t> a, b;
  Square<int64_t> sums;
  for (unsigned i = 0; i < kSide; ++i) {
    for (unsigned k = 0; k < kSide; ++k) {
      const auto element = [&](uint32_t offset, unsigned source) {
        const uint32_t dword = dword_at(registers, offset, access.wave_size, k / kPerDword, i);
        const uint32_t up = dword << (32 - kBits - kBits * (k % kPerDword));
        // NEG means that a source is signed.
        return (access.neg >> source & 1) != 0 ? static_cast<int32_t>(up) >> (32 - kBits)
                                               : static_cast<int32_t>(up >> (32 - kBits));
      };
      a[i][k] = element(access.a, 0);
      b[k][i] = element(access.b, 1);
    }
  }
  each_result(access.wave_size, [&](unsigned i, unsigned j, unsigned v, unsigned lane) {
    sums[i][j] = static_cast<int32_t>(
        access.has_constant ? access.constant : dword_at(registers, access.c, access.wave_size, v, lane));
    for (unsigned k = 0; k < kSide; ++k) sums[i][j] += int64_t{a[i][k]} * b[k][j];
  });
  each_result(access.wave_size, [&](unsigned i, unsigned j, unsigned v, unsigned lane) {
    int64_t sum = sums[i][j];
    if (access.clamp) {
      sum =
          std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
    }
    const auto result = static_cast<uint32_t>(sum);
    std::memcpy(registers + access.d + (v * access.wave_size + lane) * 4, &result, 4);
  });
}

/// Of an element of any type but integers.
float float_of(isa::MatrixType type, uint32_t bits) {
  switch (type) {
    case isa::MatrixType::kF16:
      return value_of<Half::kF16>(bits);
    case isa::MatrixType::kBf16:
      return value_of<Half::kBf16>(bits);
    case isa::MatrixType::kFp8:
      return float_from_ocp_byte<false>(bits);
    case isa::MatrixType::kBf8:
      return float_from_ocp_byte<true>(bits);
    default:
      return std::bit_cast<float>(bits);
  }
}

uint32_t bits_of_sum(isa::MatrixType type, float value) {
  if (type == isa::MatrixType::kF16) return half_of<Half::kF16>(value);
  if (type == isa::MatrixType::kBf16) return half_of<Half::kBf16>(value);
  return single_of(value);
}

/// Calls body(row of A or column of B, place in the row, lane, element of the lane, bits) for each element.
template <class Body>
void each_element(const WaveMatrixAccess& access, const std::byte* registers, uint32_t offset,
                  isa::MatrixType type, unsigned k, Body body) {
  const unsigned bits = isa::bits_of(type), mask = (1u << bits) - 1;
  const SplitLayout layout(type, k, access.wave_size);
  for (unsigned lane = 0; lane < layout.lanes; ++lane) {
    for (unsigned e = 0; e < layout.per_lane; ++e) {
      const uint32_t dword = dword_at(registers, offset, access.wave_size, e * bits / 32, lane);
      body(lane % kSide, layout.place(lane, e), lane, e, dword >> e * bits % 32 & mask);
    }
  }
}

/// A and B as numbers. Row i of A has `count` elements, of which element n meets row column[i][n] of B.
template <class T>
struct SplitOperands {
  static constexpr unsigned kMostColumns = 64;
  unsigned count = 0;
  T a[kSide][kMostColumns];
  uint8_t column[kSide][kMostColumns];
  T b[kMostColumns][kSide];
};

template <class T, class Convert>
void fetch_split(const WaveMatrixAccess& access, const std::byte* registers, SplitOperands<T>& operands,
                 Convert convert) {
  const isa::WaveMatrixShape& shape = access.shape;
  operands.count = shape.is_sparse ? shape.k / 2u : shape.k;
  each_element(access, registers, access.a, shape.a, operands.count,
               [&](unsigned i, unsigned place, unsigned lane, unsigned e, uint32_t bits) {
                 operands.a[i][place] = convert(0, shape.a, e, bits);
                 unsigned column = place;
                 if (shape.is_sparse) {
                   const uint32_t indices = dword_at(registers, access.indices, access.wave_size, 0, lane);
                   column = place / 2 * 4 + (indices >> (access.index_shift + 2 * e) % 32 & 3);
                 }
                 operands.column[i][place] = static_cast<uint8_t>(column);
               });
  each_element(access, registers, access.b, shape.b, shape.k,
               [&](unsigned j, unsigned k, unsigned, unsigned e, uint32_t bits) {
                 operands.b[k][j] = convert(1, shape.b, e, bits);
               });
}

/// Replaces each element of C by sum(i, j, element) in D.
template <class Sum>
void each_split_sum(const WaveMatrixAccess& access, std::byte* registers, Sum sum) {
  const unsigned bits = isa::bits_of(access.shape.sum), per_lane = kSide * kSide / access.wave_size;
  for (unsigned lane = 0; lane < access.wave_size; ++lane) {
    for (unsigned e = 0; e < per_lane; ++e) {
      const unsigned row = e * bits / 32, shift = e * bits % 32;
      uint32_t c = access.constant;
      if (!access.has_constant) c = dword_at(registers, access.c, access.wave_size, row, lane) >> shift;
      const uint32_t value = sum(row_of_split_sum(lane, e, access.wave_size), lane % kSide, c);
      std::byte* const to = registers + access.d + (row * access.wave_size + lane) * 4 + shift / 8;
      std::memcpy(to, &value, bits / 8);
    }
  }
}

void multiply_split_floats(const WaveMatrixAccess& access, std::byte* registers) {
  const MxcsrScope scope(kFlushingMxcsr);
  SplitOperands<float> operands;
  fetch_split(access, registers, operands,
              [&](unsigned source, isa::MatrixType type, unsigned e, uint32_t bits) {
                const float value = float_of(type, bits);
                return ((e % 2 == 0 ? access.neg : access.neg_hi) >> source & 1) != 0 ? -value : value;
              });
  const isa::MatrixType type = access.shape.sum;
  each_split_sum(access, registers, [&](unsigned i, unsigned j, uint32_t c) {
    float total = float_of(type, type == isa::MatrixType::kF32 ? c : c & 0xffff);
    if ((access.neg_hi >> 2 & 1) != 0)
      total = std::bit_cast<float>(std::bit_cast<uint32_t>(total) & 0x7fffffff);
    if ((access.neg >> 2 & 1) != 0) total = -total;
    for (unsigned n = 0; n < operands.count; ++n) {
      const float product = operands.a[i][n] * operands.b[operands.column[i][n]][j];
      total = total + product;
    }
    return bits_of_sum(type, total);
  });
}

void multiply_split_integers(const WaveMatrixAccess& access, std::byte* registers) {
  SplitOperands<int32_t> operands;
  fetch_split(
      access, registers, operands, [&](unsigned source, isa::MatrixType type, unsigned, uint32_t bits) {
        const unsigned unused = 32 - isa::bits_of(type);
        const bool is_signed = (access.neg >> source & 1) != 0;
        return is_signed ? static_cast<int32_t>(bits << unused) >> unused : static_cast<int32_t>(bits);
      });
  each_split_sum(access, registers, [&](unsigned i, unsigned j, uint32_t c) {
    int64_t total = static_cast<int32_t>(c);
    for (unsigned n = 0; n < operands.count; ++n)
      total += int64_t{operands.a[i][n]} * operands.b[operands.column[i][n]][j];
    constexpr int64_t kLeast = std::numeric_limits<int32_t>::min(),
                      kMost = std::numeric_limits<int32_t>::max();
    return static_cast<uint32_t>(access.clamp ? std::clamp(total, kLeast, kMost) : total);
  });
}

template <auto kMultiply>
void wave_matrix(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  kMultiply(details<WaveMatrixAccess>(op), registers);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

Handler wave_matrix_handler(Op op, const WaveMatrixAccess& access, bool is_split) {
  if (is_split)
    return access.shape.is_integer() ? wave_matrix<multiply_split_integers>
                                     : wave_matrix<multiply_split_floats>;
  switch (op) {
    case Op::v_wmma_f32_16x16x16_f16:
      return wave_matrix<multiply_halves<Half::kF16, true>>;
    case Op::v_wmma_f32_16x16x16_bf16:
      return wave_matrix<multiply_halves<Half::kBf16, true>>;
    case Op::v_wmma_f16_16x16x16_f16:
      return wave_matrix<multiply_halves<Half::kF16, false>>;
    case Op::v_wmma_bf16_16x16x16_bf16:
      return wave_matrix<multiply_halves<Half::kBf16, false>>;
    case Op::v_wmma_i32_16x16x16_iu8:
      return wave_matrix<multiply_integers<8>>;
    default:
      return wave_matrix<multiply_integers<4>>;
  }
}

// Returns the bits of a constant C: those of the type of its elements.
bool constant_element(const isa::Instruction& in, uint32_t& bits) {
  isa::Operand operand = in.src[2];
  operand.dwords = 1;
  const isa::MatrixType sum = isa::wave_matrix_shape(in.op)->sum;
  operand.type = sum == isa::MatrixType::kF16    ? isa::Type::kF16
                 : sum == isa::MatrixType::kBf16 ? isa::Type::kB16
                 : sum == isa::MatrixType::kI32  ? isa::Type::kI32
                                                 : isa::Type::kF32;
  uint64_t value;
  if (!constant_of(operand, in, value)) return false;
  // Of BF16, the value has its upper half.
  const bool is_float = operand.code >= isa::code::kHalf && operand.code <= isa::code::kInv2Pi;
  if (operand.type == isa::Type::kB16 && is_float) {
    operand.type = isa::Type::kF32;
    constant_of(operand, in, value);
    value >>= 16;
  }
  bits = static_cast<uint32_t>(value);
  return true;
}

}  // namespace

std::optional<Refusal> lower_wave_matrix(Lowering& lowering) {
  const isa::Instruction& in = lowering.instruction;
  const isa::WaveMatrixShape* const shape = isa::wave_matrix_shape(in.op);
  if (shape == nullptr) return std::nullopt;
  const RegisterLayout& layout = lowering.context.layout;
  WaveMatrixAccess access;
  access.shape = *shape;
  access.wave_size = layout.wave_size;
  if (!row_offset(in.src[0], layout, access.a) || !row_offset(in.src[1], layout, access.b) ||
      !row_offset(in.dst[0], layout, access.d)) {
    return kRefuseRegister;
  }
  if (shape->is_sparse) {
    if (!row_offset(in.src[2], layout, access.indices)) return kRefuseRegister;
    access.index_shift = in.index_key * (32 / shape->index_parts(layout.wave_size));
    access.c = access.d;
  } else if (!row_offset(in.src[2], layout, access.c)) {
    access.has_constant = constant_element(in, access.constant);
    if (!access.has_constant) return kRefuseRegister;
  }
  access.neg = in.neg;
  access.neg_hi = in.neg_hi;
  access.high_c = access.high_d = (in.op_sel & 4) != 0;
  access.clamp = in.clamp;
  const bool is_split = lowering.context.traits().splits_matrices;
  lowering.out.emit(wave_matrix_handler(in.op, access, is_split)).imm =
      reinterpret_cast<uint64_t>(&allocate(lowering.out, access));
  return Refusal{};
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
