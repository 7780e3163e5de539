// The user's settings of the virtual GPU: environment variables, and, if a runtime opens it as its driver,
// the options of the configuration file, which override them.
//
// Threads: any; only from_environment() reads global state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "loader/text/diagnostics.hpp"
#include "plugins/vgpu/devices/machine.hpp"
#include "plugins/vgpu/kfd/process.hpp"

namespace rigel::vgpu {

struct Settings {
  /// Reads VGPU_GPUS (default: kDefaultGpus), VGPU_LINK, VGPU_SIGNALS, VGPU_MACHINE, VGPU_LOG, VGPU_LOG_FILE
  /// and VGPU_WATCHDOG. Ignores the environment in a process with elevated privileges.
  static Settings from_environment();

  /// Reads the options of a JSON object (docs/reference/configuration.md). Empty text is an object without
  /// members. Wrong types, unknown options and unknown log categories cause errors with JSON pointers.
  void read_options(std::string_view json, Diagnostics& diagnostics);
  static std::vector<std::string_view> option_names();

  /// Creates the virtual system. Errors start with the variable or JSON pointer that they concern.
  Machine make_machine(Diagnostics& diagnostics) const;
  /// Returns the time limit of a kernel; 0: unlimited. Errors as above.
  double watchdog_seconds(Diagnostics& diagnostics) const;

  std::string gpus = kDefaultGpus;
  std::string link;
  std::string log;
  std::string log_file;
  std::string watchdog;
  ProcessOptions options;
  std::string gpus_source = "VGPU_GPUS";
  std::string link_source = "VGPU_LINK";
  std::string watchdog_source = "VGPU_WATCHDOG";
};

}  // namespace rigel::vgpu
