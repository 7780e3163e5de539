// Writes that fail with an error number and no signal. A write to a pipe without readers raises SIGPIPE, and
// one beyond RLIMIT_FSIZE (`ulimit -f`) SIGXFSZ, as does ftruncate() of a memfd. Both end a program by default,
// which a library in that program must not do.
//
//   const ssize_t written = without_file_signals([&] { return ::write(fd, bytes, size); });
//
// Threads: any. The signals of other threads and of other processes are left as they are.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cerrno>
#include <ctime>

namespace rigel {

/// Calls `call`, which makes one system call and reports by a negative result and errno. Returns its result
/// and leaves errno as `call` does; EPIPE and EFBIG come without their signals.
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
