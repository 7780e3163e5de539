// Computes y = a * x + y on a GPU with OpenMP.
//
//   clang-19 -O2 -g -fopenmp --offload-arch=gfx900 saxpy.c -o saxpy
//   vgpu-run --gpu gfx900 ./saxpy
//
// Debian's packages are clang-19, clang-tools-19, lld-19, libomp-19-dev and rocm-device-libs. Debian's
// clang-19 needs two more options:
//
//   --rocm-device-lib-path=/usr/lib/x86_64-linux-gnu/amdgcn/bitcode
//   -Wl,-rpath,/usr/lib/llvm-19/lib
//
// It prints:
//
//   device 0 of 1 is a GPU: y[0] = 5 (expected 5), 0 of 1048576 elements are wrong
#include <omp.h>
#include <stdio.h>

enum { n = 1 << 20 };
static float x[n], y[n];

int main(void) {
  for (int i = 0; i < n; ++i) {
    x[i] = 1;
    y[i] = 2;
  }

  // Without a GPU, and for a GPU that the program has no code for, OpenMP runs target regions on the CPU.
  int on_cpu = 1;
#pragma omp target map(from : on_cpu)
  on_cpu = omp_is_initial_device();

#pragma omp target teams distribute parallel for map(to : x) map(tofrom : y)
  for (int i = 0; i < n; ++i) y[i] = 3 * x[i] + y[i];

  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += y[i] != 5;
  printf("device %d of %d is a %s: y[0] = %g (expected 5), %d of %d elements are wrong\n",
         omp_get_default_device(), omp_get_num_devices(), on_cpu ? "CPU" : "GPU", y[0], wrong, n);
  return wrong != 0 || on_cpu;
}
