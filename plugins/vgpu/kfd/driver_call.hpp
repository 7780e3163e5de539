// A thread of the program while it does the driver's work, as if in a system call: the program's handlers of signals
// wait, it is not cancelled, and what it calls is ours (own_calls.hpp). The work holds locks for which a handler that
// calls the driver would wait for ever, and handlers may leave for good, by siglongjmp.
//
// Threads: each its own. Calls nest.
#pragma once

#include <optional>

#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/cp/own_calls.hpp"

namespace rigel::vgpu {

class DriverCall {
 public:
  /// The program has handlers, of other signals than those of faults. In calls that began before, signals are not
  /// blocked, which saves two system calls.
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
  std::optional<WorkerSignals> signals_;
  int cancelable_ = 0;
};

/// While one of these lives within the driver's work, the thread is the program's again: around a sleep, which signals
/// interrupt. No lock is held, and nothing on the stack is anybody else's: the thread may not come back.
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
