#include "plugins/vgpu/check/allocation_map.hpp"

#include <iterator>

namespace rigel::vgpu::check {

bool AllocationMap::find(uint64_t va, Allocation& allocation) {
  const MutexLock lock(mutex_);
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

void AllocationMap::add(const Allocation& allocation) {
  const MutexLock lock(mutex_);
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
  changed();
  return found->second;
}

void AllocationMap::remove(uint64_t va) {
  const MutexLock lock(mutex_);
  if (allocations_.erase(va) != 0) changed();
}

}  // namespace rigel::vgpu::check
