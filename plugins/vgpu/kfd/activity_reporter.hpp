// Reports what the queues of a process are doing when kernels do not end. SIGQUIT requests a report, as with
// AMD's debug agent. The watchdog reports and ends the process when a kernel exceeds its time limit.
//
// SIGQUIT gets a handler only if it has the default action when the first queue is created. A handler that
// the program installs later replaces it. A dedicated thread writes the report, because a signal handler may
// call only few functions.
//
// Threads: start() from any thread; the destructor ends the thread.
// Fork: the child has no such thread. SIGQUIT has its default action there until a queue is created.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "plugins/vgpu/kfd/vgpu_log.hpp"

namespace rigel::vgpu {

struct ActivityOptions {
  bool quit_signal = false;     ///< SIGQUIT may be used.
  double watchdog_seconds = 0;  ///< The time limit of a kernel; 0: unlimited.
};

class ActivityReporter {
 public:
  /// The exit status of a process that the watchdog ends; timeout(1) uses the same.
  static constexpr int kWatchdogStatus = 124;

  using Describe = std::function<std::string()>;
  using LongestRunTime = std::function<double()>;
  /// `describe` returns the report without its first line; `longest` the run time in seconds of the oldest
  /// kernel.
  ActivityReporter(const ActivityOptions& options, Log& log, Describe describe,
                   LongestRunTime longest_run_time)
      : options_(options),
        log_(log),
        describe_(std::move(describe)),
        longest_run_time_(std::move(longest_run_time)) {}
  ~ActivityReporter();
  ActivityReporter(const ActivityReporter&) = delete;
  ActivityReporter& operator=(const ActivityReporter&) = delete;

  /// Starts the thread if it does not run yet. If the thread cannot be created, the next call tries again.
  void start() noexcept;

 private:
  void report_loop();

  const ActivityOptions options_;
  Log& log_;
  const Describe describe_;
  const LongestRunTime longest_run_time_;
  std::atomic<bool> started_{false};
  std::atomic<bool> stop_{false};
  uint32_t seen_requests_ = 0;  // number of reported requests; used by the thread after start()
  std::thread thread_;
};

}  // namespace rigel::vgpu
