#include "plugins/vgpu/kfd/activity_reporter.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <system_error>

#include "api/support/futex.hpp"
#include "api/support/program_signals.hpp"
#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/cp/own_calls.hpp"

namespace rigel::vgpu {
namespace {

// State of the signal handler: constant-initialised and never destroyed.
constinit std::atomic<uint32_t> wake_futex{0};     // a futex on which reporters sleep
constinit std::atomic<uint32_t> request_count{0};  // number of SIGQUITs
constinit std::atomic<int> reporter_count{0};      // reporters of the process `owner`
constinit std::atomic<pid_t> owner{0};

void wake_reporters() noexcept {
  wake_futex.fetch_add(1);
  futex_wake_all(&wake_futex);
}

void on_quit(int) {
  const int error = errno;
  if (owner.load() == getpid() && reporter_count.load() > 0) {
    request_count.fetch_add(1);
    wake_reporters();
  } else {  // no thread is left to report: the default action
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    program_sigaction(SIGQUIT, &action, nullptr);
    raise(SIGQUIT);
  }
  errno = error;
}

void handle_quit() noexcept {
  struct sigaction previous {
  }, quit_action{};
  if (program_sigaction(SIGQUIT, nullptr, &previous) != 0 || (previous.sa_flags & SA_SIGINFO) != 0 ||
      previous.sa_handler != SIG_DFL) {
    return;
  }
  quit_action.sa_handler = on_quit;
  quit_action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&quit_action.sa_mask);
  program_sigaction(SIGQUIT, &quit_action, nullptr);
}

double now() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

ActivityReporter::~ActivityReporter() {
  if (!started_.load()) return;
  reporter_count.fetch_sub(1);
  stop_.store(true);
  wake_reporters();
  thread_.join();
}

void ActivityReporter::start() noexcept {
  if (!options_.quit_signal && options_.watchdog_seconds <= 0) return;
  if (started_.load(std::memory_order_relaxed) || started_.exchange(true)) return;
  if (owner.exchange(getpid()) != getpid()) reporter_count.store(0);
  seen_requests_ = request_count.load();
  const ProgramSignalsBlocked signals;
  try {
    thread_ = std::thread([this] { report_loop(); });
  } catch (const std::system_error&) {
    started_.store(false);
    return;
  }
  pthread_setname_np(thread_.native_handle(), "vgpu-report");
  reporter_count.fetch_add(1);
  if (options_.quit_signal) handle_quit();
}

void ActivityReporter::report_loop() {
  const OwnCalls own_calls_scope;
  const double limit = options_.watchdog_seconds;
  const double poll_seconds = limit > 0 ? std::clamp(limit / 8, 0.01, 0.5) : 0;
  double resume_time = now();  // when the process last continued after a stop
  for (;;) {
    const uint32_t seen = wake_futex.load();
    if (stop_.load()) return;
    if (const uint32_t requested = request_count.load(); requested != seen_requests_) {
      seen_requests_ = requested;
      log_.write(LogCategory::kInfo, "SIGQUIT: queue status:\n" + describe_());
    }
    const double longest = limit > 0 ? longest_run_time_() : 0;
    // Time during which a debugger or SIGSTOP stops the process does not count.
    if (longest > limit && now() - resume_time > limit) {
      log_.write(
          LogCategory::kError,
          fmt::format("watchdog: a kernel has run for more than {:g} s, stopping the program (status {}); "
                      "queue status:\n{}",
                      limit, kWatchdogStatus, describe_()));
      _exit(kWatchdogStatus);
    }
    const double sleep_start = now();
    futex_wait(wake_futex, seen,
               limit > 0 ? static_cast<uint64_t>(poll_seconds * 1e9) : kLongestFutexSleepNs);
    if (poll_seconds > 0 && now() - sleep_start > poll_seconds + 1) resume_time = now();
  }
}

}  // namespace rigel::vgpu
