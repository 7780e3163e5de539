// Functions of extension tables. Callers may keep them beyond hsa_shut_down, so each checks whether the
// runtime is open.
#pragma once

#include "api/entry/fence.hpp"
#include "api/entry/tables.hpp"

namespace rigel::api {

template <auto kFunction, class Type = decltype(kFunction)>
struct Guarded;

template <auto kFunction, class... Args>
struct Guarded<kFunction, hsa_status_t (*)(Args...)> {
  static hsa_status_t call(Args... args) {
    return is_open() ? Fenced<kFunction>::call(args...) : HSA_STATUS_ERROR_NOT_INITIALIZED;
  }
};

}  // namespace rigel::api
