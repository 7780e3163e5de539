// Serves one heap: cuts its provider's blocks into allocations of whole pages.
//
// Up to 1 MiB an allocation is an object in a slab, a 2 MiB block of equal-sized objects; above, with special
// flags, or where no slab can be had any more, it has a block of its own. So a million small allocations are
// a few thousand mappings, and most allocations and frees are a few stores under a lock, without a system
// call. Memory that was freed goes back to the provider, except for a bounded reserve: a few empty slabs, and
// blocks worth at most 32 MiB or an eighth of what is in use. What is in reserve keeps its old contents.
//
// All functions: any thread. One mutex guards the bookkeeping; the provider is never called under it, so a slow
// unmap delays only its caller. Readers of the address map take no lock at all (extent.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "api/support/mutex.hpp"
#include "core/base/status.hpp"
#include "core/memory/extent_map.hpp"
#include "core/memory/heap.hpp"
#include "core/memory/provider.hpp"
#include "core/memory/size_classes.hpp"

namespace rigel {

class PageAllocator {
 public:
  PageAllocator(const Heap& heap, std::unique_ptr<MemoryProvider> provider, ExtentMap& map);
  /// Unmaps everything, live allocations too.
  ~PageAllocator();
  PageAllocator(const PageAllocator&) = delete;
  PageAllocator& operator=(const PageAllocator&) = delete;

  /// `size` bytes, at least 1 and at most the heap's limit; `flags` as in BlockRequest.
  Result<void*> allocate(size_t size, uint32_t flags);

  /// Begins to free the allocation that starts at `base`, which lies in `extent` (found in the map a moment ago;
  /// it may have changed since). The result is empty if there is none, or somebody has begun already. Otherwise it
  /// is the allocation's marks: with none its memory is free now; with some it is as visible as before until
  /// `retire`, and its addresses are nobody else's until `reclaim`.
  std::optional<uint32_t> claim(Extent& extent, uintptr_t base);
  void retire(Extent& extent, uintptr_t base);
  void reclaim(Extent& extent, uintptr_t base);

  /// False if no allocation starts at `base`.
  bool set_user_data(Extent& extent, uintptr_t base, void* user_data);
  bool change_marks(Extent& extent, uintptr_t base, uint32_t set, uint32_t clear);

  /// Lets `agents` reach the allocation around `address`, and whoever was let in to its block before. Callers
  /// take turns.
  Status grant(Extent& extent, uintptr_t address, const AgentSet& agents);

  /// The block of the live allocation around `address`, which others will be given from here on: its memory
  /// is not used again for something else, as they may still have it when it is freed here. Empty if there is
  /// none.
  std::optional<Backing> expose(Extent& extent, uintptr_t address);

  /// Gives the reserve back to the provider.
  void trim();

  struct Footprint {
    size_t mapped_bytes = 0;    ///< held from the provider
    size_t reserved_bytes = 0;  ///< of these, in blocks without an allocation
    size_t allocations = 0;
  };
  Footprint footprint() const;

  const Heap& heap() const noexcept { return heap_; }
  MemoryProvider& provider() noexcept { return *provider_; }

 private:
  // A list of extents through their links.
  struct List {
    Extent* head = nullptr;
    Extent* tail = nullptr;
    void push_front(Extent* extent) noexcept;
    void remove(Extent* extent) noexcept;
  };

  Result<void*> allocate_object(size_t size, uint32_t size_class);
  Result<void*> allocate_block(size_t size, uint32_t flags);
  Result<Extent*> obtain(const BlockRequest& request) RIGEL_REQUIRES(mutex_);
  bool publish_slab(Extent* extent, uint32_t size_class);
  bool publish_block(Extent* extent, size_t size);
  void unpublish(Extent* extent) noexcept;
  void put_back(Extent* extent, uint32_t index) noexcept RIGEL_REQUIRES(mutex_);
  void to_reserve(Extent* extent) noexcept RIGEL_REQUIRES(mutex_);
  void to_provider(Extent* extent) noexcept RIGEL_REQUIRES(mutex_);
  Extent* take_surplus(bool everything) noexcept RIGEL_REQUIRES(mutex_);
  void release(Extent* surplus) noexcept;
  ObjectRecord* record_at(const Extent& extent, uintptr_t base, uint32_t& index) const noexcept
      RIGEL_REQUIRES(mutex_);

  const Heap& heap_;
  const std::unique_ptr<MemoryProvider> provider_;
  ExtentMap& map_;

  mutable Mutex mutex_;  // of what follows, and the extents' private parts
  std::array<List, kClassPages.size()> open_ RIGEL_GUARDED_BY(mutex_);  // slabs with room, by class
  List full_ RIGEL_GUARDED_BY(mutex_);     // slabs without room, exposed slabs, single blocks
  List reserve_ RIGEL_GUARDED_BY(mutex_);  // blocks without a slab or allocation, latest first
  List retired_ RIGEL_GUARDED_BY(mutex_);  // blocks that go back to the provider at once
  size_t reserve_bytes_ RIGEL_GUARDED_BY(mutex_) = 0;
  size_t reserve_count_ RIGEL_GUARDED_BY(mutex_) = 0;
  size_t idle_slabs_ RIGEL_GUARDED_BY(mutex_) = 0;  // open slabs without an allocation
  size_t mapped_bytes_ RIGEL_GUARDED_BY(mutex_) = 0;
  size_t allocations_ RIGEL_GUARDED_BY(mutex_) = 0;
};

}  // namespace rigel
