// The record of allocations in libvgpu_check.so: those of the runtime, and regions in them that the program
// has declared (hsa_rigel/check.h): poisoned bytes and suballocations.
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
  bool is_initialized(uint64_t va, uint64_t& begin, uint64_t& end) override;

  /// Adds an allocation. Removes freed ones whose room it overlaps, because the runtime has reused them, and
  /// regions.
  void add(const Allocation& allocation);

  /// Returns the live allocation that begins at `va`.
  std::optional<Allocation> live_at(uint64_t va);

  /// Marks the live allocation that begins at `va` as freed. Returns it, or nothing if there is none.
  std::optional<Allocation> mark_freed(uint64_t va, const HostStack& stack);

  /// Removes the allocation that begins at `va`.
  void remove(uint64_t va);

  /// Adds a region: a suballocation, or poisoned bytes. Its room is its extent. It replaces parts of others.
  void add_region(const Allocation& region);
  /// Removes regions and parts of them in [va, va + bytes).
  void remove_regions(uint64_t va, uint64_t bytes);
  /// Marks the suballocation that begins at `va` as freed.
  void mark_region_freed(uint64_t va, const HostStack& stack);
  /// Marks [va, va + bytes) as initialised until the allocation is freed.
  void mark_initialized(uint64_t va, uint64_t bytes);
  /// Names the suballocation that begins at `va`, otherwise the allocation.
  void set_name(uint64_t va, const char* name);

 private:
  using ByBegin = std::map<uint64_t, Allocation>;

  void changed() { version_.fetch_add(1, std::memory_order_release); }
  bool find_allocation(uint64_t va, Allocation& allocation) const RIGEL_REQUIRES(mutex_);
  /// Replaces `allocation`, which contains `va`, by the region there, or narrows it to the bytes between
  /// regions. Returns whether a region contains `va`.
  bool find_region(uint64_t va, Allocation& allocation) const RIGEL_REQUIRES(mutex_);
  /// Removes what regions have in [begin, end).
  void carve(uint64_t begin, uint64_t end) RIGEL_REQUIRES(mutex_);
  /// Forgets that memory in [begin, end) was marked as initialised.
  void forget_initialized(uint64_t begin, uint64_t end) RIGEL_REQUIRES(mutex_);
  /// Adds the part of a removed region in [begin, end), if there is one.
  void keep_part(Allocation region, uint64_t begin, uint64_t end) RIGEL_REQUIRES(mutex_);

  Mutex mutex_;
  ByBegin allocations_ RIGEL_GUARDED_BY(mutex_);
  ByBegin regions_ RIGEL_GUARDED_BY(mutex_);
  std::map<uint64_t, uint64_t> initialized_ RIGEL_GUARDED_BY(mutex_);  // ends by starts
  std::atomic<uint64_t> version_{1};
};

}  // namespace rigel::vgpu::check
