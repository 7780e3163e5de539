// Kernels with mistakes that a GPU does not report. vgpu-run --check finds them:
//
//   hipcc -g --offload-arch=gfx900 mistakes.hip -o mistakes
//   vgpu-run --gpu gfx900 --check ./mistakes
#include <hip/hip_runtime.h>

#include <cstdio>

constexpr int kSize = 1000;
constexpr int kGroup = 256;

__global__ void scale(int* data, int size) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i <= size) data[i] = 2 * i;  // i < size
}

__global__ void reverse(int* data) {
  __shared__ int copy[kGroup];
  const unsigned i = threadIdx.x;
  copy[i] = data[i];
  // __syncthreads() is missing.
  data[i] = copy[kGroup - 1 - i];
}

int main() {
  int* data = nullptr;
  if (hipMalloc(&data, kSize * sizeof(int)) != hipSuccess) return 1;
  scale<<<(kSize + kGroup - 1) / kGroup, kGroup>>>(data, kSize);
  reverse<<<1, kGroup>>>(data);
  if (hipDeviceSynchronize() != hipSuccess || hipFree(data) != hipSuccess) return 1;
  std::printf("done\n");
}
