// The mistakes that the checks have found in this process: counts each, reports the first of its kind, and
// ends with a summary and an exit status.
//
// Two findings are of one kind if the tool, the problem and the instructions are the same.
//
// Threads: any.
// Lifetime: one object for each process, from the first use on. A child of fork starts without findings.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/check/check_options.hpp"
#include "plugins/vgpu/check/finding.hpp"
#include "plugins/vgpu/check/output.hpp"
#include "plugins/vgpu/cp/device_bus.hpp"

namespace rigel::vgpu::check {

class Findings {
 public:
  /// Returns the object of the process; its options come from the environment.
  static Findings& of_process();

  explicit Findings(Options options);

  const Options& options() const { return options_; }

  /// Returns the number of a launch, from 1. Call for each launch.
  uint64_t number_launch() { return launches_.fetch_add(1) + 1; }
  /// Notes a launch that the options do not select.
  void note_unselected_launch() { unselected_launches_.fetch_add(1); }

  /// Counts a finding. Returns true if it is to be described with add(): it is the first of its kind, and
  /// it may be reported. Cheap for known kinds.
  bool count(const Kind& kind, Severity severity);

  /// Reports a finding, unless it is suppressed or the limit has been reached. Without a log file, text goes
  /// through `bus` for the queue.
  void add(const Finding& finding, DeviceBus& bus, uint32_t queue_id);

  /// Notes a part of the program that is not checked, and why. Each text is printed once, in the summary.
  void note_unchecked(std::string_view text);

  Summary summary();
  /// Returns the number of kinds of errors that are not suppressed.
  uint64_t errors();

  /// Reports the summary, unless the process is a child that is not checked.
  void end();

  /// Forgets all findings, in a child of fork.
  void forget();

 private:
  struct Hash {
    size_t operator()(const Kind& kind) const {
      uint64_t hash = (kind.pc ^ kind.kernel << 17) * 0x9e3779b97f4a7c15u ^ kind.other_pc;
      hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u + kind.problem * 4 + static_cast<uint32_t>(kind.tool);
      return static_cast<size_t>(hash ^ hash >> 29);
    }
  };
  struct Count {
    Severity severity;
    uint64_t times;
    bool is_suppressed = false;
  };

  const Options options_;
  std::atomic<uint64_t> launches_{0};
  std::atomic<uint64_t> unselected_launches_{0};
  Mutex mutex_;
  std::unordered_map<Kind, Count, Hash> kinds_ RIGEL_GUARDED_BY(mutex_);
  std::vector<Suppression> suppressions_ RIGEL_GUARDED_BY(mutex_);
  uint64_t reported_ RIGEL_GUARDED_BY(mutex_) = 0;
  uint64_t over_limit_ RIGEL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> unchecked_ RIGEL_GUARDED_BY(mutex_);
  std::unique_ptr<Output> output_;  // null in a child that is not checked
};

}  // namespace rigel::vgpu::check
