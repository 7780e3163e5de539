// Takes back what a function has done when it ends early, by a return or because there is no memory: for what nothing
// owns yet.
//
//   Undo free([&] { kfd.free_handle(handle); });
//   books.emplace(handle, place);  // may throw
//   free.cancel();
#pragma once

#include <utility>

#include "api/support/mutex.hpp"

namespace rigel {

template <class Function>
class Undo {
 public:
  explicit Undo(Function function) : function_(std::move(function)) {}
  ~Undo() RIGEL_UNCHECKED_LOCKS {  // whoever has it holds what the function needs
    if (!cancelled_) function_();
  }
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;

  /// Something owns it now.
  void cancel() noexcept { cancelled_ = true; }

 private:
  Function function_;
  bool cancelled_ = false;
};

}  // namespace rigel
