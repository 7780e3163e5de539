// The checks of GPU code that a user selects with VGPU_CHECK and related variables
// (docs/guide/checking.md).
//
// Threads: any; only from_environment() reads global state.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/vgpu/check/problem.hpp"
#include "plugins/vgpu/check/suppressions.hpp"

namespace rigel::vgpu::check {

/// Format of the report. kJson: an object a line.
enum class Format : uint8_t { kText, kJson, kSarif };

/// Numbers of launches, which begin at 1.
struct LaunchRange {
  uint64_t first = 1;
  uint64_t last = UINT64_MAX;
};

struct Options {
  uint32_t tools = 0;  ///< Bit i: tool i is selected.
  Format format = Format::kText;
  std::string log_file;                   ///< Findings go to this file; empty: to the log of the virtual GPU.
  int exit_status = 66;                   ///< Status of a program with errors; 0: its own.
  uint32_t limit = 100;                   ///< Findings that are printed; further ones are counted.
  std::string kernel;                     ///< Checks only kernels whose names contain this text.
  std::vector<LaunchRange> launches;      ///< Checks only these launches; empty: all
  uint64_t padding = 4096;                ///< Bytes after each allocation that no other one gets
  uint64_t quarantine = 64 << 20;         ///< Bytes of freed memory that are not reused
  bool checks_children = true;            ///< Whether other processes of the command are checked.
  int only_process = 0;                   ///< Checks only the process with this ID; 0: all
  std::vector<Suppression> suppressions;  ///< Findings that are only counted

  bool has(Tool tool) const { return (tools >> static_cast<uint32_t>(tool) & 1) != 0; }
  /// Whether the launch is checked.
  bool selects(uint64_t launch, std::string_view kernel_name) const;
  /// Whether a tool observes the accesses and barriers of waves.
  bool observes_waves() const {
    return has(Tool::kMemory) || has(Tool::kRaces) || has(Tool::kSync) || has(Tool::kInit);
  }

  /// Whether a tool observes each access, not only those out of bounds or of undefined memory.
  bool observes_accesses() const { return has(Tool::kRaces); }

  /// Reads the variables of settings(). Ignores the environment in a process with elevated privileges. An
  /// invalid value selects the default; kfd/variables.cpp reports it.
  static Options from_environment();
};

/// A setting of the checks: a variable, and the option of vgpu-run that sets it.
struct Setting {
  std::string_view option;  ///< Empty: no option
  const char* variable = nullptr;
  /// Sets a field of `options`. Returns the problem with the value, a line for each; empty: none. The field
  /// is then unchanged.
  std::string (*read)(std::string_view value, Options& options) = nullptr;
  bool is_path = false;  ///< Paths, separated by ':'
};

std::span<const Setting> settings();

}  // namespace rigel::vgpu::check
