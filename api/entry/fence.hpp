// The fence at the edge of the runtime: no exception passes it.
#pragma once

#include <hsa/hsa.h>

#include <exception>
#include <new>

#include "core/base/log.hpp"

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
    } catch (const std::bad_alloc&) {
      log_message(LogLevel::kError, LogTopic::kApi, "out of host memory");
      return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    } catch (const std::exception& problem) {
      log_message(LogLevel::kError, LogTopic::kApi, "internal error: {}", problem.what());
      return HSA_STATUS_ERROR;
    } catch (...) {
      log_message(LogLevel::kError, LogTopic::kApi, "internal error of unknown kind");
      return HSA_STATUS_ERROR;
    }
  }
};

}  // namespace rigel::api
