// The fence around the exported functions: no exception passes it.
#pragma once

#include <hsa/hsa.h>

#include "core/base/fence.hpp"

namespace rigel::api {

/// `Fenced<&function>::call` is the function, with its exceptions turned into statuses. A function that
/// returns no status is noexcept by its declaration, and is itself.
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
