// A queue that a backend keeps for itself, for blit kernels and for PM4 that no AQL packet expresses.
//
// Any thread may submit. The slots of one submission lie together in the ring, in order, and are handed to the
// processor in one go. Arguments and PM4 that slots refer to live in a block beside the ring, a place for
// each slot, and are free again when the ring has gone round.
//
// Order: a slot's body and its arguments are written before its first dword (release), and all before the
// doorbell. A place is written again only after an acquire load of the read index that is past its slot; for
// kernels that is not enough, as the index passes them when they begin: places are as many as kLaps laps, and
// who submits a kernel without the barrier bit must not have more than that in flight. With kLaps laps of
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
  static constexpr size_t kPlaceBytes = 128;
  /// What one submission can have.
  static constexpr size_t kSlotsMax = kPackets / 2;

  /// `stopped(status)` is called once if the processor stops the queue, on a thread of the runtime, which may
  /// not destroy the queue.
  using Stopped = std::function<void(hsa_status_t)>;
  static hsabe_status_t create(Device& device, Stopped stopped, std::shared_ptr<ServiceQueue>& out);
  ~ServiceQueue();
  ServiceQueue(const ServiceQueue&) = delete;

  /// One slot of a submission, to be filled in. `place` is memory for its arguments or its PM4.
  struct Entry {
    size_t number;
    pm4::Slot& slot;
    std::byte* place;
  };
  /// Waits for room, calls `fill` for each slot, and rings. HSA_STATUS_ERROR if the queue has failed. `end`,
  /// if not null, is set to the index behind the last slot.
  hsabe_status_t submit(size_t slots, const std::function<void(Entry)>& fill, uint64_t* end = nullptr) {
    return submit(slots, false, fill, end);
  }
  /// Whether so many slots would not have to wait; true if the queue has failed.
  bool has_room(size_t slots) const;
  /// The index behind the last slot that the processor has begun with.
  uint64_t read_index() const;
  /// When the read index is this far behind a slot, the slot is done: barrier bits see to it.
  static constexpr uint64_t kLag = 192;

  /// Runs up to kPlaceBytes of PM4 and returns when it has run. With `only_if_idle` nothing happens and
  /// *busy is set if the processor has not taken everything before: something there may wait for the program.
  hsabe_status_t run_pm4(std::span<const uint32_t> words, bool only_if_idle, bool* busy);

  /// Whether everything has been taken from the ring.
  bool idle() const;
  bool failed() const;
  /// The processor takes nothing more from it, and nobody is told.
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

  mutable Mutex mutex_;  // of what follows, and the ring
  uint64_t next_ RIGEL_GUARDED_BY(mutex_) = 0;
};

}  // namespace rigel::gfx
