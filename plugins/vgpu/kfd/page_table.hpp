// The page table of one GPU in one process: maps GPU virtual addresses to host addresses with access rights.
//
// Four levels of 512 entries translate 48 bits, as on the hardware. An entry on a middle level can be a leaf
// of 2 MiB or 1 GiB, so mapping a large buffer is cheap. Host addresses need page alignment only.
//
// Threads: translate() on any thread without a lock, inside a Scopes scope. map() and unmap() under the
// owner's lock. unmap() does not wait for scopes; the owner waits before it frees the host memory.
// Lifetime: tables are freed with the object.
// Memory order: a translation that finds an entry sees all writes that preceded its map().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "api/support/page_size.hpp"
#include "plugins/vgpu/cp/device_bus.hpp"

namespace rigel::vgpu {

class PageTable {
 public:
  static constexpr uint64_t kAddressBits = 48;

  struct Rights {
    bool write = false;
    bool execute = false;
  };

  PageTable() = default;
  ~PageTable();
  PageTable(const PageTable&) = delete;
  PageTable& operator=(const PageTable&) = delete;

  /// Maps [va, va + bytes) to host memory at `host`. All three are multiples of a page; the range is below
  /// 2^48 and unmapped. Throws std::bad_alloc and then maps nothing.
  void map(uint64_t va, uint64_t bytes, std::byte* host, Rights rights);

  /// Whether translations that callers have cached remain valid after a change.
  enum class Translations : uint8_t {
    kValid,  ///< They do: pages or rights were added only.
    kStale,  ///< They do not: a page has lost its memory or a right.
  };

  /// Maps [va, va + bytes) as map() does, replacing earlier mappings. Each page changes in one atomic step,
  /// and pages that need no change are not written. Accesses that are allowed before and after therefore
  /// never fail. Throws std::bad_alloc; some pages may have changed then, and cached translations are stale.
  Translations remap(uint64_t va, uint64_t bytes, std::byte* host, Rights rights);

  /// Unmaps [va, va + bytes). Splits large leaves at the ends of the range; throws std::bad_alloc if there is
  /// no memory for that.
  Translations unmap(uint64_t va, uint64_t bytes);

  /// Whether anything is mapped in [va, va + bytes).
  bool any_mapped(uint64_t va, uint64_t bytes) const noexcept { return unmapped_bytes(va, bytes) < bytes; }

  /// Returns the number of bytes from `va` on, at most `bytes`, of which nothing is mapped. Threads: as
  /// translate().
  uint64_t unmapped_bytes(uint64_t va, uint64_t bytes) const noexcept;

  /// See DeviceBus::translate.
  Translation translate(uint64_t va, uint64_t bytes, Access access) const noexcept;

 private:
  struct Table;
  struct Entry {
    uint64_t entry;
    uint64_t leaf_bytes;
  };
  static constexpr unsigned kLevels = 4;
  static constexpr unsigned shift_of(unsigned level) { return 12 + 9 * level; }

  Entry find(uint64_t va) const noexcept;
  Table* child(Table& table, unsigned level, uint64_t va);
  Table& root();
  Translations set(Table& table, unsigned level, uint64_t va, uint64_t end, uint64_t entry);
  static void free(Table* table, unsigned level);

  std::atomic<Table*> root_{nullptr};
};

}  // namespace rigel::vgpu
