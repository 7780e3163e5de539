// Blocks the program's signals in threads of the runtime.
#pragma once

#include <signal.h>

namespace rigel {

/// Blocks signals of the process in this thread and in threads that it starts: they are for the program's
/// threads. SIGSEGV, SIGBUS, SIGFPE and SIGILL remain enabled: Linux ends the process if a thread that blocks
/// them raises them, and handlers of the program or of a driver transport must receive them.
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
