// Sizes and types of matrix instructions (MFMA): D = A × B + C for one or several blocks; and of those with a
// sparse A (SMFMAC): D = A × B + D.
//
// Register layout, checked with AMD's matrix instruction calculator (ROCm/amd_matrix_instruction_calculator),
// for lane l and waves of 64. A lane has `per_lane` elements of A and B, with consecutive k:
//
//   A[i][k] of block b: i = l % m, b = l / m % blocks, k = per_lane × (l / (m × blocks)) + element
//   B[k][j]:            the same with n and j
//   C and D, n = 32 or 16, 32 bits: register v has j = l % n,
//     i = 4 × (l / n) + v % 4 + 4 × 64 / n × (v / 4 % (m × n / 256)), b = v / (m × n / 64)
//   C and D, 4×4, 32 bits: j = l % 4, i = v, b = l / 4
//   C and D, 64 bits: j = l % n; for 16×16 i = l / 16 + 4 × v, for 4×4 i = l / 16 and b = l / 4 % 4
//
// Sparse: `per_lane` is for B. A lane has half that number of elements of A, two of each four with
// consecutive k, and two bits of index for each (CDNA 3 ISA manual, "Sparse matrices").
//
// Threads: any; constants.
#pragma once

#include <cstdint>

#include "plugins/vgpu/isa/op.hpp"

namespace rigel::vgpu::isa {

/// F8 (1 + 4 + 3 bits) and BF8 (1 + 5 + 2 bits) are those of CDNA 3: without infinities and a negative zero.
/// XF32 is F32 whose last 13 bits are ignored.
enum class MatrixType : uint8_t { kF32, kF16, kBf16, kI8, kF64, kXf32, kFp8, kBf8, kI4, kI32 };

/// Bits of an element.
constexpr unsigned bits_of(MatrixType type) {
  switch (type) {
    case MatrixType::kF64:
      return 64;
    case MatrixType::kF32:
    case MatrixType::kXf32:
    case MatrixType::kI32:
      return 32;
    case MatrixType::kF16:
    case MatrixType::kBf16:
      return 16;
    case MatrixType::kI8:
    case MatrixType::kFp8:
    case MatrixType::kBf8:
      break;
    case MatrixType::kI4:
      return 4;
  }
  return 8;
}

struct MatrixShape {
  uint8_t m = 0, n = 0, k = 0;
  uint8_t blocks = 1;
  uint8_t per_lane = 1;  ///< Elements of A and B in a lane
  MatrixType type{};     ///< Of A. C and D are F32, I32 for kI8, F64 for kF64.
  MatrixType b_type{};
  bool is_sparse = false;
  bool has_lane_controls = false;  ///< CBSZ and ABID choose blocks of A, and BLGP lanes of B.

  /// Elements of C and D in a lane.
  constexpr unsigned results() const { return unsigned{m} * n * blocks / 64; }
};

/// Returns the shape of a matrix instruction, or null for other operations.
const MatrixShape* matrix_shape(Op op);

/// A matrix instruction of RDNA (WMMA): D = A × B + C with 16×16 elements; and one with a sparse A (SWMMAC):
/// D = A × B + D. The register layout depends on the generation (exec/vector/wave_matrix.cpp).
struct WaveMatrixShape {
  uint8_t k = 0;
  MatrixType a{}, b{};
  MatrixType sum{};  ///< Of C and D
  bool is_sparse = false;

  constexpr bool is_integer() const { return sum == MatrixType::kI32; }
  /// Elements of A in a lane of gfx12, which has no element twice.
  constexpr unsigned a_per_lane(unsigned wave_size) const {
    return 16u * k / (is_sparse ? 2 : 1) / wave_size;
  }
  /// SWMMAC: number of parts of a lane's S2, of which one has the indices: two bits for each element.
  constexpr unsigned index_parts(unsigned wave_size) const { return 16 / a_per_lane(wave_size); }
};

/// Returns the shape of WMMA and SWMMAC, or null for other operations.
const WaveMatrixShape* wave_matrix_shape(Op op);

/// Place of an element of C or D.
struct MatrixPlace {
  unsigned i, j, block;
};

/// Returns the place of element `v` of a lane (see above).
constexpr MatrixPlace place_of_result(const MatrixShape& shape, unsigned lane, unsigned v) {
  const unsigned m = shape.m, n = shape.n;
  if (shape.type == MatrixType::kF64) return {lane / 16 + 4 * v, lane % n, m == 16 ? 0 : lane / 4 % 4};
  if (m == 4) return {v, lane % 4, lane / 4};
  const unsigned step = 4 * 64 / n;  // rows of four registers of all lanes
  return {4 * (lane / n) + v % 4 + step * (v / 4 % (m / step)), lane % n, v / (m * n / 64)};
}

}  // namespace rigel::vgpu::isa
