// Transposing loads and blocks of registers (gfx12) under the checks and in the profile, interpreted and
// compiled. The kernels are in checked_kernels.s.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <string>
#include <vector>

#include "plugins/vgpu/cp/fake_bus.hpp"
#include "plugins/vgpu/exec/native/compiler_process.hpp"
#include "plugins/vgpu/exec/scheduler.hpp"
#include "plugins/vgpu/exec/shader_cores.hpp"
#include "plugins/vgpu/profile/profile.hpp"

namespace rigel::vgpu::exec {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint32_t kCode[] = {
#include "plugins/vgpu/exec/check/checked_kernels.inc"
};
constexpr uint64_t kBytesOfKernel = 256;

// In the order of the file.
enum class Kernel : uint8_t {
  kRaceOfTransposingLoad,
  kRaceOfBlockStore,
  kNoRaceWithUnselectedRegister,
  kUndefinedRegisterOfBlock,
  kDefinedRegisterOfBlock,
  kBlockStoredBefore,
  kUndefinedPartOfTransposed,
  kDefinedPartsOfTransposed,
  kBlockToTheLastRegister,
  kBlockPastTheLastRegister,
  kLoadedBlockPastTheLastRegister,
  kCounted,
  kCount,
};

// Findings of one kind are reported once in a process, so each run has its own copy of the code.
vgpu::testing::FakeBus& bus() {
  static vgpu::testing::FakeBus bus;
  return bus;
}

class CheckedCode : public ::testing::TestWithParam<Compilation> {
 protected:
  static constexpr uint32_t kVgprs = 40, kPrivateBytes = 256;
  static constexpr uint32_t kProfiledQueue = 2;  // the environment of the test selects it

  void SetUp() override {
    static_assert(sizeof kCode > (static_cast<size_t>(Kernel::kCount) - 1) * kBytesOfKernel &&
                  sizeof kCode <= static_cast<size_t>(Kernel::kCount) * kBytesOfKernel);
    if (GetParam() == Compilation::kNone) return;
    if (best_simd_level() == SimdLevel::kBaseline) GTEST_SKIP() << "the CPU lacks AVX2";
    if (!compiler::why_no_compiler().empty()) GTEST_SKIP() << compiler::why_no_compiler();
  }

  DispatchResult run(Kernel kernel, uint32_t items, uint32_t queue = 1) {
    const vgpu::testing::Buffer code = bus().allocate(sizeof kCode), buffer = bus().allocate(65536),
                                scratch = bus().allocate(65536);
    std::memcpy(code.host, kCode, sizeof kCode);
    Device device;
    device.target = {12, 0, 1};
    device.compute_units.resize(4);
    device.level = best_simd_level();
    device.compilation = GetParam();
    Scheduler scheduler(device, bus(), SchedulerOptions{1, false});
    Dispatch dispatch;
    dispatch.queue_id = queue;
    dispatch.entry_va = code.va + static_cast<uint64_t>(kernel) * kBytesOfKernel;
    dispatch.wave_size = 32;
    dispatch.work_group_size[0] = dispatch.grid_size[0] = items;
    dispatch.pgm_rsrc1 = 0xf0 << 12 | (kVgprs / 8 - 1);
    dispatch.pgm_rsrc2 = 1;
    dispatch.private_bytes = kPrivateBytes;
    dispatch.scratch_va = scratch.va;
    dispatch.scratch_bytes = scratch.bytes;
    dispatch.scratch_wave_bytes = kPrivateBytes * 32;
    dispatch.scratch_waves = 4;
    dispatch.flat_group_base = uint64_t{1} << 48;
    dispatch.flat_private_base = uint64_t{2} << 48;
    dispatch.user_sgprs = {static_cast<uint32_t>(buffer.va), static_cast<uint32_t>(buffer.va >> 32),
                           static_cast<uint32_t>(scratch.va), static_cast<uint32_t>(scratch.va >> 32)};
    dispatch.user_sgpr_count = 4;
    const size_t before = bus().warnings().size();
    std::promise<DispatchResult> promise;
    scheduler.start(dispatch, [&](DispatchResult result) { promise.set_value(std::move(result)); });
    DispatchResult result = promise.get_future().get();
    const std::vector<std::string> all = bus().warnings();
    findings_.assign(all.begin() + static_cast<ptrdiff_t>(before), all.end());
    return result;
  }

