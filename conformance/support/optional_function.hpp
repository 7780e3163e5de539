// Functions that older versions of libhsa-runtime64 do not export. `OPTIONAL_HSA(hsa_amd_signal_wait_all)` is
// a pointer to the function, or null.
#pragma once

#include <dlfcn.h>

#define OPTIONAL_HSA(name) reinterpret_cast<decltype(&::name)>(dlsym(RTLD_DEFAULT, #name))

/// Defines `name` as a pointer to the function, or skips the test.
#define REQUIRE_HSA(name)               \
  const auto name = OPTIONAL_HSA(name); \
  if (name == nullptr) GTEST_SKIP() << #name " is not exported by this runtime"
