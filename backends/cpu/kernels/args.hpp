// Arguments of the sample kernels, for kernels and hosts.
#pragma once

#include <cstdint>

namespace samples {

struct VectorCopyArgs {
  const uint32_t* from;
  uint32_t* to;
  uint64_t count;
};

struct SaxpyArgs {
  float a;
  uint32_t count;
  const float* x;
  float* y;
};

/// c = a b, square matrices of `size` rows, a multiple of 16, in row-major order.
struct SgemmArgs {
  const float* a;
  const float* b;
  float* c;
  uint64_t size;
};

/// sums[group] = the sum of the group's part of `values`.
struct ReduceArgs {
  const uint32_t* values;
  uint64_t* sums;
  uint64_t count;
};

constexpr uint32_t kBins = 256;

/// Adds the number of occurrences of each value to bins[0..kBins).
struct HistogramArgs {
  const uint8_t* values;
  uint32_t* bins;
  uint64_t count;
};

}  // namespace samples
