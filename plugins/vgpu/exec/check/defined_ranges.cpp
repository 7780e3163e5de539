#include "plugins/vgpu/exec/check/defined_ranges.hpp"

namespace rigel::vgpu::exec {

void DefinedRanges::forget() {
  known_.fill(Range{});
  filled_.fill(Filled{});
}

bool DefinedRanges::set(check::Allocations* allocations) {
  const uint64_t version = allocations == nullptr ? 0 : allocations->version();
  if (allocations == nullptr && allocations_ == nullptr) return true;
  if (allocations == allocations_ && version == version_) return refresh();
  allocations_ = allocations;
  version_ = version;
  epoch_ = MemoryShadow::of_process().epoch();
  forget();
  return false;
}

bool DefinedRanges::refresh() {
  const uint64_t epoch = MemoryShadow::of_process().epoch();
  if (epoch == epoch_) return true;
  epoch_ = epoch;
  known_.fill(Range{});
  return false;
}

const DefinedRanges::Filled& DefinedRanges::filled_at(uint64_t va) {
  for (const Filled& filled : filled_) {
    if (va - filled.begin < filled.end - filled.begin) return filled;
  }
  Filled& filled = filled_[next_filled_++ % kFilled];
  check::Allocation allocation;
  const bool is_allocation = allocations_->find(va, allocation);
  const uint64_t end = allocation.begin + allocation.bytes,
                 room_end = allocation.begin + allocation.room_bytes;
  if (!is_allocation || allocation.is_freed) {
    filled = {allocation.begin, room_end};
  } else if (va >= end) {
    filled = {end, room_end};  // padding
  } else {
    filled = {allocation.begin, end, allocation.serial, allocation.fill};
    if (allocations_->is_initialized(va, filled.begin, filled.end)) filled.fill = 0;
  }
  return filled;
}

}  // namespace rigel::vgpu::exec
