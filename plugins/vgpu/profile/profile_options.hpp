// The profile of GPU code that a user requests with VGPU_PROFILE and related variables
// (docs/guide/profiling.md).
//
// Threads: any; only from_environment() reads global state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace rigel::vgpu::profile {

enum class Format : uint8_t { kTable, kJson, kCallgrind, kLcov, kFolded };

/// A file to write. An empty path is stderr.
struct Output {
  std::string path;
  Format format = Format::kTable;

  friend bool operator==(const Output&, const Output&) = default;
};

struct Options {
  std::vector<Output> outputs;  ///< Empty: no profile
  std::string kernel;           ///< Profiles only kernels whose names contain this text.
  std::string against;          ///< Compares the counts with those of this JSON file; empty: does not compare
  std::string program;          ///< Command line, for callgrind

  bool is_on() const { return !outputs.empty() || !against.empty(); }

  /// Reads VGPU_PROFILE, VGPU_PROFILE_KERNEL and VGPU_PROFILE_AGAINST. Ignores the environment in a process
  /// with elevated privileges. An invalid list selects nothing; kfd/variables.cpp reports it.
  static Options from_environment();
};

/// Returns the outputs of a list of paths, separated by commas. "-" is the table on stderr. The end of the
/// name selects the format: .txt, .json, .callgrind, .info (lcov) or .folded; a file name that begins with
/// "callgrind.out" is callgrind's. In a path, "%p" becomes the process id. An error names the path.
tl::expected<std::vector<Output>, std::string> parse_outputs(std::string_view list);

}  // namespace rigel::vgpu::profile
