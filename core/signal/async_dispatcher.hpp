// Asynchronous handlers: functions that are called when a signal's value satisfies a condition, one at a
// time, on one thread of the runtime's own.
//
// The thread starts at first use and sleeps while there is nothing to call. A handler is a node in its
// signal's list of waiters: the signaller that satisfies it puts it in the dispatcher's queue, and nothing is
// ever done for handlers whose signals have not changed, however many there are. (Handlers of kSignalSilent
// signals are the exception: their signals are looked at, at most once a millisecond.)
//
// Rules for handlers and posted functions
//   * One thread calls them, in the order in which they became due, and holds no lock meanwhile. They may do
//     whatever a program may, also create, destroy and wait for signals, register handlers, and stop the
//     dispatcher. A handler that waits for what only another handler does waits forever.
//   * A handler gets the value that satisfied its condition: the current value if it satisfies, or else the
//     value that did when the handler became due.
//   * A handler that returns true is armed again. If its condition still holds, the handler is due again at
//     once, behind all others that are due.
//   * When its signal is destroyed, a handler that is due, or whose condition holds, is called a last time,
//     and its result does not matter. Every other handler of the signal is dropped. (In ROCr a registration
//     keeps the signal alive: a change that came before the destruction is delivered there too.) `quiesce`
//     returns when the last call is over.
//   * It must not throw.
//
// Everything may be called from any thread, except stop, of which one call at a time is made. What a thread
// did before it changed a signal, in release order, or posted, happens before the handler it caused. The
// dispatcher owns registrations; the signal, the handler and its argument belong to who registered them.
#pragma once

#include <hsa/hsa_ext_amd.h>

#include <memory>

#include "api/support/mutex.hpp"
#include "core/base/status.hpp"
#include "core/signal/signal.hpp"

namespace rigel {

class AsyncDispatcher {
 public:
  /// `after_each`, if given, is called on the thread after each call that it makes; it must not throw.
  explicit AsyncDispatcher(void (*after_each)() noexcept = nullptr) noexcept : after_each_(after_each) {}
  AsyncDispatcher(const AsyncDispatcher&) = delete;
  AsyncDispatcher& operator=(const AsyncDispatcher&) = delete;
  ~AsyncDispatcher() { stop(); }

  /// Calls `handler(value, argument)` when the signal's value satisfies the condition, which may be at once.
  /// The arguments are right: signal_api checks those of programs. INVALID_SIGNAL if the signal is destroyed
  /// meanwhile; OUT_OF_RESOURCES if there is no memory or no thread to be had.
  Status watch(Signal& signal, SignalCondition condition, int64_t compare, hsa_amd_signal_handler handler,
               void* argument) noexcept;

  /// Calls `function(argument)` once. OUT_OF_RESOURCES as for watch.
  Status post(void (*function)(void*), void* argument) noexcept;

  /// Returns when everything that was due before the call has been called: in particular, when handlers of a
  /// signal that the caller has destroyed are no longer running. Returns at once in a handler.
  void quiesce() noexcept;

  /// Takes all handlers from their signals, calls the functions that were posted before, and ends the thread.
  /// Handlers that were due are dropped. Nothing is called after this returns, and the dispatcher is as new.
  /// In a handler it does the same, and the thread ends after the handler. In a forked child of the process
  /// that used it, nothing is called or waited for.
  void stop() noexcept;

  /// In a forked child, while it has one thread: as new. What there was is the parent's.
  void reset_after_fork() noexcept;

 private:
  class Worker;
  /// Never ends it: its locks may be held by threads that this process, a child, does not have.
  static void leave(std::shared_ptr<Worker> worker) noexcept;

  std::shared_ptr<Worker> worker() noexcept;

  void (*const after_each_)() noexcept;
  Mutex mutex_;
  std::shared_ptr<Worker> worker_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel
