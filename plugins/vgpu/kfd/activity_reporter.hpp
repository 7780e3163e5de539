// Tells what the queues of a process are doing when somebody asks, which is when kernels do not end: at
// SIGQUIT, as AMD's debug agent does, and when a kernel has taken longer than it may (the watchdog), which is
// the end of the process.
//
// SIGQUIT gets a handler only if it has none and is not ignored when the first queue is made; a handler that
// the program installs later takes its place. A report is made by a thread, which sleeps until then: signal
// handlers may do next to nothing.
//
// Threads: start() from any; a destructor ends the thread. Fork: in the child there is no thread, and SIGQUIT
// does what it does by default until a queue is made there.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "plugins/vgpu/kfd/vgpu_log.hpp"

namespace rigel::vgpu {

struct ActivityOptions {
  bool quit_signal = false;     ///< SIGQUIT may be used.
  double watchdog_seconds = 0;  ///< That a kernel may run; 0: for ever.
};

class ActivityReporter {
 public:
  /// The exit status of a process that the watchdog ends: timeout(1)'s.
  static constexpr int kWatchdogStatus = 124;

  using Describe = std::function<std::string()>;
  using Longest = std::function<double()>;
  /// `describe` is the report but for its head line, `longest` the seconds that the oldest kernel has run.
  ActivityReporter(const ActivityOptions& options, Log& log, Describe describe, Longest longest)
      : options_(options), log_(log), describe_(std::move(describe)), longest_(std::move(longest)) {}
  ~ActivityReporter();
  ActivityReporter(const ActivityReporter&) = delete;
  ActivityReporter& operator=(const ActivityReporter&) = delete;

  /// There is something to tell of from now on. Where the process may not have another thread nobody will be
  /// told, and the next call tries again.
  void start() noexcept;

 private:
  void work();

  const ActivityOptions options_;
  Log& log_;
  const Describe describe_;
  const Longest longest_;
  std::atomic<bool> started_{false};
  std::atomic<bool> stop_{false};
  uint32_t seen_ = 0;  // the requests that there had been when it began; then the thread's
  std::thread thread_;
};

}  // namespace rigel::vgpu
