#include "core/topology/device_clock.hpp"

#include <pthread.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

#include "api/support/futex.hpp"
#include "api/support/log.hpp"
#include "api/support/mutex.hpp"
#include "api/support/program_signals.hpp"

namespace rigel {
namespace {

constexpr uint64_t kFirstPauseNs = 1'000'000;  // doubled until it is the usual pause
constexpr uint64_t kUsualPauseNs = 1'000'000'000;
constexpr uint64_t kLongestPauseNs = TickMap::kPromisedNs / 2;

// Maps of all devices so far, a list that only grows. A clock holds its map until it ends; a held map is not
// shared and does not move.
struct KeptMap {
  std::string name;
  std::unique_ptr<TickMap> map;
  const DeviceClock* holder;  // null: its clock has ended
  KeptMap* next;
};
constinit Mutex kept_mutex;
constinit KeptMap* kept_maps = nullptr;

// Returns a free map with this name that fits the clock, or a new one.
TickMap* hold_map(const DeviceClock& clock, const std::string& name, const ClockReading& first,
                  const std::vector<ClockReading>& now, const std::function<uint64_t()>& ticks_per_second) {
  const MutexLock lock(kept_mutex);
  KeptMap* free = nullptr;
  for (KeptMap* kept = kept_maps; kept != nullptr; kept = kept->next) {
    if (kept->holder != nullptr || kept->name != name) continue;
    free = kept;
    if (!kept->map->fits(now)) continue;
    kept->map->calibrate(now);
    kept->holder = &clock;
    return kept->map.get();
  }
  auto map = std::make_unique<TickMap>(first, now, ticks_per_second());
  if (free == nullptr) free = kept_maps = new KeptMap{name, nullptr, nullptr, kept_maps};
  free->map = std::move(map);  // the old one is for a removed or reset device
  free->holder = &clock;
  return free->map.get();
}

}  // namespace

DeviceClock::DeviceClock(Source source, ClockKeeper* keeper) : source_(std::move(source)), keeper_(keeper) {
  const auto looks = look();
  readable_ = !looks.empty();
  if (!readable_) return;
  first_ = *std::ranges::min_element(looks, {},
                                     [](const ClockReading& one) { return one.latest_ns - one.earliest_ns; });
}

DeviceClock::~DeviceClock() {
  const MutexLock lock(kept_mutex);
  for (KeptMap* kept = kept_maps; kept != nullptr; kept = kept->next) {
    if (kept->holder == this) kept->holder = nullptr;
  }
}

std::vector<ClockReading> DeviceClock::look() const {
  std::vector<ClockReading> looks;
  looks.reserve(kLooks);
  for (size_t i = 0; i < kLooks; ++i) {
    ClockReading one;
    if (source_.read(one) && one.earliest_ns <= one.latest_ns) looks.push_back(one);
  }
  return looks;
}

TickMap* DeviceClock::begin() {
  const MutexLock lock(mutex_);
  if (TickMap* const map = map_.load(std::memory_order_relaxed)) return map;
  const auto looks = look();
  if (!readable_ || looks.empty()) return nullptr;
  TickMap* const map = hold_map(*this, source_.name, first_, looks, source_.ticks_per_second);
  map_.store(map, std::memory_order_release);
  if (keeper_ != nullptr) keeper_->watch(*this);
  return map;
}

void DeviceClock::calibrate() {
  if (TickMap* const map = map_.load(std::memory_order_acquire)) map->calibrate(look());
}

bool DeviceClock::was_asked() {
  TickMap* const map = map_.load(std::memory_order_acquire);
  const uint64_t promised = map == nullptr ? 0 : map->promised();
  return std::exchange(promised_, promised) != promised;
}

void DeviceClock::reset_after_fork() noexcept {
  std::construct_at(&kept_mutex);  // a thread that does not exist in the child may hold it
  kept_maps = nullptr;
}

void ClockKeeper::watch(DeviceClock& clock) {
  const MutexLock lock(mutex_);
  if (stopping_) return;
  clocks_.push_back(&clock);
  changes_.fetch_add(1, std::memory_order_release);
  if (thread_.joinable()) return futex_wake_one(&changes_);
  const ProgramSignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& problem) {
    log_message(LogLevel::kWarn, LogTopic::kSignal,
                "device clocks: their thread cannot be started: {}; timestamps may drift", problem.what());
    return;
  }
  pthread_setname_np(thread_.native_handle(), "hsa-clocks");
}

void ClockKeeper::stop() {
  stopping_.store(true, std::memory_order_release);
  changes_.fetch_add(1, std::memory_order_release);
  futex_wake_one(&changes_);
  const MutexLock lock(mutex_);
  if (thread_.joinable()) thread_.join();
}

void ClockKeeper::work() {
  uint64_t pause = kFirstPauseNs;
  size_t known = 0;
  while (!stopping_.load(std::memory_order_acquire)) {
    const uint32_t changes = changes_.load(std::memory_order_acquire);
    std::vector<DeviceClock*> clocks;
    {
      if (mutex_.try_lock()) {  // otherwise another thread changes them and notifies
        const MutexLock lock(mutex_, std::adopt_lock);
        clocks = clocks_;
      }
    }
    bool asked = false;
    for (DeviceClock* const clock : clocks) {
      clock->calibrate();
      asked |= clock->was_asked();
    }
    if (std::exchange(known, clocks.size()) != clocks.size()) pause = kFirstPauseNs;
    if (!stopping_.load(std::memory_order_acquire)) futex_wait(changes_, changes, pause);
    const bool usual = pause >= kUsualPauseNs;
    pause = usual && asked ? kUsualPauseNs : std::min(2 * pause, usual ? kLongestPauseNs : kUsualPauseNs);
  }
}

}  // namespace rigel
