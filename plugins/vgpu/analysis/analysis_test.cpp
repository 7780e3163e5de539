#include <gtest/gtest.h>

#include <cstring>

#include "plugins/vgpu/analysis/definedness.hpp"
#include "plugins/vgpu/analysis/text.hpp"

namespace rigel::vgpu::analysis {
namespace {

constexpr uint64_t kEntry = 0x1000;

tl::expected<FlowGraph, std::string> graph_of(std::vector<uint32_t> code, size_t most = 1000) {
  return read_flow_graph(
      isa::Target{.major = 9, .minor = 0, .stepping = 0}, 64, kEntry,
      [code](uint64_t va, std::span<std::byte> to) -> size_t {
        if (va < kEntry || va >= kEntry + code.size() * 4) return 0;
        const size_t bytes = std::min<size_t>(to.size(), kEntry + code.size() * 4 - va);
        std::memcpy(to.data(), reinterpret_cast<const std::byte*>(code.data()) + (va - kEntry), bytes);
        return bytes;
      },
      most);
}

// The inner loop of a sparse matrix-vector product, as compiled by clang:
//   for (i = starts[row]; i < starts[row + 1]; ++i) sum += values[i] * x[columns[i]];
// Lanes leave it one by one. v8 is the sum, v2 and v7 the bounds, v3 to v6 addresses.
const std::vector<uint32_t> kLoop = {
    0x7d820f02,              //      v_cmp_lt_i32_e32 vcc, v2, v7
    0xbe82206a,              //      s_and_saveexec_b64 s[2:3], vcc
    0xbf88000d,              //      s_cbranch_execz 13
    0xbe840180,              //      s_mov_b64 s[4:5], 0
    0x7e100280,              //      v_mov_b32_e32 v8, 0
    0xdc508000, 0x097f0003,  // loop global_load_dword v9, v[3:4], off
    0x68040481,              //      v_add_u32_e32 v2, 1, v2
    0xbf8c0f70,              //      s_waitcnt vmcnt(0)
    0x7d8c0f02,              //      v_cmp_ge_i32_e32 vcc, v2, v7
    0x8784046a,              //      s_or_b64 s[4:5], vcc, s[4:5]
    0x02101308,              //      v_add_f32_e32 v8, v8, v9
    0x89fe047e,              //      s_andn2_b64 exec, exec, s[4:5]
    0xbf89fff7,              //      s_cbranch_execnz -9
    0x87fe047e,              //      s_or_b64 exec, exec, s[4:5]
    0x7e000280,              //      v_mov_b32_e32 v0, 0
    0x87fe027e,              // end  s_or_b64 exec, exec, s[2:3]
    0xdc708000, 0x007f0800,  //      global_store_dword v[0:1], v8, off
    0xbf810000,              //      s_endpgm
};

uint32_t node_at(const FlowGraph& graph, size_t dword) {
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].pc == kEntry + dword * 4) return n;
  }
  ADD_FAILURE() << "no instruction at dword " << dword;
  return 0;
}

TEST(FlowGraph, StartsBlocksAtBranchTargetsAndAfterBranches) {
  const auto graph = graph_of(kLoop);
  ASSERT_TRUE(graph) << graph.error();
  ASSERT_EQ(graph->blocks.size(), 5u) << text_of(*graph, liveness_of(*graph));
  EXPECT_EQ(graph->blocks[0].successors, (std::vector<uint32_t>{1, 4}));
  EXPECT_EQ(graph->blocks[1].successors, (std::vector<uint32_t>{2}));
  EXPECT_EQ(graph->blocks[2].successors, (std::vector<uint32_t>{3, 2}));
  EXPECT_EQ(graph->blocks[3].successors, (std::vector<uint32_t>{4}));
  EXPECT_TRUE(graph->blocks[4].successors.empty());
  EXPECT_EQ(graph->block_of(node_at(*graph, 7)), 2u);
}

