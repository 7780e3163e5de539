// The allocator of a heap: divides its provider's blocks into allocations of whole pages.
//
// An allocation of up to 1 MiB is an object in a slab, a 2 MiB block of equal-sized objects. Larger ones,
// those with special flags, and all when no slab can be mapped, have separate blocks. A million small
// allocations are therefore a few thousand mappings, and most allocations and frees are a few stores under a
// lock without a system call. Freed memory returns to the provider, except for a bounded reserve. The
// reserve is a few empty slabs, and blocks of at most 32 MiB or an eighth of the memory in use. It keeps its
// old contents.
//
// *Threads:* any thread. One mutex guards the lists; the provider is never called under it, so a slow unmap
// delays only its caller. Readers of the address map take no lock (extent.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"
#include "core/memory/extent_map.hpp"
#include "core/memory/heap.hpp"
#include "core/memory/provider.hpp"
#include "core/memory/size_classes.hpp"

namespace rigel {

class PageAllocator {
 public:
  PageAllocator(const Heap& heap, std::unique_ptr<MemoryProvider> provider, ExtentMap& map);
  /// Unmaps everything, including live allocations.
  ~PageAllocator();
  PageAllocator(const PageAllocator&) = delete;
  PageAllocator& operator=(const PageAllocator&) = delete;

  /// Allocates `size` bytes, at least 1 and at most the heap's limit; `flags` as in BlockRequest.
  Result<void*> allocate(size_t size, uint32_t flags);

  /// Starts freeing the allocation that starts at `base` in `extent` (which came from the map and may have
  /// changed). Returns nothing if there is no such allocation or another thread has started to free it;
  /// otherwise the allocation's marks. Without marks its memory is free now. With marks it stays visible
  /// until `retire`, and its addresses are not reused until `reclaim`.
  std::optional<uint32_t> claim(Extent& extent, uintptr_t base);
  void retire(Extent& extent, uintptr_t base);
  void reclaim(Extent& extent, uintptr_t base);

  /// Returns false if no allocation starts at `base`.
  bool set_user_data(Extent& extent, uintptr_t base, void* user_data);
  bool change_marks(Extent& extent, uintptr_t base, uint32_t set, uint32_t clear);

  /// Gives `agents`, and all agents with access to its block, access to the allocation that contains
  /// `address`. Calls must not overlap.
  Status grant(Extent& extent, uintptr_t address, const AgentSet& agents);

  /// Returns the block of the live allocation that contains `address`, which will be shared. Its memory is
  /// not reused, because others may keep it after it is freed. Returns nothing if there is no allocation.
  std::optional<Backing> expose(Extent& extent, uintptr_t address);

  void trim();

  struct Footprint {
    size_t mapped_bytes = 0;    ///< mapped by the provider
    size_t reserved_bytes = 0;  ///< part of mapped_bytes in blocks without an allocation
    size_t allocations = 0;
  };
  Footprint footprint() const;

  const Heap& heap() const noexcept { return heap_; }
  MemoryProvider& provider() noexcept { return *provider_; }

 private:
  // A list of extents, linked through them.
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

  mutable Mutex mutex_;  // guards the following fields and the extents' private parts
  std::array<List, kClassPages.size()> open_ RIGEL_GUARDED_BY(mutex_);  // slabs with free objects, by class
  List full_ RIGEL_GUARDED_BY(mutex_);     // slabs without free objects, exposed slabs, single blocks
  List reserve_ RIGEL_GUARDED_BY(mutex_);  // blocks without a slab or allocation, latest first
  List retired_ RIGEL_GUARDED_BY(mutex_);  // blocks to return to the provider
  size_t reserve_bytes_ RIGEL_GUARDED_BY(mutex_) = 0;
  size_t reserve_count_ RIGEL_GUARDED_BY(mutex_) = 0;
  size_t idle_slabs_ RIGEL_GUARDED_BY(mutex_) = 0;  // open slabs without an allocation
  size_t mapped_bytes_ RIGEL_GUARDED_BY(mutex_) = 0;
  size_t allocations_ RIGEL_GUARDED_BY(mutex_) = 0;
};

}  // namespace rigel
