// Dispatches while host allocations fail: from the nth on, or only the nth, for each n. A dispatch that
// cannot run ends with an error of its queue, and the next dispatch runs.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <new>
#include <vector>

#include "plugins/vgpu/cp/fake_bus.hpp"
#include "plugins/vgpu/exec/scheduler.hpp"

namespace {

std::atomic<bool> failing{false};
std::atomic<uint64_t> allocations{0};
std::atomic<uint64_t> first_failing{0}, last_failing{0};

bool fails() {
  if (!failing.load(std::memory_order_relaxed)) return false;
  const uint64_t n = allocations.fetch_add(1);
  return n >= first_failing && n <= last_failing;
}

void* allocate(size_t bytes, size_t alignment) {
  if (fails()) return nullptr;
  return memalign(alignment, bytes == 0 ? 1 : bytes);
}

void* allocate_or_throw(size_t bytes, size_t alignment) {
  void* const memory = allocate(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) {
  return allocate_or_throw(bytes, alignof(std::max_align_t));
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}
extern "C" void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return allocate(bytes, alignment);
}

namespace rigel::vgpu::exec {
namespace {

using Kind = DispatchResult::Kind;

class OutOfMemory : public ::testing::TestWithParam<bool> {
 protected:
  OutOfMemory() {
    // s_getpc_b64 s[4:5]; s_add_u32 s4, s4, 60; s_addc_u32 s5, s5, 0; s_swappc_b64 s[30:31], s[4:5]; s_endpgm
    const uint32_t kernel[] = {0xbe841c00, 0x8004bc04, 0x82058005, 0xbe9e1e04, 0xbf810000};
    // s_sleep 1; s_movk_i32 s6, 0x55; s_store_dword s6, s[0:1], 0x0; s_setpc_b64 s[30:31]
    const uint32_t function[] = {0xbf8e0001, 0xb0060055, 0xc0420180, 0, 0xbe801d1e};
    std::memcpy(code_.host, kernel, sizeof kernel);
    std::memcpy(code_.host + 64, function, sizeof function);
    dispatch_.queue_id = 1;
    dispatch_.entry_va = code_.va;
    dispatch_.work_group_size[0] = 64;
    dispatch_.grid_size[0] = 20 * 64 + 5;  // The last work-group has another shape.
    dispatch_.pgm_rsrc1 = 0xf0 << 12 | 12u << 6;
    dispatch_.user_sgprs[0] = static_cast<uint32_t>(buffer_.va);
    dispatch_.user_sgprs[1] = static_cast<uint32_t>(buffer_.va >> 32);
    dispatch_.user_sgpr_count = 2;
    device_.compute_units.resize(4);
  }

  DispatchResult run(Scheduler& scheduler) {
    std::promise<DispatchResult> promise;
    auto result = promise.get_future();
    DispatchSink::Done done = [&](DispatchResult r) {
      failing = false;
      promise.set_value(std::move(r));
    };
    failing = armed_;
    scheduler.start(dispatch_, std::move(done));
    // If no worker could be created, this thread runs the waves.
    while (result.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
      if (scheduler.wants_thread()) scheduler.lend_thread();
    }
    return result.get();
  }

  /// Runs a dispatch while allocations [first, last] fail, then another. Returns the number of allocations.
  uint64_t run_without(uint64_t first, uint64_t last) {
    device_.shapes = std::make_shared<GroupShapes>();  // drops shapes that the last dispatch has cached
    Scheduler scheduler(device_, bus_, {.workers = 2, .inline_dispatches = GetParam()});
    first_failing = first;
    last_failing = last;
    allocations = 0;
    armed_ = true;
    const DispatchResult result = run(scheduler);
    armed_ = false;
    if (result.kind != Kind::kDone) {
      EXPECT_EQ(result.kind, Kind::kError) << first;
      EXPECT_EQ(result.error, QueueError::kGroupMemory) << first;
    }
    const uint64_t count = allocations;
    EXPECT_EQ(run(scheduler).kind, Kind::kDone) << first;
    return count;
  }

  vgpu::testing::FakeBus bus_;
  const vgpu::testing::Buffer code_ = bus_.allocate(4096), buffer_ = bus_.allocate(4096);
  Device device_;
  Dispatch dispatch_;
  bool armed_ = false;
};
INSTANTIATE_TEST_SUITE_P(Inline, OutOfMemory, ::testing::Bool());

TEST_P(OutOfMemory, DispatchFailsAndNextRunsIfAllLaterAllocationsFail) {
  for (uint64_t n = 0; run_without(n, UINT64_MAX) > n && n < 2000; ++n) continue;
}

TEST_P(OutOfMemory, DispatchFailsAndNextRunsIfOneAllocationFails) {
  for (uint64_t n = 0; run_without(n, n) > n && n < 2000; ++n) continue;
}

}  // namespace
}  // namespace rigel::vgpu::exec
