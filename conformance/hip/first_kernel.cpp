// A minimal program: one kernel and its result. Prints the nanoseconds since the start of main (hsa_compare).
#include <chrono>

#include "check.hpp"

__global__ void increment(int* value) {
  ++*value;
}

int main() {
  const auto begin = std::chrono::steady_clock::now();
  {
    const DeviceArray<int> value(std::vector<int>{41});
    increment<<<1, 1>>>(value.data());
    HIP_FINISH();
    expect_equal("the answer", 42, value.read().front());
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  if (failures() == 0) std::printf("ns %.0f\n", took.count());
  return verdict("first_kernel");
}
