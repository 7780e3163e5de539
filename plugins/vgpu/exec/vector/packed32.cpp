// VOP3P of gfx90a: two single-precision values per lane, in two rows.
#include "plugins/vgpu/exec/vector/ordered.hpp"
#include "plugins/vgpu/exec/vector/packed_values.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

constexpr Entry kTable[] = {
    packed_floats<([](Pair<F32> a, Pair<F32> b) {
      return Pair<F32>{sum(a.first, b.first), sum(a.second, b.second)};
    })>(Op::v_pk_add_f32),
    packed_floats<([](Pair<F32> a, Pair<F32> b) {
      return Pair<F32>{product(a.first, b.first), product(a.second, b.second)};
    })>(Op::v_pk_mul_f32),
    packed_floats<([](Pair<F32> a, Pair<F32> b, Pair<F32> c) {
      return Pair<F32>{product_sum(a.first, b.first, c.first), product_sum(a.second, b.second, c.second)};
    })>(Op::v_pk_fma_f32),
    // The first result is a dword of S0, the second one of S1, selected by op_sel.
    packed_entry<([](Pair<U32> a, Pair<U32> b) {
      return Pair<U32>{a.first, b.first};
    })>(Op::v_pk_mov_b32),
};

}  // namespace

Table packed32_operations() {
  return kTable;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
