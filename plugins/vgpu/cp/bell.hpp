// A doorbell that is rung by a call, and what a processor sleeps on.
//
// Whoever was given a doorbell may ring it at any moment, also while another thread destroys the queue, and
// after the whole device has gone. So neither a Bell nor an Alarm is ever freed: they are in static arrays
// (Immortals), and who comes late rings what nobody listens to, or the bell of a younger queue, as a late
// store to a doorbell register does. A ring that is not the queue's own is harmless there: a value says how
// far the ring of packets is filled at most, and what is not filled is not executed.
//
// Threads: ring() and wake() from any thread, everything else by the processor. Lock-free.
//
// Memory order: ring() puts the value with an exchange that is sequentially consistent and then looks whether
// the processor sleeps; a processor says that it sleeps and then looks at its bells a last time. One of them
// sees the other. What was written before ring() is visible to who has taken its value.
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
  /// Ends the sleep of the processor, or keeps it from the next if it has not seen this.
  void wake() noexcept {
    wakes_.fetch_add(1, std::memory_order_seq_cst);
    if (asleep()) wake_sleeper();
  }

  /// How often it was woken: what the processor has seen when it looked for the last time.
  uint32_t wakes() const noexcept { return wakes_.load(std::memory_order_seq_cst); }

  bool asleep() const noexcept { return asleep_.load(std::memory_order_seq_cst); }
  /// The processor is about to sleep; it looks at its bells after this and before sleep().
  void fall_asleep() noexcept { asleep_.store(true, std::memory_order_seq_cst); }
  void wake_up() noexcept { asleep_.store(false, std::memory_order_seq_cst); }

  /// Until it is woken, or was since `seen`; or the time is over; or for no reason.
  void sleep(uint32_t seen, std::optional<std::chrono::nanoseconds> longest) noexcept;

 private:
  void wake_sleeper() noexcept;

  std::atomic<uint32_t> wakes_{0};  // a futex
  std::atomic<bool> asleep_{false};
};

class alignas(64) Bell {
 public:
  static constexpr uint64_t kNone = ~uint64_t{0};

  /// What hsadrv_doorbell_t takes: `context` is a Bell.
  static void ring(void* context, uint64_t value) noexcept { static_cast<Bell*>(context)->ring(value); }

  void ring(uint64_t value) noexcept {
    ring_.exchange(~value, std::memory_order_seq_cst);
    Alarm* const alarm = alarm_.load(std::memory_order_acquire);
    if (alarm != nullptr && alarm->asleep()) [[unlikely]]
      alarm->wake();
  }

  /// From now on it is a queue's, whose processor sleeps on `alarm`.
  void begin(Alarm& alarm) noexcept {
    ring_.store(0, std::memory_order_relaxed);
    alarm_.store(&alarm, std::memory_order_release);
  }
  void end() noexcept { alarm_.store(nullptr, std::memory_order_release); }

  bool rung() const noexcept { return ring_.load(std::memory_order_seq_cst) != 0; }
  /// The value of the last ring since the one before, or kNone.
  uint64_t take() noexcept {
    if (ring_.load(std::memory_order_relaxed) == 0) return kNone;
    return ~ring_.exchange(0, std::memory_order_acq_rel);
  }

 private:
  std::atomic<uint64_t> ring_{0};  // the value inverted: memory of zeroes costs nothing
  std::atomic<Alarm*> alarm_{nullptr};
};

/// Places for objects of which each stays what it is for as long as the process lives, whoever has it.
template <class T, size_t kCount>
class Immortals {
 public:
  /// Null if all are taken.
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

/// Queues beyond so many have no bell; their doorbells are stored to.
constexpr size_t kBells = 4096;
extern constinit Immortals<Bell, kBells> bells;

/// A processor's own: one of the static ones, or, should a process have more than a thousand processors, one that is never
/// freed.
Alarm& take_alarm();
void give_alarm(Alarm& alarm) noexcept;

}  // namespace rigel::vgpu
