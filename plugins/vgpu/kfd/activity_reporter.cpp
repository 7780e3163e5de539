#include "plugins/vgpu/kfd/activity_reporter.hpp"

#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <system_error>

#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/cp/own_calls.hpp"

namespace rigel::vgpu {
namespace {

// What the handler has to do with: constant-initialised, and never destroyed.
constinit std::atomic<uint32_t> news{0};      // what reporters sleep on
constinit std::atomic<uint32_t> requests{0};  // SIGQUITs
constinit std::atomic<int> reporters{0};      // in the process `owner`
constinit std::atomic<pid_t> owner{0};

void wake_reporters() noexcept {
  news.fetch_add(1);
  syscall(SYS_futex, &news, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

// Until wake_reporters() has been called since `seen`, or for `seconds`; 0: for as long as it takes.
void sleep(uint32_t seen, double seconds) noexcept {
  timespec time{};
  time.tv_sec = static_cast<time_t>(seconds);
  time.tv_nsec = static_cast<long>((seconds - static_cast<double>(time.tv_sec)) * 1e9);
  syscall(SYS_futex, &news, FUTEX_WAIT_PRIVATE, seen, seconds > 0 ? &time : nullptr, nullptr, 0);
}

void on_quit(int) {
  const int error = errno;
  if (owner.load() == getpid() && reporters.load() > 0) {
    requests.fetch_add(1);
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
  struct sigaction before {
  }, ours{};
  if (program_sigaction(SIGQUIT, nullptr, &before) != 0 || (before.sa_flags & SA_SIGINFO) != 0 ||
      before.sa_handler != SIG_DFL) {
    return;
  }
  ours.sa_handler = on_quit;
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  program_sigaction(SIGQUIT, &ours, nullptr);
}

double now() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

ActivityReporter::~ActivityReporter() {
  if (!started_.load()) return;
  reporters.fetch_sub(1);
  stop_.store(true);
  wake_reporters();
  thread_.join();
}

void ActivityReporter::start() noexcept {
  if (!options_.quit_signal && options_.watchdog_seconds <= 0) return;
  if (started_.load(std::memory_order_relaxed) || started_.exchange(true)) return;
  if (owner.exchange(getpid()) != getpid()) reporters.store(0);
  seen_ = requests.load();
  const WorkerSignals signals;
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {
    started_.store(false);
    return;
  }
  pthread_setname_np(thread_.native_handle(), "vgpu-report");
  reporters.fetch_add(1);
  if (options_.quit_signal) handle_quit();
}

void ActivityReporter::work() {
  const OwnCalls ours;
  const double limit = options_.watchdog_seconds;
  const double nap = limit > 0 ? std::clamp(limit / 8, 0.01, 0.5) : 0;
  double standstill = now();  // when the process last went on after it had been stopped
  for (;;) {
    const uint32_t seen = news.load();
    if (stop_.load()) return;
    if (const uint32_t asked = requests.load(); asked != seen_) {
      seen_ = asked;
      log_.write(LogCategory::kInfo, "SIGQUIT: queue status:\n" + describe_());
    }
    const double longest = limit > 0 ? longest_() : 0;
    // The time that a debugger or SIGSTOP takes is not the kernel's.
    if (longest > limit && now() - standstill > limit) {
      log_.write(
          LogCategory::kError,
          fmt::format("watchdog: a kernel has run for more than {:g} s, stopping the program (status {}); "
                      "queue status:\n{}",
                      limit, kWatchdogStatus, describe_()));
      _exit(kWatchdogStatus);
    }
    const double before = now();
    sleep(seen, nap);
    if (nap > 0 && now() - before > nap + 1) standstill = now();
  }
}

}  // namespace rigel::vgpu
