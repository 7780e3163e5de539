// Counts of executed instructions, derived by hand from counted_kernels.s, on all ways of execution. They are
// the events of performance counters, and the profile has the same counters.
#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <memory>
#include <string_view>
#include <vector>

#include "plugins/vgpu/cp/fake_bus.hpp"
#include "plugins/vgpu/exec/level_test_support.hpp"
#include "plugins/vgpu/exec/native/compiler_process.hpp"
#include "plugins/vgpu/exec/scheduler.hpp"

namespace rigel::vgpu::exec {
namespace {

constexpr uint32_t kCode[] = {
#include "plugins/vgpu/exec/profile/counted_kernels.inc"
};
constexpr uint64_t kBytesOfKernel = 64;

/// A kernel of counted_kernels.s, and the sums over all waves of its launch.
struct Expected {
  const char* kernel;
  uint32_t groups, items;  ///< Work-groups, and work-items of each
  uint64_t instructions, vector, lanes, reads, writes, scalar, scalar_memory, flat, lds, gds, branches,
      messages;
};

// In the order of the file.
constexpr Expected kExpected[] = {
    // kernel                 g  items  all vec lanes rd wr sal smem flat lds gds br msg
    {"empty", 3, 64, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"vector", 2, 100, 8, 4, 200, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"scalar", 3, 64, 12, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0},
    {"waits", 3, 64, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"scalar_load", 3, 64, 9, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0},
    {"scalar_load_of_four", 3, 64, 6, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0},
    {"scalar_store", 3, 64, 9, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0},
    {"global_load", 3, 64, 6, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 0},
    {"global_store", 3, 64, 9, 3, 192, 0, 3, 0, 0, 3, 0, 0, 0, 0},
    {"flat_load", 3, 64, 12, 6, 384, 3, 0, 0, 0, 3, 0, 0, 0, 0},
    {"atomic_without_return", 3, 64, 9, 3, 192, 0, 3, 0, 0, 3, 0, 0, 0, 0},
    {"atomic_with_return", 3, 64, 9, 3, 192, 3, 0, 0, 0, 3, 0, 0, 0, 0},
    {"buffer_load", 3, 64, 18, 0, 0, 3, 0, 12, 0, 0, 0, 0, 0, 0},
    {"buffer_store", 3, 64, 21, 3, 192, 0, 3, 12, 0, 0, 0, 0, 0, 0},
    {"lds_write", 3, 64, 12, 3, 192, 0, 0, 3, 0, 0, 3, 0, 0, 0},
    {"lds_read_of_two", 3, 64, 12, 3, 192, 0, 0, 3, 0, 0, 3, 0, 0, 0},
    {"lds_atomic", 3, 64, 12, 3, 192, 0, 0, 3, 0, 0, 3, 0, 0, 0},
    {"lane_permutation", 3, 64, 12, 3, 192, 0, 0, 0, 0, 0, 6, 0, 0, 0},
    {"global_data_share", 3, 64, 12, 3, 192, 0, 0, 3, 0, 0, 0, 3, 0, 0},
    {"branch_not_taken", 3, 64, 12, 3, 192, 0, 0, 3, 0, 0, 0, 0, 3, 0},
    {"branch_taken", 3, 64, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0},
    {"loop", 3, 64, 126, 30, 1920, 0, 0, 63, 0, 0, 0, 0, 30, 0},
    {"loop_in_loop", 3, 64, 186, 36, 2304, 0, 0, 102, 0, 0, 0, 0, 45, 0},
    {"loop_by_group", 3, 64, 30, 6, 384, 0, 0, 15, 0, 0, 0, 0, 6, 0},
    {"half_of_lanes", 3, 64, 18, 9, 384, 0, 0, 6, 0, 0, 0, 0, 0, 0},
    {"no_lane_skips", 3, 64, 12, 3, 192, 0, 0, 3, 0, 0, 0, 0, 3, 0},
    {"no_lane_executes", 3, 64, 12, 3, 0, 3, 0, 3, 0, 3, 0, 0, 0, 0},
    {"loop_by_lane", 3, 64, 66, 39, 1632, 0, 0, 12, 0, 0, 0, 0, 12, 0},
    {"barrier", 3, 128, 24, 12, 768, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"exchange_by_lds", 2, 256, 72, 16, 1024, 0, 0, 8, 0, 0, 16, 0, 0, 0},
    {"message", 3, 64, 9, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 3},
    {"sleep", 3, 64, 9, 3, 192, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"lane_reads", 3, 64, 12, 9, 576, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"lane_modes", 3, 64, 12, 9, 576, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"call", 3, 64, 21, 3, 192, 0, 0, 15, 0, 0, 0, 0, 0, 0},
    {"clock", 3, 64, 12, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0},
    {"caches", 3, 64, 9, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0},
    {"transcendental", 3, 64, 15, 12, 768, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"wide_load_of_some", 3, 64, 12, 3, 24, 3, 0, 3, 0, 3, 0, 0, 0, 0},
    {"condition_of_vector", 3, 64, 12, 6, 384, 0, 0, 0, 0, 0, 0, 0, 3, 0},
    {"packed", 3, 64, 9, 6, 384, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    {"mode", 3, 64, 9, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0},
};

/// The events of texture addressers, and the cycles of LDS, of a kernel of counted_kernels.s. Those of other
/// kernels are 0.
struct ExpectedAccesses {
  std::string_view kernel;
  uint64_t buffer_reads, buffer_writes, flat_reads, flat_writes, flat_atomics, lds_cycles, lds_conflicts;
};

constexpr ExpectedAccesses kExpectedAccesses[] = {
    // kernel            buf r  w flat r  w  a  cycles conflicts
    {"global_load", 0, 0, 3, 0, 0, 0, 0},
    {"global_store", 0, 0, 0, 3, 0, 0, 0},
    {"flat_load", 0, 0, 3, 0, 0, 0, 0},
    {"atomic_without_return", 0, 0, 0, 0, 3, 0, 0},
    {"atomic_with_return", 0, 0, 0, 0, 3, 0, 0},
    {"buffer_load", 3, 0, 0, 0, 0, 0, 0},
    {"buffer_store", 0, 3, 0, 0, 0, 0, 0},
    {"lds_write", 0, 0, 0, 0, 0, 6, 0},         // two cycles for each of three waves
    {"lds_read_of_two", 0, 0, 0, 0, 0, 12, 0},  // twice
    {"lds_atomic", 0, 0, 0, 0, 0, 192, 186},    // all lanes, one after another
    {"exchange_by_lds", 0, 0, 0, 0, 0, 32, 0},  // two instructions of eight waves
    {"no_lane_executes", 0, 0, 3, 0, 0, 0, 0},
    {"wide_load_of_some", 0, 0, 3, 0, 0, 0, 0},
};

ExpectedAccesses accesses_of(std::string_view kernel) {
  for (const ExpectedAccesses& expected : kExpectedAccesses) {
    if (expected.kernel == kernel) return expected;
  }
  return {};
}

struct Way {
  SimdLevel level;
  Compilation compilation;
  uint32_t workers;
};

std::vector<Way> ways() {
  std::vector<Way> all;
  for (const SimdLevel level : testing::kLevels) {
    if (!why_absent(level).empty()) continue;
    all.push_back({level, Compilation::kNone, 1});
    all.push_back({level, Compilation::kNone, 2});
    if (level == SimdLevel::kBaseline || !compiler::why_no_compiler().empty()) continue;
    all.push_back({level, Compilation::kBeforehand, 1});
    all.push_back({level, Compilation::kBeforehand, 2});
  }
  return all;
}

class EventCounts : public ::testing::Test {
 protected:
  EventCounts() : code_(bus_.allocate(sizeof kCode)), buffer_(bus_.allocate(65536)) {
    std::memcpy(code_.host, kCode, sizeof kCode);
  }

  std::shared_ptr<const WaveEvents> run(Scheduler& scheduler, size_t kernel, bool counts_lds = false) {
    const Expected& expected = kExpected[kernel];
    Dispatch dispatch;
    dispatch.queue_id = 1;
    dispatch.entry_va = code_.va + kernel * kBytesOfKernel;
    dispatch.work_group_size[0] = expected.items;
    dispatch.grid_size[0] = expected.groups * expected.items;
    dispatch.pgm_rsrc1 = 0xf0 << 12 | 12u << 6 | 3;  // all SGPRs, 16 VGPRs
    dispatch.pgm_rsrc2 = 1u << 7;
    dispatch.lds_bytes = dispatch.lds_requested_bytes = 1024;
    dispatch.user_sgprs[0] = static_cast<uint32_t>(buffer_.va);
    dispatch.user_sgprs[1] = static_cast<uint32_t>(buffer_.va >> 32);
    dispatch.user_sgpr_count = 2;
    dispatch.counts_events = true;
    dispatch.counts_lds = counts_lds;
    std::promise<DispatchResult> promise;
    scheduler.start(dispatch, [&](DispatchResult result) { promise.set_value(std::move(result)); });
    const DispatchResult result = promise.get_future().get();
    EXPECT_EQ(result.kind, DispatchResult::Kind::kDone) << expected.kernel << ": " << result.reason;
    return result.events;
  }

  vgpu::testing::FakeBus bus_;
  vgpu::testing::Buffer code_, buffer_;
};

TEST_F(EventCounts, AreThoseOfTheCodeOnAllWaysOfExecution) {
  static_assert(sizeof kCode > (std::size(kExpected) - 1) * kBytesOfKernel &&
                sizeof kCode <= std::size(kExpected) * kBytesOfKernel);
  for (const Way& way : ways()) {
    Device device;
    device.compute_units.resize(4);
    device.level = way.level;
    device.compilation = way.compilation;
    Scheduler scheduler(device, bus_, SchedulerOptions{way.workers, false});
    for (size_t i = 0; i < std::size(kExpected); ++i) {
      const Expected& expected = kExpected[i];
      SCOPED_TRACE(std::string(expected.kernel) + ", level " + std::to_string(static_cast<int>(way.level)) +
                   ", compilation " + std::to_string(static_cast<int>(way.compilation)) + ", workers " +
                   std::to_string(way.workers));
      const auto events = run(scheduler, i);
      ASSERT_NE(events, nullptr);
      const auto count = [&](WaveEvent event) { return (*events)[event]; };
      EXPECT_EQ(count(WaveEvent::kWaves), expected.groups * ((expected.items + 63) / 64));
      EXPECT_EQ(count(WaveEvent::kWaves64), count(WaveEvent::kWaves));
      EXPECT_EQ(count(WaveEvent::kItems), uint64_t{expected.groups} * expected.items);
      EXPECT_EQ(count(WaveEvent::kInstructions), expected.instructions);
      EXPECT_EQ(count(WaveEvent::kVector), expected.vector);
      EXPECT_EQ(count(WaveEvent::kVectorLanes), expected.lanes);
      EXPECT_EQ(count(WaveEvent::kVectorRead), expected.reads);
      EXPECT_EQ(count(WaveEvent::kVectorWrite), expected.writes);
      EXPECT_EQ(count(WaveEvent::kScalar), expected.scalar);
      EXPECT_EQ(count(WaveEvent::kScalarMemory), expected.scalar_memory);
      EXPECT_EQ(count(WaveEvent::kFlat), expected.flat);
      EXPECT_EQ(count(WaveEvent::kLds), expected.lds);
      EXPECT_EQ(count(WaveEvent::kGds), expected.gds);
      EXPECT_EQ(count(WaveEvent::kBranch), expected.branches);
      EXPECT_EQ(count(WaveEvent::kMessage), expected.messages);
      EXPECT_EQ(count(WaveEvent::kWorkGroups), expected.groups);
      EXPECT_EQ(count(WaveEvent::kInstructions64), expected.instructions);
      EXPECT_EQ(count(WaveEvent::kInstructions32), 0u);
      EXPECT_EQ(count(WaveEvent::kVectorMemory), expected.reads + expected.writes);
      EXPECT_EQ(count(WaveEvent::kExportOrGds), expected.gds);
      EXPECT_EQ(count(WaveEvent::kLdsCycles), 0u) << "not requested";
      const ExpectedAccesses accesses = accesses_of(expected.kernel);
      EXPECT_EQ(count(WaveEvent::kBufferRead), accesses.buffer_reads);
      EXPECT_EQ(count(WaveEvent::kBufferWrite), accesses.buffer_writes);
      EXPECT_EQ(count(WaveEvent::kBuffer), accesses.buffer_reads + accesses.buffer_writes);
      EXPECT_EQ(count(WaveEvent::kFlatRead), accesses.flat_reads);
      EXPECT_EQ(count(WaveEvent::kFlatWrite), accesses.flat_writes);
      EXPECT_EQ(count(WaveEvent::kFlatAtomic), accesses.flat_atomics);
      EXPECT_EQ(count(WaveEvent::kFlatAddressed), expected.flat);
      EXPECT_EQ(count(WaveEvent::kAddressed), count(WaveEvent::kVectorMemory));
    }
  }
}

TEST_F(EventCounts, OfLdsAreThoseOfTheModelOnAllWaysOfExecution) {
  for (const Way& way : ways()) {
    Device device;
    device.compute_units.resize(4);
    device.level = way.level;
    device.compilation = way.compilation;
    Scheduler scheduler(device, bus_, SchedulerOptions{way.workers, false});
    for (size_t i = 0; i < std::size(kExpected); ++i) {
      const Expected& expected = kExpected[i];
      SCOPED_TRACE(expected.kernel);
      const ExpectedAccesses accesses = accesses_of(expected.kernel);
      const auto events = run(scheduler, i, true);
      ASSERT_NE(events, nullptr);
      EXPECT_EQ((*events)[WaveEvent::kLdsCycles], accesses.lds_cycles);
      EXPECT_EQ((*events)[WaveEvent::kLdsConflicts], accesses.lds_conflicts);
      EXPECT_EQ((*events)[WaveEvent::kInstructions], expected.instructions);
    }
  }
}

}  // namespace
}  // namespace rigel::vgpu::exec
