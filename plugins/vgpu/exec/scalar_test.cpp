#include <gtest/gtest.h>

#include "plugins/vgpu/exec/test_wave.hpp"

namespace rigel::vgpu::exec {
namespace {

using testing::gfx;
using testing::TestWave;

TEST(Scalar, LoopsUntilConditionFails) {
  TestWave t(gfx(9, 0, 0));
  // s0 = 5; s1 = 0; do { s1 += s0; s0 -= 1; } while (s0 != 0)
  EXPECT_EQ(t.run({0xbe800085, 0xbe810080, 0x80010001, 0x80808100, 0xbf078000, 0xbf85fffc}), Stop::kEnd);
  EXPECT_EQ(t.s(0), 0u);
  EXPECT_EQ(t.s(1), 15u);
  EXPECT_EQ(t.executed, 2 + 5 * 4 + 1);
}

// Runs a fork: s[10:11] are the lanes that branch, s14 is the initial CSP. Lanes that branch write 2 to v0,
// the others 1. After the join the program restores EXEC from s[16:17], and all lanes add 1 to v1.
void expect_both_paths(TestWave& t, const std::vector<uint32_t>& words, uint64_t exec, uint64_t branch) {
  t.set_exec(exec);
  t.set_s64(10, branch);
  t.set_s64(16, exec);
  t.s(14) = 0;
  EXPECT_EQ(t.run(words), Stop::kEnd);
  EXPECT_EQ(t.s64(126), exec);
  EXPECT_EQ(t.wave.mode >> 29, 0u);
  for (uint32_t lane = 0; lane < 64; ++lane) {
    const bool active = (exec >> lane & 1) != 0;
    ASSERT_EQ(t.v(0, lane), !active ? 0u : (branch >> lane & 1) != 0 ? 2u : 1u) << lane;
    ASSERT_EQ(t.v(1, lane), active ? 1u : 0u) << lane;
  }
}

TEST(Scalar, ForkRunsBothPathsAndJoins) {
  const std::vector<uint32_t> from_registers = {0xbe8c1c00, 0x800c980c, 0x820d800d, 0xbe8e0080,
                                                0x94800c0a, 0x7e000281, 0xbf820001, 0x7e000282,
                                                0xbe802e0e, 0xbefe0110, 0x68020281};
  const std::vector<uint32_t> immediate = {0xb80a0002, 0x7e000281, 0xbf820001, 0x7e000282,
                                           0xbe802e0e, 0xbefe0110, 0x68020281};
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0xff00ff00}, uint64_t{0}}) {
    for (const uint64_t branch :
         {uint64_t{0}, ~uint64_t{0}, uint64_t{3}, ~uint64_t{3}, uint64_t{0x0f000f00}}) {
      TestWave a(gfx(9, 0, 0)), b(gfx(9, 0, 0));
      expect_both_paths(a, from_registers, exec, branch);
      expect_both_paths(b, immediate, exec, branch);
    }
  }
}

TEST(Scalar, VskipSkipsVectorInstructions) {
  TestWave t(gfx(9, 0, 0));
  t.s(10) = 8;
  t.s(11) = ~8u;
  EXPECT_EQ(t.run({0xbf10830a, 0x7e000289, 0xd81a0000, 0, 0xbe940085, 0xbf10830b, 0x7e020289}), Stop::kEnd);
  EXPECT_EQ(t.v(0, 0), 0u);
  EXPECT_EQ(t.s(20), 5u);
  EXPECT_EQ(t.v(1, 0), 9u);
}

TEST(Scalar, SetkillEndsWave) {
  TestWave t(gfx(9, 0, 0));
  EXPECT_EQ(t.run({0xbf8b0000, 0xbe940085, 0xbf8b0001, 0xbe940086}), Stop::kEnd);
  EXPECT_EQ(t.s(20), 5u);
}

TEST(Scalar, CodeEndIsIllegalInstruction) {
  TestWave t(gfx(10, 3, 0));
  EXPECT_EQ(t.run({0xbe940385, 0xbf9f0000, 0xbe940386}), Stop::kIllegal);
  EXPECT_EQ(t.s(20), 5u);
  EXPECT_EQ(pc_of(t.wave.op), t.code_buffer.va + 4);
}

TEST(Scalar, IndexesDestinationsOfLaneOperations) {
  TestWave t(gfx(9, 0, 0));
  t.s(2) = 5;
  t.s(3) = 77;
  // v_writelane v0[5], s3, 2; v_mbcnt_lo v4[5]
  EXPECT_EQ(t.run({0xbf110802, 0xd28a0000, 0x00010403, 0xd28c0004, 0x000100c1, 0xbf9c0000}), Stop::kEnd);
  EXPECT_EQ(t.v(5, 2), 77u);
  EXPECT_EQ(t.v(0, 2), 0u);
  EXPECT_EQ(t.v(9, 7), 7u);
  EXPECT_EQ(t.run({0xbf110802, 0x7e00a301}), Stop::kIllegal) << "v_swap";
}

