#include "plugins/vgpu/compiler/shapes.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "plugins/vgpu/exec/native/test_plans.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

// gfx900
constexpr uint32_t kShiftBy2 = 0x24020082;     // v_lshlrev_b32_e32 v1, 2, v0
constexpr uint32_t kAnd3 = 0x26040083;         // v_and_b32_e32 v2, 3, v0
constexpr uint32_t kAddScalar = 0x68060000;    // v_add_u32_e32 v3, s0, v0
constexpr uint32_t kSquare = 0x0a080100;       // v_mul_f32_e32 v4, v0, v0
constexpr uint32_t kMove = 0x7e0a0300;         // v_mov_b32_e32 v5, v0
constexpr uint32_t kAddFour = 0x680a0a84;      // v_add_u32_e32 v5, 4, v5
constexpr uint32_t kLoop = 0xbf85fffe;         // s_cbranch_scc1 to the instruction before
constexpr uint32_t kSaveExec = 0xbe82206a;     // s_and_saveexec_b64 s[2:3], vcc
constexpr uint32_t kRestoreExec = 0x87fe027e;  // s_or_b64 exec, exec, s[2:3]
// global_store_dword v[..], v.., off; operands are in its second word
constexpr uint32_t kStore = 0xdc708000;

// Returns the shapes at the end of straight code.
Shapes shapes_at_end(const Plan& plan) {
  Shapes shapes = find_shapes(plan)[plan.graph.entry];
  for (uint32_t node = 0; node + 1 < plan.graph.nodes.size(); ++node) apply(plan, node, shapes);
  return shapes;
}

using ShapeAnalysis = PlanTest;

TEST_F(ShapeAnalysis, TracksShiftedIds) {
  const Shapes shapes = shapes_at_end(*plan_of({kShiftBy2}));
  ASSERT_NE(shapes.rows[1], nullptr);
  for (unsigned lane = 0; lane < 64; ++lane) EXPECT_EQ(shapes.rows[1]->offsets[lane], lane * 4);
  EXPECT_EQ(shapes.rows[1]->zeros, 8u) << "two more than of the ids";
  EXPECT_FALSE(shapes.rows[1]->base) << "waves differ in it";
}

TEST_F(ShapeAnalysis, TracksAndOfDisjointBits) {
  const Shapes shapes = shapes_at_end(*plan_of({kAnd3}));
  ASSERT_NE(shapes.rows[2], nullptr);
  for (unsigned lane = 0; lane < 64; ++lane) EXPECT_EQ(shapes.rows[2]->offsets[lane], lane % 4);
}

TEST_F(ShapeAnalysis, RejectsAndOfUnalignedIds) {
  EXPECT_EQ(shapes_at_end(*plan_of({kAnd3}, {3})).rows[2], nullptr);
}

TEST_F(ShapeAnalysis, AddsScalarsToBase) {
  const Shapes shapes = shapes_at_end(*plan_of({kAddScalar}));
  ASSERT_NE(shapes.rows[3], nullptr);
  for (unsigned lane = 0; lane < 64; ++lane) EXPECT_EQ(shapes.rows[3]->offsets[lane], lane);
  EXPECT_EQ(shapes.rows[3]->zeros, 0u) << "nobody knows the scalar";
}

TEST_F(ShapeAnalysis, RejectsFloatProducts) {
  EXPECT_EQ(shapes_at_end(*plan_of({kSquare})).rows[4], nullptr);
}

TEST_F(ShapeAnalysis, FindsNothingWithoutIds) {
  const Shapes shapes = shapes_at_end(*plan_of({kShiftBy2}, {}));
  EXPECT_EQ(shapes.rows[1], nullptr);
  EXPECT_FALSE(shapes.all_active());
}

TEST_F(ShapeAnalysis, KeepsShapesThroughLoop) {
  const auto plan = plan_of({kMove, kAddFour, kLoop});
  const auto at = find_shapes(*plan);
  const Shapes& head = at[plan->graph.block_of(1)];
  ASSERT_NE(head.rows[5], nullptr) << "each round adds the same to all lanes";
  for (unsigned lane = 0; lane < 64; ++lane) EXPECT_EQ(head.rows[5]->offsets[lane], lane);
  EXPECT_EQ(head.rows[5]->zeros, 2u);
  EXPECT_TRUE(head.all_active());
}

TEST_F(ShapeAnalysis, RecognizesRestoredExec) {
  const auto plan = plan_of({kSaveExec, kShiftBy2, kRestoreExec, kShiftBy2, kStore, 0x00000201});
  Shapes shapes = find_shapes(*plan)[plan->graph.entry];
  EXPECT_TRUE(shapes.all_active());
  apply(*plan, 0, shapes);
  EXPECT_FALSE(shapes.all_active());
  EXPECT_TRUE(shapes.full[2]) << "the mask that was saved";
  apply(*plan, 1, shapes);
  apply(*plan, 2, shapes);
  EXPECT_TRUE(shapes.all_active());
}

