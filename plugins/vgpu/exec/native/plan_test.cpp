#include "plugins/vgpu/exec/native/plan.hpp"

#include "plugins/vgpu/exec/block.hpp"
#include "plugins/vgpu/exec/native/test_plans.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

// gfx900
constexpr uint32_t kMove = 0x7e100280;        // v_mov_b32 v8, 0
constexpr uint32_t kMoveBeyond = 0x7f000280;  // v_mov_b32 v128, 0
constexpr uint32_t kCall = 0xbe9e1e04;        // s_swappc_b64 s[30:31], s[4:5]
constexpr uint32_t kJump = 0xbe801d1e;        // s_setpc_b64 s[30:31]
constexpr uint32_t kMessage = 0xbf900001;     // s_sendmsg sendmsg(MSG_INTERRUPT)
constexpr uint32_t kBarrier = 0xbf8a0000;
constexpr uint32_t kOverOne = 0xbf850001;       // s_cbranch_scc1
constexpr uint32_t kSetDenormals = 0xba000901;  // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), …

using What = Site::Kind;
using Plans = PlanTest;

TEST_F(Plans, InterpretCallsAndReenterAfterThem) {
  const auto plan = plan_of({kMove, kCall, kMove});
  EXPECT_EQ(plan->sites[1].kind, What::kToInterpreter);
  EXPECT_EQ(plan->sites[2].kind, What::kInline);
  ASSERT_EQ(plan->ways_in.size(), 1u);
  EXPECT_EQ(plan->ways_in[0].pc, kVa + 8);
  EXPECT_EQ(plan->ways_in[0].variant, 0u);
  EXPECT_EQ(plan->ways_in[0].entry, plan->sites[2].entry);
  EXPECT_EQ(plan->left, std::vector<std::string>{"s_swappc_b64 at 0x1004: it jumps to an unknown address"});
}

TEST_F(Plans, ReenterWithModeOfCall) {
  const auto plan = plan_of({kSetDenormals, 3, kCall, kSetDenormals, 0});
  ASSERT_EQ(plan->ways_in.size(), 1u);
  EXPECT_EQ(plan->ways_in[0].variant, variant_of_mode(0x30));
  EXPECT_TRUE(plan->changes_mode);
}

TEST_F(Plans, SkipCodeAfterInterpretedInstructions) {
  const auto plan = plan_of({kOverOne, kMove, kMessage, kBarrier, kMove}, {});
  EXPECT_EQ(plan->sites[2].kind, What::kToInterpreter);
  EXPECT_EQ(plan->sites[3].kind, What::kToInterpreter) << "no wave comes to the barrier from before it";
  EXPECT_LT(plan->sites[3].entry_after, 0);
}

TEST_F(Plans, ReportAccessesFromInlinedCode) {
  const std::vector<uint32_t> code = {kMove, 0xdc708000, 0x007f0304, kBarrier, kMove};  // global_store_dword
  EXPECT_EQ(plan_of(code)->sites[1].kind, What::kGlobal);
  Request request = request_of(code);
  request.checked = request.reports_accesses = true;
  const auto plan = make_plan(request);
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_TRUE((*plan)->is_checked);
  EXPECT_EQ((*plan)->sites[0].kind, What::kInline);
  EXPECT_EQ((*plan)->sites[1].kind, What::kGlobal);
  EXPECT_TRUE((*plan)->sites[1].is_noted);
  EXPECT_EQ((*plan)->sites[2].kind, What::kBarrier);
}

TEST_F(Plans, InlineMemoryOperationsOfOtherCheckedKernels) {
  const std::vector<uint32_t> code = {kMove, 0xdc708000, 0x007f0304, kBarrier, kMove};  // global_store_dword
  Request request = request_of(code);
  request.checked = true;
  const auto plan = make_plan(request);
  ASSERT_TRUE(plan) << plan.error();
  const Site& store = (*plan)->sites[1];
  EXPECT_EQ(store.kind, What::kGlobal);
  EXPECT_EQ(store.report_count, 1u) << "a call of the handler reports to the checks first";
  EXPECT_EQ(store.operations, (*plan)->operations + store.first_operation + 1);
}

// Compiled code leaves a load that finds undefined bits, and the interpreter executes the whole load again.
TEST_F(Plans, LeaveBlockLoadThatMayOverwriteItsAddress) {
  constexpr uint32_t kLoadBlock[] = {0xee14c07c, 0};  // global_load_block v[0:31], …
  constexpr uint32_t kMoveOfGfx12 = 0x7e420280;       // v_mov_b32 v33, 0
  constexpr uint32_t kOverOneOfGfx12 = 0xbfa20003;    // s_cbranch_scc1, to s_endpgm
  constexpr uint32_t kEndOfGfx12 = 0xbfb00000;
  for (const uint32_t address : {0u, 32u}) {
    Request request =
        request_of({kMoveOfGfx12, kOverOneOfGfx12, kLoadBlock[0], kLoadBlock[1], address, kEndOfGfx12}, {});
    request.target = *isa::target_of("gfx1201");
    request.layout = {32, 64};
    request.checked = request.tracks_undefined = true;
    const auto plan = make_plan(request);
    ASSERT_TRUE(plan) << plan.error();
    EXPECT_EQ((*plan)->sites[2].kind == What::kToInterpreter, address == 0) << address;
  }
}

TEST_F(Plans, FailIfFirstBlockLeaves) {
  for (const uint32_t leaves : {kJump, kMessage}) {
    const auto plan = make_plan(request_of({kMove, leaves}));
    ASSERT_FALSE(plan);
    EXPECT_NE(plan.error().find("at 0x1004"), std::string::npos) << plan.error();
  }
}

