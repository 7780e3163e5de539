// Signals and events of GPUs, and a test double of the device.
#pragma once

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <utility>

#include "core/driver/device_signals.hpp"
#include "core/driver/kfd_events.hpp"
#include "core/driver/testing/vgpu.hpp"
#include "core/signal/signal.hpp"

namespace rigel::testing {

class WakingDevice {
 public:
  /// `on_signalled` is called by the thread that takes an interrupt, before it notifies waiters.
  explicit WakingDevice(std::function<void()> on_signalled = [] {})
      : kfd_(open_vgpu("gfx900:vram=64M")), on_signalled_(std::move(on_signalled)) {
    auto events = KfdEvents::create(*kfd_, {.signalled =
                                                [this] {
                                                  on_signalled_();
                                                  DeviceSignals::announce();
                                                },
                                            .exception_signalled = DeviceSignals::announce_exceptions,
                                            .memory_fault = [](const kfd_memory_exception&) {},
                                            .hardware_failed = [](const kfd_hw_exception&) {}});
    if (!events) std::abort();
    events_ = std::move(*events);
    auto signals = DeviceSignals::begin(*kfd_, events_->usual(), events_->exception());
    if (!signals) std::abort();
    signals_ = std::move(*signals);
    if (events_->start() != HSA_STATUS_SUCCESS) std::abort();
  }
  ~WakingDevice() {
    stop();
    signals_.reset();
  }
  WakingDevice(const WakingDevice&) = delete;
  WakingDevice& operator=(const WakingDevice&) = delete;

  /// Ends events, as the end of the runtime does.
  void stop() { events_->stop(); }

  /// Changes a signal as a GPU does: value, mailbox, interrupt.
  void change(Signal& signal, int64_t value) const {
    const auto& interrupt = signal.has_attribute(kSignalException) ? events_->exception() : events_->usual();
    std::atomic_ref(const_cast<int64_t&>(signal.abi.value)).store(value);
    std::atomic_ref(*reinterpret_cast<uint64_t*>(interrupt.mailbox)).store(interrupt.event_id);
    raise(interrupt);
  }
  /// Raises an interrupt without a change.
  void interrupt() const { raise(events_->usual()); }

 private:
  void raise(const signal_pool::Interrupt& interrupt) const {
    kfd_event_ref event{interrupt.event_id, 0};
    kfd_->call(KFD_NR_SET_EVENT, event);
  }

  const std::unique_ptr<Kfd> kfd_;
  const std::function<void()> on_signalled_;
  std::unique_ptr<KfdEvents> events_;
  std::unique_ptr<DeviceSignals> signals_;
};

}  // namespace rigel::testing
