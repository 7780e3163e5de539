// Read and write index of an AQL queue.
//
// hsa_queue_t is the first member of amd_queue_t (<hsa/amd_hsa_queue.h>), whose indices the packet processor
// reads and writes. Indices only grow; the slot in the ring is the index modulo the size. The API's queue
// pointers are const, but the indices are writable.
//
// *Threads:* any thread.
// *Memory order:* that of the named operation.
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
