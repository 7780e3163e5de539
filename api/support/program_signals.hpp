// Blocks the program's signals in threads of the runtime and its modules.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <initializer_list>

namespace rigel {

/// Blocks signals in the calling thread while this object exists. Threads that are created meanwhile inherit
/// the mask for their whole life. The kernel therefore delivers signals of the process to threads of the
/// program.
///
/// SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP and SIGSYS remain enabled, because handlers of the program or of
/// a driver transport must receive them. If an instruction or system call raises one of them while it is
/// blocked, Linux terminates the process without calling a handler.
class ProgramSignalsBlocked {
 public:
  /// Also leaves the signals of `enabled` enabled.
  explicit ProgramSignalsBlocked(std::initializer_list<int> enabled = {}) noexcept {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&blocked, own);
    for (const int signal : enabled) sigdelset(&blocked, signal);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~ProgramSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  ProgramSignalsBlocked(const ProgramSignalsBlocked&) = delete;
  ProgramSignalsBlocked& operator=(const ProgramSignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace rigel