TEST(FlowGraph, ContinuesAfterInstructionThatContainsBranchTarget) {
  const auto graph = graph_of({0xbf060404,              // s_cmp_eq_u32 s4, s4
                               0xbf850001,              // s_cbranch_scc1 1
                               0xbe9400ff, 0xbf800001,  // s_mov_b32 s20, 0xbf800001, which is s_nop 1
                               0xbf810000});            // s_endpgm
  ASSERT_TRUE(graph) << graph.error();
  const uint32_t move = graph->block_of(node_at(*graph, 2)), inside = graph->block_of(node_at(*graph, 3));
  const uint32_t end = graph->block_of(node_at(*graph, 4));
  EXPECT_EQ(graph->blocks[graph->entry].successors, (std::vector<uint32_t>{move, inside}));
  EXPECT_EQ(graph->blocks[move].successors, (std::vector<uint32_t>{end}));
  EXPECT_EQ(graph->blocks[inside].successors, (std::vector<uint32_t>{end}));
}

TEST(FlowGraph, DoesNotReadPastEndOfProgram) {
  std::vector<uint32_t> code = kLoop;
  code.push_back(0xffffffff);  // invalid
  EXPECT_TRUE(graph_of(code));
}

TEST(FlowGraph, ReportsAddressOfUnreadableCode) {
  const auto illegal = graph_of({0x7e100280, 0xffffffff});
  ASSERT_FALSE(illegal);
  EXPECT_NE(illegal.error().find("0x1004"), std::string::npos) << illegal.error();
  const auto cut_off = graph_of({0x7e100280});  // memory ends after it
  ASSERT_FALSE(cut_off);
  EXPECT_NE(cut_off.error().find("0x1004"), std::string::npos) << cut_off.error();
  const auto long_one = graph_of(kLoop, 5);
  ASSERT_FALSE(long_one);
  EXPECT_NE(long_one.error().find("5 instructions"), std::string::npos) << long_one.error();
}

TEST(FlowGraph, LeavesAtIndirectJump) {
  const auto graph = graph_of({0xbe801d1e});  // s_setpc_b64 s[30:31]
  ASSERT_TRUE(graph) << graph.error();
  EXPECT_TRUE(graph->blocks[0].leaves);
  const Liveness liveness = liveness_of(*graph);
  EXPECT_TRUE(liveness.before[0].vgprs.all());
  EXPECT_TRUE(liveness.inactive_before[0].all());
}

// A long branch as Tensile writes it, over an invalid instruction.
const std::vector<uint32_t> kLongBranch = {
    0xbe841c00,              // s_getpc_b64 s[4:5]
    0x810684ff, 0x00000014,  // s_add_i32 s6, 20, 4
    0x80040604,              // s_add_u32 s4, s4, s6
    0x82058005,              // s_addc_u32 s5, s5, 0
    0xbe801d04,              // s_setpc_b64 s[4:5]
    0xffffffff,
    0xbf810000,  // s_endpgm
};

TEST(FlowGraph, FollowsLongBranch) {
  const auto graph = graph_of(kLongBranch);
  ASSERT_TRUE(graph) << graph.error();
  ASSERT_EQ(graph->blocks.size(), 2u);
  EXPECT_FALSE(graph->blocks[0].leaves);
  EXPECT_EQ(graph->blocks[0].successors, (std::vector<uint32_t>{1}));
  EXPECT_EQ(graph->nodes[graph->blocks[1].first].pc, kEntry + 28);
  EXPECT_FALSE(liveness_of(*graph).before[0].vgprs.any());
}

TEST(FlowGraph, IgnoresLongBranchThatIsEnteredInTheMiddle) {
  std::vector<uint32_t> code = kLongBranch;
  code.insert(code.begin(), 0xbf840003);  // s_cbranch_scc0: to s_add_u32
  const auto graph = graph_of(code);
  ASSERT_TRUE(graph) << graph.error();
  EXPECT_TRUE(graph->blocks[graph->block_of(node_at(*graph, 6))].leaves);
}

TEST(FlowGraph, IgnoresLongBranchWithUnknownOperand) {
  std::vector<uint32_t> code = kLongBranch;
  code[3] = 0x80040704;  // s_add_u32 s4, s4, s7
  const auto graph = graph_of(code);
  ASSERT_TRUE(graph) << graph.error();
  EXPECT_TRUE(graph->blocks[0].leaves);
}

constexpr uint32_t kCall = 0xbe9e1e04;  // s_swappc_b64 s[30:31], s[4:5]

