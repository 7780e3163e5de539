// An extent: one block from a provider and its allocations, which are either equal-sized objects of some
// pages each (a slab), or one object.
//
// *Threads:*
//
//   * Any thread reads `Published` without a lock: pointer queries run concurrently with allocations and
//     frees. A sequence counter guards it, which is odd while the only writer changes fields; a reader that
//     finds it odd or changed retries. Extents and records stay mapped while the map lives and are reused, so
//     that a late reader finds a mismatch and never unmapped memory.
//   * Everything else belongs to the extent's allocator, under its lock.
//
// *Memory order:* the writer makes the counter odd, then stores the fields with release, then makes it even
// with release. The reader loads the counter and the fields with acquire, then the counter again. A field
// from a later write makes that write's odd counter visible, so the two counters differ. No fence is needed;
// on x86 all of these are plain moves.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "api/support/page_size.hpp"
#include "core/memory/provider.hpp"
#include "core/topology/agent_directory.hpp"

namespace rigel {

class Heap;
class PageAllocator;

/// Extents start at multiples of this, and no two share one unit: the granularity of the address map.
constexpr size_t kUnitBits = 21;
constexpr size_t kUnitSize = size_t{1} << kUnitBits;
constexpr size_t kPagesPerUnit = kUnitSize / kPageBytes;

/// Marks of an allocation that has additional data (a callback, an access list) in tables of the memory
/// manager.
enum AllocationMark : uint32_t {
  kHasCallbacks = 1u << 0,
  kHasAccessList = 1u << 1,
  kHasName = 1u << 2,     ///< other processes have received a name for it
  kBeingFreed = 1u << 3,  ///< its deallocation callbacks run; it cannot be freed again
};

/// Records of slabs are zero pages of the kernel, so they are plain integers that are accessed atomically.
class ObjectRecord {
 public:
  uint64_t size() const noexcept { return load(size_); }  ///< as requested, in bytes; 0: no allocation
  void* user_data() const noexcept { return reinterpret_cast<void*>(load(user_data_)); }
  uint32_t marks() const noexcept { return static_cast<uint32_t>(load(marks_)); }

  // Call within an Extent::Change.
  void set_size(uint64_t value) noexcept { store(size_, value); }
  void set_user_data(void* value) noexcept { store(user_data_, reinterpret_cast<uintptr_t>(value)); }
  void set_marks(uint32_t value) noexcept { store(marks_, value); }

 private:
  static uint64_t load(const uint64_t& field) noexcept {
    return std::atomic_ref<uint64_t>(const_cast<uint64_t&>(field)).load(std::memory_order_acquire);
  }
  static void store(uint64_t& field, uint64_t value) noexcept {
    std::atomic_ref<uint64_t>(field).store(value, std::memory_order_release);
  }

  uint64_t size_ = 0;
  uint64_t user_data_ = 0;
  uint64_t marks_ = 0;
};

/// One live allocation, as read without a lock.
struct AllocationView {
  uintptr_t base = 0;
  size_t size = 0;  ///< as requested, in bytes
  void* user_data = nullptr;
  uint32_t marks = 0;
  const Heap* heap = nullptr;
};

/// Address range and heap of a live allocation, for copies.
struct AllocationSpan {
  uintptr_t base = 0;
  size_t size = 0;  ///< as requested, in bytes
  const Heap* heap = nullptr;
};

class Extent {
 public:
  struct Published {
    std::atomic<uint64_t> sequence{0};
    std::atomic<uintptr_t> base{0};
    std::atomic<size_t> size{0};
    std::atomic<uint32_t> object_pages{0};  ///< 0: the whole extent is one object
    std::atomic<uint32_t> object_count{0};
    std::atomic<ObjectRecord*> records{nullptr};
    std::atomic<const Heap*> heap{nullptr};
    std::atomic<PageAllocator*> owner{nullptr};
  };

  /// Makes changes of Published visible to readers. One at a time, under the owner's lock.
  class Change {
   public:
    explicit Change(Extent& extent) noexcept
        : sequence_(extent.published.sequence), value_(sequence_.load(std::memory_order_relaxed)) {
      sequence_.store(value_ + 1, std::memory_order_relaxed);
    }
    ~Change() { sequence_.store(value_ + 2, std::memory_order_release); }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

    template <class T>
    static void set(std::atomic<T>& field, T value) noexcept {
      field.store(value, std::memory_order_release);
    }

   private:
    std::atomic<uint64_t>& sequence_;
    const uint64_t value_;
  };

  /// Returns the live allocation that contains `address`, if any. Any thread, no lock.
  std::optional<AllocationView> view(uintptr_t address) const noexcept;

  /// Returns the part of `view` that copies need. Also returns false if the extent is being changed; then
  /// `view` must be called.
  bool find(uintptr_t address, AllocationSpan& found) const noexcept {
    constexpr auto acquire = std::memory_order_acquire;
    const uint64_t sequence = published.sequence.load(acquire);
    const size_t offset = address - published.base.load(acquire);
    const uint32_t pages = published.object_pages.load(acquire);
    const uint32_t index = object_index(offset, pages);
    const ObjectRecord* const records = published.records.load(acquire);
    const Heap* const heap = published.heap.load(acquire);
    if (sequence % 2 != 0 || offset >= published.size.load(acquire) || records == nullptr ||
        heap == nullptr || index >= published.object_count.load(acquire)) {
      return false;
    }
    const size_t inside = offset - size_t{index} * pages * kPageBytes;
    const uint64_t size = records[index].size();
    if (published.sequence.load(std::memory_order_relaxed) != sequence || inside >= size) return false;
    found = {address - inside, size, heap};
    return true;
  }

  /// Index of the object at `offset` bytes from the base.
  static uint32_t object_index(size_t offset, uint32_t object_pages) noexcept {
    const auto page = static_cast<uint32_t>(offset / kPageBytes);
    if (object_pages == 0) return 0;
    // Nearly all are powers of two, and a division takes as long as the rest of a lookup.
    return (object_pages & (object_pages - 1)) == 0 ? page >> std::countr_zero(object_pages)
                                                    : page / object_pages;
  }

  Published published;
  ObjectRecord sole;  ///< the record of an extent that is one object

  // Owned by the allocator, under its lock:
  Backing backing;
  uint32_t flags = 0;  ///< flags of the request to the provider
  uint32_t live = 0;
  uint32_t size_class = 0;
  /// Whether another process or driver may have the memory. No new allocations are placed here, and the block
  /// returns to the provider with its last allocation.
  bool exposed = false;
  ObjectRecord* slab_records = nullptr;  ///< kept from the extent's first use as a slab until it is unmapped
  Extent* previous = nullptr;
  Extent* next = nullptr;
  AgentSet granted;  ///< agents that the provider has given access: the union of what its allocations need
  uint64_t free_objects[kPagesPerUnit / 64] = {};
};

}  // namespace rigel
