// The reason why a code object is rejected: logged as an error and returned to the caller of `parse`.
#pragma once

#include <string>
#include <utility>

#include "api/support/status.hpp"

namespace rigel {

class Rejection {
 public:
  explicit Rejection(std::string* reason) : reason_(reason) {}

  template <class... Args>
  [[nodiscard]] Failure operator()(fmt::format_string<Args...> format, Args&&... args) const {
    auto text = fmt::format(format, std::forward<Args>(args)...);
    log_message(LogLevel::kError, LogTopic::kApi, "code object: {}", text);
    if (reason_ != nullptr) *reason_ = std::move(text);
    return Failure(HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
  }

 private:
  std::string* reason_;
};

}  // namespace rigel
