// Queues and packets, submitted according to the manual.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <cstring>

#include "support/kernels.hpp"
#include "support/status.hpp"

namespace conformance {

/// The calls of a queue's error callback, with the arguments of the last one.
struct QueueErrors {
  std::atomic<int> count = 0;
  std::atomic<hsa_status_t> status = HSA_STATUS_SUCCESS;
  std::atomic<hsa_queue_t*> queue = nullptr;

  static void callback(hsa_status_t status, hsa_queue_t* queue, void* data) {
    auto& self = *static_cast<QueueErrors*>(data);
    self.status = status;
    self.queue = queue;
    ++self.count;
  }
};

/// A queue that is destroyed with the test. Records its errors.
class ScopedQueue {
 public:
  ScopedQueue() = default;
  ~ScopedQueue() { destroy(); }
  ScopedQueue(const ScopedQueue&) = delete;
  ScopedQueue& operator=(const ScopedQueue&) = delete;

  /// Fails the test on errors; get() is null then.
  void create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type = HSA_QUEUE_TYPE_MULTI) {
    EXPECT_HSA(hsa_queue_create(agent, size, type, QueueErrors::callback, &errors_, UINT32_MAX, UINT32_MAX,
                                &queue_));
  }
  void destroy() {
    if (queue_ == nullptr) return;
    EXPECT_HSA(hsa_queue_destroy(queue_));
    queue_ = nullptr;
  }

  hsa_queue_t* get() const { return queue_; }
  const QueueErrors& errors() const { return errors_; }

 private:
  hsa_queue_t* queue_ = nullptr;
  QueueErrors errors_;
};

constexpr uint16_t packet_header(int type, bool barrier = false,
                                 hsa_fence_scope_t acquire = HSA_FENCE_SCOPE_SYSTEM,
                                 hsa_fence_scope_t release = HSA_FENCE_SCOPE_SYSTEM) {
  return static_cast<uint16_t>(type << HSA_PACKET_HEADER_TYPE |
                               (barrier ? 1 : 0) << HSA_PACKET_HEADER_BARRIER |
                               acquire << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                               release << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
}

/// Reserves a slot, waits until it is free and writes the packet. Returns the packet's index. *Threads:* any,
/// for queues of type MULTI.
template <class Packet>
uint64_t put(hsa_queue_t* queue, const Packet& packet) {
  static_assert(sizeof(Packet) == 64);
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) {
  }
  char* const slot = static_cast<char*>(queue->base_address) + 64 * (index % queue->size);
  std::memcpy(slot + 4, reinterpret_cast<const char*>(&packet) + 4, 60);
  uint32_t first = 0;
  std::memcpy(&first, &packet, 4);
  std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(slot)).store(first, std::memory_order_release);
  return index;
}

/// put(), then rings the doorbell.
template <class Packet>
uint64_t submit(hsa_queue_t* queue, const Packet& packet) {
  const uint64_t index = put(queue, packet);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  return index;
}

/// Returns a packet for `kernel` with system-scope fences, one dimension and no completion signal.
hsa_kernel_dispatch_packet_t dispatch_packet(const Kernel& kernel, void* kernarg, uint32_t grid,
                                             uint16_t group);

hsa_barrier_and_packet_t barrier_packet(int type, hsa_signal_t completion = {0}, bool barrier = false);

}  // namespace conformance
