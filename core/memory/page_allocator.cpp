#include "core/memory/page_allocator.hpp"

#include <algorithm>

#include "api/support/mutex.hpp"
#include "api/support/page_size.hpp"

namespace rigel {
namespace {

constexpr size_t kMinReserveBytes = 32 << 20;
constexpr size_t kReserveShare = 8;  // the reserve may be one part in this number of the mapped bytes
constexpr size_t kReserveCount = 64;
constexpr size_t kIdleSlabs = 4;

}  // namespace

void PageAllocator::List::push_front(Extent* extent) noexcept {
  extent->previous = nullptr;
  extent->next = head;
  (head == nullptr ? tail : head->previous) = extent;
  head = extent;
}

void PageAllocator::List::remove(Extent* extent) noexcept {
  (extent->previous == nullptr ? head : extent->previous->next) = extent->next;
  (extent->next == nullptr ? tail : extent->next->previous) = extent->previous;
  extent->previous = extent->next = nullptr;
}

PageAllocator::PageAllocator(const Heap& heap, std::unique_ptr<MemoryProvider> provider, ExtentMap& map)
    : heap_(heap), provider_(std::move(provider)), map_(map) {}

PageAllocator::~PageAllocator() {
  const auto end = [this](List& list) {
    while (Extent* extent = list.head) {
      list.remove(extent);
      unpublish(extent);
      provider_->unmap(extent->backing);
    }
  };
  for (List& list : open_) end(list);
  end(full_);
  end(reserve_);
  end(retired_);
}

Result<void*> PageAllocator::allocate(size_t size, uint32_t flags) {
  const size_t pages = (size - 1) / kPageBytes + 1;
  // Objects are aligned to pages only.
  const bool cut = flags == 0 && heap_.facts().granule <= kPageBytes;
  if (cut && pages <= kLargestClassPages) return allocate_object(size, size_class_of(pages));
  return allocate_block(size, flags);
}

Result<void*> PageAllocator::allocate_object(size_t size, uint32_t size_class) {
  MutexLock lock(mutex_);
  List& open = open_[size_class];
  if (open.head == nullptr) {
    const auto extent = obtain({.size = kUnitSize, .alignment = kUnitSize});
    if (!extent && extent.error() == HSA_STATUS_ERROR_OUT_OF_RESOURCES) {
      // The remaining memory may be less than a slab: each of the last objects has a separate block.
      lock.unlock();
      return allocate_block(size, 0);
    }
    if (!extent) return error(extent.error());
    if (!publish_slab(*extent, size_class)) {
      to_reserve(*extent);
      return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                  "memory pool: out of host memory for the records of {} bytes", size);
    }
    open.push_front(*extent);
    ++idle_slabs_;
  }

  Extent* slab = open.head;
  uint32_t index = 0;
  for (uint32_t word = 0;; ++word) {
    // A slab in `open` has a bit set.
    if (slab->free_objects[word] == 0) continue;
    index = word * 64 + static_cast<uint32_t>(__builtin_ctzll(slab->free_objects[word]));
    slab->free_objects[word] &= slab->free_objects[word] - 1;
    break;
  }
  if (slab->live++ == 0) --idle_slabs_;
  if (slab->live == objects_per_slab(size_class)) {
    open.remove(slab);
    full_.push_front(slab);
  }
  ++allocations_;
  ObjectRecord& record = slab->published.records.load(std::memory_order_relaxed)[index];
  {
    const Extent::Change change(*slab);
    record.set_user_data(nullptr);
    record.set_marks(0);
    record.set_size(size);
  }
  return static_cast<unsigned char*>(slab->backing.address) +
         size_t{index} * kClassPages[size_class] * kPageBytes;
}

Result<void*> PageAllocator::allocate_block(size_t size, uint32_t flags) {
  const size_t bytes = round_up(size, heap_.facts().granule);
  MutexLock lock(mutex_);
  const auto extent = obtain({.size = bytes, .alignment = kUnitSize, .flags = flags, .one_object = true});
  if (!extent) return error(extent.error());
  if (!publish_block(*extent, size)) {
    to_reserve(*extent);
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                "memory pool: out of host memory for the records of {} bytes", size);
  }
  full_.push_front(*extent);
  ++allocations_;
  return (*extent)->backing.address;
}