TEST_F(ShapeAnalysis, KeepsOnlyActiveShapeUnderNarrowedExec) {
  // All lanes of v5 are stored; a narrowed EXEC writes some.
  const auto plan = plan_of({kMove, kSaveExec, kAddFour, kRestoreExec, kStore, 0x00000500});
  Shapes shapes = find_shapes(*plan)[plan->graph.entry];
  apply(*plan, 0, shapes);
  EXPECT_NE(shapes.rows[5], nullptr);
  apply(*plan, 1, shapes);
  apply(*plan, 2, shapes);
  EXPECT_EQ(shapes.rows[5], nullptr);
  EXPECT_NE(shapes.active[5], nullptr) << "of lanes that are active";
  apply(*plan, 3, shapes);
  EXPECT_EQ(shapes.of_active(5), nullptr) << "EXEC has become wider";
}

TEST_F(ShapeAnalysis, TracksProductsWithConstants) {
  const Shapes shapes = shapes_at_end(*plan_of({0xd2850001, 0x00011900}));  // v_mul_lo_u32 v1, v0, 12
  ASSERT_NE(shapes.rows[1], nullptr);
  for (unsigned lane = 0; lane < 64; ++lane) EXPECT_EQ(shapes.rows[1]->offsets[lane], lane * 12);
}

// Work-groups of 16 × 16: v0 is x, v1 is y.
const GroupShape::Key kSquareGroup = {{16, 16, 1}, 64, 2, false};

TEST_F(ShapeAnalysis, TracksPitchOfUnknownWidth) {
  // v_mul_lo_u32 v2, v1, s0; v_add_u32 v3, v0, v2; v_lshlrev_b32 v4, 2, v3
  const auto plan = plan_of({0xd2850002, 0x00000101, 0x68060500, 0x24080682}, {4, 2}, kSquareGroup);
  const Shapes shapes = shapes_at_end(*plan);
  ASSERT_NE(shapes.rows[3], nullptr);
  ASSERT_NE(shapes.rows[4], nullptr);
  for (unsigned lane = 0; lane < 64; ++lane) {
    EXPECT_EQ(shapes.rows[3]->offsets[lane], lane % 16);
    EXPECT_EQ(shapes.rows[4]->offsets[lane], lane % 16 * 4);
    EXPECT_EQ(shapes.rows[4]->pitches[lane], lane / 16);
  }
  EXPECT_FALSE(shapes.rows[3]->is_uniform(64));
  EXPECT_EQ(shapes.rows[4]->extreme_lanes(64), (std::array<unsigned, 2>{0, 63}));
}

TEST_F(ShapeAnalysis, RejectsNegativeAndSecondPitch) {
  // v_mul_lo_u32 v2, v1, s0; v_sub_u32 v5, v0, v2
  EXPECT_EQ(shapes_at_end(*plan_of({0xd2850002, 0x00000101, 0x6a0a0500}, {4, 2}, kSquareGroup)).rows[5],
            nullptr);
  // v_mul_lo_u32 v2, v1, s0; v_add_u32 v3, v0, v2; v_add_u32 v6, v2, v3
  const auto twice = plan_of({0xd2850002, 0x00000101, 0x68060500, 0x680c0702}, {4, 2}, kSquareGroup);
  EXPECT_EQ(shapes_at_end(*twice).rows[6], nullptr);
}

TEST_F(ShapeAnalysis, RejectsProductOfTwoAffineRows) {
  // v_mul_lo_u32 v7, v0, v1
  EXPECT_EQ(shapes_at_end(*plan_of({0xd2850007, 0x00020300}, {4, 2}, kSquareGroup)).rows[7], nullptr);
}

TEST_F(ShapeAnalysis, TracksLaneNumbers) {
  // v_mbcnt_lo_u32_b32 v1, -1, 0; v_mbcnt_hi_u32_b32 v1, -1, v1
  const Shapes shapes = shapes_at_end(*plan_of({0xd28c0001, 0x000100c1, 0xd28d0001, 0x000202c1}));
  ASSERT_NE(shapes.rows[1], nullptr);
  ASSERT_TRUE(shapes.rows[1]->base);
  for (unsigned lane = 0; lane < 64; ++lane)
    EXPECT_EQ(*shapes.rows[1]->base + shapes.rows[1]->offsets[lane], lane);
}

constexpr uint32_t kShiftScalar = 0x8e018800;    // s_lshl_b32 s1, s0, 8
constexpr uint32_t kOrAligned = 0x28020001;      // v_or_b32_e32 v1, s1, v0
constexpr uint32_t kOrScalar = 0x28020000;       // v_or_b32_e32 v1, s0, v0
constexpr uint32_t kAnd31 = 0x2604009f;          // v_and_b32_e32 v2, 31, v0
constexpr uint32_t kShiftRightBy5 = 0x200c0085;  // v_lshrrev_b32_e32 v6, 5, v0
constexpr uint32_t kOrLow = 0x280c0506;          // v_or_b32_e32 v6, v6, v2
constexpr uint32_t kSkipOne = 0xbf850001;        // s_cbranch_scc1 past the next instruction

TEST_F(ShapeAnalysis, TracksOrWithAlignedScalar) {
  const Shapes shapes = shapes_at_end(*plan_of({kShiftScalar, kOrAligned}));
  ASSERT_NE(shapes.rows[1], nullptr);
  for (unsigned lane = 0; lane < 64; ++lane) EXPECT_EQ(shapes.rows[1]->offsets[lane], lane);
  EXPECT_EQ(shapes.rows[1]->zeros, 6u);
  // s_mul_i32 s1, s0, 0x180 results in seven zero bits, s_and_b32 s1, s0, 15 in none.
  EXPECT_NE(shapes_at_end(*plan_of({0x9201ff00, 0x180, kOrAligned})).rows[1], nullptr);
  EXPECT_EQ(shapes_at_end(*plan_of({0x86018f00, kOrAligned})).rows[1], nullptr);
}

TEST_F(ShapeAnalysis, RejectsOrWithUnalignedScalar) {
  EXPECT_EQ(shapes_at_end(*plan_of({kOrScalar})).rows[1], nullptr);
  // s_lshl_b32 s1, s0, 8; s_add_u32 s1, s1, s0
  EXPECT_EQ(shapes_at_end(*plan_of({kShiftScalar, 0x80010001, kOrAligned})).rows[1], nullptr);
}

TEST_F(ShapeAnalysis, AlignmentIsMinimumOverPaths) {
  const auto skipped = plan_of({kSkipOne, kShiftScalar, kOrAligned});
  EXPECT_EQ(find_shapes(*skipped)[skipped->graph.block_of(2)].scalar_zeros[1], 0u);
  // On the other path, s_lshl_b32 s1, s0, 4 comes first.
  const auto both = plan_of({0x8e018400, kSkipOne, kShiftScalar, kOrAligned});
  EXPECT_EQ(find_shapes(*both)[both->graph.block_of(3)].scalar_zeros[1], 4u);
}

TEST_F(ShapeAnalysis, KnowsMaskedIds) {
  const Shapes shapes = shapes_at_end(*plan_of({kAnd31}));
  ASSERT_NE(shapes.rows[2], nullptr);
  ASSERT_TRUE(shapes.rows[2]->base) << "nothing but the lanes' own bits is left";
  for (unsigned lane = 0; lane < 64; ++lane)
    EXPECT_EQ(*shapes.rows[2]->base + shapes.rows[2]->offsets[lane], lane % 32);
}

TEST_F(ShapeAnalysis, TracksHalvesOfWaveInSeparateRows) {
  // … v_lshl_or_b32 v6, v6, 6, s1; v_or_b32 v6, v6, v2
  const Shapes shapes =
      shapes_at_end(*plan_of({kShiftScalar, kAnd31, kShiftRightBy5, 0xd2000006, 0x00050d06, kOrLow}));
  ASSERT_NE(shapes.rows[6], nullptr);
  for (unsigned lane = 0; lane < 64; ++lane)
    EXPECT_EQ(shapes.rows[6]->offsets[lane], lane / 32 * 64 + lane % 32);
}

TEST(CompilerPlan, ReportsWhyKernelIsInterpreted) {
  if (!why_absent(SimdLevel::kAvx2).empty()) GTEST_SKIP() << why_absent(SimdLevel::kAvx2);
  Request request;
  request.target = *isa::target_of("gfx900");
  request.layout = {64, 32};
  request.level = SimdLevel::kAvx2;
  request.entry_va = kVa;
  request.read = [](uint64_t va, std::span<std::byte> to) -> size_t {
    const uint32_t words[] = {0xbe801d02, kEnd};  // s_setpc_b64 s[2:3]
    if (va != kVa && va != kVa + 4) return 0;
    const size_t at = (va - kVa) / 4;
    const size_t bytes = std::min(to.size(), (2 - at) * 4);
    std::memcpy(to.data(), words + at, bytes);
    return bytes;
  };
  const auto plan = make_plan(request);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error(), "s_setpc_b64 at 0x1000: it jumps to an unknown address");
}

}  // namespace
}  // namespace rigel::vgpu::exec::compiler
