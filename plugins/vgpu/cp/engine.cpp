#include "plugins/vgpu/cp/engine.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/support/program_signals.hpp"
#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/cp/own_calls.hpp"
#include "plugins/vgpu/cp/spin_time.hpp"

namespace rigel::vgpu {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t kBudget = 16;  // packets of one queue before the next queue is stepped
constexpr auto kShortestPoll = 20us;
constexpr auto kLongestPoll = 1000us;
constexpr auto kNap = 20us;
constexpr uint32_t kRoundsPerLowPriority = 32;  // every 32 rounds, lower priorities are stepped too
// Peers' doorbells are checked every 8 rounds, or after 50 µs if rounds take longer.
constexpr uint32_t kRoundsPerPeerCheck = 8;
constexpr auto kPeerCheckInterval = 50us;

void pause_cpu() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// Moves the thread to another CPU, if there is one, so that a thread that waits for this CPU can run.
void move_to_another_cpu() noexcept {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  const int cpu = sched_getcpu();
  cpu_set_t others = allowed;
  if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_CLR(cpu, &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
  sched_setaffinity(0, sizeof allowed, &allowed);
}

// Requests short time slices of the CPU scheduler. A woken thread with a shorter slice than the running
// thread preempts it instead of waiting for the next tick; its share of CPU time stays the same. Needs Linux
// 6.12; earlier versions ignore it.
void request_short_time_slices() noexcept {
  struct {
    uint32_t size = 48, policy = 0;
    uint64_t flags = 0;
    int32_t nice = 0;
    uint32_t priority = 0;
    uint64_t runtime = 0, deadline = 0, period = 0;  // ns
  } attributes;
  static_assert(sizeof attributes == 48);  // SCHED_ATTR_SIZE_VER0
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.runtime = 100'000;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace

Engine::~Engine() {
  stop();
  give_alarm(alarm_);
}

void Engine::stop() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  wake();
  if (worker_.joinable()) worker_.join();
}

void Engine::add(std::shared_ptr<HardwareQueue> queue, bool suspended) {
  MutexLock lock(mutex_);
  entries_.push_back(std::make_shared<Entry>(Entry{std::move(queue), suspended}));
  sort();
  lock.unlock();
  wake();
}

bool Engine::start() {
  const MutexLock lock(mutex_);
  if (!context_.config.threads || worker_.joinable()) return true;
  const ProgramSignalsBlocked signals;
  try {
    worker_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {
    return false;
  }
  pthread_setname_np(worker_.native_handle(), name_.substr(0, 15).c_str());
  return true;
}

void Engine::remove(const HardwareQueue& queue) {
  MutexLock lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& entry) { return entry->queue.get() == &queue; });
  if (found == entries_.end()) return;
  const std::shared_ptr<Entry> entry = *found;
  entry->removed = true;
  entries_.erase(found);
  wait_until_not_running(lock, *entry);
}

void Engine::wait_until_not_running(MutexLock& lock, Entry& entry) {
  ++entry.waiting_threads;
  while (running_ == &entry) stepped_.wait(lock);
  --entry.waiting_threads;
}

// Returns null if another thread has removed the queue meanwhile.
std::shared_ptr<Engine::Entry> Engine::entry_at_rest(MutexLock& lock, const HardwareQueue& queue) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& entry) { return entry->queue.get() == &queue; });
  if (found == entries_.end()) return nullptr;
  const std::shared_ptr<Entry> entry = *found;
  wait_until_not_running(lock, *entry);
  return entry->removed ? nullptr : entry;
}

void Engine::sort() {
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const auto& a, const auto& b) { return a->queue->priority() > b->queue->priority(); });
}

// The worker
// -------------------------------------------------------------------------------------------------

void Engine::work() {
  const OwnCalls ours;
  prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);  // ns, because polls are short
  request_short_time_slices();
  MutexLock lock(mutex_);
  Clock::time_point last_progress = Clock::now(), last_peer_check = last_progress;
  bool was_progress = true, was_woken = false;
  SpinTime spin;
  while (!stop_) {
    const uint32_t seen = alarm_.wakes();
    Round done = round();
    done.progress |= lend_thread();
    const auto now = Clock::now();
    if (rounds_ % kRoundsPerPeerCheck == 0 || now - last_peer_check > kPeerCheckInterval) {
      wake_rung_peers();
      last_peer_check = now;
    }
    if (done.progress) {
      was_woken = false;
      was_progress = true;
      wake_peers();
      continue;
    }
    if (std::exchange(was_woken, false) && !done.polling) {
      nap(seen);
      was_progress = true;
      continue;
    }
    if (was_progress) last_progress = now;
    was_progress = false;
    if (now - last_progress < spin.length(now)) {
      lock.unlock();
      for (int i = 0; i < 8; ++i) pause_cpu();
      lock.lock();
      continue;
    }
    const uint32_t before = alarm_.wakes();
    sleep(seen, done.polling, now - last_progress);
    if (alarm_.wakes() == before) continue;
    was_woken = true;
    // A ring was called, but its packet may not be visible yet: nap before sleeping again.
    const auto woken = Clock::now();
    if (spin.woken_after(woken - now, woken)) {
      lock.unlock();
      move_to_another_cpu();
      lock.lock();
    }
    was_progress = true;
  }
}

