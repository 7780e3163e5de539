// A user-mode queue of AQL packets that the GPU's command processor consumes.
//
// Made and ended by any thread, not both at once for one queue. What runs beside is the handler of its
// inactive signal, on a thread of the runtime: by that signal the processor asks for scratch memory and says
// why it has stopped; or the driver says it, by a signal of its own, where it reports exceptions. The handler
// has ended when the destructor returns.
//
// Order: the processor is stopped (DESTROY_QUEUE waits for it) before any memory of the queue is given back.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <hsa/amd_hsa_queue.h>

#include "api/support/mutex.hpp"
#include "backends/common/aql_ring.hpp"
#include "backends/common/gpu_device.hpp"
#include "backends/common/scratch_need.hpp"

namespace rigel::gfx {

class DispatchQueue {
 public:
  /// `when_stopped` is told of an error instead of the runtime, on the thread that stops the queue, which may
  /// be one of the handler's: it must not destroy the queue.
  static hsabe_status_t create(Device& device, const hsabe_queue_desc_t& desc, hsabe_queue_info_t* info,
                               std::function<void(hsa_status_t)> when_stopped = {});
  ~DispatchQueue();
  DispatchQueue(const DispatchQueue&) = delete;
  DispatchQueue& operator=(const DispatchQueue&) = delete;

  const hsabe_host_t* host() const { return device_.host; }
  hsabe_status_t inactivate();
  hsabe_status_t set_profiling(bool enabled);
  hsabe_status_t set_priority(uint32_t priority);
  hsabe_status_t set_cu_mask(uint32_t bits, const uint32_t* mask);
  /// Stops it and tells the program of an error, once. Any thread.
  void stop_with(hsa_status_t status);
  /// For ScratchKeeper. Takes back more than `more_than` bytes of scratch, if the queue runs nothing or has been
  /// stopped: whether it did. Of a queue that runs something, the next dispatch gives it back when it ends.
  bool give_up_scratch(uint64_t more_than);
  uint64_t scratch_bytes() const;
  /// The same, without what it keeps until it is destroyed, as the driver does not take it off the device.
  uint64_t returnable_scratch() const;
  /// Serves the processor, which waits for scratch: whether that is settled. Not by two threads at once.
  bool retry_scratch();
  /// Whether it has been stopped, by the program or by an error.
  bool stopped() const {
    const MutexLock lock(mutex_);
    return stopped_;
  }

 private:
  DispatchQueue(Device& device, uint64_t cookie, std::function<void(hsa_status_t)> when_stopped)
      : device_(device), cookie_(cookie), when_stopped_(std::move(when_stopped)) {}
  hsabe_status_t start(const hsabe_queue_desc_t& desc, void** doorbell);
  void fill_in(const hsabe_queue_desc_t& desc);
  void take_hint(uint32_t private_bytes);
  /// Whether the driver can be told of anything but its end.
  bool can_be_updated() const;
  hsabe_status_t update(uint32_t percentage) RIGEL_REQUIRES(mutex_);
  static bool on_inactive(hsa_signal_value_t value, void* self);
  static bool on_exceptions(hsa_signal_value_t bits, void* self);
  /// Until there are others than those that have been seen.
  hsabe_status_t watch_exceptions(hsa_signal_value_t seen);
  bool serve(uint64_t reason);
  /// kLater: other queues have it all. kNever: there is not enough, however few waves may run at a time.
  enum class Scratch { kGiven, kLater, kNever };
  Scratch give_scratch(const ScratchDispatch& dispatch);
  /// To the packet that the processor is at.
  Scratch give_scratch_to_current(uint32_t lanes);
  /// Tells tools of something that happens to the queue's scratch, for as long as it lives.
  class ScratchEvent;
  /// What the packet that the processor is at needs.
  ScratchDispatch current_dispatch(uint32_t lanes) const;
  /// Whether packets are under way. Its waves may still run when not.
  bool has_packets() const;
  /// Of a queue that the driver has taken off the device.
  bool has_waves() const;
  void drop_scratch() RIGEL_REQUIRES(mutex_);
  bool take_idle_scratch(uint64_t more_than);
  void put_scratch(uint64_t wave_bytes, uint64_t bytes, uint32_t lanes, bool once) RIGEL_REQUIRES(mutex_);
  /// The packet that the processor is at.
  uint64_t current_index() const;
  const hsa_kernel_dispatch_packet_t& current_packet() const;
  /// Has it release to the system when it ends.
  void release_current_packet();

  Device& device_;
  const uint64_t cookie_;
  const std::function<void(hsa_status_t)> when_stopped_;
  QueueMemory memory_;
  amd_queue_t* queue_ = nullptr;  // in memory_.control
  uint64_t inactive_ = 0;         // signal
  uint64_t exceptions_ = 0;       // signal; 0: the driver reports none
  uint32_t queue_id_ = 0;
  bool created_ = false;
  AqlRing ring_;

  // Of the waves that wait for scratch. The handler stores it before it asks the keeper for another try.
  uint32_t asked_lanes_ = 0;

  mutable Mutex mutex_;  // of what follows, and the driver's idea of the queue
  uint32_t priority_ RIGEL_GUARDED_BY(mutex_) = 0;
  bool stopped_ RIGEL_GUARDED_BY(mutex_) = false;
  bool error_told_ RIGEL_GUARDED_BY(mutex_) = false;
  bool ending_ RIGEL_GUARDED_BY(mutex_) = false;  // the driver's queue and the inactive signal may be no more
  bool stays_on_device_ RIGEL_GUARDED_BY(mutex_) = false;  // the driver last refused to take it off
  Block scratch_ RIGEL_GUARDED_BY(mutex_);
  uint32_t scratch_waves_ RIGEL_GUARDED_BY(mutex_) = 0;  // that it is enough for at a time
};

}  // namespace rigel::gfx