  const std::vector<std::string>& findings_of(Kernel kernel, uint32_t items) {
    const DispatchResult result = run(kernel, items);
    EXPECT_EQ(result.kind, DispatchResult::Kind::kDone) << result.reason;
    return findings_;
  }

  std::vector<std::string> findings_;
};

TEST_P(CheckedCode, ReportsRaceOfTransposingLoad) {
  EXPECT_THAT(findings_of(Kernel::kRaceOfTransposingLoad, 64),
              ElementsAre(AllOf(HasSubstr("data race: read"), HasSubstr("global_load_tr_b128"))));
}

TEST_P(CheckedCode, ReportsRaceOfBlockStore) {
  EXPECT_THAT(findings_of(Kernel::kRaceOfBlockStore, 64),
              ElementsAre(AllOf(HasSubstr("data race: write"), HasSubstr("global_store_block"))));
}

TEST_P(CheckedCode, ReportsNoRaceWithRegistersThatM0DoesNotSelect) {
  EXPECT_THAT(findings_of(Kernel::kNoRaceWithUnselectedRegister, 64), IsEmpty());
}

TEST_P(CheckedCode, ReportsUseOfUndefinedMemoryThatABlockLoads) {
  EXPECT_THAT(findings_of(Kernel::kUndefinedRegisterOfBlock, 32),
              ElementsAre(AllOf(HasSubstr("uninitialized"), HasSubstr("scratch_load_block"))));
}

TEST_P(CheckedCode, BlockLoadsKeepOtherRegistersDefined) {
  EXPECT_THAT(findings_of(Kernel::kDefinedRegisterOfBlock, 32), IsEmpty());
}

TEST_P(CheckedCode, BlockStoresDefineMemory) {
  EXPECT_THAT(findings_of(Kernel::kBlockStoredBefore, 32), IsEmpty());
}

TEST_P(CheckedCode, TransposingLoadsMoveUndefinedBitsToTheLanesThatGetThem) {
  EXPECT_THAT(findings_of(Kernel::kUndefinedPartOfTransposed, 32),
              ElementsAre(AllOf(HasSubstr("uninitialized"), HasSubstr("global_load_tr_b128"))));
  EXPECT_THAT(findings_of(Kernel::kDefinedPartsOfTransposed, 32), IsEmpty());
}

TEST_P(CheckedCode, BlocksMayReachTheLastRegister) {
  EXPECT_THAT(findings_of(Kernel::kBlockToTheLastRegister, 32), IsEmpty());
}

TEST_P(CheckedCode, BlocksPastTheLastRegisterStopTheWave) {
  for (const auto& [kernel, name] :
       {std::pair(Kernel::kBlockPastTheLastRegister, "global_store_block"),
        std::pair(Kernel::kLoadedBlockPastTheLastRegister, "global_load_block")}) {
    const DispatchResult result = run(kernel, 32);
    EXPECT_EQ(result.kind, DispatchResult::Kind::kError);
    EXPECT_EQ(result.error, QueueError::kIllegalInstruction);
    EXPECT_THAT(result.reason,
                AllOf(HasSubstr(name), HasSubstr("M0 selects a register past the wave's VGPRs")));
  }
}

// 20 active lanes: three dwords of each by the block, and 8 bytes by the load.
TEST_P(CheckedCode, ProfileCountsBytes) {
  const auto sum = [] {
    const std::vector<profile::Kernel> kernels = profile::Profile::of_process().kernels();
    return kernels.empty() ? profile::Summary() : summary_of(kernels[0]);
  };
  profile::Profile::of_process().forget();
  ASSERT_EQ(run(Kernel::kCounted, 20, kProfiledQueue).kind, DispatchResult::Kind::kDone);
  const profile::Summary counted = sum();
  EXPECT_EQ(counted.of(profile::Kind::kStore), 1u);
  EXPECT_EQ(counted.of(profile::Kind::kLoad), 1u);
  EXPECT_EQ(counted.written_bytes, 20u * 3 * 4);
  EXPECT_EQ(counted.read_bytes, 20u * 8);
}

INSTANTIATE_TEST_SUITE_P(All, CheckedCode, ::testing::Values(Compilation::kNone, Compilation::kBeforehand),
                         [](const auto& way) {
                           return way.param == Compilation::kNone ? "Interpreted" : "Compiled";
                         });

}  // namespace
}  // namespace rigel::vgpu::exec
