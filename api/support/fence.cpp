#include "api/support/fence.hpp"

#include <new>

#include "api/support/log.hpp"

namespace rigel {

Status status_of_exception(LogTopic topic) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    log_message(LogLevel::kError, topic, "runtime: out of host memory");
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  } catch (const std::exception& problem) {
    log_message(LogLevel::kError, topic, "runtime: internal error: {}", problem.what());
  } catch (...) {
    log_message(LogLevel::kError, topic, "runtime: internal error: an exception of unknown type");
  }
  return HSA_STATUS_ERROR;
}

}  // namespace rigel
