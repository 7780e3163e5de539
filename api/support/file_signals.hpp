// Writes that fail with an error number instead of a signal. A write to a pipe without readers raises
// SIGPIPE. A write beyond RLIMIT_FSIZE (`ulimit -f`), or ftruncate() of a memfd beyond it, raises SIGXFSZ.
// Both end a program by default, which a library in that program must not do.
//
//   const ssize_t written = without_file_signals([&] { return ::write(fd, bytes, size); });
//
// *Threads:* any thread. Signals of other threads and processes are unaffected.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <ctime>

namespace rigel {

/// Runs `call`, which makes one system call and reports failure by a negative result and errno. Returns its
/// result and keeps its errno; EPIPE and EFBIG come without signals.
template <class Call>
auto without_file_signals(Call call) {
  sigset_t held, before, pending;
  sigemptyset(&held);
  sigaddset(&held, SIGPIPE);
  sigaddset(&held, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &held, &before);
  sigpending(&pending);
  const auto result = call();
  const int error = errno;
  const int raised = result >= 0 ? 0 : error == EPIPE ? SIGPIPE : error == EFBIG ? SIGXFSZ : 0;
  if (raised != 0 && sigismember(&pending, raised) == 0) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, raised);
    constexpr timespec kNow{};
    sigtimedwait(&one, nullptr, &kNow);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return result;
}

}  // namespace rigel
