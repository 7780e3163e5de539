#include "plugins/vgpu/isa/fidelity.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "plugins/vgpu/isa/instruction_tables.hpp"

namespace rigel::vgpu::isa {
namespace {

const OperationFidelity& row_of(const std::vector<OperationFidelity>& rows, Op op) {
  return rows[static_cast<size_t>(op) - 1];
}

TEST(IsaFidelity, EveryRowHasAPlainInstruction) {
  for (uint16_t row = 0; row != tables::rows().size(); ++row) {
    const auto targets = all_targets();
    const auto target = std::ranges::find_if(targets, [row](const Target& candidate) {
      return tables::rows()[row].chips.intersects(chip_set(candidate));
    });
    ASSERT_NE(target, targets.end());
    Instruction instruction;
    EXPECT_TRUE(plain_instruction(*target, row, instruction))
        << tables::mnemonic(row) << " of " << name(*target);
  }
}

TEST(IsaFidelity, CoversAllOperationsAndGenerations) {
  const auto rows = operation_fidelity(all_targets(), [](const Target&, const Instruction&) { return ""; });
  ASSERT_EQ(rows.size(), kOpCount - 1);
  for (const OperationFidelity& row : rows) {
    EXPECT_NE(row.fidelity, Fidelity::kAbsent) << name(row.op);
    for (const Family family :
         {Family::kGfx8, Family::kGfx9, Family::kGfx10, Family::kGfx11, Family::kGfx12}) {
      const bool has = ((row.generations >> static_cast<unsigned>(family)) & 1) != 0;
      EXPECT_EQ(has, exists_on(row.op, family)) << name(row.op);
    }
  }
  EXPECT_EQ(row_of(rows, Op::v_add_f32).fidelity, Fidelity::kExact);
  EXPECT_EQ(row_of(rows, Op::v_rcp_f32).fidelity, Fidelity::kApproximate);
  EXPECT_EQ(row_of(rows, Op::s_load_dword).domain, Domain::kMemory);
  EXPECT_EQ(row_of(rows, Op::s_add_u32).domain, Domain::kScalar);
  EXPECT_EQ(row_of(rows, Op::image_load).domain, Domain::kImage);
}

TEST(IsaFidelity, NotesRejectedForms) {
  const auto rows = operation_fidelity(
      all_targets(), [](const Target& target, const Instruction& instruction) -> std::string_view {
        if (instruction.op == Op::s_barrier) return "no barriers";
        if (instruction.lanes == LaneMode::kDpp && target.major == 8) return "no DPP";
        return {};
      });
  EXPECT_EQ(row_of(rows, Op::s_barrier).fidelity, Fidelity::kAbsent);
  EXPECT_EQ(row_of(rows, Op::s_barrier).note, "no barriers");
  EXPECT_EQ(row_of(rows, Op::v_add_f32).fidelity, Fidelity::kApproximate);
  EXPECT_EQ(row_of(rows, Op::v_add_f32).note, "not supported as VOP2 DPP on gfx801: no DPP");
}

TEST(IsaFidelity, OperandsExcludeApproximations) {
  const auto set_register = [](uint32_t id, uint32_t shift, uint32_t bits) {
    Instruction instruction;
    instruction.op = Op::s_setreg_b32;
    instruction.simm16 = static_cast<uint16_t>(id | shift << 6 | (bits - 1) << 11);
    return approximation(instruction);
  };
  EXPECT_EQ(set_register(1, 0, 8), "") << "rounding and denormals";
  EXPECT_NE(set_register(1, 0, 32), "");
  EXPECT_NE(set_register(1, 12, 1), "");
  EXPECT_EQ(set_register(20, 0, 32), "") << "FLAT_SCRATCH";
  Instruction instruction;
  instruction.op = Op::v_rcp_f32;
  EXPECT_NE(approximation(instruction), "");
  instruction.op = Op::v_add_f32;
  EXPECT_EQ(approximation(instruction), "");
}

TEST(IsaFidelity, OmitsOperationsOfOtherTargets) {
  const Target fiji[] = {{8, 0, 3}};
  for (const OperationFidelity& row :
       operation_fidelity(fiji, [](const Target&, const Instruction&) { return ""; })) {
    EXPECT_EQ(row.generations, 1) << name(row.op);
    EXPECT_NE(row.domain, Domain::kMatrix) << name(row.op);
  }
}

}  // namespace
}  // namespace rigel::vgpu::isa
