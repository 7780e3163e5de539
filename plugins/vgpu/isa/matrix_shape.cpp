#include "plugins/vgpu/isa/matrix_shape.hpp"

#include <algorithm>
#include <iterator>

namespace rigel::vgpu::isa {
namespace {

struct Row {
  Op op;
  MatrixShape shape;
};

// Without CBSZ, ABID and BLGP.
constexpr MatrixShape plain(uint8_t m, uint8_t n, uint8_t k, uint8_t blocks, uint8_t per_lane,
                            MatrixType type) {
  return {m, n, k, blocks, per_lane, type, type, false, false};
}

constexpr MatrixShape dense(uint8_t m, uint8_t n, uint8_t k, uint8_t blocks, uint8_t per_lane,
                            MatrixType type) {
  return {m, n, k, blocks, per_lane, type, type, false, true};
}

constexpr MatrixShape mixed(uint8_t side, uint8_t k, MatrixType type, MatrixType b_type) {
  return {side, side, k, 1, static_cast<uint8_t>(side * k / 64), type, b_type, false, false};
}

constexpr MatrixShape sparse(uint8_t side, uint8_t k, MatrixType type, MatrixType b_type) {
  return {side, side, k, 1, static_cast<uint8_t>(side * k / 64), type, b_type, true, false};
}

// Sizes and controls: AMD's matrix instruction calculator.
constexpr Row kRows[] = {
    {Op::v_mfma_f32_32x32x1f32, dense(32, 32, 1, 2, 1, MatrixType::kF32)},
    {Op::v_mfma_f32_16x16x1f32, dense(16, 16, 1, 4, 1, MatrixType::kF32)},
    {Op::v_mfma_f32_4x4x1f32, dense(4, 4, 1, 16, 1, MatrixType::kF32)},
    {Op::v_mfma_f32_32x32x2f32, dense(32, 32, 2, 1, 1, MatrixType::kF32)},
    {Op::v_mfma_f32_16x16x4f32, dense(16, 16, 4, 1, 1, MatrixType::kF32)},
    {Op::v_mfma_f32_32x32x4f16, dense(32, 32, 4, 2, 4, MatrixType::kF16)},
    {Op::v_mfma_f32_16x16x4f16, dense(16, 16, 4, 4, 4, MatrixType::kF16)},
    {Op::v_mfma_f32_4x4x4f16, dense(4, 4, 4, 16, 4, MatrixType::kF16)},
    {Op::v_mfma_f32_32x32x8f16, dense(32, 32, 8, 1, 4, MatrixType::kF16)},
    {Op::v_mfma_f32_16x16x16f16, dense(16, 16, 16, 1, 4, MatrixType::kF16)},
    {Op::v_mfma_f32_32x32x2bf16, dense(32, 32, 2, 2, 2, MatrixType::kBf16)},
    {Op::v_mfma_f32_16x16x2bf16, dense(16, 16, 2, 4, 2, MatrixType::kBf16)},
    {Op::v_mfma_f32_4x4x2bf16, dense(4, 4, 2, 16, 2, MatrixType::kBf16)},
    {Op::v_mfma_f32_32x32x4bf16, dense(32, 32, 4, 1, 2, MatrixType::kBf16)},
    {Op::v_mfma_f32_16x16x8bf16, dense(16, 16, 8, 1, 2, MatrixType::kBf16)},
    {Op::v_mfma_f32_32x32x4bf16_1k, dense(32, 32, 4, 2, 4, MatrixType::kBf16)},
    {Op::v_mfma_f32_16x16x4bf16_1k, dense(16, 16, 4, 4, 4, MatrixType::kBf16)},
    {Op::v_mfma_f32_4x4x4bf16_1k, dense(4, 4, 4, 16, 4, MatrixType::kBf16)},
    {Op::v_mfma_f32_32x32x8bf16_1k, dense(32, 32, 8, 1, 4, MatrixType::kBf16)},
    {Op::v_mfma_f32_16x16x16bf16_1k, dense(16, 16, 16, 1, 4, MatrixType::kBf16)},
    {Op::v_mfma_i32_32x32x4i8, dense(32, 32, 4, 2, 4, MatrixType::kI8)},
    {Op::v_mfma_i32_16x16x4i8, dense(16, 16, 4, 4, 4, MatrixType::kI8)},
    {Op::v_mfma_i32_4x4x4i8, dense(4, 4, 4, 16, 4, MatrixType::kI8)},
    {Op::v_mfma_i32_32x32x8i8, dense(32, 32, 8, 1, 4, MatrixType::kI8)},
    {Op::v_mfma_i32_16x16x16i8, dense(16, 16, 16, 1, 4, MatrixType::kI8)},
    {Op::v_mfma_f64_16x16x4f64, plain(16, 16, 4, 1, 1, MatrixType::kF64)},
    {Op::v_mfma_f64_4x4x4f64, plain(4, 4, 4, 4, 1, MatrixType::kF64)},
    {Op::v_mfma_f32_32x32x4xf32, plain(32, 32, 4, 1, 2, MatrixType::kXf32)},
    {Op::v_mfma_f32_16x16x8xf32, plain(16, 16, 8, 1, 2, MatrixType::kXf32)},
    {Op::v_mfma_i32_32x32x16i8, plain(32, 32, 16, 1, 8, MatrixType::kI8)},
    {Op::v_mfma_i32_16x16x32i8, plain(16, 16, 32, 1, 8, MatrixType::kI8)},
    {Op::v_mfma_f32_32x32x16_fp8_fp8, mixed(32, 16, MatrixType::kFp8, MatrixType::kFp8)},
    {Op::v_mfma_f32_32x32x16_fp8_bf8, mixed(32, 16, MatrixType::kFp8, MatrixType::kBf8)},
    {Op::v_mfma_f32_32x32x16_bf8_fp8, mixed(32, 16, MatrixType::kBf8, MatrixType::kFp8)},
    {Op::v_mfma_f32_32x32x16_bf8_bf8, mixed(32, 16, MatrixType::kBf8, MatrixType::kBf8)},
    {Op::v_mfma_f32_16x16x32_fp8_fp8, mixed(16, 32, MatrixType::kFp8, MatrixType::kFp8)},
    {Op::v_mfma_f32_16x16x32_fp8_bf8, mixed(16, 32, MatrixType::kFp8, MatrixType::kBf8)},
    {Op::v_mfma_f32_16x16x32_bf8_fp8, mixed(16, 32, MatrixType::kBf8, MatrixType::kFp8)},
    {Op::v_mfma_f32_16x16x32_bf8_bf8, mixed(16, 32, MatrixType::kBf8, MatrixType::kBf8)},
    {Op::v_smfmac_f32_32x32x16_f16, sparse(32, 16, MatrixType::kF16, MatrixType::kF16)},
    {Op::v_smfmac_f32_32x32x16_bf16, sparse(32, 16, MatrixType::kBf16, MatrixType::kBf16)},
    {Op::v_smfmac_f32_16x16x32_f16, sparse(16, 32, MatrixType::kF16, MatrixType::kF16)},
    {Op::v_smfmac_f32_16x16x32_bf16, sparse(16, 32, MatrixType::kBf16, MatrixType::kBf16)},
    {Op::v_smfmac_i32_32x32x32_i8, sparse(32, 32, MatrixType::kI8, MatrixType::kI8)},
    {Op::v_smfmac_f32_32x32x32_fp8_fp8, sparse(32, 32, MatrixType::kFp8, MatrixType::kFp8)},
    {Op::v_smfmac_f32_32x32x32_fp8_bf8, sparse(32, 32, MatrixType::kFp8, MatrixType::kBf8)},
    {Op::v_smfmac_f32_32x32x32_bf8_fp8, sparse(32, 32, MatrixType::kBf8, MatrixType::kFp8)},
    {Op::v_smfmac_f32_32x32x32_bf8_bf8, sparse(32, 32, MatrixType::kBf8, MatrixType::kBf8)},
    {Op::v_smfmac_i32_16x16x64_i8, sparse(16, 64, MatrixType::kI8, MatrixType::kI8)},
    {Op::v_smfmac_f32_16x16x64_fp8_fp8, sparse(16, 64, MatrixType::kFp8, MatrixType::kFp8)},
    {Op::v_smfmac_f32_16x16x64_fp8_bf8, sparse(16, 64, MatrixType::kFp8, MatrixType::kBf8)},
    {Op::v_smfmac_f32_16x16x64_bf8_fp8, sparse(16, 64, MatrixType::kBf8, MatrixType::kFp8)},
    {Op::v_smfmac_f32_16x16x64_bf8_bf8, sparse(16, 64, MatrixType::kBf8, MatrixType::kBf8)},
};

struct WaveRow {
  Op op;
  WaveMatrixShape shape;
};

constexpr WaveRow kWaveRows[] = {
    {Op::v_wmma_f32_16x16x16_f16, {16, MatrixType::kF16, MatrixType::kF16, MatrixType::kF32}},
    {Op::v_wmma_f32_16x16x16_bf16, {16, MatrixType::kBf16, MatrixType::kBf16, MatrixType::kF32}},
    {Op::v_wmma_f16_16x16x16_f16, {16, MatrixType::kF16, MatrixType::kF16, MatrixType::kF16}},
    {Op::v_wmma_bf16_16x16x16_bf16, {16, MatrixType::kBf16, MatrixType::kBf16, MatrixType::kBf16}},
    {Op::v_wmma_f32_16x16x16_fp8_fp8, {16, MatrixType::kFp8, MatrixType::kFp8, MatrixType::kF32}},
    {Op::v_wmma_f32_16x16x16_fp8_bf8, {16, MatrixType::kFp8, MatrixType::kBf8, MatrixType::kF32}},
    {Op::v_wmma_f32_16x16x16_bf8_fp8, {16, MatrixType::kBf8, MatrixType::kFp8, MatrixType::kF32}},
    {Op::v_wmma_f32_16x16x16_bf8_bf8, {16, MatrixType::kBf8, MatrixType::kBf8, MatrixType::kF32}},
    {Op::v_wmma_i32_16x16x16_iu8, {16, MatrixType::kI8, MatrixType::kI8, MatrixType::kI32}},
    {Op::v_wmma_i32_16x16x16_iu4, {16, MatrixType::kI4, MatrixType::kI4, MatrixType::kI32}},
    {Op::v_wmma_i32_16x16x32_iu4, {32, MatrixType::kI4, MatrixType::kI4, MatrixType::kI32}},
    {Op::v_swmmac_f32_16x16x32_f16, {32, MatrixType::kF16, MatrixType::kF16, MatrixType::kF32, true}},
    {Op::v_swmmac_f32_16x16x32_bf16, {32, MatrixType::kBf16, MatrixType::kBf16, MatrixType::kF32, true}},
    {Op::v_swmmac_f16_16x16x32_f16, {32, MatrixType::kF16, MatrixType::kF16, MatrixType::kF16, true}},
    {Op::v_swmmac_bf16_16x16x32_bf16, {32, MatrixType::kBf16, MatrixType::kBf16, MatrixType::kBf16, true}},
    {Op::v_swmmac_f32_16x16x32_fp8_fp8, {32, MatrixType::kFp8, MatrixType::kFp8, MatrixType::kF32, true}},
    {Op::v_swmmac_f32_16x16x32_fp8_bf8, {32, MatrixType::kFp8, MatrixType::kBf8, MatrixType::kF32, true}},
    {Op::v_swmmac_f32_16x16x32_bf8_fp8, {32, MatrixType::kBf8, MatrixType::kFp8, MatrixType::kF32, true}},
    {Op::v_swmmac_f32_16x16x32_bf8_bf8, {32, MatrixType::kBf8, MatrixType::kBf8, MatrixType::kF32, true}},
    {Op::v_swmmac_i32_16x16x32_iu8, {32, MatrixType::kI8, MatrixType::kI8, MatrixType::kI32, true}},
    {Op::v_swmmac_i32_16x16x32_iu4, {32, MatrixType::kI4, MatrixType::kI4, MatrixType::kI32, true}},
    {Op::v_swmmac_i32_16x16x64_iu4, {64, MatrixType::kI4, MatrixType::kI4, MatrixType::kI32, true}},
};

}  // namespace

const WaveMatrixShape* wave_matrix_shape(Op op) {
  const WaveRow* const found = std::ranges::find(kWaveRows, op, &WaveRow::op);
  return found == std::end(kWaveRows) ? nullptr : &found->shape;
}

const MatrixShape* matrix_shape(Op op) {
  const Row* const found = std::ranges::find(kRows, op, &Row::op);
  return found == std::end(kRows) ? nullptr : &found->shape;
}

}  // namespace rigel::vgpu::isa