/// Returns a block that is in no list: from the reserve, or from the provider with the lock released for the
/// call.
Result<Extent*> PageAllocator::obtain(const BlockRequest& request) {
  for (Extent* extent = reserve_.head; extent != nullptr; extent = extent->next) {
    if (extent->backing.size != request.size || extent->flags != request.flags) continue;
    reserve_.remove(extent);
    reserve_bytes_ -= extent->backing.size;
    --reserve_count_;
    return extent;
  }

  Result<Backing> backing;
  Extent* extent = nullptr;
  {
    const MutexUnlock unlocked(mutex_);
    backing = provider_->map(request);
    if (!backing && backing.error() == HSA_STATUS_ERROR_OUT_OF_RESOURCES) {
      trim();
      backing = provider_->map(request);
    }
    if (backing) extent = map_.take_extent();
    if (backing && extent == nullptr) provider_->unmap(*backing);
  }
  if (!backing) return error(backing.error());
  if (extent == nullptr)
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                "memory pool: out of host memory for the records of a block");
  extent->backing = *backing;
  extent->flags = request.flags;
  extent->granted = {};
  extent->exposed = false;
  mapped_bytes_ += backing->size;
  return extent;
}

bool PageAllocator::publish_slab(Extent* extent, uint32_t size_class) {
  if (extent->slab_records == nullptr) extent->slab_records = map_.take_records();
  if (extent->slab_records == nullptr) return false;
  const auto base = reinterpret_cast<uintptr_t>(extent->backing.address);
  const uint32_t count = objects_per_slab(size_class);
  extent->size_class = size_class;
  extent->live = 0;
  for (uint32_t word = 0; word < std::size(extent->free_objects); ++word) {
    const uint32_t objects = count > word * 64 ? std::min(count - word * 64, 64u) : 0;
    extent->free_objects[word] = objects == 64 ? ~uint64_t{0} : (uint64_t{1} << objects) - 1;
  }
  {
    const Extent::Change change(*extent);
    change.set(extent->published.owner, this);
    change.set(extent->published.heap, &heap_);
    change.set(extent->published.base, base);
    change.set(extent->published.size, extent->backing.size);
    change.set(extent->published.object_pages, uint32_t{kClassPages[size_class]});
    change.set(extent->published.object_count, count);
    change.set(extent->published.records, extent->slab_records);
  }
  if (map_.insert(*extent, base, extent->backing.size)) return true;
  unpublish(extent);
  return false;
}

bool PageAllocator::publish_block(Extent* extent, size_t size) {
  const auto base = reinterpret_cast<uintptr_t>(extent->backing.address);
  extent->live = 1;
  {
    const Extent::Change change(*extent);
    change.set(extent->published.owner, this);
    change.set(extent->published.heap, &heap_);
    change.set(extent->published.base, base);
    change.set(extent->published.size, extent->backing.size);
    change.set(extent->published.object_pages, 0u);
    change.set(extent->published.object_count, 1u);
    change.set(extent->published.records, &extent->sole);
    extent->sole.set_user_data(nullptr);
    extent->sole.set_marks(0);
    extent->sole.set_size(size);
  }
  if (map_.insert(*extent, base, extent->backing.size)) return true;
  unpublish(extent);
  return false;
}

/// Unpublishes the extent from lock-free readers. All its records must be dead, unless the allocator is being
/// destroyed.
void PageAllocator::unpublish(Extent* extent) noexcept {
  if (extent->published.records.load(std::memory_order_relaxed) == nullptr) return;
  map_.erase(extent->published.base.load(std::memory_order_relaxed),
             extent->published.size.load(std::memory_order_relaxed));
  {
    const Extent::Change change(*extent);
    change.set(extent->published.owner, static_cast<PageAllocator*>(nullptr));
    change.set(extent->published.heap, static_cast<const Heap*>(nullptr));
    change.set(extent->published.base, uintptr_t{0});
    change.set(extent->published.size, size_t{0});
    change.set(extent->published.object_count, 0u);
    change.set(extent->published.records, static_cast<ObjectRecord*>(nullptr));
    extent->sole.set_size(0);
  }
}

