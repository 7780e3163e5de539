// The tool as the runtime knows it: one life at a time, between load and unload.
#pragma once

#include <cstddef>

namespace validate {

class Validator;

/// Keeps the validator from going away while a thread uses it. There may be none. For callbacks that may come at any
/// time, also while the tool is unloaded.
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
