// The translator: control flow, links, and code that is missing or changes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>

#include "plugins/vgpu/exec/test_wave.hpp"

namespace rigel::vgpu::exec {
namespace {

using testing::gfx;
using testing::TestWave;

constexpr uint32_t kEnd = 0xbf810000;

TEST(TranslatedCode, DoesNotDecodeUnreachableCode) {
  TestWave t(gfx(9, 0, 0));
  // A branch over an invalid instruction.
  EXPECT_EQ(t.run({0xbf068080, 0xbf850001, 0xffffffff, 0xbe800083}), Stop::kEnd);
  EXPECT_EQ(t.s(0), 3u);
}

TEST(TranslatedCode, IllegalInstructionStopsWaveWhenExecuted) {
  TestWave t(gfx(9, 0, 0));
  EXPECT_EQ(t.run({0xbe800083, 0xffffffff}), Stop::kIllegal);
  EXPECT_EQ(t.s(0), 3u) << "what came before was executed";
  EXPECT_EQ(pc_of(t.wave.op), t.code_buffer.va + 4);
  EXPECT_NE(t.wave.illegal_reason, nullptr);
}

// Manuals, section 3.6.1: the write is ignored, and v0 is read.
TEST(TranslatedCode, ReplacesMissingVgprs) {
  for (const SimdLevel level : simd_levels()) {
    TestWave t(gfx(9, 0, 0), 64, 8, level);
    for (uint32_t lane = 0; lane < 64; ++lane) t.v(0, lane) = 100 + lane, t.v(7, lane) = 7;
    // v_mov_b32 v8, 3; v_mov_b32 v1, v40; v_add_co_u32 v9, vcc, v0, v0; v_mov_b32 v2, 5
    EXPECT_EQ(t.run({0x7e100283, 0x7e020328, 0x32120100, 0x7e040285}), Stop::kEnd);
    for (uint32_t lane = 0; lane < 64; ++lane) {
      EXPECT_EQ(t.v(7, lane), 7u);
      EXPECT_EQ(t.v(1, lane), 100 + lane) << "v0 in its place";
      EXPECT_EQ(t.v(2, lane), 5u);
    }
    EXPECT_EQ(t.s64(106), 0u) << "what else the instruction writes is ignored as well";
    const auto warnings = t.bus.warnings();
    ASSERT_EQ(warnings.size(), 1u) << "it is reported once";
    EXPECT_NE(warnings[0].find("the kernel has 8 VGPRs and 106 SGPRs"), std::string::npos) << warnings[0];
    EXPECT_NE(warnings[0].find("v_mov_b32_e32 v8, 3"), std::string::npos) << warnings[0];
  }
}

class HotCode : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!compiler::why_no_compiler().empty()) GTEST_SKIP() << compiler::why_no_compiler();
    const uint32_t words[] = {0x7e0a0300, kEnd};  // v_mov_b32_e32 v5, v0
    std::memcpy(memory_.host, words, sizeof words);
    CodeKey key;
    key.entry_va = memory_.va;
    key.target = gfx(9, 0, 0);
    key.layout.vgprs = 8;
    key.level = best_simd_level();
    key.compilation = Compilation::kWhenHot;
    code_ = std::make_shared<TranslatedCode>(key, bus_);
  }

  using Size = std::array<uint32_t, 3>;
  static std::shared_ptr<const GroupShape> shape(const Size& size) {
    return std::make_shared<const GroupShape>(
        GroupShape::Key{.size = {size[0], size[1], size[2]}, .wave_size = 64, .id_rows = 2});
  }
  TranslatedCode::Usage& usage() { return code_->usage(0, one_wave_); }

  vgpu::testing::FakeBus bus_;
  const vgpu::testing::Buffer memory_ = bus_.allocate(4096);
  const std::shared_ptr<const GroupShape> one_wave_ = shape({64, 1, 1});
  std::shared_ptr<TranslatedCode> code_;
};

