// The page table of one GPU as one process sees it: which host page is behind a GPU virtual address, and what
// may be done there.
//
// Four levels of 512 entries over 48 bits, as on the hardware; an entry on a middle level can be a leaf of 2
// MiB or 1 GiB, so that a large buffer costs little to map. Entries hold host addresses, which need not be
// aligned beyond a page.
//
// Threads: translate() on any thread without a lock, inside a Scopes scope. map() and unmap() under the
// owner's lock; unmap() does not wait for scopes: the owner does, before the host memory goes away. Tables,
// once made, live as long as the object. Memory order: a translation that finds an entry sees everything that
// happened before map() made it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "plugins/vgpu/cp/device_bus.hpp"

namespace rigel::vgpu {

class PageTable {
 public:
  static constexpr uint64_t kPageBytes = 4096;
  static constexpr uint64_t kAddressBits = 48;

  struct Rights {
    bool write = false;
    bool execute = false;
  };

  PageTable() = default;
  ~PageTable();
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;

  /// Maps [va, va + bytes) to host memory at `host`. All three are multiples of a page, the range lies within
  /// 48 bits and is not mapped. Throws std::bad_alloc, with nothing mapped.
  void map(uint64_t va, uint64_t bytes, std::byte* host, Rights rights);

  /// What a change did to translations that somebody may have kept.
  enum class Kept : uint8_t {
    kValid,  ///< They hold: nothing was taken away, though something may have been added.
    kStale,  ///< A page has lost its memory or a right.
  };

  /// Maps [va, va + bytes) as map() does, whatever is there. Each page goes from what it was to what it is to
  /// be in one step, and pages that are so already are not touched: a reader never misses what is allowed
  /// before and after. Throws std::bad_alloc; some pages have been changed then, and translations are stale.
  Kept remap(uint64_t va, uint64_t bytes, std::byte* host, Rights rights);

  /// Takes away what is mapped in [va, va + bytes). Ends of the range may cut leaves; throws std::bad_alloc
  /// if cutting needs memory that isn't there.
  Kept unmap(uint64_t va, uint64_t bytes);

  /// Whether anything is mapped in [va, va + bytes). Under the owner's lock.
  bool any_mapped(uint64_t va, uint64_t bytes) const;

  /// See DeviceBus::translate.
  Translation translate(uint64_t va, uint64_t bytes, Access access) const noexcept;

 private:
  struct Table;
  struct Found {
    uint64_t entry;
    uint64_t leaf_bytes;
  };
  static constexpr unsigned kLevels = 4;
  static constexpr unsigned shift_of(unsigned level) { return 12 + 9 * level; }

  Found find(uint64_t va) const noexcept;
  Table* child(Table& table, unsigned level, uint64_t va);
  Table& root();
  Kept set(Table& table, unsigned level, uint64_t va, uint64_t end, uint64_t entry);
  static void free(Table* table, unsigned level);

  std::atomic<Table*> root_{nullptr};
};

}  // namespace rigel::vgpu
