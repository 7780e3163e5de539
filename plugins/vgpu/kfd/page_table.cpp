#include "plugins/vgpu/kfd/page_table.hpp"

#include <algorithm>
#include <array>
#include <memory>

namespace rigel::vgpu {
namespace {

// An entry has the host page's address and, in its low bits:
constexpr uint64_t kPresent = 1;  // a leaf
constexpr uint64_t kWrite = 2;
constexpr uint64_t kExecute = 4;
constexpr uint64_t kIsTable = 8;  // the address is that of the next table
constexpr uint64_t kFlags = 0xfff;

constexpr uint64_t kLimit = uint64_t{1} << PageTable::kAddressBits;

FaultReason denial_reason(uint64_t entry, Access access) {
  if ((entry & kPresent) == 0) return FaultReason::kNotPresent;
  if (access == Access::kWrite && (entry & kWrite) == 0) return FaultReason::kReadOnly;
  if (access == Access::kExecute && (entry & kExecute) == 0) return FaultReason::kNoExecute;
  return FaultReason::kNone;
}

uint64_t entry_of(std::byte* host, PageTable::Rights rights) {
  return reinterpret_cast<uint64_t>(host) | kPresent | (rights.write ? kWrite : 0) |
         (rights.execute ? kExecute : 0);
}

// Whether cached translations of the old entry become invalid: other memory, or fewer rights.
bool invalidates(uint64_t old_entry, uint64_t new_entry) {
  return (old_entry & kPresent) != 0 &&
         ((old_entry & ~kFlags) != (new_entry & ~kFlags) || (old_entry & kFlags & ~new_entry) != 0);
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

// Returns the table below an entry of `table`, which is at `level` > 0. Creates it if missing; splits a leaf.
PageTable::Table* PageTable::child(Table& table, unsigned level, uint64_t va) {
  auto& slot = table.at(va, level);
  const uint64_t entry = slot.load(std::memory_order_relaxed);
  if ((entry & kIsTable) != 0) return reinterpret_cast<Table*>(entry & ~kFlags);
  auto child_table = std::make_unique<Table>();
  if ((entry & kPresent) != 0) {
    const uint64_t step = uint64_t{1} << shift_of(level - 1);
    for (uint64_t i = 0; i < 512; ++i) {
      child_table->entries[i].store((entry & ~kFlags) + i * step + (entry & kFlags),
                                    std::memory_order_relaxed);
    }
  }
  Table* const raw = child_table.release();
  slot.store(reinterpret_cast<uint64_t>(raw) | kIsTable, std::memory_order_release);
  return raw;
}

// Sets the entries of [va, end), which is below one table. `entry` is the entry of va, or 0 to clear.
PageTable::Translations PageTable::set(Table& table, unsigned level, uint64_t va, uint64_t end,
                                       uint64_t entry) {
  const uint64_t span = uint64_t{1} << shift_of(level);
  Translations translations = Translations::kValid;
  while (va < end) {
    const uint64_t first = va & ~(span - 1);
    const uint64_t next = std::min(first + span, end);
    auto& slot = table.at(va, level);
    const uint64_t old_entry = slot.load(std::memory_order_relaxed);
    // The present leaf's entry for va.
    const uint64_t present_entry = (old_entry & kPresent) != 0 ? old_entry + (va - first) : old_entry;
    if (present_entry != entry) {
      const bool whole = next - va == span;
      // An existing table is filled, not replaced, because a reader may be using it.
      if (level == 0 || (level < kLevels - 1 && whole && (old_entry & kIsTable) == 0)) {
        slot.store(entry, std::memory_order_release);
        if (invalidates(present_entry, entry)) translations = Translations::kStale;
      } else if (set(*child(table, level, va), level - 1, va, next, entry) == Translations::kStale) {
        translations = Translations::kStale;
      }
    }
    if (entry != 0) entry += next - va;
    va = next;
  }
  return translations;
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
    unmap(va, bytes);  // allocates no memory: there are no leaves to split
    throw;
  }
}

PageTable::Translations PageTable::remap(uint64_t va, uint64_t bytes, std::byte* host, Rights rights) {
  return set(root(), kLevels - 1, va, va + bytes, entry_of(host, rights));
}

PageTable::Translations PageTable::unmap(uint64_t va, uint64_t bytes) {
  Table* const root = root_.load(std::memory_order_relaxed);
  return root == nullptr ? Translations::kValid : set(*root, kLevels - 1, va, va + bytes, 0);
}

PageTable::Entry PageTable::find(uint64_t va) const noexcept {
  Table* table = root_.load(std::memory_order_acquire);
  if (table == nullptr) return {0, uint64_t{1} << shift_of(kLevels - 1)};
  for (unsigned level = kLevels - 1;; --level) {
    const uint64_t entry = table->at(va, level).load(std::memory_order_acquire);
    if ((entry & kIsTable) == 0) return {entry, uint64_t{1} << shift_of(level)};
    table = reinterpret_cast<Table*>(entry & ~kFlags);
  }
}

uint64_t PageTable::unmapped_bytes(uint64_t va, uint64_t bytes) const noexcept {
  uint64_t run = 0;
  while (run < bytes) {
    const Entry leaf = find(va + run);
    if ((leaf.entry & kPresent) != 0) return run;
    run += leaf.leaf_bytes - ((va + run) & (leaf.leaf_bytes - 1));
  }
  return bytes;
}

Translation PageTable::translate(uint64_t va, uint64_t bytes, Access access) const noexcept {
  if (va >= kLimit || bytes == 0) return {nullptr, 0, FaultReason::kNotPresent};
  Entry leaf = find(va);
  if (const FaultReason reason = denial_reason(leaf.entry, access); reason != FaultReason::kNone) {
    return {nullptr, 0, reason};
  }
  const uint64_t offset = va & (leaf.leaf_bytes - 1);
  const uint64_t host = (leaf.entry & ~kFlags) + offset;
  uint64_t run = leaf.leaf_bytes - offset;
  while (run < bytes && va + run < kLimit) {
    leaf = find(va + run);
    if (denial_reason(leaf.entry, access) != FaultReason::kNone) break;
    const uint64_t inside = (va + run) & (leaf.leaf_bytes - 1);
    if ((leaf.entry & ~kFlags) + inside != host + run) break;
    run += leaf.leaf_bytes - inside;
  }
  return {reinterpret_cast<std::byte*>(host), std::min(run, bytes), FaultReason::kNone};
}

}  // namespace rigel::vgpu
