// A failed assert in a nested call. The virtual GPU reports all three functions with their source lines,
// although the trap is in a function of HIP. CMakeLists.txt contains the line numbers of this file.
#undef NDEBUG
#include <cassert>

#include "check.hpp"

__device__ __noinline__ void put(int* to, int value) {
  assert(value != 70);
  *to = value;
}

__device__ __noinline__ int put_all(int* to, int first) {
  put(to, first);
  return first + 1;
}

__global__ void numbers(int* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  out[i] += put_all(out + i, i);
}

int main() {
  const DeviceArray<int> out(512, 0);
  numbers<<<2, 256>>>(out.data());
  HIP_FINISH();
  return 0;
}
