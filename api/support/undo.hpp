// Reverts an operation when a function ends early, by a return or an exception, for resources without an
// owner.
//
//   Undo free([&] { kfd.free_handle(handle); });
//   table.emplace(handle, slot);  // may throw
//   free.cancel();
#pragma once

#include <utility>

#include "api/support/mutex.hpp"

namespace rigel {

template <class Function>
class Undo {
 public:
  explicit Undo(Function function) : function_(std::move(function)) {}
  ~Undo() RIGEL_UNCHECKED_LOCKS {  // the owner holds the locks that the function needs
    if (!cancelled_) function_();
  }
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;

  /// The resource has an owner now.
  void cancel() noexcept { cancelled_ = true; }

 private:
  Function function_;
  bool cancelled_ = false;
};

}  // namespace rigel
