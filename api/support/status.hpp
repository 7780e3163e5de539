// Results inside the runtime: a value, or the hsa_status_t that the caller of the API will receive.
//
// The result does not contain the reason of a failure. The failing function logs it, with the names and
// numbers that it has: `return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "queue size {} is not …", n);`.
#pragma once

#include <hsa/hsa.h>

#include <concepts>
#include <utility>

#include <tl/expected.hpp>

#include "api/support/log.hpp"

namespace rigel {

using Status = hsa_status_t;

template <class T>
using Result = tl::expected<T, Status>;

/// An error result without a message, for a failure that has already been logged.
inline tl::unexpected<Status> error(Status status) {
  return tl::unexpected<Status>(status);
}

/// Logs the reason (at debug level, because the caller decides what the status means) and creates an error
/// result, which converts to Result<T> and to Status.
class Failure {
 public:
  explicit Failure(Status status) : status_(status) {}
  /// A template, so that it converts to Status only. A plain conversion would continue to any number, and a
  /// Result of a number would then hold the status as its value.
  template <std::same_as<Status> T>
  operator T() const {  // NOLINT(google-explicit-constructor)
    return status_;
  }
  template <class T>
  operator Result<T>() const {  // NOLINT(google-explicit-constructor)
    return tl::unexpected<Status>(status_);
  }

 private:
  Status status_;
};

template <class... Args>
[[nodiscard]] Failure fail(Status status, fmt::format_string<Args...> format, Args&&... args) {
  log_message(LogLevel::kDebug, LogTopic::kApi, format, std::forward<Args>(args)...);
  return Failure(status);
}

}  // namespace rigel
