// Signals of the process are for the program's threads, not for those of a backend.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace rigel::gfx {

/// Blocks signals for the calling thread, and for threads that it starts meanwhile, which keep them blocked.
/// Those that a thread raises itself by what it executes stay.
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
