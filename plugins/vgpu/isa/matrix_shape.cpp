#include "plugins/vgpu/isa/matrix_shape.hpp"

#include <algorithm>
#include <iterator>

namespace rigel::vgpu::isa {
namespace {

struct Row {
  Op op;
  MatrixShape shape;
};

constexpr Row kRows[] = {
    {Op::v_mfma_f32_32x32x1f32, {32, 32, 1, 2, 1, MatrixType::kF32}},
    {Op::v_mfma_f32_16x16x1f32, {16, 16, 1, 4, 1, MatrixType::kF32}},
    {Op::v_mfma_f32_4x4x1f32, {4, 4, 1, 16, 1, MatrixType::kF32}},
    {Op::v_mfma_f32_32x32x2f32, {32, 32, 2, 1, 1, MatrixType::kF32}},
    {Op::v_mfma_f32_16x16x4f32, {16, 16, 4, 1, 1, MatrixType::kF32}},
    {Op::v_mfma_f32_32x32x4f16, {32, 32, 4, 2, 4, MatrixType::kF16}},
    {Op::v_mfma_f32_16x16x4f16, {16, 16, 4, 4, 4, MatrixType::kF16}},
    {Op::v_mfma_f32_4x4x4f16, {4, 4, 4, 16, 4, MatrixType::kF16}},
    {Op::v_mfma_f32_32x32x8f16, {32, 32, 8, 1, 4, MatrixType::kF16}},
    {Op::v_mfma_f32_16x16x16f16, {16, 16, 16, 1, 4, MatrixType::kF16}},
    {Op::v_mfma_f32_32x32x2bf16, {32, 32, 2, 2, 2, MatrixType::kBf16}},
    {Op::v_mfma_f32_16x16x2bf16, {16, 16, 2, 4, 2, MatrixType::kBf16}},
    {Op::v_mfma_f32_4x4x2bf16, {4, 4, 2, 16, 2, MatrixType::kBf16}},
    {Op::v_mfma_f32_32x32x4bf16, {32, 32, 4, 1, 2, MatrixType::kBf16}},
    {Op::v_mfma_f32_16x16x8bf16, {16, 16, 8, 1, 2, MatrixType::kBf16}},
    {Op::v_mfma_f32_32x32x4bf16_1k, {32, 32, 4, 2, 4, MatrixType::kBf16}},
    {Op::v_mfma_f32_16x16x4bf16_1k, {16, 16, 4, 4, 4, MatrixType::kBf16}},
    {Op::v_mfma_f32_4x4x4bf16_1k, {4, 4, 4, 16, 4, MatrixType::kBf16}},
    {Op::v_mfma_f32_32x32x8bf16_1k, {32, 32, 8, 1, 4, MatrixType::kBf16}},
    {Op::v_mfma_f32_16x16x16bf16_1k, {16, 16, 16, 1, 4, MatrixType::kBf16}},
    {Op::v_mfma_i32_32x32x4i8, {32, 32, 4, 2, 4, MatrixType::kI8}},
    {Op::v_mfma_i32_16x16x4i8, {16, 16, 4, 4, 4, MatrixType::kI8}},
    {Op::v_mfma_i32_4x4x4i8, {4, 4, 4, 16, 4, MatrixType::kI8}},
    {Op::v_mfma_i32_32x32x8i8, {32, 32, 8, 1, 4, MatrixType::kI8}},
    {Op::v_mfma_i32_16x16x16i8, {16, 16, 16, 1, 4, MatrixType::kI8}},
    {Op::v_mfma_f64_16x16x4f64, {16, 16, 4, 1, 1, MatrixType::kF64}},
    {Op::v_mfma_f64_4x4x4f64, {4, 4, 4, 4, 1, MatrixType::kF64}},
};

}  // namespace

const MatrixShape* matrix_shape(Op op) {
  const Row* const found = std::ranges::find(kRows, op, &Row::op);
  return found == std::end(kRows) ? nullptr : &found->shape;
}

}  // namespace rigel::vgpu::isa
