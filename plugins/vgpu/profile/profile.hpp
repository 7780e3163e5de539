// The profile of this process: collects the counts of launches, and writes the requested files at exit.
//
// Threads: any.
// Lifetime: one object for each process, from the first use on. A child of fork starts with an empty profile.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/profile/kernel_profile.hpp"
#include "plugins/vgpu/profile/profile_options.hpp"

namespace rigel::vgpu::profile {

/// What a launch adds to its kernel.
struct Launch {
  std::string kernel;       ///< Demangled name; launches of one name are one kernel.
  uint64_t begin_time = 0;  ///< Nanoseconds of CLOCK_BOOTTIME
  uint64_t end_time = 0;
  Resources resources;
  Totals totals;
  std::vector<std::pair<int64_t, Count>> counts;  ///< Counts by offset from the kernel's entry
  bool has_memory_counts = false;
  std::vector<std::pair<int64_t, MemoryCount>> memory;  ///< The same, of instructions in `counts`
};

/// The sums of a launch, for tracks of counters. Kept only if Format::kPerfetto is requested.
struct Sample {
  uint64_t begin_time = 0;  ///< Nanoseconds of CLOCK_BOOTTIME
  uint64_t end_time = 0;
  uint32_t wave_size = 0;
  Summary sum;
};

class Profile {
 public:
  /// Returns the object of the process; its options come from the environment.
  static Profile& of_process();

  explicit Profile(Options options) : options_(std::move(options)) {}

  const Options& options() const { return options_; }

  /// Adds a launch. `describe` is called for instructions of which the kernel has no description yet.
  void add(const Launch& launch, const std::function<Instruction(int64_t offset)>& describe);

  /// Returns the number of a new launch in this process, from 1.
  uint64_t number_launch() { return 1 + launches_.fetch_add(1, std::memory_order_relaxed); }

  /// Whether the kernel has been launched before.
  bool knows(const std::string& kernel);

  /// Returns the kernels, those with the most instructions first.
  std::vector<Kernel> kernels();

  std::vector<Sample> samples();

  /// Forgets all launches, in a child of fork.
  void forget();

 private:
  const Options options_;
  std::atomic<uint64_t> launches_{0};
  Mutex mutex_;
  std::map<std::string, Kernel> kernels_ RIGEL_GUARDED_BY(mutex_);
  std::vector<Sample> samples_ RIGEL_GUARDED_BY(mutex_);
};

/// Status of a program whose kernels execute more instructions than Options::against says.
constexpr int kGrewStatus = 67;

// Return the contents of files.
std::string table_of(const std::vector<Kernel>& kernels);
std::string json_of(const std::vector<Kernel>& kernels);
std::string callgrind_of(const std::vector<Kernel>& kernels, std::string_view program);
std::string lcov_of(const std::vector<Kernel>& kernels);
std::string folded_of(const std::vector<Kernel>& kernels);
/// A trace in Perfetto's format. It can be appended to a trace of plugins/trace.
std::string perfetto_of(const std::vector<Sample>& samples);

struct Comparison {
  std::string text;   ///< One line for each count that differs
  bool grew = false;  ///< A count is larger, or a kernel is new.
  bool is_valid = true;
};
/// Compares counts with the contents of a JSON file that json_of() has written. `name`: the file, for
/// messages.
Comparison compare(const std::vector<Kernel>& kernels, std::string_view json, std::string_view name);

}  // namespace rigel::vgpu::profile
