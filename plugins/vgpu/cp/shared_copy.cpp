#include "plugins/vgpu/cp/shared_copy.hpp"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include "api/support/program_signals.hpp"
#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/cp/own_calls.hpp"
#include "plugins/vgpu/cp/stream_copy.hpp"

namespace rigel::vgpu {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kPartBytes = uint64_t{64} << 10;  // 1 to 2 µs in the caches, 6 µs in memory
// then the helper checks its own wait; one more part if that check is expensive
constexpr auto kHelpTime = 8us;
constexpr int kSpinsBeforeYield = 256, kYieldsBeforeSleep = 64;
constexpr auto kSleep = 50us;

constexpr Clock::time_point kNever = Clock::time_point::max();

struct alignas(64) SharedCopy {
  // Written by the owner while the copy is closed.
  std::atomic<bool> owned{false};
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  uint64_t bytes = 0, before = 0;

  alignas(64) std::atomic<uint64_t> next{0};
  std::atomic<bool> lost{false};
  alignas(64) std::atomic<uint32_t> helpers{0};

  // Copies parts until none is left or the deadline has passed. Returns whether it copied any.
  bool take_parts(Clock::time_point deadline) noexcept {
    bool any = false;
    do {
      const uint64_t at = next.fetch_add(kPartBytes, std::memory_order_relaxed);
      if (at >= bytes) return any;
      if (!guarded_stream_copy(to + at, from + at, std::min(kPartBytes, bytes - at), before + at)) {
        next.store(bytes, std::memory_order_relaxed);
        lost.store(true, std::memory_order_relaxed);  // published by `helpers`, or this thread is the owner
        return false;
      }
      any = true;
    } while (deadline == kNever || Clock::now() < deadline);
    return any;
  }
};

// Slots for engines that copy at the same time. If all are in use, an engine copies alone.
constinit std::array<SharedCopy, 4> copies;
constinit std::atomic<uint32_t> open_copies{0};  // one bit per slot

// One helper per CPU besides the engine's, because more would take CPU time from shader cores. At most four,
// which saturate memory.
uint32_t max_helpers() noexcept {
  static constinit std::atomic<uint32_t> cached{0};
  uint32_t limit = cached.load(std::memory_order_relaxed);
  if (limit == 0) {
    limit = static_cast<uint32_t>(std::clamp<long>(sysconf(_SC_NPROCESSORS_ONLN) - 1, 1, 4));
    cached.store(limit, std::memory_order_relaxed);
  }
  return limit;
}

SharedCopy* acquire_slot() noexcept {
  for (SharedCopy& copy : copies) {
    if (!copy.owned.load(std::memory_order_relaxed) && !copy.owned.exchange(true, std::memory_order_acquire))
      return &copy;
  }
  return nullptr;
}

// Copies parts of a shared copy on this thread.
bool help_to_copy() noexcept {
  for (SharedCopy& copy : copies) {
    const uint32_t bit = 1u << (&copy - copies.data());
    if ((open_copies.load(std::memory_order_relaxed) & bit) == 0) continue;
    if (copy.helpers.load(std::memory_order_relaxed) >= max_helpers()) continue;
    copy.helpers.fetch_add(1, std::memory_order_seq_cst);
    const bool open = (open_copies.load(std::memory_order_seq_cst) & bit) != 0;
    const bool helped = open && copy.take_parts(Clock::now() + kHelpTime);
    copy.helpers.fetch_sub(1, std::memory_order_release);
    if (helped) return true;
  }
  return false;
}

}  // namespace

bool copy_with_help(std::byte* to, const std::byte* from, uint64_t bytes, uint64_t before) noexcept {
  if (bytes < kSharedCopyBytes || !are_apart(to, from, bytes)) return false;
  SharedCopy* const copy = acquire_slot();
  if (copy == nullptr) return false;
  const uint32_t bit = 1u << (copy - copies.data());
  copy->to = to, copy->from = from, copy->bytes = bytes, copy->before = before;
  copy->next.store(0, std::memory_order_relaxed);
  copy->lost.store(false, std::memory_order_relaxed);
  open_copies.fetch_or(bit, std::memory_order_seq_cst);
  copy->take_parts(kNever);
  // A helper that registers after this finds the copy closed.
  open_copies.fetch_and(~bit, std::memory_order_seq_cst);
  // A helper may need this CPU, and its thread may have a lower priority: spin, yield, then sleep.
  for (int waits = 0; copy->helpers.load(std::memory_order_seq_cst) != 0; ++waits) {
    if (waits > kSpinsBeforeYield + kYieldsBeforeSleep) {
      std::this_thread::sleep_for(kSleep);
    } else if (waits > kSpinsBeforeYield) {
      sched_yield();
    }
  }
  const bool whole = !copy->lost.load(std::memory_order_relaxed);
  copy->owned.store(false, std::memory_order_release);
  return whole;
}

int32_t lend_program_thread() noexcept {
  if (open_copies.load(std::memory_order_relaxed) == 0) return 0;
  const int saved_errno = errno;
  int cancelable = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelable);
  bool helped = false;
  {
    // A program's handler that left with longjmp would keep the engine waiting for ever.
    const ProgramSignalsBlocked signals;
    const OwnCalls ours;
    helped = help_to_copy();
  }
  pthread_setcancelstate(cancelable, nullptr);
  errno = saved_errno;
  return helped ? 1 : 0;
}

void forget_shared_copies() noexcept {
  open_copies.store(0, std::memory_order_relaxed);
  for (SharedCopy& copy : copies) {
    copy.helpers.store(0, std::memory_order_relaxed);
    copy.owned.store(false, std::memory_order_relaxed);
  }
}

}  // namespace rigel::vgpu
