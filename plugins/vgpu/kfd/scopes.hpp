// Which threads use GPU memory right now, so that a mapping can be taken away safely.
//
// A processor enters a scope before it uses host pointers from a page table, and leaves it soon after.
// To take a mapping away, a thread first clears the table's entries and then calls wait_until_quiet(), which
// returns when every scope that was there at the call has ended. A scope costs one uncontended
// compare-exchange and one fence.
//
// Threads: enter and leave on any thread. wait_until_quiet on any thread outside of a scope; it may spin for
// as long as a scope lasts. Memory order: each scope that begins after wait_until_quiet() sees an entry
// cleared that was cleared before it; what happened in a scope that ended happened before wait_until_quiet()
// returns.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

namespace rigel::vgpu {

class Scopes {
 public:
  static constexpr uint32_t kMost = 1024;  ///< More scopes than this at once take turns.

  /// Returns the slot of the scope, for leave().
  uint32_t enter() noexcept {
    for (uint32_t tries = 1, slot = last_slot;; ++tries, slot = (slot + 1) % kMost) {
      auto& state = slots_[slot].state;
      uint64_t seen = state.load(std::memory_order_relaxed);
      if ((seen & 1) == 0 && state.compare_exchange_strong(seen, seen + 1, std::memory_order_acquire)) {
        for (uint32_t used = used_.load(std::memory_order_relaxed);
             used <= slot && !used_.compare_exchange_weak(used, slot + 1, std::memory_order_relaxed);) {
        }
        // Either this scope sees the cleared entry, or the waiter sees this scope.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        last_slot = slot;
        return slot;
      }
      if (tries % kMost == 0) std::this_thread::yield();
    }
  }

  void leave(uint32_t slot) noexcept { slots_[slot].state.fetch_add(1, std::memory_order_release); }

  void wait_until_quiet() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const uint32_t used = used_.load(std::memory_order_relaxed);
    for (uint32_t slot = 0; slot < used; ++slot) {
      const auto& state = slots_[slot].state;
      const uint64_t seen = state.load(std::memory_order_acquire);
      if ((seen & 1) == 0) continue;
      while (state.load(std::memory_order_acquire) == seen) std::this_thread::yield();
    }
  }

 private:
  struct alignas(64) Slot {
    std::atomic<uint64_t> state{0};  // odd: in a scope
  };
  // Where a thread looks first. Only a hint: threads and GPUs may share it.
  static inline constinit thread_local uint32_t last_slot = 0;

  const std::unique_ptr<Slot[]> slots_ = std::make_unique<Slot[]>(kMost);
  std::atomic<uint32_t> used_{0};  // slots from here on never had a scope
};

}  // namespace rigel::vgpu