// Lends this thread to shader cores that have no threads, between packets.
bool Engine::lend_thread() {
  if (!context_.sink.wants_thread()) return false;
  const MutexUnlock unlocked(mutex_);
  return context_.sink.lend_thread();
}

// Progress here may be what a queue of another engine polls for.
void Engine::wake_peers() {
  for (const auto& peer : peers_) {
    if (peer.get() == this || !peer->polling_.load(std::memory_order_seq_cst)) continue;
    const MutexUnlock unlocked(mutex_);  // the peer may be waking this engine
    peer->wake();
  }
}

void Engine::wake_rung_peers() {
  for (const auto& peer : peers_) {
    if (peer.get() == this || !peer->alarm_.asleep()) continue;
    const MutexUnlock unlocked(mutex_);
    peer->wake_if_rung();
  }
}

void Engine::wake_if_rung() noexcept {
  {
    if (!mutex_.try_lock()) return;
    const MutexLock lock(mutex_, std::adopt_lock);
    if (!any_rung()) return;
  }
  wake();
}

bool Engine::any_rung() const noexcept {
  return std::any_of(entries_.begin(), entries_.end(),
                     [](const auto& entry) { return entry->queue->is_rung(); });
}

// Also takes the doorbell of a suspended queue. A slot that stayed rung would make the watcher of doorbells
// wake the sleeping workers again and again.
bool Engine::is_runnable(Entry& entry) {
  return !entry.removed && entry.queue->has_work() && !entry.suspended && entry.waiting_threads == 0;
}

Engine::Round Engine::round() {
  Round result;
  ++rounds_;
  const bool everyone = rounds_ % kRoundsPerLowPriority == 0;
  const Entries entries = entries_;
  for (size_t begin = 0; begin < entries.size() && !stop_;) {
    const uint32_t priority = entries[begin]->queue->priority();
    size_t end = begin;
    while (end < entries.size() && entries[end]->queue->priority() == priority) ++end;
    const size_t count = end - begin;
    for (size_t i = 0; i < count; ++i) {
      Entry& entry = *entries[begin + (i + rounds_) % count];
      if (!is_runnable(entry)) continue;
      const Outcome outcome = step_entry(entry, kBudget);
      result.progress |= outcome == Outcome::kProgress;
      result.polling |= outcome == Outcome::kPolling;
    }
    if (result.progress && !everyone) break;
    begin = end;
  }
  return result;
}

Outcome Engine::step_entry(Entry& entry, uint32_t budget) {
  running_ = &entry;
  Outcome outcome;
  {
    const MutexUnlock unlocked(mutex_);
    outcome = entry.queue->step(budget);
  }
  running_ = nullptr;
  entry.last = outcome;
  if (entry.waiting_threads != 0) stepped_.notify_all();
  return outcome;
}

void Engine::sleep(uint32_t seen, bool polling, Clock::duration quiet) {
  {
    const MutexUnlock unlocked(mutex_);
    context_.bus.watch_doorbells();
  }
  polling_.store(polling, std::memory_order_seq_cst);
  alarm_.fall_asleep();
  // Last check: rings stored before the watch began, or called before the sleep. Queues that wait always have
  // work and do not count.
  const bool rung = any_rung() || std::any_of(entries_.begin(), entries_.end(), [](const auto& entry) {
                      return !entry->suspended && entry->last == Outcome::kIdle && entry->queue->has_work();
                    });
  const bool stop = stop_;
  const bool kernels_run = std::any_of(entries_.begin(), entries_.end(),
                                       [](const auto& entry) { return entry->queue->runs_kernels(); });
  const MutexUnlock unlocked(mutex_);
  if (!rung && !stop) {
    std::optional<std::chrono::nanoseconds> longest;
    if (polling) {
      longest = std::clamp<Clock::duration>(quiet / 8, kShortestPoll, kLongestPoll);
    } else if (kernels_run) {
      longest = kLongestPoll;  // kernels ring doorbells unwatched, and may wait for the result
    }
    alarm_.sleep(seen, longest);
  }
  alarm_.wake_up();
  polling_.store(false, std::memory_order_seq_cst);
  context_.bus.doorbells_unwatched();
}

// The worker was woken and found nothing to do. The wake-up for a store to a watched doorbell comes before
// the store itself, and the worker may have preempted the storing thread. The worker naps, so that this
// thread can continue. A full sleep would watch the doorbell again and stop the same store again, for ever on
// a host with one CPU.
void Engine::nap(uint32_t seen) {
  alarm_.fall_asleep();
  const bool awake = stop_ || any_rung();
  const MutexUnlock unlocked(mutex_);
  if (!awake) alarm_.sleep(seen, kNap);
  alarm_.wake_up();
}

// Manual mode
// ------------------------------------------------------------------------------------------------

bool Engine::step(std::mt19937_64& random) {
  MutexLock lock(mutex_);
  Entries order = entries_;
  std::shuffle(order.begin(), order.end(), random);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a->queue->priority() > b->queue->priority(); });
  for (const auto& entry : order) {
    if (!is_runnable(*entry)) continue;
    if (step_entry(*entry, 1) == Outcome::kProgress) return true;
  }
  return false;
}

}  // namespace rigel::vgpu
