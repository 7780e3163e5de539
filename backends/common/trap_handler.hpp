// The trap handler of one device, installed: its code and data, and the queues whose waves it speaks for.
//
// Made by open and ended by close. Queues are added before their first packet and removed when the processor
// has let go of them. On gfx8 most errors name no queue: all of them are stopped, on a thread of the runtime.
// The signal that such errors come by is made with the first queue: the runtime's devices see and announce no
// signals that are made while they are opened.
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
  /// Null if the chip cannot have one, or the driver takes none: errors of waves then hang their kernels.
  static std::unique_ptr<TrapHandler> install(Device& device);
  ~TrapHandler();
  TrapHandler(const TrapHandler&) = delete;

  /// What the runtime says if there is no signal to be had, or none to be watched.
  hsabe_status_t add(DispatchQueue& queue, amd_queue_t* amd_queue, uint64_t doorbell_offset);
  void remove(DispatchQueue& queue);

  /// A TrapData, or on gfx8 a TrapDataGfx8, whose signal is there from the first queue on.
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

  Mutex mutex_;                                         // of what follows, and what is in data_
  uint64_t unattributed_ RIGEL_GUARDED_BY(mutex_) = 0;  // signal, gfx8
  std::vector<Entry> queues_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel::gfx
