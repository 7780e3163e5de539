#include "api/support/environment.hpp"

#include <sys/auxv.h>

#include <cstdlib>

#include "api/support/log.hpp"

namespace rigel {

bool is_elevated() noexcept {
  return getauxval(AT_SECURE) != 0;
}

const char* environment(const char* name) noexcept {
  return std::getenv(name);
}

const char* trusted_environment(const char* name) noexcept {
  const char* value = std::getenv(name);
  if (value != nullptr && is_elevated()) {
    log_message(LogLevel::kWarn, LogTopic::kModule,
                "{}: ignored because this process has elevated privileges", name);
    return nullptr;
  }
  return value;
}

}  // namespace rigel
