// The checks of GPU code that a user selects with VGPU_CHECK and related variables
// (docs/guide/checking.md).
//
// Threads: any; only from_environment() reads global state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace rigel::vgpu::check {

/// A kind of mistake that the virtual GPU looks for.
enum class Tool : uint8_t { kMemory, kRaces, kSync, kWaits, kInit };
constexpr uint32_t kTools = 5;

/// "memory", "races", "sync", "waits", "init".
std::string_view name(Tool tool);

struct Options {
  uint32_t tools = 0;    ///< Bit i: tool i is selected.
  bool json = false;     ///< Findings are JSON objects, one a line.
  std::string log_file;  ///< Findings go to this file; empty: to the log of the virtual GPU.
  int exit_status = 66;  ///< Status of a program with errors; 0: its own.
  uint32_t limit = 100;  ///< Findings that are printed; further ones are counted.
  std::string kernel;    ///< Checks only kernels whose names contain this text.

  bool has(Tool tool) const { return (tools >> static_cast<uint32_t>(tool) & 1) != 0; }
  /// Whether a tool observes the accesses and barriers of waves.
  bool observes_waves() const {
    return has(Tool::kMemory) || has(Tool::kRaces) || has(Tool::kSync) || has(Tool::kInit);
  }

  /// Reads VGPU_CHECK, VGPU_CHECK_OUTPUT, VGPU_CHECK_LOG, VGPU_CHECK_STATUS, VGPU_CHECK_LIMIT and
  /// VGPU_CHECK_KERNEL. Ignores the environment in a process with elevated privileges. An invalid value
  /// selects the default; kfd/variables.cpp reports it.
  static Options from_environment();
};

/// Returns the tools of a list such as "memory,races"; "all" selects every tool. An error names the unknown
/// word.
tl::expected<uint32_t, std::string> parse_tools(std::string_view list);

}  // namespace rigel::vgpu::check
