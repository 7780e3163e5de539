#include "plugins/vgpu/kfd/doorbell_watch.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "plugins/vgpu/cp/host_fault.hpp"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace rigel::vgpu {
namespace {

// ThreadSanitizer's runtime stores for the program while it holds locks that our thread needs to let the
// store go.
#if defined(__SANITIZE_THREAD__)
constexpr bool kStoresCanBeStopped = false;
#elif defined(__has_feature)
constexpr bool kStoresCanBeStopped = !__has_feature(thread_sanitizer);
#else
constexpr bool kStoresCanBeStopped = true;
#endif

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// After a ring was seen: more are likely, and stopping each of them would cost more than looking.
constexpr auto kStayAwake = microseconds(2000);
// How long the repeated store is waited for with closed eyes to the clock.
constexpr auto kStoreLands = microseconds(200);
constexpr auto kLookInterval = microseconds(30);
// Without userfaultfd: a look costs some ten microseconds, most of them for waking up, so looks become rarer
// as the pause becomes longer.
constexpr auto kIdleInterval = microseconds(1000);
constexpr auto kLongestIdleInterval = microseconds(4000);
constexpr int kLooksInAPause = 256;

bool rung(const void* address, uint32_t bytes) {
  if (bytes == 4) {
    return static_cast<const std::atomic<uint32_t>*>(address)->load(std::memory_order_acquire) != ~0u;
  }
  return static_cast<const std::atomic<uint64_t>*>(address)->load(std::memory_order_acquire) != ~uint64_t{0};
}

// ioctl(2) itself: the preload face hooks the function.
template <class T>
bool uffd_ioctl(int fd, unsigned long request, T& argument) {
  return syscall(SYS_ioctl, fd, request, &argument) == 0;
}

}  // namespace

DoorbellWatch::DoorbellWatch(Log& log, std::function<void(uint32_t)> wake, bool allow_userfaultfd,
                             bool allow_signals)
    : log_(log),
      wake_(std::move(wake)),
      allow_userfaultfd_(allow_userfaultfd && kStoresCanBeStopped),
      allow_signals_(allow_signals && kStoresCanBeStopped) {}

DoorbellWatch::~DoorbellWatch() {
  stop();
  for (const auto& mapping : mappings_) {
    if (mapping->how == How::kSignal) unwatch_stores(mapping->address);
  }
}

void DoorbellWatch::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
    kick();
  }
  if (thread_.joinable()) thread_.join();
}

bool DoorbellWatch::open_userfaultfd() {
  uffd_tried_ = true;
  InternalFd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  auto high_event = InternalFd::duplicate(event.get());
  if (!high_event) return false;
  kick_ = std::move(*high_event);
  if (!allow_userfaultfd_) return false;
  const long fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
  if (fd < 0) {
    log_(LogCategory::kDoorbell, "userfaultfd is not available: {}", strerror(errno));
    return false;
  }
  InternalFd low(static_cast<int>(fd));
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
  if (!uffd_ioctl(low.get(), UFFDIO_API, api)) {
    log_(LogCategory::kDoorbell, "userfaultfd cannot protect shared memory here");
    return false;
  }
  auto high = InternalFd::duplicate(low.get());
  if (!high) return false;
  uffd_ = std::move(*high);
  return true;
}

void DoorbellWatch::add_slot(uint32_t gpu, const void* slot, uint32_t bytes) {
  const std::lock_guard lock(mutex_);
  slots_.push_back({gpu, slot, bytes});
  if (!thread_.joinable()) {
    const WorkerSignals signals;
    thread_ = std::thread([this] { run(); });
  }
  changed_.notify_all();
}

void DoorbellWatch::remove_slot(uint32_t gpu, const void* slot) {
  const std::lock_guard lock(mutex_);
  std::erase_if(slots_, [&](const Slot& s) { return s.gpu == gpu && s.address == slot; });
}

// How stores to these pages can be stopped.
DoorbellWatch::How DoorbellWatch::prepare(MappedPages& mapping) {
  if (uffd_) {
    madvise(mapping.address, mapping.bytes, MADV_POPULATE_WRITE);
    uffdio_register range{};
    range.range.start = reinterpret_cast<uint64_t>(mapping.address);
    range.range.len = mapping.bytes;
    range.mode = UFFDIO_REGISTER_MODE_WP;
    if (uffd_ioctl(uffd_.get(), UFFDIO_REGISTER, range)) return How::kUserfault;
    log_(LogCategory::kDoorbell, "userfaultfd does not take the doorbells at {}: {}",
         static_cast<void*>(mapping.address), strerror(errno));
  }
  if (allow_signals_ && kick_ && catch_host_faults() &&
      watch_stores(mapping.address, mapping.bytes, {stored, &mapping})) {
    log_(LogCategory::kDoorbell, "sleeping doorbells are watched by SIGSEGV");
    return How::kSignal;
  }
  log_(LogCategory::kDoorbell, "sleeping doorbells are polled");
  return How::kPolled;
}

void DoorbellWatch::add_mapping(uint32_t gpu, void* address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!uffd_tried_) open_userfaultfd();
  auto mapping =
      std::make_unique<MappedPages>(MappedPages{this, gpu, static_cast<std::byte*>(address), bytes});
  mapping->how = prepare(*mapping);
  mappings_.push_back(std::move(mapping));
  kick();
}

void DoorbellWatch::remove_mapping(void* address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto* const begin = static_cast<std::byte*>(address);
  for (auto it = mappings_.begin(); it != mappings_.end();) {
    MappedPages& m = **it;
    if (m.address >= begin + bytes || begin >= m.address + m.bytes) {
      ++it;
      continue;
    }
    if (m.how == How::kSignal) {
      unwatch_stores(m.address);
      former_.push_back(std::move(*it));
    }
    it = mappings_.erase(it);
  }
}

void DoorbellWatch::MappedPages::protect_by_hand(bool on) const noexcept {
  syscall(SYS_mprotect, address, bytes, on ? PROT_READ : PROT_READ | PROT_WRITE);
}

// On the thread that stores, in the handler of its SIGSEGV. It was storing, so it holds no lock that waking a
// processor needs.
bool DoorbellWatch::stored(void* context, std::byte*) {
  const MappedPages& mapping = *static_cast<MappedPages*>(context);
  DoorbellWatch& watch = *mapping.watch;
  mapping.protect_by_hand(false);
  watch.stored_.store(true, std::memory_order_release);
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(watch.kick_.get(), &one, sizeof one);
  watch.wake_(mapping.gpu);
  return true;
}

void DoorbellWatch::worker_sleeps(uint32_t gpu) noexcept {
  const std::lock_guard lock(mutex_);
  if (sleeping_.size() <= gpu) sleeping_.resize(gpu + 1);
  ++sleeping_[gpu];
  if (!armed_) changed_.notify_one();
}

void DoorbellWatch::worker_wakes(uint32_t gpu) noexcept {
  const std::lock_guard lock(mutex_);
  if (gpu < sleeping_.size() && sleeping_[gpu] > 0) --sleeping_[gpu];
}

bool DoorbellWatch::wanted() const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [&](const Slot& s) { return s.gpu < sleeping_.size() && sleeping_[s.gpu] > 0; });
}

// Wakes the processors of every GPU that has been rung. Under the lock; wake_ takes none of ours.
bool DoorbellWatch::scan() {
  bool found = false;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!rung(slots_[i].address, slots_[i].bytes)) continue;
    found = true;
    wake_(slots_[i].gpu);
  }
  return found;
}

void DoorbellWatch::protect(bool on) {
  armed_ = on;
  for (const auto& mapping : mappings_) {
    if (mapping->how == How::kSignal) mapping->protect_by_hand(on);
    if (mapping->how != How::kUserfault) continue;
    uffdio_writeprotect range{};
    range.range.start = reinterpret_cast<uint64_t>(mapping->address);
    range.range.len = mapping->bytes;
    range.mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0;
    bool done = uffd_ioctl(uffd_.get(), UFFDIO_WRITEPROTECT, range);
    // EAGAIN: the program's mappings are changing at this moment. Leaving a page protected would stop the
    // program.
    while (!done && errno == EAGAIN) {
      std::this_thread::yield();
      done = uffd_ioctl(uffd_.get(), UFFDIO_WRITEPROTECT, range);
    }
    if (!done) mapping->how = How::kPolled;
  }
}

bool DoorbellWatch::all_protectable() const {
  bool by_signal = false;
  for (const auto& mapping : mappings_) {
    if (mapping->how == How::kPolled) return false;
    by_signal |= mapping->how == How::kSignal;
  }
  // The program may have set a handler past us: a store to a page that is read-only would be its end.
  return !mappings_.empty() && (!by_signal || host_faults_are_caught());
}

void DoorbellWatch::kick() noexcept {
  if (!waiting_for_fault_) return;
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(kick_.get(), &one, sizeof one);
}

void DoorbellWatch::wait_for_fault(std::unique_lock<std::mutex>& lock) {
  waiting_for_fault_ = true;
  lock.unlock();
  // poll() passes over a descriptor of -1.
  pollfd files[] = {{uffd_.get(), POLLIN, 0}, {kick_.get(), POLLIN, 0}};
  poll(files, 2, -1);
  uffd_msg message;
  uint64_t address = 0;
  while (uffd_ && ::read(uffd_.get(), &message, sizeof message) == sizeof message) {
    if (message.event == UFFD_EVENT_PAGEFAULT) address = message.arg.pagefault.address;
  }
  uint64_t count = 0;
  [[maybe_unused]] const auto drained = ::read(kick_.get(), &count, sizeof count);
  lock.lock();
  waiting_for_fault_ = false;
  // The processors take their time to wake up, in which the store lands.
  for (const auto& m : mappings_) {
    const uint64_t begin = reinterpret_cast<uint64_t>(m->address);
    if (address >= begin && address < begin + m->bytes) wake_(m->gpu);
  }
}

void DoorbellWatch::run() {
  pthread_setname_np(pthread_self(), "vgpu-doorbells");
  prctl(PR_SET_TIMERSLACK, 1);
  std::unique_lock lock(mutex_);
  auto awake_until = Clock::time_point{};
  while (!stop_) {
    if (!wanted()) {
      changed_.wait(lock);
      continue;
    }
    auto now = Clock::now();
    if (scan()) awake_until = now + kStayAwake;
    if (now < awake_until) {
      lock.unlock();
      std::this_thread::sleep_for(kLookInterval);
      lock.lock();
      continue;
    }
    if (!all_protectable()) {
      const auto pause = std::chrono::duration_cast<microseconds>(now - awake_until);
      changed_.wait_for(lock, std::clamp(pause / kLooksInAPause, kIdleInterval, kLongestIdleInterval));
      continue;
    }
    stored_.store(false, std::memory_order_relaxed);
    protect(true);
    if (scan() || stored_.load(std::memory_order_acquire)) {  // rung before the protection was up
      protect(false);
      awake_until = Clock::now() + kStayAwake;
      continue;
    }
    wait_for_fault(lock);
    protect(false);
    now = Clock::now();
    awake_until = now + kStayAwake;
    for (const auto until = now + kStoreLands; !stop_ && !scan() && Clock::now() < until;) {
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    }
  }
  if (armed_) protect(false);
}

}  // namespace rigel::vgpu
