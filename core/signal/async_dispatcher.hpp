// Asynchronous handlers: functions that are called when a signal's value satisfies a condition, one at a
// time, on one dedicated thread.
//
// The thread starts at first use and sleeps while no call is due. A handler is a node in its signal's list of
// waiters: the signaller that satisfies it puts it into the dispatcher's queue. Handlers of unchanged signals
// therefore cost nothing, except for kSignalSilent signals, which are polled at most once a millisecond.
//
// Rules for handlers and posted functions:
//
//   * One thread calls them, in the order in which they became due, and holds no lock. They may create,
//     destroy and wait for signals, register handlers, and stop the dispatcher. A handler that waits for an
//     effect of another handler waits forever.
//   * A handler receives the current value if it satisfies the condition, otherwise the value that satisfied
//     it when the handler became due.
//   * A handler that returns true is armed again. If its condition still holds, it is due again at once,
//     after all others that are due.
//   * When its signal is destroyed, a handler that is due, or whose condition holds, is called a last time
//     and its result is ignored. Every other handler of the signal is dropped. (In ROCr, a registration keeps
//     the signal alive; a change before the destruction is delivered there as well.) `quiesce` returns after
//     the last call.
//   * It must not throw.
//
// *Threads:* any thread, except that calls of `stop` must not overlap.
// *Memory order:* what a thread did before it changed a signal in release order, or posted, happens before
// the handler that it caused.
// *Lifetime:* the dispatcher owns registrations. The signal, the handler and its argument belong to the
// caller.
#pragma once

#include <hsa/hsa_ext_amd.h>

#include <memory>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"
#include "core/signal/signal.hpp"

namespace rigel {

class AsyncDispatcher {
 public:
  /// `after_each`, if not null, is called on the thread after each call; it must not throw.
  explicit AsyncDispatcher(void (*after_each)() noexcept = nullptr) noexcept : after_each_(after_each) {}
  AsyncDispatcher(const AsyncDispatcher&) = delete;
  AsyncDispatcher& operator=(const AsyncDispatcher&) = delete;
  ~AsyncDispatcher() { stop(); }

  /// Calls `handler(value, argument)` when the signal's value satisfies the condition, perhaps at once. The
  /// arguments must be valid: signal_api checks those of programs. Returns INVALID_SIGNAL if the signal is
  /// destroyed during the call, and OUT_OF_RESOURCES if memory or a thread is not available.
  Status watch(Signal& signal, SignalCondition condition, int64_t compare, hsa_amd_signal_handler handler,
               void* argument) noexcept;

  /// Calls `function(argument)` once. Returns OUT_OF_RESOURCES as watch does.
  Status post(void (*function)(void*), void* argument) noexcept;

  /// Returns when every call that was due before this call has completed: in particular, when handlers of a
  /// signal that the caller has destroyed have ended. Returns at once in a handler.
  void quiesce() noexcept;

  /// Unlinks all handlers, calls the functions that were posted before, and ends the thread. Due handlers are
  /// dropped. No call starts after this returns, and the dispatcher can be used again. In a handler, the
  /// thread ends after the handler returns. In a forked child of the process that used it, it calls no
  /// function and waits for nothing.
  void stop() noexcept;

  /// In a forked child with one thread: resets the dispatcher. Its previous state belongs to the parent.
  void reset_after_fork() noexcept;

 private:
  class Worker;
  /// Leaks the worker: threads that do not exist in this child process may hold its locks.
  static void leave(std::shared_ptr<Worker> worker) noexcept;

  std::shared_ptr<Worker> worker() noexcept;

  void (*const after_each_)() noexcept;
  Mutex mutex_;
  std::shared_ptr<Worker> worker_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel
