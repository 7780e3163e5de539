// The translator: paths through code, links, what happens to code that is not there or changes.
#include <gtest/gtest.h>

#include "plugins/vgpu/exec/test_wave.hpp"

namespace rigel::vgpu::exec {
namespace {

using testing::gfx;
using testing::TestWave;

constexpr uint32_t kEnd = 0xbf810000;

TEST(Code, IsNotDecodedWhereNothingLeads) {
  TestWave t(gfx(9, 0, 0));
  // A branch over a word that is no instruction.
  EXPECT_EQ(t.run({0xbf068080, 0xbf850001, 0xffffffff, 0xbe800083}), Stop::kEnd);
  EXPECT_EQ(t.s(0), 3u);
}

TEST(Code, IllegalInstructionsStopTheWaveWhereTheyStand) {
  TestWave t(gfx(9, 0, 0));
  EXPECT_EQ(t.run({0xbe800083, 0xffffffff}), Stop::kIllegal);
  EXPECT_EQ(t.s(0), 3u) << "what came before was executed";
  EXPECT_EQ(pc_of(t.wave.op), t.code_buffer.va + 4);
  EXPECT_NE(t.wave.illegal_reason, nullptr);
}

TEST(Code, ThatCannotBeFetchedIsAFault) {
  TestWave t(gfx(9, 0, 0));
  EXPECT_EQ(t.run_at(0x10), Stop::kFault);
  EXPECT_EQ(t.wave.fault_va, 0x10u);
  EXPECT_EQ(static_cast<Access>(t.wave.fault_access), Access::kExecute);
}

TEST(Code, MayRunOffTheEndOfItsMemory) {
  TestWave t(gfx(9, 0, 0));
  t.put({0xbe800083}, t.code_buffer.bytes - 4);
  EXPECT_EQ(t.run_at(t.code_buffer.va + t.code_buffer.bytes - 4), Stop::kFault);
  EXPECT_EQ(t.wave.fault_va, t.code_buffer.va + t.code_buffer.bytes);
  EXPECT_EQ(t.s(0), 3u);
}

TEST(Code, SpinningWavesLeaveWhenTheirTurnIsOver) {
  TestWave t(gfx(9, 0, 0));
  t.put({0xbf82ffff});
  EXPECT_EQ(t.run_at(t.code_buffer.va, 1000), Stop::kBudget);
  EXPECT_EQ(t.executed, 1001);
  EXPECT_EQ(t.go_on(10), Stop::kBudget) << "and go on";
}

TEST(Code, BlocksAreLinkedWherePathsAreLong) {
  TestWave t(gfx(9, 0, 0));
  // 5000 times s_add_u32 s0, s0, 1: more than a block holds.
  std::vector<uint32_t> words(5000, 0x80008100);
  EXPECT_EQ(t.run(words), Stop::kEnd);
  EXPECT_EQ(t.s(0), 5000u);
  EXPECT_EQ(t.executed, 5001);
}

TEST(Code, ThatChangesIsNoticed) {
  TestWave t(gfx(9, 0, 0));
  EXPECT_EQ(t.run({0xbe800083}), Stop::kEnd);
  EXPECT_TRUE(t.code->is_current());
  t.put({0xbe800084});
  EXPECT_FALSE(t.code->is_current());
  t.put({0xbe800083});
  EXPECT_TRUE(t.code->is_current());
  t.put({kEnd}, 8);
  EXPECT_TRUE(t.code->is_current()) << "what lies behind the end does not matter";
}

TEST(Code, ThatAWaveHasReplacedIsSeenAfterAnInvalidation) {
  TestWave t(gfx(9, 0, 0));
  // s_sleep; s_icache_inv; s_mov_b32 s0, 3
  t.put({0xbf8e0001, 0xbf930000, 0xbe800083, kEnd});
  EXPECT_EQ(t.run_at(t.code_buffer.va), Stop::kSleep);
  t.put({0xbe800084}, 8);
  EXPECT_EQ(t.go_on(), Stop::kEnd);
  EXPECT_EQ(t.s(0), 4u);
}

TEST(Code, IsTranslatedForEachFloatMode) {
  TestWave t(gfx(9, 0, 0));
  EXPECT_EQ(t.run({0xbe800083}), Stop::kEnd);
  const MicroOp* const one = t.code->find(t.code_buffer.va, 0x3f0);
  EXPECT_EQ(t.code->find(t.code_buffer.va, 0x3f0), one);
  EXPECT_NE(t.code->find(t.code_buffer.va, 0x300), one);
}

}  // namespace
}  // namespace rigel::vgpu::exec
