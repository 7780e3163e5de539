#include "plugins/vgpu/exec/native/modes.hpp"

#include "plugins/vgpu/exec/native/test_plans.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

constexpr uint32_t kFlushing = 0x3c0, kKeeping = 0x3f0;  // denormals of single precision
constexpr uint32_t kNop = 0xbf800000;
constexpr uint32_t kIfScc = 0xbf850000;              // s_cbranch_scc1, with the words that it skips
constexpr uint32_t kSetDenormals = 0xba000901;       // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), …
constexpr uint32_t kSetException = 0xba000301;       // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 1), …
constexpr uint32_t kSetFromRegister = 0xb9000901;    // s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s0
constexpr uint32_t kSetFlatScratch = 0xb900f814;     // s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s0 (gfx10)
constexpr uint32_t kRound = 0xbfa40000;              // s_round_mode (gfx10)
constexpr uint32_t kKeepDenormals = 0xbfa50000;      // s_denorm_mode (gfx10)
constexpr uint32_t kIndexOn = 0xbf110000;            // s_set_gpr_idx_on s0, …
constexpr uint32_t kIndexOnByConstant = 0xbf110081;  // s_set_gpr_idx_on 1, gpr_idx()
constexpr uint32_t kIndexMode = 0xbf9d0000;          // s_set_gpr_idx_mode …
constexpr uint32_t kIndexOff = 0xbf9c0000;           // s_set_gpr_idx_off
constexpr uint32_t kSetIndex = 0xbe803200;           // s_set_gpr_idx_idx s0
constexpr uint32_t kMoveToM0 = 0xbefc0000;           // s_mov_b32 m0, s0
constexpr uint32_t kCall = 0xbe9e1e04;               // s_swappc_b64 s[30:31], s[4:5]

tl::expected<std::vector<uint32_t>, std::string> modes(const std::vector<uint32_t>& code,
                                                       const char* chip = "gfx803") {
  const auto graph = analysis::read_flow_graph(*isa::target_of(chip), 64, kVa, request_of(code).read);
  EXPECT_TRUE(graph) << graph.error();
  return modes_of(*graph, kFlushing);
}

TEST(Modes, FollowPrecedingInstructions) {
  EXPECT_EQ(modes({kNop, kSetDenormals, 3, kNop, kSetDenormals, 0}),
            (std::vector<uint32_t>{kFlushing, kFlushing, kKeeping, kKeeping, kFlushing}));
  EXPECT_EQ(modes({kSetDenormals, 0xfffffffc}), (std::vector<uint32_t>{kFlushing, kFlushing}))
      << "what is beyond the field does not count";
  EXPECT_EQ(modes({kRound | 2, kKeepDenormals | 0xf}, "gfx1030"),
            (std::vector<uint32_t>{kFlushing, kFlushing | 2, kKeeping | 2}));
}

TEST(Modes, IgnoreWritesToOtherRegisters) {
  EXPECT_EQ(modes({kSetFlatScratch}, "gfx1010"), (std::vector<uint32_t>{kFlushing, kFlushing}));
}

TEST(Modes, FailIfPathsDiffer) {
  EXPECT_EQ(modes({kSetDenormals, 3, kIfScc | 1, kNop}),
            (std::vector<uint32_t>{kFlushing, kKeeping, kKeeping, kKeeping}));
  EXPECT_EQ(modes({kIfScc | 2, kSetDenormals, 3}).error(),
            "s_endpgm at 0x100c: MODE differs between predecessors");
  // Around a loop.
  EXPECT_FALSE(modes({kNop, kSetDenormals, 3, kIfScc | 0xfffc}));
}

TEST(Modes, FailForUnsupportedChanges) {
  EXPECT_EQ(modes({kSetFromRegister}).error(), "s_setreg_b32 at 0x1000: it changes MODE to an unknown value");
  EXPECT_FALSE(modes({kSetException, 1}));
  EXPECT_EQ(modes({kIndexOnByConstant}).error(),
            "s_set_gpr_idx_on at 0x1000: it changes MODE to an unknown value");
}

TEST(Modes, IncludeIndexedOperands) {
  const uint32_t destination = kFlushing | kGprIndexEnable | 8u << kIndexedShift;
  const uint32_t sources = kFlushing | kGprIndexEnable | 3u << kIndexedShift;
  EXPECT_EQ(modes({kIndexOn | 8 << 8, kSetIndex, kIndexMode | 3, kNop, kIndexOff}),
            (std::vector<uint32_t>{kFlushing, destination, destination, sources, sources, kFlushing}));
  EXPECT_EQ(modes({kIndexMode | 3, kIndexOff, kMoveToM0}), (std::vector<uint32_t>(4, kFlushing)))
      << "nothing has been switched on";
  EXPECT_EQ(indexed_of(sources), 3);
}

TEST(Modes, FailIfIndexedOperandsAreUnknown) {
  EXPECT_EQ(modes({kIndexOn, kMoveToM0}).error(),
            "s_mov_b32 at 0x1004: it changes M0 while GPR indexing is on");
  EXPECT_EQ(modes({kIfScc | 1, kIndexOn}).error(), "s_endpgm at 0x1008: MODE differs between predecessors");
  EXPECT_EQ(modes({kIndexOn, kCall}).error(),
            "s_swappc_b64 at 0x1004: a function is called with GPR indexing on");
}

}  // namespace
}  // namespace rigel::vgpu::exec::compiler
