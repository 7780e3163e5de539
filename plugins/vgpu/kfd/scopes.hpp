// Tracks the threads that use GPU memory, so that a mapping can be removed safely.
//
// An engine enters a scope before it uses host pointers from a page table, and leaves it soon after. To
// remove a mapping, a thread clears the table's entries and then calls wait_until_quiet(), which returns when
// every scope that existed at the call has ended. A scope costs one uncontended compare-exchange and one
// fence.
//
// Threads: enter and leave on any thread. wait_until_quiet on any thread outside of a scope; it spins while a
// scope lasts.
// Memory order: a scope that begins after wait_until_quiet() sees all entries that were cleared before the
// call. All accesses of a scope that ended happened before wait_until_quiet() returns.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>

namespace rigel::vgpu {

class Scopes {
 public:
  static constexpr uint32_t kMaxScopes = 1024;  ///< Further threads wait for a slot.

  /// Enters a scope and returns its slot, for leave().
  uint32_t enter() noexcept {
    for (uint32_t tries = 1, slot = last_slot;; ++tries, slot = (slot + 1) % kMaxScopes) {
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
      if (tries % kMaxScopes == 0) std::this_thread::yield();
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
  // Where a thread searches first. Only a hint: threads and GPUs may share it.
  static inline constinit thread_local uint32_t last_slot = 0;

  const std::unique_ptr<Slot[]> slots_ = std::make_unique<Slot[]>(kMaxScopes);
  std::atomic<uint32_t> used_{0};  // higher slots were never used
};

}  // namespace rigel::vgpu
