#include "plugins/vgpu/kfd/doorbell_watch.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "plugins/vgpu/cp/host_fault.hpp"

namespace rigel::vgpu {
namespace {

// ThreadSanitizer's runtime stores for the program while it holds locks that its handling of signals needs.
#if defined(__SANITIZE_THREAD__)
constexpr bool kStoresCanBeStopped = false;
#elif defined(__has_feature)
constexpr bool kStoresCanBeStopped = !__has_feature(thread_sanitizer);
#else
constexpr bool kStoresCanBeStopped = true;
#endif

using std::chrono::microseconds;

// Where stores cannot be stopped: a look costs some ten microseconds, most of them for waking up, so looks
// become rarer as the pause becomes longer.
constexpr auto kIdleInterval = microseconds(1000);
constexpr auto kLongestIdleInterval = microseconds(4000);
constexpr int kLooksInAPause = 256;

bool rung(const void* address, uint32_t bytes) {
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
    const std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(mutex_);
  for (Page& page : pages_) {
    disarm(page);
    for (const MappedPages& m : page.mappings) {
      if (m.by_signal) unwatch_stores(m.address);
    }
    page.mappings.clear();
  }
}

void DoorbellWatch::add_slot(uint32_t gpu, uint32_t engine, const void* slot, uint64_t offset,
                             uint32_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    pages_[gpu].slots.push_back({engine, slot, offset, bytes});
  }
  wake_(gpu, engine);  // it may have gone to sleep when there was nothing to watch
}

void DoorbellWatch::remove_slot(uint32_t gpu, const void* slot) {
  const std::lock_guard lock(mutex_);
  std::erase_if(pages_[gpu].slots, [&](const Slot& s) { return s.address == slot; });
}

void DoorbellWatch::add_mapping(uint32_t gpu, void* address, uint64_t bytes) {
  auto* const at = static_cast<std::byte*>(address);
  {
    const std::lock_guard lock(mutex_);
    Page& page = pages_[gpu];
    const auto stop = [](void* watch, std::byte* where) {
      return static_cast<DoorbellWatch*>(watch)->stored(where);
    };
    const bool by_signal = allow_signals_ && catch_host_faults() && watch_stores(at, bytes, {stop, this});
    log_(LogCategory::kDoorbell, "sleeping doorbells at {} are {}", address,
         by_signal ? "watched by SIGSEGV" : "looked at now and then");
    disarm(page);
    page.mappings.push_back({at, bytes, by_signal});
  }
  wake_(gpu, kAllEngines);  // they sleep under the rules of before
}

void DoorbellWatch::remove_mapping(void* address, uint64_t bytes) {
  const auto* const begin = static_cast<std::byte*>(address);
  const std::lock_guard lock(mutex_);
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

// Pages ---------------------------------------------------------------------------------------------------

bool DoorbellWatch::protect(const MappedPages& pages, bool on) noexcept {
  return syscall(SYS_mprotect, pages.address, pages.bytes, on ? PROT_READ : PROT_READ | PROT_WRITE) == 0;
}

bool DoorbellWatch::disarm(Page& page) noexcept {
  if (!page.armed) return true;
  page.armed = false;
  return std::all_of(page.mappings.begin(), page.mappings.end(),
                     [](const MappedPages& m) { return protect(m, false); });
}

// False: stores to this page cannot be noticed.
bool DoorbellWatch::arm(Page& page) noexcept {
  const bool can = std::all_of(page.mappings.begin(), page.mappings.end(),
                               [](const MappedPages& m) { return m.by_signal; });
  // The program may have set a handler past us: a store to a page that is read-only would be its end.
  if (!can || (!page.mappings.empty() && !host_faults_are_caught())) return false;
  page.armed = true;
  for (const MappedPages& m : page.mappings) {
    if (protect(m, true)) continue;
    disarm(page);
    return false;
  }
  return true;
}

// On the thread that stores, in the handler of its SIGSEGV.
bool DoorbellWatch::stored(std::byte* address) {
  uint32_t gpu = 0, engine = kAllEngines;
  {
    const std::lock_guard lock(mutex_);
    for (;; ++gpu) {
      if (gpu == kMaxGpus) return true;  // the mapping is being taken away
      Page& page = pages_[gpu];
      const auto found = std::find_if(page.mappings.begin(), page.mappings.end(), [&](const MappedPages& m) {
        return address >= m.address && address < m.address + m.bytes;
      });
      if (found == page.mappings.end()) continue;
      if (!disarm(page)) return false;
      const auto offset = static_cast<uint64_t>(address - found->address);
      for (const Slot& slot : page.slots) {
        if (offset - slot.offset < slot.bytes) engine = slot.engine;
      }
      break;
    }
  }
  // Also if that doorbell is nobody's: somebody must be awake now.
  wake_(gpu, engine);
  return true;
}

// Processors ------------------------------------------------------------------------------------------------

bool DoorbellWatch::wake_rung(uint32_t gpu, Page& page) {
  bool any = false;
  for (const Slot& slot : page.slots) {
    if (!rung(slot.address, slot.bytes)) continue;
    any = true;
    wake_(gpu, slot.engine);
  }
  return any;
}

void DoorbellWatch::worker_sleeps(uint32_t gpu) noexcept {
  const std::lock_guard lock(mutex_);
  Page& page = pages_[gpu];
  ++page.asleep;
  if (page.slots.empty() || page.armed) return;
  page.looked_at = !arm(page);
  wake_rung(gpu, page);  // what was stored just before
  if (!page.looked_at || stop_) return;
  if (!thread_.joinable()) {
    const WorkerSignals signals;
    thread_ = std::thread([this] { look(); });
  }
  changed_.notify_one();
}

void DoorbellWatch::worker_wakes(uint32_t gpu) noexcept {
  const std::lock_guard lock(mutex_);
  if (pages_[gpu].asleep != 0) --pages_[gpu].asleep;
}

void DoorbellWatch::look() {
  pthread_setname_np(pthread_self(), "vgpu-doorbells");
  prctl(PR_SET_TIMERSLACK, 1);
  std::unique_lock lock(mutex_);
  while (!stop_) {
    auto pause = Clock::duration::max();
    const auto now = Clock::now();
    for (uint32_t gpu = 0; gpu < kMaxGpus; ++gpu) {
      Page& page = pages_[gpu];
      if (!page.looked_at || page.asleep == 0 || page.slots.empty()) continue;
      if (wake_rung(gpu, page)) page.rung = now;
      pause = std::min(pause, std::clamp<Clock::duration>((now - page.rung) / kLooksInAPause, kIdleInterval,
                                                          kLongestIdleInterval));
    }
    if (pause == Clock::duration::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_for(lock, pause);
    }
  }
}

}  // namespace rigel::vgpu
