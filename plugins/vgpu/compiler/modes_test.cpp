#include "plugins/vgpu/compiler/modes.hpp"

#include "plugins/vgpu/compiler/test_plans.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

constexpr uint32_t kFlushing = 0x3c0, kKeeping = 0x3f0;  // denormals of single precision
constexpr uint32_t kNop = 0xbf800000;
constexpr uint32_t kIfScc = 0xbf850000;            // s_cbranch_scc1, with the words that it skips
constexpr uint32_t kSetDenormals = 0xba000901;     // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), …
constexpr uint32_t kSetException = 0xba000301;     // s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 1), …
constexpr uint32_t kSetFromRegister = 0xb9000901;  // s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s0
constexpr uint32_t kSetFlatScratch = 0xb900f814;   // s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s0 (gfx10)
constexpr uint32_t kRound = 0xbfa40000;            // s_round_mode (gfx10)
constexpr uint32_t kKeepDenormals = 0xbfa50000;    // s_denorm_mode (gfx10)
constexpr uint32_t kIndexOff = 0xbf9c0000;         // s_set_gpr_idx_off

tl::expected<std::vector<uint32_t>, std::string> modes(const std::vector<uint32_t>& code,
                                                       const char* chip = "gfx803") {
  const auto graph = analysis::read_flow_graph(*isa::target_of(chip), 64, kVa, request_of(code).read);
  EXPECT_TRUE(graph) << graph.error();
  return modes_of(*graph, kFlushing);
}

TEST(Modes, AreWhatInstructionsBeforeHaveMadeThem) {
  EXPECT_EQ(modes({kNop, kSetDenormals, 3, kNop, kSetDenormals, 0}),
            (std::vector<uint32_t>{kFlushing, kFlushing, kKeeping, kKeeping, kFlushing}));
  EXPECT_EQ(modes({kSetDenormals, 0xfffffffc}), (std::vector<uint32_t>{kFlushing, kFlushing}))
      << "what is beyond the field does not count";
  EXPECT_EQ(modes({kRound | 2, kKeepDenormals | 0xf}, "gfx1030"),
            (std::vector<uint32_t>{kFlushing, kFlushing | 2, kKeeping | 2}));
}

TEST(Modes, AreNotChangedByOtherRegisters) {
  EXPECT_EQ(modes({kSetFlatScratch}, "gfx1010"), (std::vector<uint32_t>{kFlushing, kFlushing}));
}

TEST(Modes, AreTheSameOnAllWaysOrNone) {
  EXPECT_EQ(modes({kSetDenormals, 3, kIfScc | 1, kNop}),
            (std::vector<uint32_t>{kFlushing, kKeeping, kKeeping, kKeeping}));
  EXPECT_EQ(modes({kIfScc | 2, kSetDenormals, 3}).error(),
            "s_endpgm at 0x100c: MODE differs from way to way");
  // Round a loop.
  EXPECT_FALSE(modes({kNop, kSetDenormals, 3, kIfScc | 0xfffc}));
}

TEST(Modes, AreNotKnownWhereCodeIsNotMadeForThem) {
  EXPECT_EQ(modes({kSetFromRegister}).error(), "s_setreg_b32 at 0x1000: it changes MODE");
  EXPECT_FALSE(modes({kSetException, 1}));
  EXPECT_FALSE(modes({kIndexOff}));
}

}  // namespace
}  // namespace rigel::vgpu::exec::compiler
