// Events of the kernel for this process: signals of devices, memory faults of GPUs, and hardware errors.
//
// *Threads:* a dedicated thread always waits for faults and exceptions, and is the only one that does. The
// thread that has the duty (event_duty.hpp) waits for all other signals of devices. This can be a sleeping
// thread of the program, the dedicated thread, or none, because a wake-up costs more than many kernels. Each
// event has at most one waiter: it resets itself, so one of two waiters could take the other's wake-up.
// Callbacks run without a lock, may call the runtime, and must not destroy this object.
// *Lifetime:* the thread starts with `start`, when the first queue is created, and ends with the object.
#pragma once

#include <hsa_plugin/kfd_abi.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"
#include "core/driver/kfd.hpp"
#include "core/signal/signal_pool.hpp"

namespace rigel {

class KfdEvents {
 public:
  struct Callbacks {
    /// A device has stored to the mailbox and interrupted, perhaps more than once. Called by the thread with
    /// the duty.
    std::function<void()> signalled;
    // Called by the thread of this object:
    std::function<void()> exception_signalled;
    std::function<void(const kfd_memory_exception&)> memory_fault;
    std::function<void(const kfd_hw_exception&)> hardware_failed;
  };

  /// Creates the page of mailboxes, which every GPU of the connection can access, and the events.
  static Result<std::unique_ptr<KfdEvents>> create(Kfd& kfd, Callbacks callbacks);
  ~KfdEvents();
  KfdEvents(const KfdEvents&) = delete;
  KfdEvents& operator=(const KfdEvents&) = delete;

  /// Interrupt by which devices announce changed signals.
  signal_pool::Interrupt usual() const { return {mailbox_of(signal_event_), signal_event_}; }
  /// Interrupt for exception signals, which change rarely and always have a waiter.
  signal_pool::Interrupt exception() const { return {mailbox_of(exception_event_), exception_event_}; }

  /// Starts the thread, if it does not run, and the waiting for signals. Returns OUT_OF_RESOURCES without a
  /// thread.
  Status start();
  /// Ends both. No callback runs afterwards. Call once, before the callbacks' data is destroyed.
  void stop();

  // For the thread that has the duty:

  /// Waits until a device signals or until interrupt_leader(). Returns false if waiting is impossible.
  bool wait_for_signals() noexcept;
  void notify_waiters() const { callbacks_.signalled(); }
  /// Ends the current or the next wait of the leading thread (interrupt_thread: of this object's thread).
  void interrupt_leader() noexcept { set(leader_event_); }
  void interrupt_thread() noexcept { set(thread_event_); }

 private:
  KfdEvents(Kfd& kfd, Callbacks callbacks) : kfd_(kfd), callbacks_(std::move(callbacks)) {}
  void work();
  void set(uint32_t event) noexcept;
  /// May return spuriously, for example when the kernel is out of memory. Returns false if waiting is
  /// impossible, and logs the reason.
  bool wait(std::span<kfd_event_data> events) noexcept;

  Kfd& kfd_;
  const Callbacks callbacks_;
  uint64_t mailbox_of(uint32_t event) const { return mailboxes_ + uint64_t{event} * 8; }

  uint64_t mailboxes_ = 0;
  uint32_t signal_event_ = 0;
  uint32_t exception_event_ = 0;
  uint32_t memory_event_ = 0;
  uint32_t hardware_event_ = 0;
  uint32_t thread_event_ = 0;  // event that interrupt_thread sets
  uint32_t leader_event_ = 0;  // event that interrupt_leader sets

  Mutex mutex_;
  std::thread thread_ RIGEL_GUARDED_BY(mutex_);
  std::atomic<bool> stopping_{false};
};

}  // namespace rigel
