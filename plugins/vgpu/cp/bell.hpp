// Doorbells that are rung by a call, and the alarms that wake sleeping workers.
//
// Lifetime: a doorbell may be rung at any time, also while its queue is being destroyed and after the device
// is gone. So Bell and Alarm objects are never freed: they are in static arrays (Immortals). A late ring has
// no effect or rings the bell of a newer queue, like a late store to a doorbell register. That is harmless: a
// ring only raises the limit of filled packets, and packets that are not filled are not executed.
//
// Threads: ring() and wake() from any thread, all other functions from the worker. Lock-free.
//
// Memory order: ring() stores the value with a sequentially consistent exchange, then checks whether the
// worker sleeps. A worker sets `asleep`, then checks its bells a last time. So one of them sees the other.
// Writes before ring() are visible after take() returned its value.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace rigel::vgpu {

class Alarm {
 public:
  /// Ends the worker's sleep, or prevents the next one if the worker has not seen this wake-up.
  void wake() noexcept {
    wakes_.fetch_add(1, std::memory_order_seq_cst);
    if (asleep()) wake_sleeper();
  }

  /// Number of wake-ups. The worker passes the last value that it has seen to sleep().
  uint32_t wakes() const noexcept { return wakes_.load(std::memory_order_seq_cst); }

  bool asleep() const noexcept { return asleep_.load(std::memory_order_seq_cst); }
  /// Announces a sleep. The worker checks its bells between this and sleep().
  void fall_asleep() noexcept { asleep_.store(true, std::memory_order_seq_cst); }
  void wake_up() noexcept { asleep_.store(false, std::memory_order_seq_cst); }

  /// Sleeps until a wake-up after `seen`, until `longest` has passed, or spuriously.
  void sleep(uint32_t seen, std::optional<std::chrono::nanoseconds> longest) noexcept;

 private:
  void wake_sleeper() noexcept;

  std::atomic<uint32_t> wakes_{0};  // futex
  std::atomic<bool> asleep_{false};
};

class alignas(64) Bell {
 public:
  static constexpr uint64_t kNone = ~uint64_t{0};

  /// Has the type of hsadrv_doorbell_t; `context` is a Bell.
  static void ring(void* context, uint64_t value) noexcept { static_cast<Bell*>(context)->ring(value); }

  void ring(uint64_t value) noexcept {
    ring_.exchange(~value, std::memory_order_seq_cst);
    Alarm* const alarm = alarm_.load(std::memory_order_acquire);
    if (alarm != nullptr && alarm->asleep()) [[unlikely]]
      alarm->wake();
  }

  /// Assigns the bell to a queue whose worker sleeps on `alarm`.
  void begin(Alarm& alarm) noexcept {
    ring_.store(0, std::memory_order_relaxed);
    alarm_.store(&alarm, std::memory_order_release);
  }
  void end() noexcept { alarm_.store(nullptr, std::memory_order_release); }

  bool rung() const noexcept { return ring_.load(std::memory_order_seq_cst) != 0; }
  /// Returns the last value rung since the previous call, or kNone.
  uint64_t take() noexcept {
    if (ring_.load(std::memory_order_relaxed) == 0) return kNone;
    return ~ring_.exchange(0, std::memory_order_acq_rel);
  }

 private:
  std::atomic<uint64_t> ring_{0};  // inverted value, so that zeroed memory means kNone
  std::atomic<Alarm*> alarm_{nullptr};
};

/// A pool of static objects that keep their type and address as long as the process lives.
template <class T, size_t kCount>
class Immortals {
 public:
  /// Returns null if all are in use.
  T* take() noexcept {
    const size_t first = next_.fetch_add(1, std::memory_order_relaxed);
    for (size_t i = 0; i < kCount; ++i) {
      const size_t place = (first + i) % kCount;
      if (!taken_[place].exchange(true, std::memory_order_acquire)) return &items_[place];
    }
    return nullptr;
  }
  bool has(const T* item) const noexcept { return item >= items_.data() && item < items_.data() + kCount; }
  void give(const T* item) noexcept {
    taken_[static_cast<size_t>(item - items_.data())].store(false, std::memory_order_release);
  }

 private:
  std::array<T, kCount> items_{};
  std::array<std::atomic<bool>, kCount> taken_{};
  std::atomic<size_t> next_{0};
};

/// Number of bells. Further queues have none, and their doorbells are stored to.
constexpr size_t kBells = 4096;
extern constinit Immortals<Bell, kBells> bells;

/// Returns a worker's alarm: a static one, or, after the first 1,024 workers of a process, one that is never
/// freed.
Alarm& take_alarm();
void give_alarm(Alarm& alarm) noexcept;

}  // namespace rigel::vgpu
