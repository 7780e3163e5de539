// What the kernel tells this process: that a device has signalled, that a GPU could not reach memory, that
// hardware has failed.
//
// A thread of its own waits for faults and for alarms, always, and is the only one that does. That devices have
// changed signals is waited for by whoever has the duty (event_duty.hpp): a thread that sleeps until one changes, or
// this thread, or nobody while nobody sleeps, because to be woken costs more than many a kernel does. With two waiters
// on an event that resets itself, one could take the other's wake-up; so each event has one at most.
//
// The thread starts with `start`, when the first queue is made, and ends with the object. Callbacks run without a lock
// and may do what the runtime's threads may, but not end this object.
#pragma once

#include <hsa_plugin/kfd_abi.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>

#include "api/support/mutex.hpp"
#include "core/base/status.hpp"
#include "core/driver/kfd.hpp"
#include "core/signal/signal_pool.hpp"

namespace rigel {

class KfdEvents {
 public:
  struct Callbacks {
    /// A device has stored to the mailbox and interrupted, perhaps more than once. By the thread that has the duty.
    std::function<void()> signalled;
    // The others by the thread of this object.
    std::function<void()> alarmed;
    std::function<void(const kfd_memory_exception&)> memory_fault;
    std::function<void(const kfd_hw_exception&)> hardware_failed;
  };

  /// Makes the page of mailboxes, which every GPU of the connection reaches, and the events.
  static Result<std::unique_ptr<KfdEvents>> create(Kfd& kfd, Callbacks callbacks);
  ~KfdEvents();
  KfdEvents(const KfdEvents&) = delete;
  KfdEvents& operator=(const KfdEvents&) = delete;

  /// By which devices say that they have changed a signal.
  signal_pool::Interrupt usual() const { return {mailbox_of(signal_event_), signal_event_}; }
  /// The same, for what is rare and always listened to.
  signal_pool::Interrupt alarm() const { return {mailbox_of(alarm_event_), alarm_event_}; }

  /// Starts the thread, if it does not run yet, and the waiting for signals. OUT_OF_RESOURCES if there is no thread to
  /// be had.
  Status start();
  /// Ends both: no callback runs any more. Once, before what they use goes.
  void stop();

  // For who has the duty.

  /// Waits until a device signals, or until interrupt_leader(). False if that cannot be waited for.
  bool wait_for_signals() noexcept;
  void tell_of_signals() const { callbacks_.signalled(); }
  /// Ends one wait, this one or the next one: of the thread that leads, and of the thread of this object.
  void interrupt_leader() noexcept { set(leader_event_); }
  void interrupt_thread() noexcept { set(thread_event_); }

 private:
  KfdEvents(Kfd& kfd, Callbacks callbacks) : kfd_(kfd), callbacks_(std::move(callbacks)) {}
  void work();
  void set(uint32_t event) noexcept;
  /// Returns at times though nothing has happened, as while the kernel has no memory to wait with. False if nothing
  /// ever will; the reason is in the log then.
  bool wait(std::span<kfd_event_data> events) noexcept;

  Kfd& kfd_;
  const Callbacks callbacks_;
  uint64_t mailbox_of(uint32_t event) const { return mailboxes_ + uint64_t{event} * 8; }

  uint64_t mailboxes_ = 0;
  uint32_t signal_event_ = 0;
  uint32_t alarm_event_ = 0;
  uint32_t memory_event_ = 0;
  uint32_t hardware_event_ = 0;
  uint32_t thread_event_ = 0;  // for the thread, from this process
  uint32_t leader_event_ = 0;  // for the thread that leads

  Mutex mutex_;
  std::thread thread_ RIGEL_GUARDED_BY(mutex_);
  std::atomic<bool> stopping_{false};
};

}  // namespace rigel
