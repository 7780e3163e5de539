// The record of allocations in libvgpu_check.so.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/check/allocations.hpp"

namespace rigel::vgpu::check {

class AllocationMap final : public Allocations {
 public:
  uint64_t version() const noexcept override { return version_.load(std::memory_order_acquire); }
  bool find(uint64_t va, Allocation& allocation) override;

  /// Adds an allocation. Removes freed ones whose room it overlaps, because the runtime has reused them.
  void add(const Allocation& allocation);

  /// Returns the live allocation that begins at `va`.
  std::optional<Allocation> live_at(uint64_t va);

  /// Marks the live allocation that begins at `va` as freed. Returns it, or nothing if there is none.
  std::optional<Allocation> mark_freed(uint64_t va, const HostStack& stack);

  /// Removes the allocation that begins at `va`.
  void remove(uint64_t va);

 private:
  using ByBegin = std::map<uint64_t, Allocation>;

  void changed() { version_.fetch_add(1, std::memory_order_release); }

  Mutex mutex_;
  ByBegin allocations_ RIGEL_GUARDED_BY(mutex_);
  std::atomic<uint64_t> version_{1};
};

}  // namespace rigel::vgpu::check