TEST_F(HotCode, HasEntryAfterCall) {
  const uint32_t words[] = {0xbe9e1e04, 0x7e0a0300,
                            kEnd};  // s_swappc_b64 s[30:31], s[4:5]; v_mov_b32_e32 v5, v0
  std::memcpy(memory_.host, words, sizeof words);
  CodeKey key = code_->key();
  key.compilation = Compilation::kBeforehand;
  TranslatedCode code(key, bus_);
  EXPECT_EQ(code.compiled_entry(memory_.va + 4, 0, *one_wave_), nullptr) << "nothing is compiled";
  code.prepare(code.usage(0, one_wave_));
  ASSERT_EQ(code.why_not_compiled(), "");
  EXPECT_NE(code.compiled_entry(memory_.va + 4, 0, *one_wave_), nullptr);
  EXPECT_EQ(code.compiled_entry(memory_.va + 4, 1, *one_wave_), nullptr) << "it rounds otherwise";
  EXPECT_EQ(code.compiled_entry(memory_.va, 0, *one_wave_), nullptr);
  EXPECT_EQ(code.compiled_entry(memory_.va + 8, 0, *one_wave_), nullptr);
}

TEST_F(HotCode, FastEntryRequiresEqualStartsOfWaves) {
  CodeKey key = code_->key();
  key.compilation = Compilation::kBeforehand;
  TranslatedCode code(key, bus_);
  TranslatedCode::Usage& usage = code.usage(0, shape({128, 1, 1}));
  code.prepare(usage);
  ASSERT_EQ(code.why_not_compiled(), "");
  const auto is_fast = [&](const Size& size) {
    return code.begin(usage, *shape(size), true).fills_registers;
  };
  EXPECT_TRUE(is_fast({128, 1, 1}));
  EXPECT_TRUE(is_fast({1024, 1, 1})) << "its waves start alike";
  EXPECT_FALSE(is_fast({16, 16, 1}));
  EXPECT_FALSE(code.begin(usage, *usage.shape, false).fills_registers);
}

TEST_F(HotCode, CompilesFormForEachShape) {
  CodeKey key = code_->key();
  key.compilation = Compilation::kBeforehand;
  TranslatedCode code(key, bus_);
  const Size sizes[] = {{64, 1, 1}, {32, 2, 1}, {16, 4, 1}, {8, 8, 1}, {4, 16, 1}};
  std::set<const MicroOp*> starts;
  for (const Size& size : sizes) {
    TranslatedCode::Usage& usage = code.usage(0, shape(size));
    code.prepare(usage);
    const TranslatedCode::StartPoint start = code.begin(usage, *usage.shape, true);
    EXPECT_TRUE(start.fills_registers) << size[0];
    EXPECT_TRUE(starts.insert(start.op).second) << size[0];
  }
  for (const Size& size : sizes)
    EXPECT_TRUE(starts.contains(code.begin(code.usage(0, shape(size)), *shape(size), true).op));
}

TEST_F(HotCode, RunsFormWithoutShapeAfterManyShapes) {
  CodeKey key = code_->key();
  key.compilation = Compilation::kBeforehand;
  TranslatedCode code(key, bus_);
  uint32_t fast = 0;
  for (uint32_t width = 64; width >= 4; width /= 2) {
    for (const uint32_t waves : {1u, 2u}) {
      TranslatedCode::Usage& usage = code.usage(0, shape({width, waves * 64 / width, 1}));
      code.prepare(usage);
      const TranslatedCode::StartPoint start = code.begin(usage, *usage.shape, true);
      EXPECT_NE(start.op, code.find(memory_.va, 0)) << "compiled, " << width << ", " << waves;
      fast += start.fills_registers;
    }
  }
  EXPECT_EQ(fast, TranslatedCode::kForms - 1);
}

