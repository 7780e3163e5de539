// The program's signals, and threads of the runtime.
#pragma once

#include <signal.h>

namespace rigel {

/// While one lives, its thread takes no signals of the process, and neither do threads that it starts, ever:
/// those are for the program's threads. SIGSEGV, SIGBUS, SIGFPE and SIGILL are a thread's own: Linux ends the
/// process when they come to a thread that blocks them, and handlers of the program or of a driver transport
/// want to see them.
class ProgramSignalsBlocked {
 public:
  ProgramSignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&all, own);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~ProgramSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  ProgramSignalsBlocked(const ProgramSignalsBlocked&) = delete;
  ProgramSignalsBlocked& operator=(const ProgramSignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace rigel
