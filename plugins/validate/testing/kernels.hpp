// The tests' kernels, and what they take.
#pragma once

#include <cstdint>

namespace validate::testing {

/// Work-group memory of `add_up`.
constexpr uint32_t kWords = 64;

/// add_up: the sum of kWords words, by way of work-group memory.
struct AddUpArgs {
  const uint32_t* words;
  uint32_t* sum;
};

/// hold: sets `begun` and goes on when `go_on` is not 0.
struct HoldArgs {
  uint32_t* begun;
  const uint32_t* go_on;
};

}  // namespace validate::testing
