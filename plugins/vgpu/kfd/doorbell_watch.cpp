#include "plugins/vgpu/kfd/doorbell_watch.hpp"

#include <hsa_backend/sanitizer.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "api/support/mutex.hpp"
#include "api/support/program_signals.hpp"
#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/cp/own_calls.hpp"

namespace rigel::vgpu {
namespace {

// ThreadSanitizer's runtime executes stores for the program while it holds locks that the handler needs.
constexpr bool kStoresCanBeStopped = HSABE_SANITIZER != HSABE_SANITIZER_THREAD;

// Executing this many stores costs as much as making the page writable and read-only again.
constexpr uint32_t kMaxExecutedStores = 8;

using std::chrono::microseconds;

// Polling, if stores cannot be stopped. A poll costs 10 to 20 us, most of it for the wake-up. The interval
// therefore grows with the time since the last store: at most 1/256 of it is the delay of the next one.
constexpr auto kIdleInterval = microseconds(1000);
constexpr auto kLongestIdleInterval = microseconds(32000);
constexpr int kPollsPerPause = 256;

bool is_rung(const void* address, uint32_t bytes) {
  if (bytes == 4) {
    return static_cast<const std::atomic<uint32_t>*>(address)->load(std::memory_order_acquire) != ~0u;
  }
  return static_cast<const std::atomic<uint64_t>*>(address)->load(std::memory_order_acquire) != ~uint64_t{0};
}

}  // namespace

DoorbellWatch::DoorbellWatch(Log& log, std::function<void(uint32_t, uint32_t)> wake, bool allow_signals)
    : log_(log), wake_(std::move(wake)), allow_signals_(allow_signals && kStoresCanBeStopped) {}

void DoorbellWatch::stop() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    has_work_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  {
    const MutexLock lock(mutex_);
    for (Page& page : pages_) {
      disarm(page);
      for (const MappedPages& m : page.mappings) {
        if (m.by_signal) unwatch_stores(m.address);
      }
      page.mappings.clear();
    }
  }
  await_store_watchers();
}

void DoorbellWatch::add_slot(uint32_t gpu, uint32_t engine, const void* slot, uint64_t offset,
                             uint32_t bytes) {
  {
    const MutexLock lock(mutex_);
    pages_[gpu].slots.push_back({engine, slot, offset, bytes});
  }
  wake_(gpu, engine);  // it may have gone to sleep while there was nothing to watch
}

void DoorbellWatch::remove_slot(uint32_t gpu, const void* slot) {
  const MutexLock lock(mutex_);
  std::erase_if(pages_[gpu].slots, [&](const Slot& s) { return s.address == slot; });
}

void DoorbellWatch::add_mapping(uint32_t gpu, void* address, uint64_t bytes, uint64_t offset,
                                std::byte* device) {
  auto* const at = static_cast<std::byte*>(address);
  {
    const MutexLock lock(mutex_);
    Page& page = pages_[gpu];
    page.mappings.reserve(page.mappings.size() + 1);  // so that push_back cannot throw after watch_stores()
    const auto stop = [](void* watch, std::byte* where, StoppedStore store) {
      return static_cast<DoorbellWatch*>(watch)->execute_store(where, store);
    };
    const bool by_signal = allow_signals_ && catch_host_faults() && watch_stores(at, bytes, {stop, this});
    log_(LogCategory::kDoorbell, "page {}: stores to sleeping doorbells are noticed by {}", address,
         by_signal ? "SIGSEGV" : "polling");
    disarm(page);
    page.mappings.push_back({at, bytes, offset, device, by_signal});
  }
  wake_(gpu, kAllEngines);  // they sleep under the previous protection
}

void DoorbellWatch::remove_mapping(void* address, uint64_t bytes) {
  const auto* const begin = static_cast<std::byte*>(address);
  const MutexLock lock(mutex_);
  for (Page& page : pages_) {
    std::erase_if(page.mappings, [&](const MappedPages& m) {
      if (m.address >= begin + bytes || begin >= m.address + m.bytes) return false;
      if (m.by_signal) {
        if (page.armed) protect(m, false);
        unwatch_stores(m.address);
      }
      return true;
    });
  }
}

std::vector<DoorbellWatch::MappedPages>::const_iterator DoorbellWatch::Page::find_mapping(
    const std::byte* address) const {
  return std::find_if(mappings.begin(), mappings.end(), [&](const MappedPages& m) {
    return address >= m.address && address < m.address + m.bytes;
  });
}

// Pages ---------------------------------------------------------------------------------------------------

bool DoorbellWatch::protect(const MappedPages& pages, bool read_only) noexcept {
  return syscall(SYS_mprotect, pages.address, pages.bytes, read_only ? PROT_READ : PROT_READ | PROT_WRITE) ==
         0;
}

bool DoorbellWatch::disarm(Page& page) noexcept {
  bool done = true;
  if (page.armed) {
    for (const MappedPages& m : page.mappings) done &= protect(m, false);
  }
  page.armed = false;
  return done;
}

