#include "plugins/vgpu/check/allocation_map.hpp"

#include <algorithm>
#include <iterator>

namespace rigel::vgpu::check {

bool AllocationMap::find(uint64_t va, Allocation& allocation) {
  const MutexLock lock(mutex_);
  const bool is_allocation = find_allocation(va, allocation);
  if (regions_.empty() || allocation.is_freed) return is_allocation;
  const uint32_t fill = allocation.fill;
  const uint64_t serial = allocation.serial;
  if (!find_region(va, allocation)) return is_allocation;
  allocation.fill = fill;
  allocation.serial = serial;
  return true;
}

bool AllocationMap::is_initialized(uint64_t va, uint64_t& begin, uint64_t& end) {
  const MutexLock lock(mutex_);
  const auto above = initialized_.upper_bound(va);
  if (above != initialized_.begin()) {
    const auto& [range_begin, range_end] = *std::prev(above);
    if (va < range_end) {
      begin = std::max(begin, range_begin);
      end = std::min(end, range_end);
      return true;
    }
    begin = std::max(begin, range_end);
  }
  if (above != initialized_.end()) end = std::min(end, above->first);
  return false;
}

void AllocationMap::mark_initialized(uint64_t va, uint64_t bytes) {
  const MutexLock lock(mutex_);
  if (bytes == 0) return;
  forget_initialized(va, va + bytes);
  initialized_[va] = va + bytes;
  changed();
}

void AllocationMap::forget_initialized(uint64_t begin, uint64_t end) {
  auto range = initialized_.lower_bound(begin);
  if (range != initialized_.begin()) --range;
  while (range != initialized_.end() && range->first < end) {
    const auto [range_begin, range_end] = *range;
    if (range_end <= begin) {
      ++range;
      continue;
    }
    range = initialized_.erase(range);
    if (range_begin < begin) initialized_[range_begin] = begin;
    if (range_end > end) initialized_[end] = range_end;
  }
}

bool AllocationMap::find_allocation(uint64_t va, Allocation& allocation) const {
  const auto above = allocations_.upper_bound(va);
  uint64_t gap_begin = 0;
  if (above != allocations_.begin()) {
    const Allocation& below = std::prev(above)->second;
    if (va - below.begin < below.room_bytes) {
      allocation = below;
      return true;
    }
    gap_begin = below.begin + below.room_bytes;
  }
  allocation = {};
  allocation.begin = gap_begin;
  allocation.room_bytes = (above == allocations_.end() ? UINT64_MAX : above->first) - gap_begin;
  return false;
}

bool AllocationMap::find_region(uint64_t va, Allocation& allocation) const {
  const auto above = regions_.upper_bound(va);
  auto begin = allocation.begin;
  if (above != regions_.begin()) {
    const auto found = std::prev(above);
    const Allocation& region = found->second;
    const uint64_t end = region.begin + region.room_bytes;
    if (va < end) {
      allocation = region;
      // Poisoned bytes after a suballocation count as its padding.
      if (!region.is_poisoned || found == regions_.begin()) return true;
      const Allocation& below = std::prev(found)->second;
      if (below.is_poisoned || below.is_freed || below.begin + below.room_bytes != region.begin) return true;
      allocation = below;
      allocation.room_bytes += region.room_bytes;
      return true;
    }
    begin = std::max(begin, end);
  }
  const uint64_t last = allocation.begin + allocation.room_bytes;
  const uint64_t end = above == regions_.end() ? last : std::min(last, above->first);
  const uint64_t usable_end = std::min(end, allocation.begin + allocation.bytes);
  allocation.begin = begin;
  allocation.room_bytes = end - begin;
  allocation.bytes = usable_end > begin ? usable_end - begin : 0;
  return false;
}

void AllocationMap::carve(uint64_t begin, uint64_t end) {
  auto region = regions_.lower_bound(begin);
  if (region != regions_.begin()) --region;
  while (region != regions_.end() && region->first < end) {
    const Allocation whole = region->second;
    const uint64_t whole_end = whole.begin + whole.room_bytes;
    if (whole_end <= begin) {
      ++region;
      continue;
    }
    region = regions_.erase(region);
    keep_part(whole, whole.begin, std::min(begin, whole_end));
    keep_part(whole, end, whole_end);
  }
}

void AllocationMap::keep_part(Allocation region, uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  region.begin = begin;
  region.room_bytes = end - begin;
  region.bytes = region.is_poisoned ? 0 : region.room_bytes;
  regions_[begin] = region;
}

void AllocationMap::add_region(const Allocation& region) {
  const MutexLock lock(mutex_);
  if (region.room_bytes == 0) return;
  carve(region.begin, region.begin + region.room_bytes);
  regions_[region.begin] = region;
  changed();
}

void AllocationMap::remove_regions(uint64_t va, uint64_t bytes) {
  const MutexLock lock(mutex_);
  carve(va, va + bytes);
  changed();
}

void AllocationMap::mark_region_freed(uint64_t va, const HostStack& stack) {
  const MutexLock lock(mutex_);
  const auto found = regions_.find(va);
  if (found == regions_.end() || found->second.is_poisoned) return;
  found->second.is_freed = true;
  found->second.freed = stack;
  changed();
}

void AllocationMap::set_name(uint64_t va, const char* name) {
  const MutexLock lock(mutex_);
  for (ByBegin* const map : {&regions_, &allocations_}) {
    const auto found = map->find(va);
    if (found == map->end() || found->second.is_poisoned) continue;
    found->second.set_name(name);
    return changed();
  }
}

void AllocationMap::add(const Allocation& allocation) {
  const MutexLock lock(mutex_);
  carve(allocation.begin, allocation.begin + allocation.room_bytes);
  forget_initialized(allocation.begin, allocation.begin + allocation.room_bytes);
  auto overlapped = allocations_.lower_bound(allocation.begin);
  if (overlapped != allocations_.begin()) {
    const auto below = std::prev(overlapped);
    if (allocation.begin - below->first < below->second.room_bytes) overlapped = below;
  }
  while (overlapped != allocations_.end() && overlapped->first < allocation.begin + allocation.room_bytes)
    overlapped = allocations_.erase(overlapped);
  allocations_[allocation.begin] = allocation;
  changed();
}

std::optional<Allocation> AllocationMap::live_at(uint64_t va) {
  const MutexLock lock(mutex_);
  const auto found = allocations_.find(va);
  if (found == allocations_.end() || found->second.is_freed) return std::nullopt;
  return found->second;
}

std::optional<Allocation> AllocationMap::mark_freed(uint64_t va, const HostStack& stack) {
  const MutexLock lock(mutex_);
  const auto found = allocations_.find(va);
  if (found == allocations_.end() || found->second.is_freed) return std::nullopt;
  found->second.is_freed = true;
  found->second.freed = stack;
  carve(va, va + found->second.room_bytes);
  changed();
  return found->second;
}

void AllocationMap::remove(uint64_t va) {
  const MutexLock lock(mutex_);
  if (allocations_.erase(va) != 0) changed();
}

}  // namespace rigel::vgpu::check
