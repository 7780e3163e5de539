// Reads the configuration file and environment, and reports problems in them.
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "api/support/environment.hpp"
#include "api/support/log.hpp"
#include "core/runtime/foundation.hpp"

namespace rigel {
namespace {

// %p in a path is the process id.
std::string with_process_id(std::string path) {
  for (size_t at = path.find("%p"); at != path.npos; at = path.find("%p", at)) {
    path.replace(at, 2, std::to_string(::getpid()));
  }
  return path;
}

}  // namespace

Status Foundation::configure() {
  configure_log(environment("HSA_LOADER_DEBUG"));
  loader_environment = LoaderEnvironment::of_process(reinterpret_cast<const void*>(&configure_log));
  auto loaded = load_config(loader_environment, report, [this](RuntimeConfig with_errors) {
    config = std::move(with_errors);
    Gpus::check_driver(config, loader_environment, report);
  });
  if (!loaded) return loaded.error();
  config = std::move(*loaded);
  apply_log_config();
  return HSA_STATUS_SUCCESS;
}

void Foundation::apply_log_config() {
  if (environment("HSA_LOADER_DEBUG") == nullptr && !config.log.level.empty()) {
    configure_log(config.log.level.c_str(), config.path + ": /log/level");
  }
  log_to_stderr();  // instead of the target of a previous runtime
  if (!config.log.to.empty() && config.log.to != "stderr") {
    const std::string path = with_process_id(config.log.to);
    if (!log_to_file(path.c_str())) {
      report.add(Stage::kConfig, Outcome::kWarning, path,
                 fmt::format("cannot be opened for the log: {}; the log is written to stderr",
                             std::strerror(errno)));
    }
  }
}

}  // namespace rigel
