// The kernel of the traced program: to[i] = 3 * from[i].
#pragma once

#include <stdint.h>  // not <cstdint>: compilers for GPUs come without a C++ library

struct TripleArgs {
  const uint32_t* from;
  uint32_t* to;
  uint32_t count;
  uint32_t reserved;
};
