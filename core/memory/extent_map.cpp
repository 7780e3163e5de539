#include "core/memory/extent_map.hpp"

#include <sys/mman.h>

#include <new>

#include "api/support/mutex.hpp"

namespace rigel {
namespace {

constexpr size_t kRecordSlotBytes = kPagesPerUnit * sizeof(ObjectRecord);
static_assert(kRecordSlotBytes % kPageBytes == 0, "a slot's pages can be given back alone");

void* map_zeroes(size_t size) noexcept {
  void* address =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

}  // namespace

ExtentMap::ExtentMap() : root_(static_cast<Extent***>(map_zeroes(sizeof(Extent**) << kRootBits))) {}

ExtentMap::~ExtentMap() {
  if (root_ == nullptr) return;
  for (size_t i = 0; i < size_t{1} << kRootBits; ++i) {
    if (root_[i] != nullptr) munmap(root_[i], sizeof(Extent*) << kLeafBits);
  }
  munmap(root_, sizeof(Extent**) << kRootBits);
  for (void* block : record_blocks_) munmap(block, kRecordSlotBytes * kRecordSlotsPerBlock);
}

Extent** ExtentMap::leaf_for(uintptr_t address) noexcept {
  const std::atomic_ref slot(root_[leaf_index(address)]);
  if (Extent** leaf = slot.load(std::memory_order_acquire)) return leaf;
  void* memory = map_zeroes(sizeof(Extent*) << kLeafBits);
  if (memory == nullptr) return nullptr;
  auto* fresh = static_cast<Extent**>(memory);
  Extent** present = nullptr;
  if (slot.compare_exchange_strong(present, fresh, std::memory_order_acq_rel)) return fresh;
  munmap(memory, sizeof(Extent*) << kLeafBits);
  return present;
}

bool ExtentMap::insert(Extent& extent, uintptr_t base, size_t size) noexcept {
  const uintptr_t last = base + size - 1;
  if (base % kUnitSize != 0 || size == 0 || last < base || last >> kAddressBits != 0 || root_ == nullptr) {
    return false;
  }
  for (size_t leaf = leaf_index(base); leaf <= leaf_index(last); ++leaf) {
    if (leaf_for(leaf << (kUnitBits + kLeafBits)) == nullptr) return false;
  }
  for (uintptr_t at = base; at <= last; at += kUnitSize) {
    std::atomic_ref(leaf_for(at)[unit_index(at)]).store(&extent, std::memory_order_release);
  }
  return true;
}

void ExtentMap::erase(uintptr_t base, size_t size) noexcept {
  if (root_ == nullptr || (base + size - 1) >> kAddressBits != 0) return;  // insert has rejected the range
  for (uintptr_t at = base; at < base + size; at += kUnitSize) {
    if (Extent** leaf = std::atomic_ref(root_[leaf_index(at)]).load(std::memory_order_acquire)) {
      std::atomic_ref(leaf[unit_index(at)]).store(nullptr, std::memory_order_release);
    }
  }
}

Extent* ExtentMap::take_extent() {
  const MutexLock lock(mutex_);
  if (Extent* extent = free_extents_) {
    free_extents_ = extent->next;
    extent->next = nullptr;
    return extent;
  }
  try {
    return &extents_.emplace_back();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void ExtentMap::give_extent(Extent* extent) noexcept {
  const MutexLock lock(mutex_);
  extent->next = free_extents_;
  free_extents_ = extent;
}

ObjectRecord* ExtentMap::take_records() {
  const MutexLock lock(mutex_);
  if (free_records_.empty()) {
    try {
      record_blocks_.reserve(record_blocks_.size() + 1);
      // Room for every slot, so that returning one allocates no memory.
      free_records_.reserve((record_blocks_.size() + 1) * kRecordSlotsPerBlock);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
    auto* block = static_cast<unsigned char*>(map_zeroes(kRecordSlotBytes * kRecordSlotsPerBlock));
    if (block == nullptr) return nullptr;
    record_blocks_.push_back(block);
    for (size_t i = kRecordSlotsPerBlock; i-- > 0;) {
      free_records_.push_back(reinterpret_cast<ObjectRecord*>(block + i * kRecordSlotBytes));
    }
  }
  ObjectRecord* records = free_records_.back();
  free_records_.pop_back();
  return records;
}

void ExtentMap::give_records(ObjectRecord* records) noexcept {
  madvise(records, kRecordSlotBytes, MADV_DONTNEED);
  const MutexLock lock(mutex_);
  free_records_.push_back(records);
}

}  // namespace rigel
