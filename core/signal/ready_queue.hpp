// What the dispatcher of asynchronous handlers has to do next: a queue of many producers and one consumer.
//
// Producers push from any thread, also under a signal's wake lock, and never block. The consumer takes all
// there is at once, in the order in which it was pushed, and sleeps on the queue's parker when there is none.
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
  /// True if the consumer sleeps and the caller must wake it: futex_wake_one(address()).
  [[nodiscard]] bool push(ReadyItem& item) noexcept {
    item.next_ready = newest_.load(std::memory_order_relaxed);
    while (!newest_.compare_exchange_weak(item.next_ready, &item)) {
    }
    return poke();
  }

  /// Makes the consumer look up. True as for `push`.
  [[nodiscard]] bool poke() noexcept { return parker_.post() == Parker::Wake::kOnWord; }

  const void* address() const noexcept { return parker_.address(); }

  bool empty() const noexcept { return newest_.load() == nullptr; }

  /// Consumer only: everything pushed so far, oldest first.
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

  /// Consumer only: before its last look at the queue, and at whatever else it was poked for. A push or poke
  /// that the look misses ends the sleep that follows.
  void prepare_to_sleep() noexcept { parker_.rearm(); }

  /// Consumer only: sleeps until something is pushed, or poked, or rings, or until `deadline`
  /// (system_time_ns).
  void sleep(uint64_t deadline, const BellListener& bells) noexcept { parker_.park(deadline, &bells); }

 private:
  std::atomic<ReadyItem*> newest_{nullptr};
  Parker parker_{Parker::Until::kFirst};
};

}  // namespace rigel
