// A queue: a ring of packets in memory that every agent can write, and the thread that processes them.
//
// *Threads:* the runtime calls create, destroy, inactivate and the setters, without overlap for one queue.
// Everything else runs on the queue's thread.
// *Memory order:* packets are processed completely one after the other, so the barrier bit has no effect. A
// packet is copied and its slot released (header INVALID, then the read index, both with release) before it
// runs. All writes of a packet are visible to a thread that sees its completion signal change.
//
// An idle thread polls the next packet's header while that pays (Patience), and then sleeps on the doorbell.
// Before it sleeps, it marks the doorbell (kAsleep), so that any value of a producer is a change, for any
// order of several producers.
//
// *Errors:* an invalid packet stops the queue. The thread reports the reason to the runtime and waits until
// the queue is destroyed. The packet stays in the ring, and the read index stays at it.
#pragma once

#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>

#include <hsa_backend/hsa_backend.hpp>

#include "backends/cpu/device.hpp"
#include "backends/cpu/packet_grid.hpp"

namespace rigel::cpu {

class Queue {
 public:
  /// Starts the queue and describes it in *info.
  static hsabe_status_t create(Device& device, const hsabe_queue_desc_t& desc, hsabe_queue_info_t* info);
  /// Waits for running work-groups, drops the others, and frees everything.
  ~Queue();

  void inactivate() noexcept;
  void set_profiling(bool enabled) noexcept;
  void set_priority(uint32_t priority) noexcept { priority_.store(priority, std::memory_order_relaxed); }

 private:
  // Result of a packet.
  struct Outcome {
    hsa_status_t status = HSA_STATUS_SUCCESS;
    bool stopped = false;  // the queue was stopped during the packet
  };

  // A packet as each of its types. Copied from the ring before it runs.
  union Packet {
    uint16_t header;
    hsa_amd_vendor_packet_header_t vendor;
    hsa_amd_barrier_value_packet_t barrier_value;
    hsa_kernel_dispatch_packet_t kernel;
    hsa_agent_dispatch_packet_t agent;
    hsa_barrier_and_packet_t barrier_and;
    hsa_barrier_or_packet_t barrier_or;
  };
  static_assert(sizeof(Packet) == 64);

  Queue(Device& device, const hsabe_queue_desc_t& desc) noexcept;
  hsabe_status_t start(const hsabe_queue_desc_t& desc);

  void main() noexcept;
  bool wait_for_packet(const uint16_t* header) noexcept;
  Outcome process(const Packet& packet, uint64_t index) noexcept;
  void release_slot(uint64_t index) noexcept;
  uint64_t start_time() const noexcept;
  void complete(hsa_signal_t signal, uint64_t begin) noexcept;

  Outcome dispatch_kernel(const hsa_kernel_dispatch_packet_t& packet, uint64_t index) noexcept;
  Outcome dispatch_agent_function(const hsa_agent_dispatch_packet_t& packet, uint64_t index) noexcept;
  Outcome barrier(const hsa_signal_t (&signals)[5], bool all, hsa_signal_t completion,
                  uint64_t index) noexcept;
  Outcome barrier_value(const hsa_amd_barrier_value_packet_t& packet, uint64_t index) noexcept;

  bool is_stopping() const noexcept { return stopping_.load(std::memory_order_relaxed); }

  Device& device_;
  const uint64_t cookie_;
  void* memory_ = nullptr;  // the ring, followed by the amd_queue_t
  Packet* ring_ = nullptr;
  amd_queue_v2_t* amd_queue_ = nullptr;
  uint64_t mask_ = 0;  // packets - 1
  uint64_t doorbell_ = 0;
  uint64_t stop_signal_ = 0;  // not 0 once the queue must stop; wakes the thread from any wait
  pthread_t thread_{};
  bool running_ = false;
  std::atomic<bool> stopping_{false};
  std::atomic<uint32_t> priority_{HSABE_PRIORITY_NORMAL};

  // Owned by the queue's thread:
  Patience patience_;  // state of the wait for the next packet
  KernelCache kernels_;
  Worker worker_;
};

}  // namespace rigel::cpu