TEST(Scalar, SaveexecSavesExec) {
  TestWave t(gfx(9, 0, 0));
  const std::vector<uint32_t> program = {0xbe8001ff, 0x000000ff, 0xbe822000,
                                         0xbf880001, 0xbe840081, 0x87fe027e};
  t.set_exec(0xfff0);
  EXPECT_EQ(t.run(program), Stop::kEnd);
  EXPECT_EQ(t.s64(2), 0xfff0u);
  EXPECT_EQ(t.wave.scc, 1u);
  EXPECT_EQ(t.s(4), 1u);
  EXPECT_EQ(t.s64(126), 0xfff0u);

  t.s(4) = 0;
  t.set_exec(0xff00);
  EXPECT_EQ(t.run(program), Stop::kEnd);
  EXPECT_EQ(t.s(4), 0u) << "no lane was left";
  EXPECT_EQ(t.s64(126), 0xff00u);
}

TEST(Scalar, Wave32UsesLowHalfOfExec) {
  TestWave t(gfx(10, 1, 0), 32);
  EXPECT_EQ(t.run({0xbe8003ff, 0x000000ff, 0xbe823c00, 0xbe83037e, 0xbefe0302}), Stop::kEnd);
  EXPECT_EQ(t.s(2), 0xffffffffu);
  EXPECT_EQ(t.s(3), 0xffu);
  EXPECT_EQ(t.s64(126), 0xffffffffu);
}

TEST(Scalar, CallsAndReturnsByRegisters) {
  TestWave t(gfx(9, 0, 0));
  EXPECT_EQ(t.run({0xbe841c00, 0x80049804, 0x82058005, 0xbe9e1e04, 0x8000ff00, 0x00000100, 0xbf810000,
                   0xbf800000, 0xbe800087, 0xbe801d1e}),
            Stop::kEnd);
  EXPECT_EQ(t.s(0), 0x107u);
  EXPECT_EQ(t.s64(30), t.code_buffer.va + 16);
  EXPECT_EQ(t.executed, 4 + 3 + 2);
}

TEST(Scalar, CallsByOffset) {
  TestWave t(gfx(9, 0, 0));
  EXPECT_EQ(t.run({0xba9e0002, 0x80008100, 0xbf810000, 0xbe8000a9, 0xbe801d1e}), Stop::kEnd);
  EXPECT_EQ(t.s(0), 42u);
}

TEST(Scalar, ReadsAndWritesFieldsOfMode) {
  TestWave t(gfx(9, 0, 0));
  EXPECT_EQ(t.run({0xb880f801, 0xba001801, 0x0000000f, 0xb8813801}), Stop::kEnd);
  EXPECT_EQ(t.s(0), 0x3f0u);
  EXPECT_EQ(t.s(1), 0xffu);
  EXPECT_EQ(t.wave.mode, 0x3ffu);
}

// s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 0 or 1, and v_cvt_f16_f32 v1, v0 after each.
TEST(Scalar, Fp16OvflTakesEffectAtOnce) {
  constexpr uint32_t kConvert = 0x7e021500;
  struct Chip {
    isa::Target target;
    uint32_t set_mode, convert_again, wanted;
  };
  for (const Chip& chip : {Chip{gfx(8, 0, 3), 0xba0005c1, 0x7e041500, 0x7c00},
                           Chip{gfx(9, 0, 0), 0xba0005c1, 0x7e041500, 0x7bff},
                           Chip{gfx(10, 3, 0), 0xba8005c1, 0x7e041500, 0x7bff}}) {
    TestWave t(chip.target);
    t.v(0, 0) = 0x47c35000;  // 100000
    EXPECT_EQ(t.run({chip.set_mode, 0, kConvert, chip.set_mode, 1, chip.convert_again}), Stop::kEnd);
    EXPECT_EQ(t.v(1, 0) & 0xffff, 0x7c00u);
    EXPECT_EQ(t.v(2, 0) & 0xffff, chip.wanted);
  }
}

TEST(Scalar, DisabledTrapsDoNothing) {
  for (const uint32_t enabled : {0u, 1u}) {
    TestWave t(gfx(9, 0, 0));
    t.wave.status = enabled << 6;
    if (enabled == 0) t.trap.code_va = t.code_buffer.va + 4096;
    EXPECT_EQ(t.run({0xbe800081, 0xbf920002, 0xbe810081}), Stop::kEnd);
    EXPECT_EQ(t.s(1), 1u) << (enabled == 0 ? "traps are disabled" : "there is no handler");
  }
}

TEST(Scalar, TrapInHandlerStopsWave) {
  TestWave t(gfx(9, 0, 0));
  t.wave.status = 1u << 6;
  t.trap.code_va = t.code_buffer.va + 4096;
  t.put({0xbe820081, 0xbf920003}, 4096);
  EXPECT_EQ(t.run({0xbf920002, 0xbe810081}), Stop::kTrap);
  EXPECT_EQ(t.wave.trap_id, 3);
  EXPECT_EQ(t.s(2), 1u);
  EXPECT_EQ(t.s(1), 0u);
}

