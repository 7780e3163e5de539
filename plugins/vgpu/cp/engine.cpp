#include "plugins/vgpu/cp/engine.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/cp/own_calls.hpp"
#include "plugins/vgpu/cp/spin_time.hpp"

namespace rigel::vgpu {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t kBudget = 16;  // packets of one queue before the others get a turn
constexpr auto kShortestPoll = 20us;
constexpr auto kLongestPoll = 1000us;
constexpr auto kNap = 20us;
constexpr uint32_t kRoundsOfPriority = 32;  // every so many rounds lower priorities get a turn even so
// Every so many rounds peers' doorbells are looked at, and earlier if the rounds take long.
constexpr uint32_t kRoundsOfLooks = 8;
constexpr auto kBetweenLooks = 50us;

void pause_cpu() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

// Leaves the processor of the host to whoever waits for it, if there is another.
void step_aside() noexcept {
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
  const int here = sched_getcpu();
  cpu_set_t others = all;
  if (here >= 0 && here < CPU_SETSIZE) CPU_CLR(here, &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
  sched_setaffinity(0, sizeof all, &all);
}

// Asks for short turns on the processors of the host: who asks for less than the one that runs gets its turn
// when it is woken, and not at the next tick. What it gets in all stays the same. (From Linux 6.12 on;
// before, nothing happens.)
void take_short_turns() noexcept {
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
  const WorkerSignals signals;
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
  ++entry.wanted_by;
  while (running_ == &entry) stepped_.wait(lock);
  --entry.wanted_by;
}

// Other threads may add and remove queues while this one waits.
std::shared_ptr<Engine::Entry> Engine::at_rest(MutexLock& lock, const HardwareQueue& queue) {
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
  prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);  // ns: polls are short
  take_short_turns();
  MutexLock lock(mutex_);
  Clock::time_point last_progress = Clock::now(), last_look = last_progress;
  bool was_progress = true, was_woken = false;
  SpinTime spin;
  while (!stop_) {
    const uint32_t seen = alarm_.wakes();
    Round done = round();
    done.progress |= lend_thread();
    const auto now = Clock::now();
    if (rounds_ % kRoundsOfLooks == 0 || now - last_look > kBetweenLooks) {
      look_at_peers();
      last_look = now;
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
    // Something rang: what it was may need a moment to arrive, so that is looked for before the next sleep.
    const auto woken = Clock::now();
    if (spin.woken_after(woken - now, woken)) {
      lock.unlock();
      step_aside();
      lock.lock();
    }
    was_progress = true;
  }
}

// Shader cores that have no threads have this one, between packets.
bool Engine::lend_thread() {
  if (!context_.sink.wants_thread()) return false;
  const MutexUnlock unlocked(mutex_);
  return context_.sink.lend_thread();
}

// What was done may be what another engine's queue waits for.
void Engine::wake_peers() {
  for (const auto& peer : peers_) {
    if (peer.get() == this || !peer->polling_.load(std::memory_order_seq_cst)) continue;
    const MutexUnlock unlocked(mutex_);  // it may be waking us
    peer->wake();
  }
}

void Engine::look_at_peers() {
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

// A suspended queue's doorbell is looked at as well: one that stayed rung would keep whoever watches the
// doorbells of sleeping workers from its own sleep, and wake them over and over.
bool Engine::has_turn(Entry& entry) {
  return !entry.removed && entry.queue->has_work() && !entry.suspended && entry.wanted_by == 0;
}

Engine::Round Engine::round() {
  Round result;
  ++rounds_;
  const bool everyone = rounds_ % kRoundsOfPriority == 0;
  const Entries entries = entries_;
  for (size_t begin = 0; begin < entries.size() && !stop_;) {
    const uint32_t priority = entries[begin]->queue->priority();
    size_t end = begin;
    while (end < entries.size() && entries[end]->queue->priority() == priority) ++end;
    const size_t count = end - begin;
    for (size_t i = 0; i < count; ++i) {
      Entry& entry = *entries[begin + (i + rounds_) % count];
      if (!has_turn(entry)) continue;
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
  if (entry.wanted_by != 0) stepped_.notify_all();
  return outcome;
}

void Engine::sleep(uint32_t seen, bool polling, Clock::duration quiet) {
  {
    const MutexUnlock unlocked(mutex_);
    context_.bus.watch_doorbells();
  }
  polling_.store(polling, std::memory_order_seq_cst);
  alarm_.fall_asleep();
  // A last look: rings stored before the watch began, or called before the sleep. Queues that wait would
  // always say that they have work.
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
      longest = kLongestPoll;  // they ring doorbells where nobody watches, and may wait for what comes of it
    }
    alarm_.sleep(seen, longest);
  }
  alarm_.wake_up();
  polling_.store(false, std::memory_order_seq_cst);
  context_.bus.doorbells_unwatched();
}

// The worker was woken and there is nothing to do. A store to a doorbell that is watched comes after the
// wake-up that it causes, and the worker may have taken the place of the very thread that is about to store:
// it gets it back. (Going to sleep for good would watch the doorbell again and stop the same store once more:
// on a host with one processor, for ever.)
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
    if (!has_turn(*entry)) continue;
    if (step_entry(*entry, 1) == Outcome::kProgress) return true;
  }
  return false;
}

}  // namespace rigel::vgpu
