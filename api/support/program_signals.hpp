// Blocks the program's signals in threads of the runtime and its modules.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <initializer_list>

namespace rigel {

/// Blocks signals of the process in this thread and in threads that it starts: they are for the program's
/// threads. SIGSEGV, SIGBUS, SIGFPE and SIGILL remain enabled: Linux ends the process if a thread that blocks
/// them raises them, and handlers of the program or of a driver transport must receive them.
class ProgramSignalsBlocked {
 public:
  /// `enabled`: further signals that remain enabled.
  explicit ProgramSignalsBlocked(std::initializer_list<int> enabled = {}) noexcept {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&blocked, own);
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