TEST_F(Plans, StartFunctionsWithUnknownRegisters) {
  Request request = request_of({kMove, kJump}, {});
  request.is_function = true;
  const auto plan = make_plan(request);
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ((*plan)->sites[1].kind, What::kToInterpreter);
  EXPECT_LT((*plan)->expected_entry, 0);
  ASSERT_EQ((*plan)->ways_in.size(), 1u);
  EXPECT_EQ((*plan)->ways_in[0].pc, kVa);
  EXPECT_EQ((*plan)->ways_in[0].entry, (*plan)->sites[0].entry);
  EXPECT_TRUE((*plan)->live.before[1].vgprs[8]) << "the caller may want it";
  EXPECT_FALSE((*plan)->live.before[0].vgprs[9]) << "nobody writes it: the wave has it";
  request = request_of({kJump}, {});
  request.is_function = true;
  EXPECT_FALSE(make_plan(request)) << "there is nothing to be compiled";
}

TEST_F(Plans, HaveOneEntryForLoopingFunction) {
  constexpr uint32_t kBack = 0xbf85fffe;  // s_cbranch_scc1, to the beginning
  Request request = request_of({kMove, kBack, kJump}, {});
  request.is_function = true;
  const auto plan = make_plan(request);
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ((*plan)->ways_in.size(), 1u);
}

TEST_F(Plans, TreatIndexedOperandAsAnyHigherRegister) {
  constexpr uint32_t kIndexDestination = 0xbf110804;  // s_set_gpr_idx_on s4, gpr_idx(DST)
  constexpr uint32_t kIndexOff = 0xbf9c0000;
  const auto plan = plan_of({kIndexDestination, kMove, kIndexOff, kMove});
  EXPECT_EQ(plan->sites[0].kind, What::kMode);
  EXPECT_FALSE(plan->changes_mode) << "nothing is rounded otherwise";
  EXPECT_EQ(plan->sites[1].kind, What::kCall);
  const isa::Effects& effects = plan->graph.nodes[1].effects;
  EXPECT_FALSE(effects.writes.vgprs[7]);
  for (const uint32_t row : {8u, 9u, 31u}) EXPECT_TRUE(effects.writes.vgprs[row]) << row;
  EXPECT_FALSE(effects.writes.vgprs[32]) << "the wave has no more";
  EXPECT_TRUE(effects.replaces.vgprs.none());
  EXPECT_TRUE(effects.reads.scalars[isa::code::kM0]);
  EXPECT_EQ(plan->sites[3].kind, What::kInline);
}

TEST_F(Plans, ReadFirstRegisterForIndexOutOfRange) {
  constexpr uint32_t kIndexSource = 0xbf110104;   // s_set_gpr_idx_on s4, gpr_idx(SRC0)
  constexpr uint32_t kMoveRegister = 0x7e10031e;  // v_mov_b32 v8, v30
  const auto plan = plan_of({kIndexSource, kMoveRegister});
  const isa::Registers& reads = plan->graph.nodes[1].effects.reads;
  for (const uint32_t row : {0u, 30u, 31u}) EXPECT_TRUE(reads.vgprs[row]) << row;
  EXPECT_FALSE(reads.vgprs[1]);
}

TEST_F(Plans, IgnoreWritesToUnallocatedRegisters) {
  const auto plan = plan_of({kMoveBeyond, kMove});
  EXPECT_EQ(plan->sites[0].kind, What::kNothing) << "its result goes nowhere";
  EXPECT_TRUE(plan->left.empty());
}

// A barrier before `arithmetic`, of whose registers only the result is used.
std::vector<uint32_t> barrier_before(uint32_t arithmetic) {
  return {kMove, kBarrier, arithmetic, 0xdc708000, 0x007f0304};  // …, global_store_dword v[4:5], v3, off
}
constexpr uint32_t kFloatSum = 0x02060501;    // v_add_f32 v3, v1, v2
constexpr uint32_t kIntegerSum = 0x68060501;  // v_add_u32 v3, v1, v2

TEST_F(Plans, SinkBarrierBelowFloatArithmetic) {
  const auto plan = plan_of(barrier_before(kFloatSum));
  EXPECT_EQ(plan->graph.nodes[1].instruction.op, isa::Op::v_add_f32);
  EXPECT_EQ(plan->sites[1].kind, What::kInline);
  ASSERT_EQ(plan->sites[2].kind, What::kBarrier);
  const auto after = static_cast<size_t>(plan->sites[2].entry_after);
  EXPECT_EQ(pc_of(&plan->entries[after]), kVa + 12) << "what has been executed is not executed again";
  EXPECT_TRUE(plan->live.before[2].vgprs[3]);
  EXPECT_FALSE(plan->live.before[2].vgprs[1]) << "the sources are not kept";
}

TEST_F(Plans, KeepBarrierBeforeGuardedArithmetic) {
  const auto plan = plan_of(barrier_before(kIntegerSum));
  EXPECT_EQ(plan->sites[1].kind, What::kBarrier) << "sums may be guarded";
}

TEST_F(Plans, KeepBarrierAtBlockStart) {
  std::vector<uint32_t> code = barrier_before(kFloatSum);
  code.erase(code.begin());
  EXPECT_EQ(plan_of(code)->sites[0].kind, What::kBarrier) << "waves may come in there";
}

}  // namespace
}  // namespace rigel::vgpu::exec::compiler
