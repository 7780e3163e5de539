// A user-mode queue of AQL packets that the GPU's command processor consumes.
//
// *Threads:* any thread creates and destroys it, without overlap for one queue. The handler of its inactive
// signal runs concurrently on a thread of the runtime. By that signal the processor requests scratch memory
// and reports why it has stopped. If the driver reports exceptions, it uses another signal. The handler has
// ended when the destructor returns.
// *Memory order:* the processor is stopped (DESTROY_QUEUE waits for it) before any memory of the queue is
// released.
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
  /// `when_stopped` receives an error instead of the runtime, on the thread that stops the queue, which may
  /// be a handler's: it must not destroy the queue.
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
  /// Stops the queue and reports an error to the program, once. Any thread.
  void stop_with(hsa_status_t status);
  /// For ScratchKeeper. Reclaims more than `more_than` bytes of scratch if the queue is idle or stopped, and
  /// returns whether it did. Otherwise the current dispatch releases the scratch at its end.
  bool give_up_scratch(uint64_t more_than);
  /// Returns the size of the queue's scratch.
  uint64_t scratch_bytes() const;
  /// Returns the size of the scratch that can be released before the queue is destroyed. If the driver does
  /// not remove the queue from the device, only scratch for a single dispatch can.
  uint64_t returnable_scratch() const;
  /// Serves the processor, which waits for scratch. Returns whether that is settled. Calls must not overlap.
  bool retry_scratch();
  /// Whether it has been stopped by the program or an error.
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
  /// Whether the driver accepts changes of the queue other than its destruction.
  bool can_be_updated() const;
  hsabe_status_t update(uint32_t percentage) RIGEL_REQUIRES(mutex_);
  static bool on_inactive(hsa_signal_value_t value, void* self);
  static bool on_exceptions(hsa_signal_value_t bits, void* self);
  hsabe_status_t watch_exceptions(hsa_signal_value_t seen);
  bool serve(uint64_t reason);
  /// kLater: other queues have all scratch. kNever: there is not enough, even for the minimum number of
  /// waves.
  enum class Scratch { kGiven, kLater, kNever };
  Scratch give_scratch(const ScratchDispatch& dispatch);
  /// For the current packet of the processor.
  Scratch give_scratch_to_current(uint32_t lanes);
  /// RAII: reports the start and the end of an event of the queue's scratch to tools.
  class ScratchEvent;
  ScratchDispatch current_dispatch(uint32_t lanes) const;
  /// Whether packets are in progress. If not, their waves may still run.
  bool has_packets() const;
  /// For a queue that the driver has removed from the device.
  bool has_waves() const;
  void drop_scratch() RIGEL_REQUIRES(mutex_);
  bool take_idle_scratch(uint64_t more_than);
  void put_scratch(uint64_t wave_bytes, uint64_t bytes, uint32_t lanes, bool once) RIGEL_REQUIRES(mutex_);
  uint64_t current_index() const;
  const hsa_kernel_dispatch_packet_t& current_packet() const;
  /// Makes it release to the system at its end.
  void release_current_packet();

  Device& device_;
  const uint64_t cookie_;
  const std::function<void(hsa_status_t)> when_stopped_;
  QueueMemory memory_;
  amd_queue_t* queue_ = nullptr;  // points into memory_.control
  uint64_t inactive_ = 0;         // handle of the inactive signal
  uint64_t exceptions_ = 0;       // handle of their signal; 0: the driver does not report exceptions
  uint32_t queue_id_ = 0;
  bool created_ = false;
  AqlRing ring_;

  // For the waves that wait for scratch. The handler stores it before it requests another attempt.
  uint32_t asked_lanes_ = 0;

  mutable Mutex mutex_;  // guards the following members and the driver's state of the queue
  uint32_t priority_ RIGEL_GUARDED_BY(mutex_) = 0;
  bool stopped_ RIGEL_GUARDED_BY(mutex_) = false;
  bool error_told_ RIGEL_GUARDED_BY(mutex_) = false;
  // the driver's queue and the inactive signal may be destroyed
  bool ending_ RIGEL_GUARDED_BY(mutex_) = false;
  bool stays_on_device_ RIGEL_GUARDED_BY(mutex_) = false;  // the driver last failed to remove it
  Block scratch_ RIGEL_GUARDED_BY(mutex_);
  uint32_t scratch_waves_ RIGEL_GUARDED_BY(mutex_) = 0;  // number of waves that the scratch is sufficient for
};

}  // namespace rigel::gfx
