// Reserves signals of the process for the program's threads.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace rigel::gfx {

/// Blocks asynchronous signals in this thread (and in threads that it starts) so that the application's
/// threads receive them. Signals that a thread's own instructions raise stay enabled.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&all, own);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace rigel::gfx
