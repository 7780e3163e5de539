// Functions that not every libhsa-runtime64 exports: `OPTIONAL_HSA(hsa_amd_signal_wait_all)` is a pointer,
// null where the runtime is older than the function.
#pragma once

#include <dlfcn.h>

#define OPTIONAL_HSA(name) reinterpret_cast<decltype(&::name)>(dlsym(RTLD_DEFAULT, #name))

/// Binds `name` to the function, or skips the test.
#define REQUIRE_HSA(name)               \
  const auto name = OPTIONAL_HSA(name); \
  if (name == nullptr) GTEST_SKIP() << #name " is not exported by this runtime"
