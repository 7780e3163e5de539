// Every vector operation of the instruction tables must be executed or rejected by name.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "plugins/vgpu/exec/vector/vector_test_support.hpp"

namespace rigel::vgpu::exec {
namespace {

using isa::Op;

TEST(VectorOperations, AllAreExecutedOrRejectedByName) {
  std::set<std::string> missing;
  for (size_t i = 1; i < isa::kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    if (!isa::name(op).starts_with("v_")) continue;
    Machine m(SimdLevel::kBaseline, 64, {10, 3, 0});
    const Refusal refusal = m.run(instruction(op, isa::Encoding::kVop3, {v(0), s(106)}, {v(2), v(4), v(6)}));
    if (refusal == "vector instruction is not supported") missing.insert(std::string(isa::name(op)));
  }
  EXPECT_EQ(missing, std::set<std::string>());
}

}  // namespace
}  // namespace rigel::vgpu::exec
