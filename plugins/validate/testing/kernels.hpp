// Kernels of the tests, with their arguments.
#pragma once

#include <cstdint>

namespace validate::testing {

/// Number of words in the LDS of `add_up`, and its work-group size.
constexpr uint32_t kWords = 64;

/// add_up: adds kWords words through LDS.
struct AddUpArgs {
  const uint32_t* words;
  uint32_t* sum;
};

/// hold: sets `begun`, then waits until `go_on` is not 0.
struct HoldArgs {
  uint32_t* begun;
  const uint32_t* go_on;
};

}  // namespace validate::testing
