// The installed trap handler of one device: its code and data, and its queues.
//
// *Lifetime:* created by open and destroyed by close. Queues are added before their first packet and removed
// when the processor has stopped using them. On gfx8 most errors cannot be attributed to a queue: all queues
// are stopped, on a thread of the runtime. The signal for such errors is created with the first queue,
// because devices cannot access signals that are created while they are opened.
#pragma once

#include <memory>
#include <vector>

#include <hsa/hsa.h>

#include "api/support/mutex.hpp"
#include "backends/common/gpu_device.hpp"
#include "backends/common/trap.hpp"

namespace rigel::gfx {

class DispatchQueue;

class TrapHandler {
 public:
  /// Returns null if the chip or the driver does not support it: errors of waves then hang their kernels.
  static std::unique_ptr<TrapHandler> install(Device& device);
  ~TrapHandler();
  TrapHandler(const TrapHandler&) = delete;

  /// Returns the runtime's status if a signal cannot be created or watched.
  hsabe_status_t add(DispatchQueue& queue, amd_queue_t* amd_queue, uint64_t doorbell_offset);
  void remove(DispatchQueue& queue);

  /// A TrapData, or on gfx8 a TrapDataGfx8, whose signal exists from the first queue on.
  const void* data() const { return data_.data(); }

 private:
  explicit TrapHandler(Device& device) : device_(device) {}
  static bool on_unattributed(hsa_signal_value_t code, void* self);
  bool waves_know_queues() const;
  hsabe_status_t watch_unattributed() RIGEL_REQUIRES(mutex_);

  struct Entry {
    DispatchQueue* queue;
    uint32_t doorbell;
  };

  Device& device_;
  Block code_;
  Block data_;

  Mutex mutex_;  // guards the following members and the contents of data_
  uint64_t unattributed_ RIGEL_GUARDED_BY(mutex_) = 0;  // signal, gfx8
  std::vector<Entry> queues_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel::gfx
