// Maps an address to its extent in two loads: a radix tree over 2 MiB units of the address space. It also
// owns the storage of extents, which is reused and released only at the end, so that readers need no lock.
//
// *Threads:* find: any thread, lock-free. insert and erase: the allocator that owns the extent, under its
// lock; different allocators may call them concurrently. take_*/give_*: any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "api/support/mutex.hpp"
#include "core/memory/extent.hpp"

namespace rigel {

class ExtentMap {
 public:
  ExtentMap();
  ~ExtentMap();
  ExtentMap(const ExtentMap&) = delete;
  ExtentMap& operator=(const ExtentMap&) = delete;

  /// Returns the extent whose units cover `address`, or null. The extent may end before the address.
  Extent* find(uintptr_t address) const noexcept {
    if (address >> kAddressBits != 0 || root_ == nullptr) return nullptr;
    Extent** leaf = std::atomic_ref(root_[leaf_index(address)]).load(std::memory_order_acquire);
    if (leaf == nullptr) return nullptr;
    return std::atomic_ref(leaf[unit_index(address)]).load(std::memory_order_acquire);
  }

  std::optional<AllocationView> view(uintptr_t address) const noexcept {
    const Extent* extent = find(address);
    return extent == nullptr ? std::nullopt : extent->view(address);
  }

  /// Maps every unit of [base, base + size) to `extent`. Returns false, without a change, if there is no
  /// memory for the tree or the addresses are outside the supported range.
  bool insert(Extent& extent, uintptr_t base, size_t size) noexcept;
  /// Accepts ranges that `insert` has rejected.
  void erase(uintptr_t base, size_t size) noexcept;

  /// Returns an unused extent, or null if out of memory.
  Extent* take_extent();
  void give_extent(Extent* extent) noexcept;

  /// Returns records for a slab's objects, all dead, or null if out of memory.
  ObjectRecord* take_records();
  /// Takes records back, all dead, and releases their pages.
  void give_records(ObjectRecord* records) noexcept;

 private:
  static constexpr size_t kAddressBits = 48;
  static constexpr size_t kLeafBits = 14;
  static constexpr size_t kRootBits = kAddressBits - kUnitBits - kLeafBits;
  static constexpr size_t kRecordSlotsPerBlock = 64;

  static size_t leaf_index(uintptr_t address) noexcept { return address >> (kUnitBits + kLeafBits); }
  static size_t unit_index(uintptr_t address) noexcept {
    return address >> kUnitBits & ((size_t{1} << kLeafBits) - 1);
  }
  Extent** leaf_for(uintptr_t address) noexcept;

  // Root and leaves are zero pages of the kernel, mostly untouched; every entry is accessed atomically.
  Extent*** const root_;

  Mutex mutex_;
  std::deque<Extent> extents_ RIGEL_GUARDED_BY(mutex_);
  Extent* free_extents_ RIGEL_GUARDED_BY(mutex_) = nullptr;  // linked through `next`
  std::vector<void*> record_blocks_ RIGEL_GUARDED_BY(mutex_);
  std::vector<ObjectRecord*> free_records_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel
