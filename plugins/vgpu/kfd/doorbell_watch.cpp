#include "plugins/vgpu/kfd/doorbell_watch.hpp"

#include <fcntl.h>
#include <hsa_backend/sanitizer.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/cp/own_calls.hpp"

// For headers older than Linux 5.11, 5.18 and 5.19.
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

namespace rigel::vgpu {
namespace {

constexpr uint64_t kWriteProtectSharedMemory = 1 << 12;  // UFFD_FEATURE_WP_HUGETLBFS_SHMEM
constexpr uint64_t kExactAddress = 1 << 11;              // UFFD_FEATURE_EXACT_ADDRESS

// ThreadSanitizer's runtime executes stores for the program while it holds locks that the handler needs.
constexpr bool kStoresCanBeStopped = HSABE_SANITIZER != HSABE_SANITIZER_THREAD;

// Executing this many stores costs as much as making the page writable and read-only again.
constexpr uint32_t kMaxExecutedStores = 8;

using std::chrono::microseconds;

// Polling, if stores cannot be stopped. A poll costs about 10 us, most of it for the wake-up. The interval
// therefore grows with the time since the last store.
constexpr auto kIdleInterval = microseconds(1000);
constexpr auto kLongestIdleInterval = microseconds(4000);
constexpr int kPollsPerPause = 256;
// After this time without a store, userfaultfd protects the page.
constexpr auto kQuietTime = std::chrono::seconds(1);

bool is_rung(const void* address, uint32_t bytes) {
  if (bytes == 4) {
    return static_cast<const std::atomic<uint32_t>*>(address)->load(std::memory_order_acquire) != ~0u;
  }
  return static_cast<const std::atomic<uint64_t>*>(address)->load(std::memory_order_acquire) != ~uint64_t{0};
}

// A raw system call, because the preload front end hooks ioctl().
template <class T>
bool uffd_ioctl(int fd, unsigned long request, T& argument) {
  return syscall(SYS_ioctl, fd, request, &argument) == 0;
}

}  // namespace

DoorbellWatch::DoorbellWatch(Log& log, std::function<void(uint32_t, uint32_t)> wake, bool allow_signals)
    : log_(log), wake_(std::move(wake)), allow_signals_(allow_signals && kStoresCanBeStopped) {}

void DoorbellWatch::stop() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    kick_thread();
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
    userfaults_ = InternalFd();  // releases threads that have started to wait since
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
         by_signal ? "SIGSEGV" : "userfaultfd or polling");
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
        if (page.armed == Armed::kBySignal) protect(m, false);
        unwatch_stores(m.address);
      }
      if (m.by_userfault && page.armed == Armed::kByUserfault) protect_by_userfault(m, false);
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

// EAGAIN: the process is changing its mappings at the moment.
bool DoorbellWatch::protect_by_userfault(const MappedPages& pages, bool read_only) noexcept {
  uffdio_writeprotect range{};
  range.range.start = reinterpret_cast<uint64_t>(pages.address);
  range.range.len = pages.bytes;
  range.mode = read_only ? UFFDIO_WRITEPROTECT_MODE_WP : 0;
  while (!uffd_ioctl(userfaults_.get(), UFFDIO_WRITEPROTECT, range)) {
    if (errno != EAGAIN) return false;
    sched_yield();
  }
  return true;
}

bool DoorbellWatch::disarm(Page& page) noexcept {
  bool done = true;
  for (const MappedPages& m : page.mappings) {
    if (page.armed == Armed::kBySignal) done &= protect(m, false);
    if (page.armed == Armed::kByUserfault) done &= protect_by_userfault(m, false);
  }
  page.armed = Armed::kNo;
  return done;
}

// Returns false if stores to this page do not raise a signal that this object handles.
bool DoorbellWatch::arm_by_signal(Page& page) noexcept {
  const bool can = std::all_of(page.mappings.begin(), page.mappings.end(),
                               [](const MappedPages& m) { return m.by_signal; });
  // If the program has replaced the handler, a store to a read-only page would end the program.
  if (!can || (!page.mappings.empty() && !host_faults_are_caught())) return false;
  page.armed = Armed::kBySignal;
  for (const MappedPages& m : page.mappings) {
    if (protect(m, true)) continue;
    disarm(page);
    return false;
  }
  return true;
}

bool DoorbellWatch::arm_by_userfault(Page& page) noexcept {
  for (MappedPages& m : page.mappings) {
    if (!m.by_userfault && !register_userfaults(m)) return false;
  }
  page.armed = Armed::kByUserfault;
  for (const MappedPages& m : page.mappings) {
    if (protect_by_userfault(m, true)) continue;
    disarm(page);
    return false;
  }
  return true;
}

