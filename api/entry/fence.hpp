// Exception fence of the exported functions.
#pragma once

#include <hsa/hsa.h>

#include "api/support/fence.hpp"

namespace rigel::api {

/// `Fenced<&function>::call` runs the function and turns exceptions into statuses. A function without a
/// status is declared noexcept, and is used directly.
template <auto kFunction, class Type = decltype(kFunction)>
struct Fenced {
  static constexpr auto call = kFunction;
};

template <auto kFunction, class... Args>
struct Fenced<kFunction, hsa_status_t (*)(Args...)> {
  static hsa_status_t call(Args... args) noexcept {
    try {
      return kFunction(args...);
    } catch (...) {
      return status_of_exception(LogTopic::kApi);
    }
  }
};

}  // namespace rigel::api
