// Compares arithmetic with the model: every operation of the tables, with random fields, operands and modes,
// on handlers of every SIMD level. Registers must be bit-identical unless the manuals allow other results
// (LaneNote).
//
// RIGEL_DRAWS: draws per row and target (default 6). RIGEL_SEED: seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "plugins/vgpu/reference/compare.hpp"
#include "plugins/vgpu/reference/expected.hpp"
#include "plugins/vgpu/reference/handler_run.hpp"

namespace rigel::vgpu::exec::reference {
namespace {

using isa::Encoding;
using isa::Op;

struct Tally {
  unsigned modelled = 0, not_modelled = 0;        // Draws.
  unsigned compared = 0, refused = 0, wrong = 0;  // Of those, by variant of execution.
  std::string refusal, first_failure;
};

using Tallies = std::map<Op, Tally>;

/// Whether a case is not compared because the manuals contradict each other.
bool is_unspecified(const isa::Instruction& in, const State& state) {
  // AGPRs are for matrix instructions.
  for (const isa::Operand& operand : {in.dst[0], in.src[0], in.src[1], in.src[2]}) {
    if (operand.is_agpr()) return true;
  }
  const auto relative = {Op::s_movrels_b32, Op::s_movrels_b64, Op::s_movreld_b32, Op::s_movreld_b64,
                         Op::s_movrelsd_2_b32};
  if (std::find(relative.begin(), relative.end(), in.op) != relative.end()) {
    // Past the SGPRs.
    if (in.src[0].code > 80 || in.dst[0].code > 80 || state.scalar[isa::code::kM0] > 8) return true;
  }
  // These have separate indices.
  const std::string_view name = isa::name(in.op);
  const bool has_index = name.starts_with("v_movrel") || name.starts_with("v_swap");
  if (has_index && state.indexes_vgprs()) return true;
  // An index past the VGPRs drops the result. The model writes the carry nevertheless.
  isa::Instruction indexed = with_indices(in, state);
  if (state.indexes_vgprs() && in.dst[1].exists() && !resolve_registers(indexed, state)) return true;
  // The index of an accumulator that is also the destination is not specified.
  if (state.indexes_vgprs() && in.src[2].is_vgpr() && in.src[2].code == in.dst[0].code) return true;
  // Lane selects and the data of v_writelane are scalars.
  if (in.op == Op::v_writelane_b32 && (in.src[0].is_vgpr() || in.src[1].is_vgpr())) return true;
  if (in.op == Op::v_readlane_b32 && in.src[1].is_vgpr()) return true;
  // Moved 32-bit values have no range for clamping.
  if (in.clamp && (in.op == Op::v_cndmask_b32 || in.op == Op::v_mov_b32)) return true;
  const bool is_pair = in.op == Op::v_pk_add_f32 || in.op == Op::v_pk_mul_f32 || in.op == Op::v_pk_fma_f32 ||
                       in.op == Op::v_pk_mov_b32;
  for (unsigned i = 0; i < 3; ++i) {
    const isa::Operand& operand = in.src[i];
    // The value of a constant as the upper of two singles is not specified.
    const bool selects_upper = ((in.op_sel | in.op_sel_hi) >> i & 1) != 0;
    const bool is_constant = operand.exists() && !operand.is_vgpr() && !operand.is_scalar_register();
    if (is_pair && is_constant && selects_upper) return true;
    const bool is_float_constant = operand.code >= isa::code::kHalf && operand.code <= isa::code::kInv2Pi;
    const bool is_integer_16 =
        operand.type == isa::Type::kI16 || operand.type == isa::Type::kU16 || operand.type == isa::Type::kB16;
    // A float constant as 16-bit integers.
    if (is_float_constant && is_integer_16) return true;
    // Operands that programs do not use like this, such as apertures.
    if (operand.code >= isa::code::kSharedBase && operand.code <= isa::code::kPopsExitingWaveId) return true;
    if (operand.code == isa::code::kLdsDirect) return true;
    // A constant that v_*_mix reads as a half.
    if (in.encoding == Encoding::kVop3p && operand.exists() && !operand.is_vgpr() &&
        operand.type == isa::Type::kF32 && !is_pair)
      return true;
  }
  return false;
}

void run(const Chip& chip, const std::set<Encoding>& encodings, Tallies& tallies) {
  const isa::Target target = target_of(chip);
  Draw draw = draw_for(chip);
  for_each_row(chip, encodings, [&](uint16_t row, Op op) {
    if (is_of_matrices(op)) return;
    Tally& tally = tallies[op];
    const uint64_t draws = draws_per_row();
    uint64_t done = 0;
    for (unsigned attempt = 0; attempt < draws * 40 && done < draws; ++attempt) {
      isa::Instruction in;
      uint32_t words[5];
      if (!draw.instruction(target, row, in, words)) continue;
      State before = draw.state(target);
      restrict_to_host(before);
      // Registers that do not exist, by number or by index.
      if (draw.one_in(8)) draw.use_missing_register(in);
      if (draw.one_in(8)) before.scalar[isa::code::kM0] |= draw.below(256);
      if (target.family() < isa::Family::kGfx10 && draw.one_in(8)) before.sgprs = 16 * (1 + draw.below(5));
      if (is_unspecified(in, before)) continue;
      State expected = before;
      expected.pc = 0x1000;
      ++done;
      const bool modelled = execute(in, expected) == Outcome::kDone;
      ++(modelled ? tally.modelled : tally.not_modelled);
      if (is_in_list(kNotRun, in.op)) continue;
      for (const SimdLevel level : simd_levels()) {
        State actual = before;
        actual.pc = 0x1000;
        const HandlerResult result = run_handlers({&in, 1}, level, actual);
        if (!result.refusal.empty()) {
          ++tally.refused;
          tally.refusal = result.refusal;
          continue;
        }
        if (!modelled) continue;
        ++tally.compared;
        std::string wrong = difference(with_indices(in, before), before, expected, actual);
        if (wrong.empty() && !result.consistent) wrong = "  EXEC was handed on wrong";
        if (wrong.empty() || tally.wrong++ != 0) continue;
        tally.first_failure = describe(in, chip, level, before, words) + "\n" + wrong;
      }
    }
  });
}

void expect_no_difference(const std::set<Encoding>& encodings) {
  Tallies tallies;
  for (const Chip& chip : kChipsCompared) run(chip, encodings, tallies);
  for (const auto& [op, tally] : tallies) {
    const bool is_excluded = is_in_list(kNotRun, op) || is_in_list(kNotModelled, op) || is_of_matrices(op);
    if (tally.wrong != 0) {
      ADD_FAILURE() << tally.wrong << " of " << tally.compared << " runs differ. The first:\n"
                    << tally.first_failure;
    } else if ((tally.compared == 0 || tally.modelled * 4 < tally.not_modelled) && !is_excluded) {
      ADD_FAILURE() << isa::name(op) << " was not compared: "
                    << (tally.not_modelled != 0 ? "the model doesn't know it"
                        : tally.refusal.empty() ? "never drawn"
                                                : tally.refusal);
    } else if (tally.compared > 0 && tally.modelled > tally.not_modelled &&
               is_excluded) {  // Without active lanes, the model supports all operations.
      ADD_FAILURE() << isa::name(op) << " is compared now: take it off the list";
    }
  }
}

// Every operation that is not graphics must have an encoding and a chip that one of the tests covers.
TEST(Reference, TestsCoverAllComputeOperations) {
  isa::ChipSet chips;
  for (const Chip& chip : kChipsCompared) chips |= isa::chip_set(target_of(chip));
  std::map<Op, isa::ChipSet> of_op;
  std::set<Op> graphics;
  for (const isa::tables::Row& row : isa::tables::rows()) {
    const Encoding encoding = isa::tables::shapes()[row.shape].encoding;
    if (isa::is_graphics(encoding)) {
      graphics.insert(row.op);
    }
    of_op[row.op] |= row.chips;
  }
  for (const auto& [op, where] : of_op) {
    if (graphics.contains(op)) continue;
    EXPECT_TRUE(where.intersects(chips)) << isa::name(op);
  }
}

TEST(Reference, ScalarInstructionsMatchModel) {
  expect_no_difference(kScalarEncodings);
}

TEST(Reference, Vop1InstructionsMatchModel) {
  expect_no_difference({Encoding::kVop1});
}
TEST(Reference, Vop2InstructionsMatchModel) {
  expect_no_difference({Encoding::kVop2});
}
TEST(Reference, ComparisonsMatchModel) {
  expect_no_difference({Encoding::kVopc});
}
TEST(Reference, Vop3InstructionsMatchModel) {
  expect_no_difference({Encoding::kVop3});
}
TEST(Reference, PackedInstructionsMatchModel) {
  expect_no_difference({Encoding::kVop3p});
}

// Each operation of VOPD computes what it computes alone, from the registers before the instruction. The
// operations themselves are compared with the model in their other encodings.
void expect_reads_before_writes(const Chip& chip) {
  const isa::Target target = target_of(chip);
  Draw draw = draw_for(chip);
  unsigned compared = 0;
  for_each_row(chip, {Encoding::kVopd}, [&](uint16_t row, Op) {
    for (uint64_t attempt = 0, done = 0; attempt < draws_per_row() * 40 && done < draws_per_row();
         ++attempt) {
      isa::Instruction in;
      uint32_t words[5];
      if (!draw.instruction(target, row, in, words)) continue;
      State before = draw.state(target);
      restrict_to_host(before);
      // Often, an operation reads the other's result.
      if (draw.one_in(3) && in.src[0].is_vgpr()) in.src[0].code = in.second_dst.code;
      if (draw.one_in(3) && in.second_src[0].is_vgpr()) in.second_src[0].code = in.dst[0].code;
      if (in.dst[0].code == in.second_dst.code) continue;
      ++done;
      for (const SimdLevel level : simd_levels()) {
        State both = before, first = before, second = before;
        const isa::Instruction parts[] = {isa::first_of_pair(in), isa::second_of_pair(in)};
        const bool is_refused = !run_handlers({&parts[0], 1}, level, first).refusal.empty() ||
                                !run_handlers({&parts[1], 1}, level, second).refusal.empty();
        if (is_refused) continue;
        ASSERT_EQ(run_handlers({&in, 1}, level, both).refusal, "");
        first.vgpr[in.second_dst.vgpr()] = second.vgpr[in.second_dst.vgpr()];
        EXPECT_EQ(both.vgpr, first.vgpr) << describe(in, chip, level, before, words);
        EXPECT_EQ(both.scalar, before.scalar);
        ++compared;
      }
    }
  });
  EXPECT_TRUE(is_of_one_operation() || compared > 167 * draws_per_row()) << compared;
}
TEST(Reference, DualOperationsReadBeforeTheyWrite) {
  expect_reads_before_writes({"gfx1100", true});
  expect_reads_before_writes({"gfx1201", true});
}

}  // namespace
}  // namespace rigel::vgpu::exec::reference
