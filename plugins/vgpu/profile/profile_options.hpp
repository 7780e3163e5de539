// The profile of GPU code that a user requests with VGPU_PROFILE and related variables
// (docs/guide/profiling.md).
//
// Threads: any; only from_environment() reads global state.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace rigel::vgpu::profile {

enum class Format : uint8_t { kTable, kJson, kCallgrind, kLcov, kFolded, kPerfetto };

/// Numbers from `first` to `last`.
struct Range {
  uint64_t first = 0;
  uint64_t last = UINT64_MAX;

  friend bool operator==(const Range&, const Range&) = default;
};

/// A file to write. An empty path is stderr.
struct Output {
  std::string path;
  Format format = Format::kTable;

  friend bool operator==(const Output&, const Output&) = default;
};

struct Options {
  std::vector<Output> outputs;  ///< Empty: no profile
  std::string kernel;           ///< Profiles only kernels whose names contain this text.
  std::vector<Range> launches;  ///< Profiles only these launches of the process; empty: all
  std::vector<Range> queues;    ///< Profiles only launches of these queues; empty: all
  bool memory = false;          ///< Counts lines, LDS conflicts and scratch, which takes an interpreter.
  std::string against;          ///< Compares the counts with those of this JSON file; empty: does not compare
  std::string program;          ///< Command line, for callgrind

  /// Whether a launch of a queue is profiled, if its kernel is.
  bool selects(uint64_t launch, uint64_t queue) const;
  bool writes(Format format) const;
  bool is_on() const { return !outputs.empty() || !against.empty(); }

  /// Reads the variables of settings(). Ignores the environment in a process with elevated privileges. An
  /// invalid value selects the default; kfd/variables.cpp reports it.
  static Options from_environment();
};

/// A setting of profiles: a variable, and the option of vgpu-run that sets it.
struct Setting {
  std::string_view option;
  const char* variable = nullptr;
  /// Returns the problem with a value; empty: none.
  std::string (*problem)(std::string_view value) = nullptr;
  /// The value of the option without one; null: the option needs a value.
  const char* default_value = nullptr;
};
std::span<const Setting> settings();

/// Returns the ranges of a list such as "3,5-8,10-". An error names the part.
tl::expected<std::vector<Range>, std::string> parse_ranges(std::string_view list);

/// Returns the outputs of a list of paths, separated by commas. "-" is the table on stderr. The end of the
/// name selects the format: .txt, .json, .callgrind, .info (lcov), .folded or .perfetto; a file name that
/// begins with "callgrind.out" is callgrind's. In a path, "%p" becomes the process id. An error names the
/// path.
tl::expected<std::vector<Output>, std::string> parse_outputs(std::string_view list);

}  // namespace rigel::vgpu::profile