TEST(FlowGraph, ContinuesAfterCall) {
  const auto graph = graph_of({0x7e100280, kCall, 0x7e120308, 0xbf810000});  // v8, the call, v9 = v8
  ASSERT_TRUE(graph) << graph.error();
  ASSERT_EQ(graph->blocks.size(), 2u);
  EXPECT_TRUE(graph->blocks[0].leaves);
  EXPECT_TRUE(graph->blocks[0].successors.empty());
  EXPECT_EQ(graph->blocks[0].back, 1u);
  EXPECT_EQ(graph->blocks[0].followers(), std::vector<uint32_t>{1});
  EXPECT_FALSE(graph->blocks[1].leaves);
  EXPECT_NE(text_of(*graph, liveness_of(*graph)).find("anywhere, back to 1"), std::string::npos);
}

TEST(FlowGraph, ContinuesAfterConsecutiveCalls) {
  const auto graph = graph_of({kCall, kCall, 0xbf810000});
  ASSERT_TRUE(graph) << graph.error();
  ASSERT_EQ(graph->blocks.size(), 3u);
  EXPECT_EQ(graph->blocks[0].back, 1u);
  EXPECT_EQ(graph->blocks[1].back, 2u);
}

// Data, or unmapped memory, may follow the call of a function that does not return.
TEST(FlowGraph, EndsAtCallIfNoCodeFollows) {
  for (const std::vector<uint32_t>& code : {std::vector<uint32_t>{kCall, 0xffffffff}, {kCall}}) {
    const auto graph = graph_of(code);
    ASSERT_TRUE(graph) << graph.error();
    ASSERT_EQ(graph->blocks.size(), 1u);
    EXPECT_FALSE(graph->blocks[0].back);
  }
}

TEST(Liveness, EndsAtLastRead) {
  const auto graph = graph_of(kLoop);
  ASSERT_TRUE(graph) << graph.error();
  const Liveness liveness = liveness_of(*graph);
  EXPECT_EQ(vgprs_in(liveness.before[0].vgprs), "v0-v4 v7-v8");
  EXPECT_FALSE(liveness.before[node_at(*graph, 5)].vgprs[9]);
  EXPECT_TRUE(liveness.before[node_at(*graph, 11)].vgprs[9]);
  EXPECT_FALSE(liveness.before[node_at(*graph, 12)].vgprs[9]);
  EXPECT_TRUE(liveness.before[node_at(*graph, 19)].empty());
}

TEST(Liveness, KeepsInactiveLanesThatAreReadAfterReactivation) {
  const auto graph = graph_of(kLoop);
  ASSERT_TRUE(graph) << graph.error();
  const Liveness liveness = liveness_of(*graph);
  const auto kept = [&](size_t dword, unsigned vgpr) {
    return liveness.inactive_behind[node_at(*graph, dword)][vgpr];
  };
  EXPECT_TRUE(kept(11, 8)) << "the sum of lanes that have left the loop";
  EXPECT_TRUE(kept(4, 8)) << "the sum of lanes that never entered it";
  EXPECT_FALSE(kept(5, 9)) << "of one round";
  EXPECT_FALSE(kept(7, 2)) << "the index, which nobody reads behind the loop";
  EXPECT_TRUE(kept(15, 0)) << "half of an address that all lanes store at";
}

Definedness definedness(const FlowGraph& graph, const StartRegisters& start) {
  return definedness_of(graph, liveness_of(graph, {}), start);
}

TEST(Definedness, TestsRegistersThatNoPathHasWritten) {
  const auto graph = graph_of(kLoop);
  ASSERT_TRUE(graph) << graph.error();
  const Definedness found = definedness(*graph, {.scalars = 8, .rows = 7});
  EXPECT_EQ(vgprs_in(found.tested[0].vgprs), "v7");
  EXPECT_TRUE(found.tested[node_at(*graph, 9)].empty()) << "v7 has been tested";
  EXPECT_TRUE(found.tested[node_at(*graph, 5)].empty());
}

TEST(Definedness, TracksLanesThatHaveNotEnteredLoop) {
  const auto graph = graph_of(kLoop);
  ASSERT_TRUE(graph) << graph.error();
  const Definedness found = definedness(*graph, {.scalars = 8, .rows = 8});
  EXPECT_EQ(vgprs_in(found.tested[node_at(*graph, 17)].vgprs), "v8") << "written under a narrowed EXEC";
  EXPECT_EQ(vgprs_in(found.noted[node_at(*graph, 4)].vgprs), "v8");
  EXPECT_FALSE(found.tracked.vgprs[9]) << "no lane reads it after EXEC has been widened";
}