bool DoorbellWatch::register_userfaults(MappedPages& pages) noexcept {
  if (!std::exchange(tried_userfaults_, true) && kStoresCanBeStopped) {
    // Low descriptor numbers belong to the program.
    const InternalFd low(
        static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY)));
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | kWriteProtectSharedMemory | kExactAddress;
    if (low && uffd_ioctl(low.get(), UFFDIO_API, api)) {
      if (auto high = InternalFd::duplicate(low.get())) userfaults_ = std::move(*high);
    }
    if (!userfaults_) log_(LogCategory::kDoorbell, "userfaultfd: not available: {}", strerror(errno));
  }
  if (!userfaults_) return false;
  uffdio_register range{};
  range.range.start = reinterpret_cast<uint64_t>(pages.address);
  range.range.len = pages.bytes;
  range.mode = UFFDIO_REGISTER_MODE_WP;
  return pages.by_userfault = uffd_ioctl(userfaults_.get(), UFFDIO_REGISTER, range);
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
  if (page.armed == Armed::kBySignal && !host_faults_are_caught()) disarm(page);
  if (page.armed == Armed::kNo) page.polled = !arm_by_signal(page);
  wake_rung_engines(gpu, page);  // stores from just before, and stores by kernels, which never fault
  if (!page.polled || stop_) return;
  if (!thread_.joinable()) start_thread();
  if (thread_waits_) kick_thread();
}

// Without the lock: the handler that wakes the engine holds it.
void DoorbellWatch::engine_wakes(uint32_t gpu) noexcept RIGEL_UNCHECKED_LOCKS {
  --pages_[gpu].asleep;
}

// The thread ------------------------------------------------------------------------------------------------

void DoorbellWatch::start_thread() {
  thread_started_.store(true, std::memory_order_relaxed);
  const InternalFd low(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (auto high = InternalFd::duplicate(low.get())) kick_ = std::move(*high);
  const WorkerSignals signals;
  try {
    thread_ = std::thread([this] { poll_loop(); });
  } catch (const std::system_error& error) {
    log_(LogCategory::kWarning,
         "doorbells: cannot start the thread that watches stores: {}; queues may not start", error.what());
  }
}

void DoorbellWatch::kick_thread() noexcept {
  const uint64_t one = 1;
  if (kick_) syscall(SYS_write, kick_.get(), &one, sizeof one);
}

// Waits for stores that userfaultfd has stopped, for kicks, or until `timeout` has elapsed.
void DoorbellWatch::wait_for_work(Clock::duration timeout) {
  if (!kick_)
    timeout = std::min<Clock::duration>(timeout, kLongestIdleInterval);  // there was no descriptor for it
  pollfd descriptors[] = {{kick_.get(), POLLIN, 0}, {userfaults_.get(), POLLIN, 0}};
  const bool for_ever = timeout == Clock::duration::max();
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(timeout).count();
  const timespec limit{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  thread_waits_ = for_ever;
  {
    const MutexUnlock unlocked(mutex_);
    ppoll(descriptors, 2, for_ever ? nullptr : &limit, nullptr);
    uint64_t kicks = 0;
    if (descriptors[0].revents != 0) syscall(SYS_read, kick_.get(), &kicks, sizeof kicks);
  }
  thread_waits_ = false;
  if (descriptors[1].revents != 0) serve_userfaults();
}

void DoorbellWatch::serve_userfaults() {
  uffd_msg message{};
  while (syscall(SYS_read, userfaults_.get(), &message, sizeof message) == sizeof message) {
    if (message.event != UFFD_EVENT_PAGEFAULT) continue;
    auto* const address = reinterpret_cast<std::byte*>(message.arg.pagefault.address);
    bool released = false;
    for (uint32_t gpu = 0; gpu < kMaxGpus && !released; ++gpu) {
      Page& page = pages_[gpu];
      const auto mapping = page.find_mapping(address);
      if (mapping == page.mappings.end() || page.armed != Armed::kByUserfault) continue;
      released = disarm(page);
      // Poll for a while, because the store itself may take some time.
      page.last_store = Clock::now();
      page.polled = true;
      wake_(gpu, engine_at(page, mapping->offset_of(address)));
    }
    if (released) continue;
    // The page is writable already: wake the storing thread.
    uffdio_range range{message.arg.pagefault.address & ~uint64_t{4095}, 4096};
    uffd_ioctl(userfaults_.get(), UFFDIO_WAKE, range);
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
      if (now - page.last_store > kQuietTime && arm_by_userfault(page)) {
        page.polled = false;
        wake_rung_engines(gpu, page);  // a store from just before
        continue;
      }
      pause = std::min(pause, std::clamp<Clock::duration>((now - page.last_store) / kPollsPerPause,
                                                          kIdleInterval, kLongestIdleInterval));
    }
    wait_for_work(pause);
  }
}

}  // namespace rigel::vgpu
