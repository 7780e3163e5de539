// What the kernel tells this process: that a device has signalled, that a GPU could not reach memory, that
// hardware has failed.
//
// One thread waits for all of it, and is the only one that ever waits in the kernel's events. With two
// waiters on an event that resets itself, one could take the other's wake-up; here there is no other. Whoever
// waits for a signal sleeps on the signal, and this thread wakes it (device_signals.hpp).
//
// A wake-up of this thread costs more than many a kernel does, and threads that spin on a signal don't need it.
// So while no thread sleeps on a signal of a device, this thread waits for faults and alarms only, until listen()
// says that one is about to. The event stays set meanwhile, so that changes which were signalled before are seen
// then.
//
// The thread starts with `start`, when the first queue is made, and ends with the object. Its callbacks run
// on it, one at a time, without a lock; they may do what the runtime's threads may, but not end this object.
#pragma once

#include <hsa_plugin/kfd_abi.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "api/support/mutex.hpp"
#include "core/base/status.hpp"
#include "core/driver/kfd.hpp"
#include "core/signal/signal_pool.hpp"

namespace rigel {

class KfdEvents {
 public:
  struct Callbacks {
    /// A device has stored to the mailbox and interrupted, perhaps more than once.
    std::function<void()> signalled;
    /// Whether anybody sleeps until a device signals, and has called listen() or will. Null: always.
    std::function<bool()> anyone_waits;
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

  /// Somebody is about to sleep until a device signals, and anyone_waits() is true from before this call on.
  /// Any thread, while the object lives; a system call if the thread has to be told.
  void listen() noexcept;

  /// Starts the thread, if it does not run yet. OUT_OF_RESOURCES if there is none to be had.
  Status start();
  /// Ends the thread: no callback runs any more. Once, before what they use goes.
  void stop();

 private:
  KfdEvents(Kfd& kfd, Callbacks callbacks) : kfd_(kfd), callbacks_(std::move(callbacks)) {}
  Result<uint32_t> create_event(uint32_t type, uint64_t page_handle);
  void work();
  void keep_listening();
  void interrupt_thread() noexcept;

  Kfd& kfd_;
  const Callbacks callbacks_;
  uint64_t mailbox_of(uint32_t event) const { return mailboxes_ + uint64_t{event} * 8; }

  uint64_t mailboxes_ = 0;
  uint32_t signal_event_ = 0;
  uint32_t alarm_event_ = 0;
  uint32_t memory_event_ = 0;
  uint32_t hardware_event_ = 0;
  uint32_t control_event_ = 0;  // for the thread, from this process

  std::atomic<bool> listening_{true};  // the thread waits for signal_event_ or will

  Mutex mutex_;
  std::thread thread_ RIGEL_GUARDED_BY(mutex_);
  std::atomic<bool> stopping_{false};
};

}  // namespace rigel