TEST(Scalar, TrapEntersHandlerAndReturns) {
  TestWave t(gfx(9, 0, 0));
  t.wave.status = 1u << 6;
  t.trap.code_va = t.code_buffer.va + 4096;
  t.put({0x9288ff6d, 0x00080010, 0x866dff6d, 0x0000ffff, 0x806c846c, 0x826d806d, 0xbe801f6c}, 4096);
  EXPECT_EQ(t.run({0xbe800081, 0xbf920002, 0xbe810081}), Stop::kEnd);
  EXPECT_EQ(t.s(8), 2u) << "the trap's number, from TTMP1";
  EXPECT_EQ(t.s(1), 1u) << "went on behind the trap";
}

TEST(Scalar, TrapHandlerReadsDoorbellAndHaltsWave) {
  TestWave t(gfx(9, 0, 0));
  t.wave.status = 1u << 6;
  t.trap = {t.code_buffer.va + 4096, 0x123456789000};
  t.put({0xbefe00ff, 0x80000000, 0xbf90000a, 0xbe89007e, 0xbefe00c1, 0xbe8a017a, 0x866dff6d, 0x0000ffff,
         0xbef81a8d, 0xb978f802, 0xbe8c0081, 0xbe801f6c},
        4096);
  EXPECT_EQ(t.run({0xbf920002}), Stop::kHalt);
  EXPECT_EQ(t.s(9), 5u) << "the doorbell of the queue";
  EXPECT_EQ(t.s64(10), 0x123456789000u) << "the handler's data";
  EXPECT_EQ(t.s(12), 1u) << "went on to the end of the handler";
}

TEST(Scalar, SleepsHaltsAndSendsMessages) {
  TestWave t(gfx(9, 0, 0));
  EXPECT_EQ(t.run({0xbf8e0001, 0xbf8d0001, 0xbefc0087, 0xbf900001}), Stop::kSleep);
  EXPECT_EQ(t.resume(), Stop::kHalt);
  EXPECT_EQ(t.resume(), Stop::kEnd);
  EXPECT_EQ(t.messages, std::vector<uint32_t>{7});
}

TEST(Scalar, MovesRelativeToM0) {
  TestWave t(gfx(9, 0, 0));
  t.s(2) = 77;
  EXPECT_EQ(t.run({0xbefc0082, 0xbe942a00, 0xbe942c89}), Stop::kEnd);
  EXPECT_EQ(t.s(20), 77u);
  EXPECT_EQ(t.s(22), 9u);
}

TEST(Scalar, VgprIndexingIsPartOfVariant) {
  TestWave t(gfx(9, 0, 0));
  t.s(0) = 0x103;
  EXPECT_EQ(t.run({0xbf110900}), Stop::kEnd);
  EXPECT_EQ(t.s(124), 0x9003u);
  EXPECT_EQ(variant_of(t.wave) >> kGprIndexShift & 15, 9u);
  EXPECT_EQ(variant_of(t.wave) & kIndexingVariant, kIndexingVariant);
  EXPECT_EQ(t.run({0xbf110900, 0xbf9c0000}), Stop::kEnd);
  EXPECT_EQ(variant_of(t.wave) >> kGprIndexShift, 0u);
}

TEST(Scalar, VgprIndexingFollowsWritesToM0) {
  TestWave t(gfx(9, 0, 0));
  t.s(20) = 1;
  t.v(12, 0) = 12;
  t.v(13, 0) = t.v(14, 0) = 0x8001;
  // No operand is indexed; then a write to M0 selects destinations, with index 2.
  EXPECT_EQ(t.run({0xbf110014, 0xbefc00ff, 0x8002, 0x7e14030c, 0xbf9c0000}), Stop::kEnd);
  EXPECT_EQ(t.v(10, 0), 0u);
  EXPECT_EQ(t.v(12, 0), 12u);
  // Sources with index 1; then v_readfirstlane to M0 selects destinations.
  EXPECT_EQ(t.run({0xbf110114, 0x7ef8050d, 0x7e16030c, 0xbf9c0000}), Stop::kEnd);
  EXPECT_EQ(t.s(124), 0x8001u);
  EXPECT_EQ(t.v(12, 0), 12u);
  EXPECT_EQ(t.v(11, 0), 0u);
}

TEST(Scalar, SubvectorLoopRunsEachHalf) {
  TestWave t(gfx(10, 1, 0));
  const std::vector<uint32_t> program = {0xbd800003, 0x80018101, 0xbe82047e, 0xbe00fffd, 0xbe84047e};
  t.set_exec(0x1234567800000001);
  EXPECT_EQ(t.run(program), Stop::kEnd);
  EXPECT_EQ(t.s(1), 2u) << "passes";
  EXPECT_EQ(t.s64(2), 0x1234567800000000u) << "EXEC of the second pass";
  EXPECT_EQ(t.s64(4), 0x1234567800000001u) << "EXEC behind the loop";
  t.s(1) = 0;
  t.set_exec(0);
  EXPECT_EQ(t.run(program), Stop::kEnd);
  EXPECT_EQ(t.s(1), 0u);
}

}  // namespace
}  // namespace rigel::vgpu::exec
