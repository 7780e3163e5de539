#include "plugins/vgpu/kfd/page_table.hpp"

#include <algorithm>
#include <array>
#include <memory>

namespace rigel::vgpu {
namespace {

// An entry: the host page's address, and in its low bits:
constexpr uint64_t kPresent = 1;  // a leaf
constexpr uint64_t kWrite = 2;
constexpr uint64_t kExecute = 4;
constexpr uint64_t kIsTable = 8;  // the address is that of the next table
constexpr uint64_t kFlags = 0xfff;

constexpr uint64_t kLimit = uint64_t{1} << PageTable::kAddressBits;

FaultReason refusal(uint64_t entry, Access access) {
  if ((entry & kPresent) == 0) return FaultReason::kNotPresent;
  if (access == Access::kWrite && (entry & kWrite) == 0) return FaultReason::kReadOnly;
  if (access == Access::kExecute && (entry & kExecute) == 0) return FaultReason::kNoExecute;
  return FaultReason::kNone;
}

uint64_t entry_of(std::byte* host, PageTable::Rights rights) {
  return reinterpret_cast<uint64_t>(host) | kPresent | (rights.write ? kWrite : 0) |
         (rights.execute ? kExecute : 0);
}

// Whether who has translated by the old entry may do what the new one does not allow, or does it elsewhere.
bool takes_away(uint64_t old, uint64_t now) {
  return (old & kPresent) != 0 && ((old & ~kFlags) != (now & ~kFlags) || (old & kFlags & ~now) != 0);
}

}  // namespace

struct alignas(4096) PageTable::Table {
  std::array<std::atomic<uint64_t>, 512> entries{};

  std::atomic<uint64_t>& at(uint64_t va, unsigned level) { return entries[va >> shift_of(level) & 511]; }
};

PageTable::~PageTable() {
  if (Table* root = root_.load(std::memory_order_relaxed)) free(root, kLevels - 1);
}

void PageTable::free(Table* table, unsigned level) {
  if (level > 0) {
    for (auto& entry : table->entries) {
      const uint64_t e = entry.load(std::memory_order_relaxed);
      if ((e & kIsTable) != 0) free(reinterpret_cast<Table*>(e & ~kFlags), level - 1);
    }
  }
  delete table;
}

// The table below an entry of `table`, which is at `level` > 0; made if missing, and a leaf is cut into it.
PageTable::Table* PageTable::child(Table& table, unsigned level, uint64_t va) {
  auto& slot = table.at(va, level);
  const uint64_t entry = slot.load(std::memory_order_relaxed);
  if ((entry & kIsTable) != 0) return reinterpret_cast<Table*>(entry & ~kFlags);
  auto made = std::make_unique<Table>();
  if ((entry & kPresent) != 0) {
    const uint64_t step = uint64_t{1} << shift_of(level - 1);
    for (uint64_t i = 0; i < 512; ++i) {
      made->entries[i].store((entry & ~kFlags) + i * step + (entry & kFlags), std::memory_order_relaxed);
    }
  }
  Table* const raw = made.release();
  slot.store(reinterpret_cast<uint64_t>(raw) | kIsTable, std::memory_order_release);
  return raw;
}

// Sets the entries of [va, end), which lies below one table: `entry` is that of va, or 0 to clear.
PageTable::Kept PageTable::set(Table& table, unsigned level, uint64_t va, uint64_t end, uint64_t entry) {
  const uint64_t span = uint64_t{1} << shift_of(level);
  Kept kept = Kept::kValid;
  while (va < end) {
    const uint64_t first = va & ~(span - 1);
    const uint64_t next = std::min(first + span, end);
    auto& slot = table.at(va, level);
    const uint64_t old = slot.load(std::memory_order_relaxed);
    // What a leaf that is there says of va.
    const uint64_t before = (old & kPresent) != 0 ? old + (va - first) : old;
    if (before != entry) {
      const bool whole = next - va == span;
      // A table that is there is kept and filled: a reader may be in it.
      if (level == 0 || (level < kLevels - 1 && whole && (old & kIsTable) == 0)) {
        slot.store(entry, std::memory_order_release);
        if (takes_away(before, entry)) kept = Kept::kStale;
      } else if (set(*child(table, level, va), level - 1, va, next, entry) == Kept::kStale) {
        kept = Kept::kStale;
      }
    }
    if (entry != 0) entry += next - va;
    va = next;
  }
  return kept;
}

PageTable::Table& PageTable::root() {
  Table* root = root_.load(std::memory_order_relaxed);
  if (root == nullptr) {
    root = new Table;
    root_.store(root, std::memory_order_release);
  }
  return *root;
}

void PageTable::map(uint64_t va, uint64_t bytes, std::byte* host, Rights rights) {
  try {
    set(root(), kLevels - 1, va, va + bytes, entry_of(host, rights));
  } catch (...) {
    unmap(va, bytes);  // needs no memory: there are no leaves to cut
    throw;
  }
}

PageTable::Kept PageTable::remap(uint64_t va, uint64_t bytes, std::byte* host, Rights rights) {
  return set(root(), kLevels - 1, va, va + bytes, entry_of(host, rights));
}

PageTable::Kept PageTable::unmap(uint64_t va, uint64_t bytes) {
  Table* const root = root_.load(std::memory_order_relaxed);
  return root == nullptr ? Kept::kValid : set(*root, kLevels - 1, va, va + bytes, 0);
}

PageTable::Found PageTable::find(uint64_t va) const noexcept {
  Table* table = root_.load(std::memory_order_acquire);
  if (table == nullptr) return {0, uint64_t{1} << shift_of(kLevels - 1)};
  for (unsigned level = kLevels - 1;; --level) {
    const uint64_t entry = table->at(va, level).load(std::memory_order_acquire);
    if ((entry & kIsTable) == 0) return {entry, uint64_t{1} << shift_of(level)};
    table = reinterpret_cast<Table*>(entry & ~kFlags);
  }
}

bool PageTable::any_mapped(uint64_t va, uint64_t bytes) const {
  for (const uint64_t end = va + bytes; va < end;) {
    const Found found = find(va);
    if ((found.entry & kPresent) != 0) return true;
    va = (va & ~(found.leaf_bytes - 1)) + found.leaf_bytes;
  }
  return false;
}

Translation PageTable::translate(uint64_t va, uint64_t bytes, Access access) const noexcept {
  if (va >= kLimit || bytes == 0) return {nullptr, 0, FaultReason::kNotPresent};
  Found found = find(va);
  if (const FaultReason reason = refusal(found.entry, access); reason != FaultReason::kNone) {
    return {nullptr, 0, reason};
  }
  const uint64_t offset = va & (found.leaf_bytes - 1);
  const uint64_t host = (found.entry & ~kFlags) + offset;
  uint64_t run = found.leaf_bytes - offset;
  while (run < bytes && va + run < kLimit) {
    found = find(va + run);
    if (refusal(found.entry, access) != FaultReason::kNone) break;
    const uint64_t inside = (va + run) & (found.leaf_bytes - 1);
    if ((found.entry & ~kFlags) + inside != host + run) break;
    run += found.leaf_bytes - inside;
  }
  return {reinterpret_cast<std::byte*>(host), std::min(run, bytes), FaultReason::kNone};
}

}  // namespace rigel::vgpu
