// Signals that devices change. They are in memory that every GPU can access. A GPU announces a change through
// the mailbox and event of the signal; `announce` notifies its waiters.
//
// *Lifetime:* signals keep their memory until the process ends (core/signal/signal_pool.hpp), while runtimes
// start and end. The slabs are therefore never released; each runtime pins them again.
//
// Signals with a mailbox and waiters are in a list. After an event, each of them is checked. A signal that is
// only polled is not in the list and costs nothing here. Each queue has *exception signals*
// (kSignalException), on which threads wait permanently. They have a separate event and list: otherwise a
// thread would always wait for the usual event.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "api/support/status.hpp"
#include "core/driver/kfd.hpp"
#include "core/signal/signal_pool.hpp"

namespace rigel {

class DeviceSignals {
 public:
  /// Makes signals accessible to the GPUs of `kfd` and gives them these interrupts. Only one object at a
  /// time.
  static Result<std::unique_ptr<DeviceSignals>> begin(Kfd& kfd, signal_pool::Interrupt usual,
                                                      signal_pool::Interrupt exception);
  /// Ends access by GPUs, whose queues must have ended.
  ~DeviceSignals();
  DeviceSignals(const DeviceSignals&) = delete;
  DeviceSignals& operator=(const DeviceSignals&) = delete;

  /// Whether a signal that devices announce by the usual event has waiters. Any thread.
  static bool anyone_waits() noexcept;

  /// Notifies waiters after a device has announced a change. One thread at a time.
  static void announce() noexcept;
  /// Notifies waiters of exception signals. One thread at a time, concurrently with announce().
  static void announce_exceptions() noexcept;

  /// In a forked child, while it has one thread.
  static void reset_after_fork() noexcept;

 private:
  explicit DeviceSignals(Kfd& kfd) : kfd_(kfd) {}
  static void* allocate_slab(void*) noexcept;
  Status pin_slab(void* slab);

  Kfd& kfd_;
  std::vector<uint64_t> handles_;  // handles of pinned slabs; guarded by the slabs' mutex
};

}  // namespace rigel
