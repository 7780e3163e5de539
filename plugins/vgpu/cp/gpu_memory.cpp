#include "plugins/vgpu/cp/gpu_memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "plugins/vgpu/cp/shared_copy.hpp"
#include "plugins/vgpu/cp/stream_copy.hpp"

namespace rigel::vgpu {
namespace {

bool lies_in(const std::byte* at, const std::byte* begin, uint64_t bytes) {
  return at >= begin && at < begin + bytes;
}

}  // namespace

std::byte* GpuMemory::find_slow(uint64_t va, uint64_t bytes, Access access) {
  const uint64_t page = va >> kPageShift;
  const Translation whole = bus_.translate(page << kPageShift, kPageBytes, access);
  if (whole.host != nullptr && whole.bytes == kPageBytes) {
    Entry& entry = tlb_[page % tlb_.size()];
    if (entry.page != page || entry.host != whole.host) entry = Entry{page, whole.host, 0};
    entry.access = static_cast<uint8_t>(entry.access | 1u << static_cast<unsigned>(access));
    return whole.host + (va & (kPageBytes - 1));
  }
  const Translation part = run(va, bytes, access);
  if (part.host == nullptr) return nullptr;
  if (part.bytes < bytes) {  // only on a bus with objects smaller than a page
    fault_ = {va + part.bytes, access, FaultReason::kNotPresent, queue_id_};
    return nullptr;
  }
  return part.host;
}

Translation GpuMemory::run(uint64_t va, uint64_t bytes, Access access) {
  const Translation found = bus_.translate(va, bytes, access);
  if (found.host == nullptr) {
    const auto reason = found.reason == FaultReason::kNone ? FaultReason::kNotPresent : found.reason;
    fault_ = {va, access, reason, queue_id_};
  }
  return found;
}

bool GpuMemory::record_host_fault(uint64_t va, const std::byte* host) {
  const HostFault& found = last_host_fault();
  fault_ = {va + static_cast<uint64_t>(found.address - host), found.access, found.reason, queue_id_};
  return false;
}

bool GpuMemory::read(uint64_t va, void* to, uint64_t bytes) {
  auto* out = static_cast<std::byte*>(to);
  while (bytes != 0) {
    const uint64_t in_page = std::min(bytes, kPageBytes - (va & (kPageBytes - 1)));
    const std::byte* host = find(va, in_page, Access::kRead);
    if (host == nullptr) return false;
    if (!guarded_read(out, host, in_page)) return record_host_fault(va, host);
    out += in_page, va += in_page, bytes -= in_page;
  }
  return true;
}

bool GpuMemory::write(uint64_t va, const void* from, uint64_t bytes) {
  const auto* in = static_cast<const std::byte*>(from);
  while (bytes != 0) {
    const uint64_t in_page = std::min(bytes, kPageBytes - (va & (kPageBytes - 1)));
    std::byte* host = find(va, in_page, Access::kWrite);
    if (host == nullptr) return false;
    if (!guarded_write(host, in, in_page)) return record_host_fault(va, host);
    in += in_page, va += in_page, bytes -= in_page;
  }
  return true;
}

bool GpuMemory::copy(uint64_t to, uint64_t from, uint64_t bytes) {
  moved_ += bytes;
  if (to != runs_[0].end) std::swap(runs_[0], runs_[1]);
  if (to != runs_[0].end) runs_[0].bytes = 0;
  runs_[0].end = to + bytes;
  while (bytes != 0) {
    const Translation source = run(from, bytes, Access::kRead);
    if (source.host == nullptr) return false;
    const Translation target = run(to, std::min(bytes, source.bytes), Access::kWrite);
    if (target.host == nullptr) return false;
    const uint64_t piece = std::min({bytes, source.bytes, target.bytes});
    if (!copy_with_help(target.host, source.host, piece, runs_[0].bytes) &&
        !guarded_stream_copy(target.host, source.host, piece, runs_[0].bytes)) {
      const bool reading = lies_in(last_host_fault().address, source.host, piece);
      return reading ? record_host_fault(from, source.host) : record_host_fault(to, target.host);
    }
    to += piece, from += piece, bytes -= piece, runs_[0].bytes += piece;
  }
  return true;
}

bool GpuMemory::fill(uint64_t va, uint32_t pattern, uint64_t bytes) {
  moved_ += bytes;
  uint64_t done = 0;
  while (done != bytes) {
    const Translation target = run(va + done, bytes - done, Access::kWrite);
    if (target.host == nullptr) return false;
    const uint64_t piece = std::min(bytes - done, target.bytes);
    // The fill may not be aligned: rotate the pattern to the position where this range starts.
    const auto rotation = static_cast<unsigned>(done % 4) * 8;
    const uint32_t word = rotation == 0 ? pattern : pattern >> rotation | pattern << (32 - rotation);
    if (!guarded([&] { stream_fill(target.host, word, piece); },
                 [&](const std::byte* at) { return lies_in(at, target.host, piece); })) {
      return record_host_fault(va + done, target.host);
    }
    done += piece;
  }
  return true;
}

}  // namespace rigel::vgpu
