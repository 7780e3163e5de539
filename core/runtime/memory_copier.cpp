#include "core/runtime/memory_copier.hpp"

#include <algorithm>
#include <vector>

#include "api/support/backend_report.hpp"
#include "core/copy/block_copy.hpp"

namespace rigel {

// The device copies if at least one side is its memory; otherwise the host copies. A side that is not the
// device's is passed by its host address, even if the program has passed the address at which an agent
// accesses locked memory. The copy fails if the host has no access to such a side, as to some virtual memory.
Status MemoryCopier::copy(void* destination, const void* source, size_t size) {
  const Placement to = memory_.locate(destination, size), from = memory_.locate(source, size);
  const bool to_device = to.owner.handle == agent_.handle().handle;
  const bool from_device = from.owner.handle == agent_.handle().handle;
  if ((!to_device && !to.host_writes) || (!from_device && !from.host_reads)) {
    return fail(HSA_STATUS_ERROR_INVALID_ALLOCATION,
                "copy from {} to {}: neither the device nor the host can access both", source, destination);
  }
  auto* const at = static_cast<std::byte*>(destination) + (to_device ? 0 : to.to_host);
  const auto* const what = static_cast<const std::byte*>(source) + (from_device ? 0 : from.to_host);
  if (!to_device && !from_device) {
    copy_bytes(at, what, size);
    return HSA_STATUS_SUCCESS;
  }
  const hsabe_status_t status = agent_.backend().memory.copy(agent_.device(), reinterpret_cast<uint64_t>(at),
                                                             reinterpret_cast<uint64_t>(what), size);
  if (status == HSA_STATUS_SUCCESS) return HSA_STATUS_SUCCESS;
  return backend_report::refused("device copy", status);
}

Status MemoryCopier::fill(void* destination, uint32_t value, size_t count) {
  constexpr size_t kMostWords = 16 << 10;
  const std::vector<uint32_t> words(std::min(count, kMostWords), value);
  auto* const to = static_cast<uint32_t*>(destination);
  for (size_t at = 0; at < count; at += words.size()) {
    const size_t part = std::min(words.size(), count - at);
    const Status status = copy(to + at, words.data(), part * sizeof value);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

}  // namespace rigel
