// Why a code object is refused: the text goes to the log and to whoever asked `parse` for it.
#pragma once

#include <string>
#include <utility>

#include "core/base/status.hpp"

namespace rigel {

class Rejection {
 public:
  explicit Rejection(std::string* reason) : reason_(reason) {}

  template <class... Args>
  [[nodiscard]] Failure operator()(fmt::format_string<Args...> format, Args&&... args) const {
    auto text = fmt::format(format, std::forward<Args>(args)...);
    const Failure failure = fail(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, "code object refused: {}", text);
    if (reason_ != nullptr) *reason_ = std::move(text);
    return failure;
  }

 private:
  std::string* reason_;
};

}  // namespace rigel
