// The fence at the edges of the runtime: no exception passes through code that is not the runtime's, as that
// of a program, a backend, a tool or a driver.
#pragma once

#include <exception>
#include <utility>

#include "core/base/status.hpp"

namespace rigel {

/// For a `catch (...)`: logs the exception that is being handled and returns the status that stands for it.
Status status_of_exception(LogTopic topic) noexcept;

/// Carries what a callback of the runtime throws past the foreign code that called it.
///
///   module.list({&sink, [](void* self, ...) { of(self).carrier.run([&] { ... }); }});
///   sink.carrier.rethrow();
///
/// For one thread.
class ExceptionCarrier {
 public:
  /// Runs `call`, unless an earlier call has thrown.
  template <class Call>
  void run(Call&& call) noexcept {
    if (problem_ != nullptr) return;
    try {
      std::forward<Call>(call)();
    } catch (...) {
      problem_ = std::current_exception();
    }
  }
  /// Throws what a call has thrown, if one has.
  void rethrow() {
    if (problem_ != nullptr) std::rethrow_exception(std::exchange(problem_, nullptr));
  }

 private:
  std::exception_ptr problem_;
};

}  // namespace rigel