TEST_F(HotCode, CountsEachShapeAlone) {
  TranslatedCode::Usage& first = code_->usage(0, shape({64, 1, 1}));
  TranslatedCode::Usage& second = code_->usage(0, shape({8, 8, 1}));
  EXPECT_EQ(&second, &code_->usage(0, shape({8, 8, 1})));
  EXPECT_TRUE(code_->becomes_hot(first, TranslatedCode::kHot));
  EXPECT_FALSE(code_->becomes_hot(second, TranslatedCode::kHot - 1));
  EXPECT_TRUE(code_->becomes_hot(second, 1));
}

TEST_F(HotCode, HasEntryAtLoopHeader) {
  const uint32_t words[] = {
      0xbe800085, 0x80808100, 0xbf078000, 0xbf85fffd,
      kEnd};  // s_mov_b32 s0, 5; s_sub_u32 s0, s0, 1; s_cmp_lg_u32 s0, 0; s_cbranch_scc1 -3
  std::memcpy(memory_.host, words, sizeof words);
  const uint64_t head = memory_.va + 4;
  WorkGroup group;
  group.usual_shape = one_wave_.get();
  Wave wave;
  wave.group = &group;
  wave.op = code_->find(head, 0);
  const MicroOp* const interpreted = wave.op;
  go_on_compiled(wave);
  EXPECT_EQ(wave.op, interpreted) << "nothing is compiled";
  TranslatedCode::compile_aside(code_, usage());
  for (int i = 0; i < 6000 && !code_->is_compiled() && code_->why_not_compiled().empty(); ++i) usleep(10'000);
  ASSERT_TRUE(code_->is_compiled()) << code_->why_not_compiled();
  go_on_compiled(wave);
  EXPECT_NE(wave.op, interpreted);
  EXPECT_EQ(wave.op, code_->compiled_entry(head, 0, *one_wave_));
  const MicroOp* const compiled = wave.op;
  go_on_compiled(wave);
  EXPECT_EQ(wave.op, compiled) << "it is there already";
  wave.op = code_->find(memory_.va + 8, 0);
  const MicroOp* const within = wave.op;
  go_on_compiled(wave);
  EXPECT_EQ(wave.op, within) << "that is no head of a loop";
}

TEST_F(HotCode, CompilesOnAnotherThread) {
  EXPECT_FALSE(code_->becomes_hot(usage(), TranslatedCode::kHot - 1));
  EXPECT_TRUE(code_->becomes_hot(usage(), 2));
  EXPECT_FALSE(code_->becomes_hot(usage(), TranslatedCode::kHot)) << "it is reported once";
  TranslatedCode::compile_aside(code_, usage());
  // The compiler thread does not notify anyone, so the test polls.
  for (int i = 0; i < 6000 && !code_->is_compiled() && code_->why_not_compiled().empty(); ++i) usleep(10'000);
  EXPECT_TRUE(code_->is_compiled()) << code_->why_not_compiled();
}

TEST_F(HotCode, CompilesCalledFunctions) {
  const uint64_t function = memory_.va + 64;
  const uint32_t words[] = {0x7e0a0300, 0xbe801d1e};  // v_mov_b32_e32 v5, v0; s_setpc_b64 s[30:31]
  std::memcpy(memory_.host + 64, words, sizeof words);
  EXPECT_TRUE(code_->becomes_hot(usage(), TranslatedCode::kHot));
  TranslatedCode::compile_aside(code_, usage());
  const MicroOp* const interpreted = code_->find(function, 0);
  EXPECT_EQ(code_->find_best(function, 0), interpreted);
  EXPECT_FALSE(code_->becomes_hot(usage(), 1)) << "no wave calls it";
  EXPECT_EQ(code_->find_function(function, 0), interpreted);
  EXPECT_TRUE(code_->becomes_hot(usage(), 1)) << "it is to be compiled, too";
  TranslatedCode::compile_aside(code_, usage());
  EXPECT_FALSE(code_->becomes_hot(usage(), 1)) << "it is reported once";
  for (int i = 0; i < 6000 && code_->is_being_compiled(); ++i) usleep(10'000);
  const MicroOp* const compiled = code_->find_best(function, 0);
  EXPECT_NE(compiled, interpreted);
  EXPECT_EQ(code_->find_function(function, 0), compiled);
  EXPECT_EQ(code_->find_best(function, 1), code_->find(function, 1)) << "it rounds otherwise";
  EXPECT_EQ(code_->find(function, 0), interpreted) << "for waves that compiled code has handed over";
  std::memset(memory_.host + 64, 0, 4);
  EXPECT_FALSE(code_->is_current()) << "its code is the kernel's";
}

TEST_F(HotCode, DoesNotDelayExitOfProcess) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_EXIT(
        {
          TranslatedCode::compile_aside(code_, usage());
          // The process exits at different points of the compilation.
          usleep(static_cast<useconds_t>(10'000 * i));
          std::exit(7);
        },
        ::testing::ExitedWithCode(7), "");
  }
}

TEST(TranslatedCode, ReplacesMissingSgprs) {
  for (const SimdLevel level : simd_levels()) {
    TestWave t(gfx(9, 0, 0), 64, 8, level);
    t.set_sgprs(16);
    t.s(0) = 100, t.s(1) = 1, t.s(15) = 15;
    // s_mov_b32 s20, 5; s_mov_b32 s4, s20; s_mov_b32 s5, s15; s_mov_b64 s[6:7], s[16:17]
    // v_mov_b32 v1, s30; s_add_u32 s16, s0, -1; s_cselect_b32 s2, 7, 9
    // s_mov_b32 m0, 31; s_movrels_b32 s3, s0; s_movreld_b32 s0, 9
    EXPECT_EQ(t.run({0xbe940085, 0xbe840014, 0xbe85000f, 0xbe860110, 0x7e02021e, 0x8010c100, 0x85028987,
                     0xbefc009f, 0xbe832a00, 0xbe802c89}),
              Stop::kEnd);
    EXPECT_EQ(t.s(4), 100u) << "s0 in its place";
    EXPECT_EQ(t.s(5), 15u) << "the last one is there";
    EXPECT_EQ(t.s64(6), 100u | uint64_t{1} << 32);
    EXPECT_EQ(t.v(1, 63), 100u);
    EXPECT_EQ(t.s(2), 7u) << "what else the instruction writes is written";
    EXPECT_EQ(t.s(3), 100u) << "with an index";
    EXPECT_EQ(t.s(0), 100u);
    const auto warnings = t.bus.warnings();
    ASSERT_EQ(warnings.size(), 1u) << "it is reported once";
    EXPECT_NE(warnings[0].find("8 VGPRs and 16 SGPRs"), std::string::npos) << warnings[0];
    EXPECT_NE(warnings[0].find("s_mov_b32 s20, 5"), std::string::npos) << warnings[0];
  }
}

// A load to a missing VGPR is issued for no lanes, so it does not fault.
TEST(TranslatedCode, LoadToMissingVgprDoesNothing) {
  TestWave t(gfx(9, 0, 0), 64, 8);
  for (uint32_t lane = 0; lane < 64; ++lane) t.v(7, lane) = 7;
  // global_load_dwordx2 v[7:8], v[0:1], off, at address 0
  EXPECT_EQ(t.run({0xdc548000, 0x077f0000}), Stop::kEnd);
  for (uint32_t lane = 0; lane < 64; ++lane) EXPECT_EQ(t.v(7, lane), 7u);
}

TEST(TranslatedCode, UnmappedCodeFaults) {
  TestWave t(gfx(9, 0, 0));
  EXPECT_EQ(t.run_at(0x10), Stop::kFault);
  EXPECT_EQ(t.wave.fault_va, 0x10u);
  EXPECT_EQ(static_cast<Access>(t.wave.fault_access), Access::kExecute);
}

TEST(TranslatedCode, FaultsAtEndOfMemory) {
  TestWave t(gfx(9, 0, 0));
  t.put({0xbe800083}, t.code_buffer.bytes - 4);
  EXPECT_EQ(t.run_at(t.code_buffer.va + t.code_buffer.bytes - 4), Stop::kFault);
  EXPECT_EQ(t.wave.fault_va, t.code_buffer.va + t.code_buffer.bytes);
  EXPECT_EQ(t.s(0), 3u);
}

TEST(TranslatedCode, TruncatedInstructionFaultsAtItsMissingPart) {
  TestWave t(gfx(9, 0, 0));
  t.put({0xbe9400ff}, t.code_buffer.bytes - 4);  // its literal is missing
  EXPECT_EQ(t.run_at(t.code_buffer.va + t.code_buffer.bytes - 4), Stop::kFault);
  EXPECT_EQ(t.wave.fault_va, t.code_buffer.va + t.code_buffer.bytes);
  EXPECT_FALSE(t.code->is_current()) << "it may be there by now";
}

TEST(TranslatedCode, SpinningWaveLeavesAtEndOfTimeSlice) {
  // s_branch; s_cbranch_i_fork exec; s_rfe_b64 s[2:3]. Each goes to itself.
  for (const uint32_t loop : {0xbf82ffffu, 0xb87effffu, 0xbe801f02u}) {
    TestWave t(gfx(9, 0, 0));
    t.set_s64(2, t.code_buffer.va);
    t.put({loop});
    EXPECT_EQ(t.run_at(t.code_buffer.va, 1000), Stop::kBudget) << std::hex << loop;
    EXPECT_EQ(t.executed, 1001);
    EXPECT_EQ(t.resume(10), Stop::kBudget) << "and go on";
  }
}

TEST(TranslatedCode, LinksBlocksOfLongPaths) {
  TestWave t(gfx(9, 0, 0));
  // 5000 times s_add_u32 s0, s0, 1: more than one block.
  std::vector<uint32_t> words(5000, 0x80008100);
  EXPECT_EQ(t.run(words), Stop::kEnd);
  EXPECT_EQ(t.s(0), 5000u);
  EXPECT_EQ(t.executed, 5001);
}

TEST(TranslatedCode, DetectsChangedCode) {
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

TEST(TranslatedCode, IsNotCurrentIfItHasSuccessor) {
  TestWave t(gfx(9, 0, 0));
  EXPECT_EQ(t.run({0xbe800083}), Stop::kEnd);
  t.put({0xbe800084});
  t.code->renew();
  t.put({0xbe800083});
  EXPECT_FALSE(t.code->is_current())
      << "waves would go on in the successor, which has what was there meanwhile";
}

TEST(TranslatedCode, ExecutesReplacedCodeAfterInvalidation) {
  TestWave t(gfx(9, 0, 0));
  // s_sleep; s_icache_inv; s_mov_b32 s0, 3
  t.put({0xbf8e0001, 0xbf930000, 0xbe800083, kEnd});
  EXPECT_EQ(t.run_at(t.code_buffer.va), Stop::kSleep);
  t.put({0xbe800084}, 8);
  EXPECT_EQ(t.resume(), Stop::kEnd);
  EXPECT_EQ(t.s(0), 4u);
}

TEST(TranslatedCode, TranslatesForEachFloatMode) {
  TestWave t(gfx(9, 0, 0));
  EXPECT_EQ(t.run({0xbe800083}), Stop::kEnd);
  const MicroOp* const block = t.code->find(t.code_buffer.va, 0x3f0);
  EXPECT_EQ(t.code->find(t.code_buffer.va, 0x3f0), block);
  EXPECT_NE(t.code->find(t.code_buffer.va, 0x300), block);
}

}  // namespace
}  // namespace rigel::vgpu::exec
