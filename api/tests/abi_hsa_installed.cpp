// SPDX-License-Identifier: MIT
// The core headers of the system's ROCr, as programs use them. In a separate namespace, so that types have
// one definition each in the test program.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

#include "api/tests/abi_facts.h"

#ifdef RIGEL_INSTALLED_HSA_H

#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wold-style-cast"

namespace installed {
#include RIGEL_INSTALLED_HSA_H
#include RIGEL_INSTALLED_HSA_VEN_AMD_LOADER_H

// The same spelled types must describe those functions as describe ours.
#define ABI_FUNCTION(name, ...) static_assert(std::is_same_v<decltype(name), __VA_ARGS__>);
#include "api/tests/abi_hsa_functions.inc"

#define ABI_ALIGNOF(type) alignof(type)
#define ABI_NEW_VALUE(...)
#define ABI_NEW_FIELD(...)

namespace {
constexpr AbiFact kFacts[] = {
#include "api/tests/abi_hsa_facts.inc"
};
}  // namespace
}  // namespace installed

AbiFacts abi_hsa_facts_as_installed() {
  return {installed::kFacts, std::size(installed::kFacts)};
}

#else

AbiFacts abi_hsa_facts_as_installed() {
  return {nullptr, 0};
}

#endif
