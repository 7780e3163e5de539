// A backend's own queue, for blit kernels and for PM4 without an AQL equivalent.
//
// *Threads:* any thread may submit. The slots of one submission are contiguous in the ring, and are submitted
// to the processor together. Arguments and PM4 of slots are in a block next to the ring, with a place for
// each slot, and are reused when the ring has gone round.
// *Memory order:* a slot's body and its arguments are written before its first dword (release), and all
// before the doorbell. A place is reused only after an acquire load of a read index beyond its slot. For
// kernels that is not sufficient, because the index passes them when they start. There are therefore places
// for kLaps laps, and kernels without the barrier bit must not be in flight for longer. With kLaps laps of
// slots in between, each with the barrier bit every kBarrierEvery slots, none can be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "api/support/mutex.hpp"
#include "backends/common/dispatch_queue.hpp"
#include "backends/common/doorbell.hpp"
#include "backends/common/generation.hpp"

namespace rigel::gfx {

class ServiceQueue {
 public:
  static constexpr uint32_t kPackets = 1024;
  static constexpr size_t kArgumentBytes = 128;
  static constexpr size_t kSlotsMax = kPackets / 2;

  /// `stopped(status)` is called once if the processor stops the queue, on a thread of the runtime, and must
  /// not destroy the queue.
  using Stopped = std::function<void(hsa_status_t)>;
  static hsabe_status_t create(Device& device, Stopped stopped, std::shared_ptr<ServiceQueue>& out);
  ~ServiceQueue();
  ServiceQueue(const ServiceQueue&) = delete;

  /// A slot of a submission, which `fill` writes. `place` is memory for its arguments or its PM4.
  struct Entry {
    size_t number;
    pm4::Slot& slot;
    std::byte* place;
  };
  /// Waits for room, calls `fill` for each slot, and rings. Returns HSA_STATUS_ERROR if the queue has failed.
  /// `end`, if not null, receives the index after the last slot.
  hsabe_status_t submit(size_t slots, const std::function<void(Entry)>& fill, uint64_t* end = nullptr) {
    return submit(slots, false, fill, end);
  }
  /// Whether `slots` slots need no wait; true if the queue has failed.
  bool has_room(size_t slots) const;
  /// Returns the index after the last slot that the processor has started.
  uint64_t read_index() const;
  /// A slot is complete when the read index is this far beyond it, because of barrier bits.
  static constexpr uint64_t kLag = 192;

  /// Runs up to kArgumentBytes of PM4 and waits for its end. With `only_if_idle`, sets *busy without an
  /// effect if the processor has not started all earlier slots: one of them may wait for the program.
  hsabe_status_t run_pm4(std::span<const uint32_t> words, bool only_if_idle, bool* busy);

  /// Whether the processor has started everything.
  bool idle() const;
  bool failed() const;
  /// Stops the processor without a report.
  void stop() { queue_->inactivate(); }

 private:
  explicit ServiceQueue(Device& device) : device_(device) {}
  hsabe_status_t submit(size_t slots, bool only_if_idle, const std::function<void(Entry)>& fill,
                        uint64_t* end);
  hsabe_status_t wait_for_read(uint64_t index) const;

  Device& device_;
  uint64_t doorbell_signal_ = 0;
  std::unique_ptr<DispatchQueue> queue_;
  amd_queue_t* amd_ = nullptr;
  Doorbell doorbell_;
  Block places_;

  mutable Mutex mutex_;  // guards the following members and the ring
  uint64_t next_ RIGEL_GUARDED_BY(mutex_) = 0;
};

}  // namespace rigel::gfx
