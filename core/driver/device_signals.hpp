// Signals that devices change: they lie in memory that every GPU reaches, carry the mailbox and event by
// which a GPU says that it has changed one, and are announced to their waiters when it did.
//
// Signals keep their memory for the life of the process (core/signal/signal_pool.hpp), while a runtime with
// its GPUs comes and goes. So the slabs are this file's, for ever: each life of the runtime pins them anew.
//
// Announcing. Of the signals with a mailbox, those that somebody waits for are in a list. When an event
// comes, each of them is looked at. What is spun on is never in the list and costs nothing here. Signals that
// are kSignalAlarm, of which each queue has some that are waited for as long as it lives, have an event and a
// list of their own: nobody need listen to the usual event for their sake.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/base/status.hpp"
#include "core/driver/kfd.hpp"
#include "core/signal/signal_pool.hpp"

namespace rigel {

class DeviceSignals {
 public:
  /// From here on signals are seen by the GPUs of `kfd`, and carry these interrupts. One at a time.
  static Result<std::unique_ptr<DeviceSignals>> begin(Kfd& kfd, signal_pool::Interrupt usual,
                                                      signal_pool::Interrupt alarm);
  /// GPUs see signals no longer. Their queues have ended.
  ~DeviceSignals();
  DeviceSignals(const DeviceSignals&) = delete;
  DeviceSignals& operator=(const DeviceSignals&) = delete;

  /// Whether anybody waits for a signal that devices announce by the usual event. Any thread.
  static bool anyone_waits() noexcept;

  /// A device says that it has changed a signal: wakes whom it concerns. One thread at a time.
  static void announce() noexcept;
  /// The same for signals that are kSignalAlarm. One thread at a time, not necessarily the same.
  static void announce_alarms() noexcept;

  /// In a forked child, while it has one thread.
  static void reset_after_fork() noexcept;

 private:
  explicit DeviceSignals(Kfd& kfd) : kfd_(kfd) {}
  static void* allocate_slab(void*) noexcept;
  Status pin_slab(void* slab);

  Kfd& kfd_;
  std::vector<uint64_t> handles_;  // of pinned slabs, under the slabs' mutex
};

}  // namespace rigel
