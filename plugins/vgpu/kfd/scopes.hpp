// Which threads are using GPU memory right now, so that a mapping can be taken away safely.
//
// A processor enters a scope before it uses host pointers that a page table gave it and leaves it soon after.
// Whoever takes a mapping away first clears the table's entries and then calls wait_until_quiet(), which
// returns when every scope that was there at the call has ended. Entering costs one uncontended
// compare-exchange.
//
// Threads: enter and leave on any thread, not nested on one thread. wait_until_quiet on any thread outside of
// a scope; it may spin for as long as a scope lasts. Memory order: an entry that was cleared before
// wait_until_quiet() is seen as cleared by every scope that begins after; what happened in a scope that ended
// happened before wait_until_quiet() returns.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

namespace rigel::vgpu {

class Scopes {
 public:
  void enter() noexcept {
    for (uint32_t i = hint_;; ++i) {
      auto& slot = slots_[i % kSlots].state;
      uint64_t seen = slot.load(std::memory_order_relaxed);
      // Sequentially consistent, so that either this scope sees the cleared entry or the waiter sees this
      // scope.
      if ((seen & 1) == 0 && slot.compare_exchange_strong(seen, seen + 1, std::memory_order_seq_cst)) {
        hint_ = i % kSlots;
        return;
      }
      if (i - hint_ >= kSlots) std::this_thread::yield();
    }
  }

  void leave() noexcept { slots_[hint_].state.fetch_add(1, std::memory_order_release); }

  void wait_until_quiet() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (auto& slot : slots_) {
      const uint64_t seen = slot.state.load(std::memory_order_seq_cst);
      if ((seen & 1) == 0) continue;
      while (slot.state.load(std::memory_order_acquire) == seen) std::this_thread::yield();
    }
  }

 private:
  static constexpr uint32_t kSlots = 64;  // more threads than this in scopes at once take turns
  struct alignas(64) Slot {
    std::atomic<uint64_t> state{0};  // odd: in a scope
  };
  std::array<Slot, kSlots> slots_{};
  // The slot that this thread had last; while it is in a scope, the one it holds.
  static thread_local uint32_t hint_;
};

inline constinit thread_local uint32_t Scopes::hint_ = 0;

}  // namespace rigel::vgpu