/// Returns the record of the live allocation that starts at `base`, or null.
ObjectRecord* PageAllocator::record_at(const Extent& extent, uintptr_t base, uint32_t& index) const noexcept {
  constexpr auto relaxed = std::memory_order_relaxed;
  const auto& published = extent.published;
  // The extent may have changed its owner between the caller's lookup and the lock.
  if (published.owner.load(relaxed) != this) return nullptr;
  const size_t offset = base - published.base.load(relaxed);
  if (offset >= published.size.load(relaxed)) return nullptr;
  const uint32_t pages = published.object_pages.load(relaxed);
  index = Extent::object_index(offset, pages);
  if (index >= published.object_count.load(relaxed)) return nullptr;
  ObjectRecord& record = published.records.load(relaxed)[index];
  return record.size() != 0 && offset == size_t{index} * pages * kPageBytes ? &record : nullptr;
}

std::optional<uint32_t> PageAllocator::claim(Extent& extent, uintptr_t base) {
  MutexLock lock(mutex_);
  uint32_t index = 0;
  ObjectRecord* record = record_at(extent, base, index);
  if (record == nullptr) return std::nullopt;
  const uint32_t marks = record->marks();
  if ((marks & kBeingFreed) != 0) return std::nullopt;
  {
    const Extent::Change change(extent);
    marks == 0 ? record->set_size(0) : record->set_marks(marks | kBeingFreed);
  }
  if (marks != 0) return marks;
  put_back(&extent, index);
  Extent* surplus = take_surplus(false);
  lock.unlock();
  if (surplus != nullptr) release(surplus);
  return marks;
}

void PageAllocator::retire(Extent& extent, uintptr_t base) {
  const MutexLock lock(mutex_);
  uint32_t index = 0;
  ObjectRecord* record = record_at(extent, base, index);
  const Extent::Change change(extent);
  record->set_size(0);
}

void PageAllocator::reclaim(Extent& extent, uintptr_t base) {
  MutexLock lock(mutex_);
  const size_t offset = base - extent.published.base.load(std::memory_order_relaxed);
  put_back(&extent,
           Extent::object_index(offset, extent.published.object_pages.load(std::memory_order_relaxed)));
  Extent* surplus = take_surplus(false);
  lock.unlock();
  if (surplus != nullptr) release(surplus);
}

void PageAllocator::put_back(Extent* extent, uint32_t index) noexcept {
  --allocations_;
  --extent->live;
  if (extent->published.object_pages.load(std::memory_order_relaxed) == 0) {
    full_.remove(extent);
    extent->exposed ? to_provider(extent) : to_reserve(extent);
    return;
  }
  if (extent->exposed) {
    if (extent->live != 0) return;
    full_.remove(extent);
    return to_provider(extent);
  }
  extent->free_objects[index / 64] |= uint64_t{1} << index % 64;
  List& open = open_[extent->size_class];
  if (extent->live + 1 == objects_per_slab(extent->size_class)) {
    full_.remove(extent);
    open.push_front(extent);
  }
  if (extent->live != 0) return;
  // Keeps some empty slabs, so that a single allocation that is repeatedly created and freed does not map and
  // unmap one each time.
  if (idle_slabs_ < kIdleSlabs && open.head == extent && open.tail == extent) {
    ++idle_slabs_;
  } else {
    open.remove(extent);
    to_reserve(extent);
  }
}

void PageAllocator::to_reserve(Extent* extent) noexcept {
  unpublish(extent);
  reserve_.push_front(extent);
  reserve_bytes_ += extent->backing.size;
  ++reserve_count_;
}

void PageAllocator::to_provider(Extent* extent) noexcept {
  unpublish(extent);
  retired_.push_front(extent);
}

