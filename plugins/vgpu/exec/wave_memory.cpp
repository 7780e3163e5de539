#include "plugins/vgpu/exec/wave_memory.hpp"

#include <algorithm>

#include "plugins/vgpu/check/allocations.hpp"
#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/exec/guest_access.hpp"

namespace rigel::vgpu::exec {

void WaveMemory::clear_caches() {
  sites_.fill(Extent{});
  extents_.fill(Extents{});
}

void WaveMemory::set_bounds(check::Allocations* bounds, check::Allocations* filled) {
  const uint64_t version = bounds == nullptr ? 0 : bounds->version();
  const bool is_same_memory = defined_.set(filled);
  if (!is_same_memory) sites_.fill(Extent{});
  if (bounds == bounds_ && version == bounds_version_) return;
  bounds_ = bounds;
  bounds_version_ = version;
  sites_.fill(Extent{});
  known_bounds_.fill(Bound{});
}

void WaveMemory::forget_defined() {
  if (!defined_.refresh()) sites_.fill(Extent{});
}

WaveMemory::Extent WaveMemory::defined_in(const Extent& part, const Extent& extent, uint64_t va) {
  uint64_t begin = part.begin, end = part.begin + part.bytes;
  const bool is_defined =
      va - begin < end - begin && defined_.narrow(va, begin, end, [&](uint64_t page) -> const uint32_t* {
        if (page < extent.begin || page + MemoryShadow::kPage > extent.begin + extent.bytes) return nullptr;
        return reinterpret_cast<const uint32_t*>(extent.host + (page - extent.begin));
      });
  if (!is_defined) return {};
  return {begin, end - begin, part.host + (begin - part.begin)};
}

WaveMemory::Extent WaveMemory::in_bounds(const Extent& extent, uint64_t va, bool is_unbounded) {
  const auto is_around = [&](const Bound& bound) { return va - bound.begin < bound.end - bound.begin; };
  auto known = std::find_if(known_bounds_.begin(), known_bounds_.end(), is_around);
  if (known == known_bounds_.end()) {
    check::Allocation allocation;
    const bool is_allocation = bounds_->find(va, allocation);
    if (is_allocation && (allocation.is_freed || va - allocation.begin >= allocation.bytes)) return {};
    const uint64_t bytes = is_allocation ? allocation.bytes : allocation.room_bytes;
    known = known_bounds_.begin() + static_cast<ptrdiff_t>(next_bound_++ % kBounds);
    *known = {allocation.begin, allocation.begin + bytes, is_allocation};
  }
  if (!known->is_allocation && !is_unbounded && !allows_unknown_memory_) return {};
  const uint64_t begin = std::max(extent.begin, known->begin);
  const uint64_t end = std::min(extent.begin + extent.bytes, known->end);
  return {begin, end - begin, extent.host + (begin - extent.begin)};
}

// Returns the extent that contains `va`. Adds it if necessary. Null: `va` is inaccessible.
WaveMemory::Extent* WaveMemory::cover(uint64_t va, Access access) {
  Extents& extents = extents_[static_cast<size_t>(access)];
  for (Extent& extent : extents.list) {
    if (va - extent.begin < extent.bytes) return &extent;
  }
  // First the whole region, so that descending accesses get large extents as well. If its start is
  // inaccessible, the memory from this page on.
  const uint64_t region = va & ~(kRegionBytes - 1);
  uint64_t begin = region;
  Translation found = bus_.translate(begin, kRegionBytes, access);
  if (found.host == nullptr || va - begin >= found.bytes) {
    begin = va & ~uint64_t{0xfff};
    found = bus_.translate(begin, region + (kRegionBytes - 1) - begin + 1, access);
    if (found.host == nullptr || va - begin >= found.bytes) return nullptr;
  }
  return merge(extents, Extent{begin, found.bytes, found.host});
}

// Host address minus GPU address.
uint64_t WaveMemory::distance(const Extent& extent) {
  return reinterpret_cast<uintptr_t>(extent.host) - extent.begin;
}

// Adds an extent to the list and merges it with contiguous ones.
WaveMemory::Extent* WaveMemory::merge(Extents& extents, const Extent& found) {
  Extent whole = found;
  Extent* place = nullptr;
  for (Extent& other : extents.list) {
    if (other.bytes == 0 || distance(other) != distance(whole)) continue;
    const uint64_t end = std::max(other.begin + other.bytes, whole.begin + whole.bytes);
    const uint64_t begin = std::min(other.begin, whole.begin);
    if (end - begin > other.bytes + whole.bytes) continue;  // not contiguous
    whole.host -= whole.begin - begin;
    whole.begin = begin;
    whole.bytes = end - begin;
    if (place != nullptr) *place = Extent{};
    place = &other;
  }
  if (place == nullptr) place = &extents.list[extents.next++ % kExtents];
  *place = whole;
  return place;
}

WaveMemory::Extent* WaveMemory::cover_all(uint64_t va, uint64_t bytes, Access access) {
  if (va + bytes < va) return nullptr;
  Extent* extent = cover(va, access);
  while (extent != nullptr && bytes > extent->bytes - (va - extent->begin)) {
    const uint64_t end = extent->begin + extent->bytes;
    if (cover(end, access) == nullptr) return nullptr;
    extent = cover(va, access);  // merging moves extents, and may have replaced this one
    if (extent == nullptr || extent->begin + extent->bytes <= end) return nullptr;
  }
  return extent;
}

std::byte* WaveMemory::find_slow(const void* site, uint64_t va, uint64_t bytes, Access access) {
  const Extent* const extent = cover_all(va, bytes, access);
  if (extent == nullptr) return nullptr;
  Extent& cached = sites_[slot(site, access)];
  cached = *extent;
  std::byte* const host = extent->host + (va - extent->begin);
  if (bounds_ == nullptr && !defined_.is_on()) return host;
  // Scratch has no site.
  const bool is_unbounded = site == nullptr || (reinterpret_cast<uintptr_t>(site) & kUnbounded) != 0;
  if (bounds_ != nullptr) cached = in_bounds(*extent, va, is_unbounded);
  if (defined_.is_on()) cached = defined_in(cached, *extent, va);
  if (!contains(cached, va, bytes)) cached = {};
  return host;
}

std::byte* WaveMemory::find_in_bounds(const void* site, uint64_t va, uint64_t bytes, Access access) {
  std::byte* const host = find(site, va, bytes, access);
  return host != nullptr && contains(last_extent(site, access), va, bytes) ? host : nullptr;
}

std::byte* WaveMemory::find_undefined_in_bounds(const void* site, uint64_t va, uint64_t bytes,
                                                Access access) {
  if (!defined_.is_on()) return find_in_bounds(site, va, bytes, access);
  const Extent* const extent = cover_all(va, bytes, access);
  if (extent == nullptr) return nullptr;
  const Extent part = bounds_ == nullptr ? *extent : in_bounds(*extent, va, false);
  return contains(part, va, bytes) ? part.host + (va - part.begin) : nullptr;
}

const WaveMemory::Extent* WaveMemory::extent_with(const std::byte* host) const {
  const auto has = [&](const Extent& extent) {
    return host >= extent.host && host < extent.host + extent.bytes;
  };
  for (const Extent& extent : sites_) {
    if (has(extent)) return &extent;
  }
  for (const Extents& extents : extents_) {
    for (const Extent& extent : extents.list) {
      if (has(extent)) return &extent;
    }
  }
  return nullptr;
}

bool WaveMemory::is_gpu_memory(const std::byte* host) {
  if (extent_with(host) != nullptr) return true;
  // Memory of the program usually has the same GPU and host address.
  return bus_.translate(reinterpret_cast<uintptr_t>(host), 1, Access::kRead).host == host;
}

uint64_t WaveMemory::address_of(const std::byte* host) const {
  const Extent* const extent = extent_with(host);
  if (extent == nullptr) return reinterpret_cast<uintptr_t>(host);
  return extent->begin + static_cast<uint64_t>(host - extent->host);
}

std::optional<uint64_t> WaveMemory::first_fault(uint64_t va, uint64_t bytes, Access access) {
  while (bytes != 0) {
    const Translation found = run(va, bytes, access);
    if (found.host == nullptr) return va;
    va += found.bytes, bytes -= found.bytes;
  }
  return std::nullopt;
}

bool WaveMemory::read(uint64_t va, void* to, uint64_t bytes, VmFault& fault) {
  const GuestAccess guest;
  auto* out = static_cast<std::byte*>(to);
  while (bytes != 0) {
    const Translation found = run(va, bytes, Access::kRead);
    if (found.host == nullptr) {
      fault = {va, Access::kRead, found.reason, 0};
      return false;
    }
    if (!guarded_read(out, found.host, found.bytes)) {
      fault = {va + static_cast<uint64_t>(last_host_fault().address - found.host), Access::kRead,
               last_host_fault().reason, 0};
      return false;
    }
    out += found.bytes, va += found.bytes, bytes -= found.bytes;
  }
  return true;
}

bool WaveMemory::write(uint64_t va, const void* from, uint64_t bytes, VmFault& fault) {
  const GuestAccess guest;
  const auto* in = static_cast<const std::byte*>(from);
  while (bytes != 0) {
    const Translation found = run(va, bytes, Access::kWrite);
    if (found.host == nullptr) {
      fault = {va, Access::kWrite, found.reason, 0};
      return false;
    }
    if (!guarded_write(found.host, in, found.bytes)) {
      fault = {va + static_cast<uint64_t>(last_host_fault().address - found.host), Access::kWrite,
               last_host_fault().reason, 0};
      return false;
    }
    in += found.bytes, va += found.bytes, bytes -= found.bytes;
  }
  return true;
}

}  // namespace rigel::vgpu::exec
