// A queue: a ring of packets in memory that every agent can write, and the thread that processes them.
//
// create, destroy, inactivate and the setters come from the runtime, for one queue never two at once.
// Everything else happens on the queue's own thread.
//
// Order: packets are processed one after the other, each to its end, so the barrier bit has nothing left to
// do. A packet is copied and its slot given back (header INVALID, then the read index, both with release)
// before it is run. All that a packet wrote is visible to whoever sees its completion signal change.
//
// When there is nothing to do the thread looks at the next packet's header for a short while, as long as that
// pays (Patience), and then sleeps on the doorbell. Before it does it marks the doorbell (kAsleep), so that
// any value which a producer writes is a change, whatever the order in which several producers ring.
//
// A packet that is wrong stops the queue: the thread tells the runtime why, leaves the packet in the ring,
// with the read index on it, and waits for destroy.
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
  /// Waits for the work-groups that are running, drops the rest, and frees everything.
  ~Queue();

  void inactivate() noexcept;
  void set_profiling(bool enabled) noexcept;
  void set_priority(uint32_t priority) noexcept { priority_.store(priority, std::memory_order_relaxed); }

 private:
  // What became of a packet.
  struct Outcome {
    hsa_status_t status = HSA_STATUS_SUCCESS;
    bool stopped = false;  // the queue was told to stop while the packet was being processed
  };

  // A packet seen as each of its types. Copied out of the ring before it is run.
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
  void* memory_ = nullptr;  // the ring, and behind it the amd_queue_t
  Packet* ring_ = nullptr;
  amd_queue_v2_t* amd_queue_ = nullptr;
  uint64_t mask_ = 0;  // packets - 1
  uint64_t doorbell_ = 0;
  uint64_t stop_signal_ = 0;  // not 0 once the queue is to stop; wakes the thread from any wait
  pthread_t thread_{};
  bool running_ = false;
  std::atomic<bool> stopping_{false};
  std::atomic<uint32_t> priority_{HSABE_PRIORITY_NORMAL};

  // The thread's own.
  Patience patience_;  // for the next packet
  KernelCache kernels_;
  Worker worker_;
};

}  // namespace rigel::cpu
