// Kernels whose executed instructions are known by hand, for vgpu-run --profile. check_counts.py compares the
// profile with the comments:
//
//   // executed: [waves <expression>, ]lanes <expression>    how often the mark on this line was executed
//   // profile: <kernel> <field> <expression>                a field of the JSON
//
// W is the wave size. A mark is an s_nop. `waves` is absent where the compiler decides whether a wave without
// active lanes skips the mark.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define HIP_OK(call)                                                          \
  do {                                                                        \
    const hipError_t status = (call);                                         \
    if (status != hipSuccess) {                                               \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorName(status));       \
      std::exit(1);                                                           \
    }                                                                         \
  } while (false)

#define MARK asm volatile("s_nop 7")
// The mark of the second side of a branch, so that the compiler does not merge both.
#define OTHER_MARK asm volatile("s_nop 6")

// profile: straight launches 1
// profile: straight work_groups 4
// profile: straight waves 1024//W
// profile: straight work_items 1024
// profile: straight wave_size W
// profile: straight bytes_written 4*1024
__global__ void straight(int* out) {
  MARK;  // executed: waves 1024//W, lanes 1024
  MARK;  // executed: waves 1024//W, lanes 1024
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

// profile: partial_group waves -(-100//W)
// profile: partial_group work_items 100
__global__ void partial_group() {
  MARK;  // executed: waves -(-100//W), lanes 100
}

// profile: one_item waves 3
__global__ void one_item() {
  MARK;  // executed: waves 3, lanes 3
}

__global__ void guarded(int n) {
  MARK;  // executed: waves 1024//W, lanes 1024
  if (blockIdx.x * blockDim.x + threadIdx.x < n) {
    MARK;  // executed: lanes 1000
  }
  MARK;  // executed: waves 1024//W, lanes 1024
}

__global__ void uniform_loop(int n) {
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    MARK;  // executed: waves 10*256//W, lanes 10*256
  }
  MARK;  // executed: waves 256//W, lanes 256
}

__global__ void nested_loops(int n, int m) {
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    MARK;  // executed: waves 3*256//W, lanes 3*256
#pragma unroll 1
    for (int j = 0; j < m; ++j) {
      MARK;  // executed: waves 15*256//W, lanes 15*256
    }
  }
}

// Lane l runs the loop l % 4 + 1 times: a quarter of the lanes is left in the last iteration.
__global__ void lane_loop() {
  const int n = static_cast<int>(threadIdx.x & 3) + 1;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    MARK;  // executed: waves 4*256//W, lanes 256+192+128+64
  }
  MARK;  // executed: waves 256//W, lanes 256
}

__global__ void two_sides() {
  if ((threadIdx.x & 1) != 0) {
    MARK;  // executed: waves 256//W, lanes 128
    MARK;  // executed: waves 256//W, lanes 128
  } else {
    OTHER_MARK;  // executed: waves 256//W, lanes 128
  }
  MARK;  // executed: waves 256//W, lanes 256
}

__global__ void nested_branches() {
  const unsigned i = threadIdx.x;
  if (i < 100) {
    MARK;  // executed: lanes 100
    if (i >= 90) {
      MARK;  // executed: lanes 10
    }
    if (i % 10 == 0) {
      MARK;  // executed: lanes 10
    } else {
      OTHER_MARK;  // executed: lanes 90
    }
  }
  MARK;  // executed: waves 256//W, lanes 256
}

__global__ void early_return() {
  MARK;  // executed: waves 256//W, lanes 256
  if (threadIdx.x >= 16) return;
  MARK;  // executed: lanes 16
}

__global__ void uniform_branch(int chosen) {
  if (blockIdx.x == chosen) {
    MARK;  // executed: waves 256//W, lanes 256
  } else {
    OTHER_MARK;  // executed: waves 3*256//W, lanes 3*256
  }
}

__device__ __attribute__((noinline)) int called(int x) {
  MARK;  // executed: waves 3*128//W, lanes 3*128
  return x * 3;
}
__global__ void calls(int* out, int x) {
  x = called(x);
  MARK;  // executed: waves 128//W, lanes 128
  x = called(x + 1);
  x = called(x + 2);
  out[threadIdx.x] = x;
}

__device__ __forceinline__ void inlined() {
  MARK;  // executed: waves 2*128//W, lanes 2*128
}
__global__ void inlines() {
  inlined();
  MARK;  // executed: waves 128//W, lanes 128
  inlined();
}

// profile: exchanges bytes_in_lds 2*4*256
// profile: exchanges bytes_written 4*256
__global__ void exchanges(int* out) {
  __shared__ int values[256];
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  MARK;  // executed: waves 256//W, lanes 256
  __syncthreads();
  MARK;  // executed: waves 256//W, lanes 256
  out[threadIdx.x] = values[255 - threadIdx.x];
}

// profile: three_dimensions work_groups 24
// profile: three_dimensions work_items 24*256
// profile: three_dimensions waves 24*256//W
__global__ void three_dimensions() {
  MARK;  // executed: waves 24*256//W, lanes 24*256
  if (threadIdx.z == 3) {
    MARK;  // executed: lanes 24*64
  }
}

// profile: launched_often launches 5
// profile: launched_often work_items 5*64
__global__ void launched_often() {
  MARK;  // executed: waves 5*64//W, lanes 5*64
}

// profile: adds bytes_written 4*256
__global__ void adds(int* sum) {
  MARK;  // executed: waves 256//W, lanes 256
  // The address differs for each lane, so the compiler does not add within the wave first.
  atomicAdd(&sum[threadIdx.x], 1);
}

// The same counts on one worker and on several: many groups, which finish in any order.
__global__ void many_groups(int* out) {
  MARK;  // executed: waves 1000*64//W, lanes 1000*64
#pragma unroll 1
  for (unsigned i = 0; i < blockIdx.x % 3; ++i) {
    MARK;  // executed: waves 999*64//W, lanes 999*64
  }
  out[threadIdx.x] = 1;
}

__global__ void never_taken(int n) {
  if (n < 0) {
    MARK;  // executed: waves 0, lanes 0
  }
  MARK;  // executed: waves 64//W, lanes 64
}

int main() {
  int* memory = nullptr;
  HIP_OK(hipMalloc(&memory, 4096 * sizeof(int)));
  HIP_OK(hipMemset(memory, 0, 4096 * sizeof(int)));
  straight<<<4, 256>>>(memory);
  partial_group<<<1, 100>>>();
  one_item<<<3, 1>>>();
  guarded<<<4, 256>>>(1000);
  uniform_loop<<<1, 256>>>(10);
  nested_loops<<<1, 256>>>(3, 5);
  lane_loop<<<1, 256>>>();
  two_sides<<<1, 256>>>();
  nested_branches<<<1, 256>>>();
  early_return<<<1, 256>>>();
  uniform_branch<<<4, 256>>>(2);
  calls<<<1, 128>>>(memory, 7);
  inlines<<<1, 128>>>();
  exchanges<<<1, 256>>>(memory);
  three_dimensions<<<dim3(2, 3, 4), dim3(8, 8, 4)>>>();
  for (int i = 0; i < 5; ++i) launched_often<<<1, 64>>>();
  adds<<<1, 256>>>(memory);
  many_groups<<<1000, 64>>>(memory);
  never_taken<<<1, 64>>>(1);
  HIP_OK(hipGetLastError());
  HIP_OK(hipDeviceSynchronize());
  HIP_OK(hipFree(memory));
}
