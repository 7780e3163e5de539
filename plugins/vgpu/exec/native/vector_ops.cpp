#include "plugins/vgpu/exec/native/vector_ops.hpp"

#include <array>

namespace rigel::vgpu::exec::native {

const VectorOp* find_vector_op(isa::Op op) {
  struct Index {
    const std::vector<VectorOp> lists[4] = {bit_ops(), integer_ops(), float_ops(), comparison_ops()};
    std::array<const VectorOp*, isa::kOpCount> by_op{};
    Index() {
      for (const auto& list : lists) {
        for (const VectorOp& entry : list) by_op[static_cast<size_t>(entry.op)] = &entry;
      }
    }
  };
  static const Index index;
  return index.by_op[static_cast<size_t>(op)];
}

}  // namespace rigel::vgpu::exec::native
