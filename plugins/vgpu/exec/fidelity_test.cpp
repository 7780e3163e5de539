#include "plugins/vgpu/exec/fidelity.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace rigel::vgpu::exec {
namespace {

constexpr isa::Target kTargets[] = {{8, 0, 3}, {9, 0, 0}, {9, 0, 6}, {10, 1, 0}, {10, 3, 0}};

TEST(InstructionFidelity, HasEverythingThatComputeNeeds) {
  const std::set<std::string_view> allowed{
      "s_code_end",                  // behind the last instruction
      "s_endpgm_ordered_ps_done",    // of pixel shaders
      "v_screen_partition_4se_b32",  // of the screen
  };
  for (const isa::OperationFidelity& row : instruction_fidelity(kTargets)) {
    const bool compute = row.domain == isa::Domain::kScalar || row.domain == isa::Domain::kVector ||
                         row.domain == isa::Domain::kMemory;
    if (!compute || row.fidelity != isa::Fidelity::kAbsent) continue;
    EXPECT_TRUE(allowed.contains(isa::name(row.op))) << isa::name(row.op) << ": " << row.note;
  }
}

TEST(InstructionFidelity, SaysWhyWhatIsAbsentIs) {
  for (const isa::OperationFidelity& row : instruction_fidelity(kTargets)) {
    EXPECT_EQ(row.note.empty(), row.fidelity == isa::Fidelity::kExact) << isa::name(row.op);
  }
}

}  // namespace
}  // namespace rigel::vgpu::exec
