// The mistakes that the checks have found in this process: counts each, prints the first of its kind, and
// ends with a summary and an exit status.
//
// Two findings are of one kind if the tool, the problem and the instructions are the same.
//
// Threads: any.
// Lifetime: one object for each process, from the first use on. A child of fork starts without findings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/check/check_options.hpp"
#include "plugins/vgpu/cp/device_bus.hpp"

namespace rigel::vgpu::check {

/// Identifies findings of one kind.
struct Kind {
  Tool tool{};
  uint32_t problem = 0;   ///< A number of the tool
  uint64_t kernel = 0;    ///< Address of the kernel, because kernels share functions
  uint64_t pc = 0;        ///< Address of the instruction
  uint64_t other_pc = 0;  ///< Address of the second instruction of a race; 0: none

  friend bool operator==(const Kind&, const Kind&) = default;
};

/// A finding as text and as fields of a JSON object.
struct Finding {
  Tool tool{};
  Severity severity = Severity::kError;
  std::string summary;  ///< One line: the problem with sizes and addresses
  std::string details;  ///< Further lines, each after a newline (exec/report/place.hpp)
  std::string kernel;
  std::string source;  ///< "file:line" of the instruction; empty: unknown
};

class Findings {
 public:
  /// Returns the object of the process; its options come from the environment.
  static Findings& of_process();

  explicit Findings(Options options) : options_(std::move(options)) {}

  const Options& options() const { return options_; }

  /// Counts a finding. Returns true if it is to be described with add(): it is the first of its kind, and
  /// the limit has not been reached. Cheap for known kinds.
  bool count(const Kind& kind, Severity severity);

  /// Prints a finding: to the log file, otherwise through `bus` for the queue.
  void add(const Finding& finding, DeviceBus& bus, uint32_t queue_id);

  /// Notes a part of the program that is not checked, and why. Each text is printed once, in the summary.
  void note_unchecked(std::string_view text);

  /// Returns the summary, one line for each statement.
  std::string summary();
  uint64_t errors();

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
  };

  const Options options_;
  Mutex mutex_;
  std::unordered_map<Kind, Count, Hash> kinds_ RIGEL_GUARDED_BY(mutex_);
  std::vector<std::string> unchecked_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel::vgpu::check
