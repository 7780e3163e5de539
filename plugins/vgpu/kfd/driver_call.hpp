// Marks a thread of the program while it executes driver code, as if in a system call. The program's signal
// handlers are delayed, the thread is not cancelled, and its libc calls bypass the hooks (own_calls.hpp).
// Driver code holds locks: a handler that called the driver would deadlock, and a handler that leaves by
// siglongjmp would leave them locked.
//
// Threads: one object per thread and call. Calls nest.
#pragma once

#include <optional>

#include "api/support/program_signals.hpp"
#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/cp/own_calls.hpp"

namespace rigel::vgpu {

class DriverCall {
 public:
  /// Makes later driver calls block signals. Call if the program installs a handler for a signal other than
  /// SIGSEGV and SIGBUS. Until then driver calls do not block signals, which saves two system calls for each.
  static void expect_handlers() noexcept;

  DriverCall() noexcept;
  ~DriverCall();
  DriverCall(const DriverCall&) = delete;
  DriverCall& operator=(const DriverCall&) = delete;

 private:
  friend class ProgramTime;
  void begin() noexcept;
  void end() noexcept;

  const bool outermost_;
  std::optional<ProgramSignalsBlocked> signals_;
  int cancelable_ = 0;
};

/// Suspends the DriverCall of a thread during a sleep, so that signals can interrupt it. The thread holds no
/// lock meanwhile, and other threads must not refer to its stack, because a handler may leave by siglongjmp.
class ProgramTime {
 public:
  ProgramTime() noexcept;
  ~ProgramTime();
  ProgramTime(const ProgramTime&) = delete;
  ProgramTime& operator=(const ProgramTime&) = delete;

 private:
  DriverCall* const call_;
  const int own_calls_;
};

}  // namespace rigel::vgpu
