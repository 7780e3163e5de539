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

#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/cp/own_calls.hpp"
#include "plugins/vgpu/cp/stream_copy.hpp"

namespace rigel::vgpu {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kPart = uint64_t{64} << 10;  // a microsecond or two in the caches, six in memory
constexpr auto kHelp = 8us;  // then whoever helps looks for what it waits for; one part more, if that is dear
constexpr int kLooksBeforeYield = 256, kYieldsBeforeSleep = 64;
constexpr auto kSleep = 50us;

constexpr Clock::time_point kNever = Clock::time_point::max();

struct alignas(64) SharedCopy {
  // The owner's, who writes them while the copy is closed.
  std::atomic<bool> owned{false};
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  uint64_t bytes = 0, before = 0;

  alignas(64) std::atomic<uint64_t> next{0};
  std::atomic<bool> lost{false};
  alignas(64) std::atomic<uint32_t> helpers{0};

  // Copies parts until there are none or it is time. Whether there was one.
  bool take_parts(Clock::time_point until) noexcept {
    bool any = false;
    do {
      const uint64_t at = next.fetch_add(kPart, std::memory_order_relaxed);
      if (at >= bytes) return any;
      if (!guarded_stream_copy(to + at, from + at, std::min(kPart, bytes - at), before + at)) {
        next.store(bytes, std::memory_order_relaxed);
        lost.store(true, std::memory_order_relaxed);  // seen when `helpers` is, or this thread's own
        return false;
      }
      any = true;
    } while (until == kNever || Clock::now() < until);
    return any;
  }
};

// A few engines copy at a time. Who finds none free copies alone.
constinit std::array<SharedCopy, 4> copies;
constinit std::atomic<uint32_t> open_copies{0};  // a bit each

// More than there are processors beside the engine's would only take them from others, as shader cores; and a
// few are as fast as memory.
uint32_t most_helpers() noexcept {
  static constinit std::atomic<uint32_t> known{0};
  uint32_t most = known.load(std::memory_order_relaxed);
  if (most == 0) {
    most = static_cast<uint32_t>(std::clamp<long>(sysconf(_SC_NPROCESSORS_ONLN) - 1, 1, 4));
    known.store(most, std::memory_order_relaxed);
  }
  return most;
}

SharedCopy* own_one() noexcept {
  for (SharedCopy& copy : copies) {
    if (!copy.owned.load(std::memory_order_relaxed) && !copy.owned.exchange(true, std::memory_order_acquire))
      return &copy;
  }
  return nullptr;
}

// Does a part of a copy on this thread.
bool help_to_copy() noexcept {
  for (SharedCopy& copy : copies) {
    const uint32_t bit = 1u << (&copy - copies.data());
    if ((open_copies.load(std::memory_order_relaxed) & bit) == 0) continue;
    if (copy.helpers.load(std::memory_order_relaxed) >= most_helpers()) continue;
    copy.helpers.fetch_add(1, std::memory_order_seq_cst);
    const bool open = (open_copies.load(std::memory_order_seq_cst) & bit) != 0;
    const bool helped = open && copy.take_parts(Clock::now() + kHelp);
    copy.helpers.fetch_sub(1, std::memory_order_release);
    if (helped) return true;
  }
  return false;
}

}  // namespace

bool copy_with_help(std::byte* to, const std::byte* from, uint64_t bytes, uint64_t before) noexcept {
  if (bytes < kSharedCopyBytes || !are_apart(to, from, bytes)) return false;
  SharedCopy* const copy = own_one();
  if (copy == nullptr) return false;
  const uint32_t bit = 1u << (copy - copies.data());
  copy->to = to, copy->from = from, copy->bytes = bytes, copy->before = before;
  copy->next.store(0, std::memory_order_relaxed);
  copy->lost.store(false, std::memory_order_relaxed);
  open_copies.fetch_or(bit, std::memory_order_seq_cst);
  copy->take_parts(kNever);
  // Whoever counts itself as a helper after this finds it closed.
  open_copies.fetch_and(~bit, std::memory_order_seq_cst);
  // A helper's processor may be this one. It may also be less urgent than this thread, who then has to sleep.
  for (int looks = 0; copy->helpers.load(std::memory_order_seq_cst) != 0; ++looks) {
    if (looks > kLooksBeforeYield + kYieldsBeforeSleep) {
      std::this_thread::sleep_for(kSleep);
    } else if (looks > kLooksBeforeYield) {
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
    // A handler of the program that left by longjmp would keep the engine waiting for ever.
    const WorkerSignals signals;
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