// Returns false if stores to this page do not raise a signal that this object handles.
bool DoorbellWatch::arm(Page& page) noexcept {
  const bool can = std::all_of(page.mappings.begin(), page.mappings.end(),
                               [](const MappedPages& m) { return m.by_signal; });
  // If the program has replaced the handler, a store to a read-only page would end the program.
  if (!can || (!page.mappings.empty() && !host_faults_are_caught())) return false;
  page.armed = true;
  for (const MappedPages& m : page.mappings) {
    if (protect(m, true)) continue;
    disarm(page);
    return false;
  }
  return true;
}

uint32_t DoorbellWatch::engine_at(const Page& page, uint64_t offset) {
  for (const Slot& slot : page.slots) {
    if (offset - slot.offset < slot.bytes) return slot.engine;
  }
  return kAllEngines;
}

// Runs on the storing thread, in the SIGSEGV handler.
bool DoorbellWatch::execute_store(std::byte* address, StoppedStore store) {
  const MutexLock lock(mutex_);
  for (uint32_t gpu = 0; gpu < kMaxGpus; ++gpu) {
    Page& page = pages_[gpu];
    const auto mapping = page.find_mapping(address);
    if (mapping == page.mappings.end()) continue;
    const uint64_t offset = mapping->offset_of(address);
    if (store.make_at(mapping->device + offset, mapping->offset + mapping->bytes - offset)) {
      if (++page.executed_stores > kMaxExecutedStores) disarm(page);
    } else if (!disarm(page) || !protect(*mapping, false)) {
      return false;
    }
    // Also for a slot without a queue: while the page is writable, an engine must be awake.
    wake_(gpu, engine_at(page, offset));
    return true;
  }
  return true;  // the mapping is being removed
}

// Engines ---------------------------------------------------------------------------------------------------

bool DoorbellWatch::wake_rung_engines(uint32_t gpu, Page& page) {
  bool any = false;
  for (const Slot& slot : page.slots) {
    if (!is_rung(slot.address, slot.bytes)) continue;
    any = true;
    wake_(gpu, slot.engine);
  }
  return any;
}

void DoorbellWatch::poll_now() noexcept {
  if (!thread_started_.load(std::memory_order_relaxed)) return;
  const MutexLock lock(mutex_);
  for (uint32_t gpu = 0; gpu < kMaxGpus; ++gpu) {
    Page& page = pages_[gpu];
    if (page.polled && page.asleep != 0 && wake_rung_engines(gpu, page)) page.last_store = Clock::now();
  }
}

void DoorbellWatch::engine_sleeps(uint32_t gpu) noexcept {
  const MutexLock lock(mutex_);
  Page& page = pages_[gpu];
  ++page.asleep;
  page.executed_stores = 0;
  if (page.slots.empty()) return;
  // The program may have replaced the handler in the meantime.
  if (page.armed && !host_faults_are_caught()) disarm(page);
  if (!page.armed) page.polled = !arm(page);
  wake_rung_engines(gpu, page);  // stores from just before, and stores by kernels, which never fault
  if (!page.polled || stop_) return;
  if (!thread_.joinable()) start_thread();
  if (thread_waits_) has_work_.notify_one();
}

// Without the lock: the handler that wakes the engine holds it.
void DoorbellWatch::engine_wakes(uint32_t gpu) noexcept RIGEL_UNCHECKED_LOCKS {
  --pages_[gpu].asleep;
}

// The thread ------------------------------------------------------------------------------------------------

void DoorbellWatch::start_thread() {
  thread_started_.store(true, std::memory_order_relaxed);
  const ProgramSignalsBlocked signals;
  try {
    thread_ = std::thread([this] { poll_loop(); });
  } catch (const std::system_error& error) {
    log_(LogCategory::kWarning,
         "doorbells: cannot start the thread that watches stores: {}; queues may not start", error.what());
  }
}

void DoorbellWatch::poll_loop() {
  const OwnCalls own_calls_scope;
  pthread_setname_np(pthread_self(), "vgpu-doorbells");
  prctl(PR_SET_TIMERSLACK, 1);
  MutexLock lock(mutex_);
  while (!stop_) {
    auto pause = Clock::duration::max();
    const auto now = Clock::now();
    for (uint32_t gpu = 0; gpu < kMaxGpus; ++gpu) {
      Page& page = pages_[gpu];
      if (!page.polled || page.asleep == 0 || page.slots.empty()) continue;
      if (wake_rung_engines(gpu, page)) page.last_store = now;
      pause = std::min(pause, std::clamp<Clock::duration>((now - page.last_store) / kPollsPerPause,
                                                          kIdleInterval, kLongestIdleInterval));
    }
    if (pause == Clock::duration::max()) {
      thread_waits_ = true;
      has_work_.wait(lock);
      thread_waits_ = false;
    } else {
      has_work_.wait_for(lock, pause);
    }
  }
}

}  // namespace rigel::vgpu
