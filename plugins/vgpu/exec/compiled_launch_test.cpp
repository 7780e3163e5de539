// Launches of compiled kernels: results, and compilation beside other launches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "plugins/vgpu/exec/test_scheduler.hpp"

namespace rigel::vgpu::exec {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::SchedulerTest;

// buffer[256 * group + lane] = 4 * (256 * group + lane)
const SchedulerTest::Words kStoreVector = {0x8e048802, 0x68020004, 0x24020282,
                                           0xdc708000, 0x00000101, 0xbf810000};

class CompiledLaunchTest : public SchedulerTest {};

TEST_P(CompiledLaunchTest, CompiledAndInterpretedCodeAgree) {
  if (!compiler::why_no_compiler().empty()) GTEST_SKIP() << compiler::why_no_compiler();
  uint64_t instructions[2] = {};
  uint64_t fault[2] = {};
  for (const bool compiled : {false, true}) {
    scheduler_.reset();
    device_.compilation = compiled ? Compilation::kBeforehand : Compilation::kNone;
    make();
    std::memset(buffer_.host, 0, buffer_.bytes);
    Dispatch d = dispatch(kStoreVector, 1);
    d.work_group_size[0] = 256;
    d.grid_size[0] = 10000;  // the last group has 16
    const DispatchResult result = run(d);
    EXPECT_EQ(result.kind, Kind::kDone);
    for (uint32_t i = 0; i < 10100; ++i) EXPECT_EQ(word(i), i < 10000 ? i * 4 : 0) << i;
    instructions[compiled] = result.instructions;
    d.grid_size[0] = 70 * 256;  // beyond the buffer
    const DispatchResult failed = run(d);
    EXPECT_EQ(failed.kind, Kind::kFault);
    fault[compiled] = failed.fault.va;
  }
  EXPECT_EQ(instructions[0], instructions[1]);
  if (GetParam().workers == 1 &&
      !GetParam().inline_dispatches) {  // with several threads, any fault may be first
    EXPECT_EQ(fault[0], buffer_.va + buffer_.bytes);
    EXPECT_EQ(fault[1], fault[0]);
  }
}

// The second load, which is never executed, is beyond the buffer. Compiled code would load both when it
// starts.
TEST_P(CompiledLaunchTest, RunsCompiledKernelsWithoutSomeArguments) {
  if (!compiler::why_no_compiler().empty()) GTEST_SKIP() << compiler::why_no_compiler();
  if (GetParam().level == SimdLevel::kBaseline) return;
  scheduler_.reset();
  device_.compilation = Compilation::kBeforehand;
  make();
  // s_load_dword s6, s[2:3], 0; s_cmp_eq_u32 s0, s0; s_cbranch_scc1 over s_load_dword s7, s[2:3], 0x40;
  // v1 = s6 is stored at 4 * lane.
  Dispatch d = dispatch({0xc0020181, 0x00000000, 0xbf060000, 0xbf850002, 0xc00201c1, 0x00000040, 0xbf8cc07f,
                         0x24000082, 0x7e020206, 0xdc708000, 0x00000100, 0xbf810000},
                        3);
  const uint64_t last = buffer_.va + buffer_.bytes - 4;
  d.user_sgprs[2] = static_cast<uint32_t>(last);
  d.user_sgprs[3] = static_cast<uint32_t>(last >> 32);
  d.user_sgpr_count = 4;
  std::memset(buffer_.host, 0, buffer_.bytes);
  std::memcpy(buffer_.host + buffer_.bytes - 4, "abcd", 4);
  EXPECT_EQ(run(d).kind, Kind::kDone);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(word(i), 0x64636261u) << i;
  d.user_sgprs[3] = 0x7fff;
  const DispatchResult failed = run(d);
  EXPECT_EQ(failed.kind, Kind::kFault);
  EXPECT_EQ(failed.fault.va, uint64_t{0x7fff} << 32 | static_cast<uint32_t>(last));
}

// Unmapping waits for translation scopes, and a compiler takes seconds.
TEST_P(CompiledLaunchTest, CompilesOutsideOfTranslationScopes) {
  if (!compiler::why_no_compiler().empty()) GTEST_SKIP() << compiler::why_no_compiler();
  if (GetParam().level == SimdLevel::kBaseline) return;  // It has no compiled code.
  scheduler_.reset();
  device_.compilation = Compilation::kBeforehand;
  bus_.traces = true;
  make();
  // Calls a function 64 bytes after its start, which stores 0x55.
  Words program = {0xbe841c00, 0x8004bc04, 0x82058005, 0xbe9e1e04, 0xbf810000};
  program.resize(16, 0xbf810000);
  for (const uint32_t word : {0xb0060055u, 0xc0420180u, 0u, 0xbe801d1eu}) program.push_back(word);
  EXPECT_EQ(run(dispatch(program, 10)).kind, Kind::kDone);
  EXPECT_EQ(word(0), 0x55u);
  EXPECT_EQ(bus_.compiled_inside, 0);
  EXPECT_EQ(bus_.compiled_outside, 2) << "the kernel and its function";
}

// The program stores to the code at each moment of its translation.
TEST_P(CompiledLaunchTest, DetectsCodeThatChangesWhileItIsCompiled) {
  if (!compiler::why_no_compiler().empty()) GTEST_SKIP() << compiler::why_no_compiler();
  if (GetParam().level == SimdLevel::kBaseline) return;
  if (GetParam().workers != 1 || !GetParam().inline_dispatches) return;
  scheduler_.reset();
  device_.compilation = Compilation::kBeforehand;
  bus_.traces = true;
  make();
  // s_mov_b32 s4, 77; s_store_dword s4, s[0:1], 0; s_endpgm
  const Words program = {0xbe8400ff, 77, 0xc0420100, 0, 0xbf810000};
  bool changes_later = false;
  for (int moment = 0; !changes_later && moment < 60; ++moment) {
    const Dispatch d = dispatch(program, 1);
    bus_.changed = reinterpret_cast<uint32_t*>(bus_.translate(d.entry_va + 4, 4, Access::kRead).host);
    bus_.changed_to = 78;
    bus_.countdown = moment;
    EXPECT_EQ(run(d).kind, Kind::kDone);
    changes_later = bus_.countdown >= 0;
    bus_.countdown = -1;
    std::atomic_ref(*bus_.changed).store(78);
    EXPECT_EQ(run(d).kind, Kind::kDone);
    EXPECT_EQ(word(0), 78u) << moment;
  }
  EXPECT_TRUE(changes_later);
  EXPECT_THAT(bus_.lines(), Not(::testing::Contains(HasSubstr(": interpreted: "))));
}

INSTANTIATE_TEST_SUITE_P(Workers, CompiledLaunchTest, ::testing::ValuesIn(testing::scheduler_parameters()),
                         testing::scheduler_parameter_name);

}  // namespace
}  // namespace rigel::vgpu::exec
