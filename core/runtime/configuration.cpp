// Reads the configuration file and environment, and reports problems in them.
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/environment.hpp"
#include "core/base/log.hpp"
#include "core/runtime/runtime.hpp"

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

Status Runtime::configure() {
  configure_log(environment("HSA_LOADER_DEBUG"));
  environment_ = LoaderEnvironment::of_process(reinterpret_cast<const void*>(&Runtime::acquire));
  auto config = load_config(environment_, report_, [this](RuntimeConfig with_errors) {
    config_ = std::move(with_errors);
    Gpus::check_driver(config_, environment_, report_);
  });
  if (!config) return config.error();
  config_ = std::move(*config);
  apply_log_config();
  return HSA_STATUS_SUCCESS;
}

void Runtime::apply_log_config() {
  if (environment("HSA_LOADER_DEBUG") == nullptr && !config_.log.level.empty()) {
    configure_log(config_.log.level.c_str(), config_.path + ": /log/level");
  }
  log_to_stderr();  // instead of the target of a previous runtime
  if (!config_.log.to.empty() && config_.log.to != "stderr") {
    const std::string path = with_process_id(config_.log.to);
    if (!log_to_file(path.c_str())) {
      report_.add(Stage::kConfig, Outcome::kWarning, path,
                  fmt::format("cannot be opened for the log: {}; the log is written to stderr",
                              std::strerror(errno)));
    }
  }
}

void Runtime::warn(Stage stage, std::string_view subject, std::string_view text) noexcept try {
  if (is_discovering()) {
    report_.add(stage, Outcome::kWarning, subject, text);
  } else {
    log_message(LogLevel::kWarn, LogTopic::kModule, "{}: {}", subject, text);
  }
} catch (...) {
  log_message(LogLevel::kError, LogTopic::kModule, "runtime: out of memory for a warning");
}

}  // namespace rigel
