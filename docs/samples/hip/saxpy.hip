// Computes y = a * x + y on a GPU with HIP.
//
//   hipcc -g --offload-arch=gfx900 saxpy.hip -o saxpy
//   vgpu-run --gpu gfx900 ./saxpy
//
// It prints:
//
//   AMD Radeon Instinct MI25: y[0] = 5 (expected 5), 0 of 1048576 elements are wrong
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

// A kernel with a bug: uncomment this line, or compile with -DBUG. Each work-item then writes past the end of y.
// #define BUG

__global__ void saxpy(unsigned n, float a, const float* x, float* y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef BUG
  if (i < n) y[i + n] = a * x[i] + y[i];
#else
  if (i < n) y[i] = a * x[i] + y[i];
#endif
}

// Ends the program if a HIP function has failed.
static void check(hipError_t error, const char* call) {
  if (error == hipSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, hipGetErrorString(error));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

int main() {
  hipDeviceProp_t gpu;
  CHECK(hipGetDeviceProperties(&gpu, 0));

  const unsigned n = 1 << 20;
  const size_t bytes = n * sizeof(float);
  std::vector<float> x(n, 1.0f), y(n, 2.0f);
  float *gpu_x = nullptr, *gpu_y = nullptr;
  CHECK(hipMalloc(&gpu_x, bytes));
  CHECK(hipMalloc(&gpu_y, bytes));
  CHECK(hipMemcpy(gpu_x, x.data(), bytes, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(gpu_y, y.data(), bytes, hipMemcpyHostToDevice));

  saxpy<<<(n + 255) / 256, 256>>>(n, 3.0f, gpu_x, gpu_y);
  CHECK(hipGetLastError());
  CHECK(hipDeviceSynchronize());

  CHECK(hipMemcpy(y.data(), gpu_y, bytes, hipMemcpyDeviceToHost));
  CHECK(hipFree(gpu_x));
  CHECK(hipFree(gpu_y));
  const auto wrong = n - std::count(y.begin(), y.end(), 5.0f);
  std::printf("%s: y[0] = %g (expected 5), %ld of %u elements are wrong\n", gpu.name, y[0],
              static_cast<long>(wrong), n);
  return wrong == 0 ? 0 : 1;
}
