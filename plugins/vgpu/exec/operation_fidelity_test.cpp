#include "plugins/vgpu/exec/operation_fidelity.hpp"

#include <gtest/gtest.h>

namespace rigel::vgpu::exec {
namespace {

constexpr isa::Target kTargets[] = {{8, 0, 3}, {9, 0, 0}, {9, 0, 6}, {10, 1, 0}, {10, 3, 0}};

TEST(InstructionFidelity, HasAllComputeInstructions) {
  for (const isa::OperationFidelity& row : instruction_fidelity(kTargets)) {
    const bool compute = row.domain == isa::Domain::kScalar || row.domain == isa::Domain::kVector ||
                         row.domain == isa::Domain::kMemory;
    if (!compute) continue;
    EXPECT_NE(row.fidelity, isa::Fidelity::kAbsent) << isa::name(row.op) << ": " << row.note;
  }
}

TEST(InstructionFidelity, HasNotesUnlessExact) {
  for (const isa::OperationFidelity& row : instruction_fidelity(kTargets)) {
    EXPECT_EQ(row.note.empty(), row.fidelity == isa::Fidelity::kExact) << isa::name(row.op);
  }
}

}  // namespace
}  // namespace rigel::vgpu::exec