TEST(Definedness, IgnoresUndefinedUpperHalfOfSumThatIsDead) {
  const std::vector<uint32_t> sum = {0xd1e80201,
                                     0x040c2105};  // v_mad_u64_u32 v[1:2], s[2:3], v5, s16, v[3:4]
  std::vector<uint32_t> code = sum;
  code.insert(code.end(), {0xdc708000, 0x007f0105, 0xbf810000});  // global_store_dword v[5:6], v1, off
  const StartRegisters start{.scalars = 20, .rows = 4};
  const auto dead = graph_of(code);
  ASSERT_TRUE(dead) << dead.error();
  EXPECT_FALSE(definedness(*dead, start).tested[0].vgprs[4]);
  code = sum;
  code.insert(code.end(), {0xdc748000, 0x007f0105, 0xbf810000});  // global_store_dwordx2
  const auto live = graph_of(code);
  ASSERT_TRUE(live) << live.error();
  EXPECT_TRUE(definedness(*live, start).tested[0].vgprs[4]);
}

TEST(Liveness, FindsInstructionsThatWidenExec) {
  const auto widens = [](std::vector<uint32_t> instruction) {
    instruction.push_back(0xbf810000);  // s_endpgm
    const auto graph = graph_of(instruction);
    if (!graph) ADD_FAILURE() << graph.error();
    return graph && widens_exec(graph->nodes[0]);
  };
  EXPECT_FALSE(widens({0xd0d90002, 0x00020300})) << "v_cmpx_lt_u32_e64 s[2:3], v0, v1";
  EXPECT_FALSE(widens({0x86fe027e})) << "s_and_b64 exec, exec, s[2:3]";
  EXPECT_FALSE(widens({0x89fe027e})) << "s_andn2_b64 exec, exec, s[2:3]";
  EXPECT_FALSE(widens({0xbe82206a})) << "s_and_saveexec_b64 s[2:3], vcc";
  EXPECT_FALSE(widens({0xbe82356a})) << "s_andn1_wrexec_b64 s[2:3], vcc";
  EXPECT_TRUE(widens({0xbe82236a})) << "s_andn2_saveexec_b64 s[2:3], vcc";
  EXPECT_FALSE(widens({0x867f147f})) << "s_and_b32 exec_hi, exec_hi, s20";
  EXPECT_TRUE(widens({0x867f147e})) << "s_and_b32 exec_hi, exec_lo, s20";
  EXPECT_TRUE(widens({0xd289007e, 0x00010104})) << "v_readlane_b32 exec_lo, v4, 0";
  EXPECT_TRUE(widens({0x87fe027e})) << "s_or_b64 exec, exec, s[2:3]";
}

// Narrows EXEC between writing coordinates and sampling an image at them.
std::vector<uint32_t> sample_under_if(uint32_t sample) {
  return {0x7e0002f2,              // v_mov_b32 v0, 1.0
          0x7e020280,              // v_mov_b32 v1, 0
          0xbe8c206a,              // s_and_saveexec_b64 s[12:13], vcc
          sample,     0x00400400,  // image_sample… v[4:7], v[0:1], s[0:7], s[8:11] dmask:0xf
          0xbf810000};             // s_endpgm
}

TEST(Liveness, KeepsInactiveLanesForSamplesWithDerivatives) {
  const auto graph = graph_of(sample_under_if(0xf0800f00));  // image_sample
  ASSERT_TRUE(graph) << graph.error();
  EXPECT_TRUE(liveness_of(*graph).inactive_behind[0][0]);
  const auto of_level_zero = graph_of(sample_under_if(0xf09c0f00));  // image_sample_lz
  ASSERT_TRUE(of_level_zero) << of_level_zero.error();
  EXPECT_FALSE(liveness_of(*of_level_zero).inactive_behind[0][0]);
}

TEST(AnalysisText, MarksVgprsKeptInInactiveLanes) {
  const auto graph = graph_of(kLoop);
  ASSERT_TRUE(graph) << graph.error();
  const std::string text = text_of(*graph, liveness_of(*graph));
  EXPECT_NE(text.find("block 2  -> 3 2"), std::string::npos) << text;
  EXPECT_NE(text.find("; v8 in inactive lanes"), std::string::npos) << text;
}

}  // namespace
}  // namespace rigel::vgpu::analysis
