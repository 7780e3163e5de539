// Due calls of the dispatcher of asynchronous handlers: a queue with many producers and one consumer.
//
// *Threads:* any thread pushes, also under a signal's wake lock, and never blocks. The consumer takes all
// items at once, in the order of the pushes, and sleeps on the queue's parker if there are none.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/signal/parker.hpp"

namespace rigel {

struct ReadyItem {
  enum class Kind : uint8_t { kHandler, kFunction };
  ReadyItem* next_ready = nullptr;
  Kind kind = Kind::kHandler;
};

class ReadyQueue {
 public:
  /// Returns true if the consumer sleeps and the caller must wake it: futex_wake_one(address()).
  [[nodiscard]] bool push(ReadyItem& item) noexcept {
    item.next_ready = newest_.load(std::memory_order_relaxed);
    while (!newest_.compare_exchange_weak(item.next_ready, &item)) {
    }
    return poke();
  }

  /// Makes the consumer check the queue. Returns true as `push` does.
  [[nodiscard]] bool poke() noexcept { return parker_.post() == Parker::Wake::kOnWord; }

  const void* address() const noexcept { return parker_.address(); }

  bool empty() const noexcept { return newest_.load() == nullptr; }

  /// Consumer only: takes all items, oldest first.
  ReadyItem* take_all() noexcept {
    if (newest_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    ReadyItem* item = newest_.exchange(nullptr);
    ReadyItem* oldest = nullptr;
    while (item != nullptr) {
      ReadyItem* const older = item->next_ready;
      item->next_ready = oldest;
      oldest = item;
      item = older;
    }
    return oldest;
  }

  /// Consumer only: call before the last check of the queue and of other conditions. A push or poke that this
  /// check misses ends the following sleep.
  void prepare_to_sleep() noexcept { parker_.rearm(); }

  /// Consumer only: sleeps until a push, a poke, a change that `listener` listens to, or `deadline`
  /// (system_time_ns).
  void sleep(uint64_t deadline, const ChangeListener& listener) noexcept {
    parker_.park(deadline, &listener);
  }

 private:
  std::atomic<ReadyItem*> newest_{nullptr};
  Parker parker_{Parker::Until::kFirst};
};

}  // namespace rigel
