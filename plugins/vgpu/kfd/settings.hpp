// What a user asks of the virtual GPU: by variables of the environment, and, where a runtime opens it as its driver, by
// the options of its configuration file, which go before them. Pure but for the environment; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "loader/text/diagnostics.hpp"
#include "plugins/vgpu/devices/machine.hpp"
#include "plugins/vgpu/kfd/process.hpp"

namespace rigel::vgpu {

struct Settings {
  /// VGPU_GPUS, VGPU_LINK, VGPU_SIGNALS, VGPU_MACHINE, VGPU_LOG, VGPU_LOG_FILE and VGPU_WATCHDOG; kDefaultGpus where
  /// there is no VGPU_GPUS. An elevated process does not ask its environment.
  static Settings from_environment();

  /// Reads the options of a JSON object (docs/reference/configuration.md). Empty text is an object without members.
  /// Adds an error with its JSON pointer for a wrong type, an unknown option and an unknown category of the log.
  void read_options(std::string_view json, Diagnostics& diagnostics);
  static std::vector<std::string_view> option_names();

  /// The machine that is asked for. Errors begin with the variable or pointer that they are about.
  Machine make_machine(Diagnostics& diagnostics) const;
  /// How long a kernel may run; 0: for ever. An error as above.
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
