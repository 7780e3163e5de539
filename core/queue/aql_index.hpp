// The read and write index of an AQL queue: the hot half of the queue API.
//
// hsa_queue_t is the first member of amd_queue_t (<hsa/amd_hsa_queue.h>), whose indices are what the packet
// processor reads and writes. They only grow; the ring's slot is index modulo size. Any thread; the order is
// that of the named operation. The API takes const queues: the structure is const to its users, the indices
// behind it are not.
#pragma once

#include <hsa/amd_hsa_queue.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rigel {

static_assert(offsetof(amd_queue_t, hsa_queue) == 0);

inline std::atomic_ref<uint64_t> write_index(const hsa_queue_t* queue) noexcept {
  auto* amd_queue = reinterpret_cast<amd_queue_t*>(const_cast<hsa_queue_t*>(queue));
  return std::atomic_ref<uint64_t>(const_cast<uint64_t&>(amd_queue->write_dispatch_id));
}

inline std::atomic_ref<uint64_t> read_index(const hsa_queue_t* queue) noexcept {
  auto* amd_queue = reinterpret_cast<amd_queue_t*>(const_cast<hsa_queue_t*>(queue));
  return std::atomic_ref<uint64_t>(const_cast<uint64_t&>(amd_queue->read_dispatch_id));
}

}  // namespace rigel
