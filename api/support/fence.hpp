// Exception fence of the runtime: no exception passes through frames of a program, a backend, a tool or a
// driver.
#pragma once

#include <exception>
#include <utility>

#include "api/support/status.hpp"

namespace rigel {

/// For a `catch (...)`: logs the current exception and returns its status.
Status status_of_exception(LogTopic topic) noexcept;

/// Carries exceptions of a runtime callback past the foreign code that calls it.
///
///   module.list({&sink, [](void* self, ...) { of(self).carrier.run([&] { ... }); }});
///   sink.carrier.rethrow();
///
/// Not thread-safe.
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
  /// Rethrows the exception of a call, if any.
  void rethrow() {
    if (problem_ != nullptr) std::rethrow_exception(std::exchange(problem_, nullptr));
  }

 private:
  std::exception_ptr problem_;
};

}  // namespace rigel