/// Takes retired blocks and the surplus of the reserve, oldest first, as a chain through `next`. The caller
/// releases them without the lock.
Extent* PageAllocator::take_surplus(bool everything) noexcept {
  if (everything) {
    for (List& open : open_) {
      for (Extent *extent = open.head, *next = nullptr; extent != nullptr; extent = next) {
        next = extent->next;
        if (extent->live != 0) continue;
        open.remove(extent);
        --idle_slabs_;
        to_reserve(extent);
      }
    }
  }
  const size_t limit = everything ? 0 : std::max(kMinReserveBytes, mapped_bytes_ / kReserveShare);
  const size_t count = everything ? 0 : kReserveCount;
  Extent* surplus = nullptr;
  while (Extent* extent = retired_.head) {
    retired_.remove(extent);
    mapped_bytes_ -= extent->backing.size;
    extent->next = surplus;
    surplus = extent;
  }
  while (reserve_bytes_ > limit || reserve_count_ > count) {
    Extent* extent = reserve_.tail;
    reserve_.remove(extent);
    reserve_bytes_ -= extent->backing.size;
    mapped_bytes_ -= extent->backing.size;
    --reserve_count_;
    extent->next = surplus;
    surplus = extent;
  }
  return surplus;
}

void PageAllocator::release(Extent* surplus) noexcept {
  while (surplus != nullptr) {
    Extent* next = surplus->next;
    provider_->unmap(surplus->backing);
    surplus->backing = {};
    if (surplus->slab_records != nullptr) map_.give_records(surplus->slab_records);
    surplus->slab_records = nullptr;
    map_.give_extent(surplus);
    surplus = next;
  }
}

void PageAllocator::trim() {
  MutexLock lock(mutex_);
  Extent* surplus = take_surplus(true);
  lock.unlock();
  release(surplus);
}

bool PageAllocator::set_user_data(Extent& extent, uintptr_t base, void* user_data) {
  const MutexLock lock(mutex_);
  uint32_t index = 0;
  ObjectRecord* record = record_at(extent, base, index);
  if (record == nullptr) return false;
  const Extent::Change change(extent);
  record->set_user_data(user_data);
  return true;
}

bool PageAllocator::change_marks(Extent& extent, uintptr_t base, uint32_t set, uint32_t clear) {
  const MutexLock lock(mutex_);
  uint32_t index = 0;
  ObjectRecord* record = record_at(extent, base, index);
  if (record == nullptr) return false;
  const Extent::Change change(extent);
  record->set_marks((record->marks() | set) & ~clear);
  return true;
}

Status PageAllocator::grant(Extent& extent, uintptr_t address, const AgentSet& agents) {
  MutexLock lock(mutex_);
  uint32_t index = 0;
  if (record_at(extent, address, index) == nullptr) return HSA_STATUS_ERROR_INVALID_ALLOCATION;
  AgentSet all = extent.granted;
  all |= agents;
  if (extent.live == 1) all = agents;  // no other allocation needs the previous access
  if (all == extent.granted) return HSA_STATUS_SUCCESS;
  const Backing backing = extent.backing;
  lock.unlock();
  const Status status = provider_->set_access(backing, all);
  if (status != HSA_STATUS_SUCCESS) return status;
  lock.lock();
  if (record_at(extent, address, index) != nullptr) extent.granted = all;
  return HSA_STATUS_SUCCESS;
}

std::optional<Backing> PageAllocator::expose(Extent& extent, uintptr_t address) {
  const MutexLock lock(mutex_);
  const auto view = extent.view(address);
  uint32_t index = 0;
  if (!view || record_at(extent, view->base, index) == nullptr) return std::nullopt;
  const bool slab = extent.published.object_pages.load(std::memory_order_relaxed) != 0;
  if (!extent.exposed && slab && extent.live != objects_per_slab(extent.size_class)) {
    open_[extent.size_class].remove(&extent);
    full_.push_front(&extent);
  }
  extent.exposed = true;
  return extent.backing;
}

PageAllocator::Footprint PageAllocator::footprint() const {
  const MutexLock lock(mutex_);
  return {mapped_bytes_, reserve_bytes_ + idle_slabs_ * kUnitSize, allocations_};
}

}  // namespace rigel
