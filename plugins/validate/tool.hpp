// The tool's plugin interface. There is at most one validator at a time, between load and unload.
#pragma once

#include <cstddef>

namespace validate {

class Validator;

/// Keeps the current validator alive while a callback uses it. Null if the tool is not loaded: callbacks may
/// arrive at any time, also during unload.
class Use {
 public:
  Use() noexcept;
  ~Use();
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  explicit operator bool() const { return validator_ != nullptr; }
  Validator* operator->() const { return validator_; }

 private:
  const size_t counter_;
  Validator* validator_;
};

}  // namespace validate
