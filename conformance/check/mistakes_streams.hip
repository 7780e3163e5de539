// Races between kernels of two streams. check_mistakes.py compares the findings with the comments, as for mistakes.hip.
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

constexpr int kGroup = 128, kItems = 64 * kGroup;
constexpr int kAttempts = 10;  // A slow host starts the second kernel after the first has ended.

// Keeps accesses of a loop. Volatile loads would count as atomic ones.
__device__ void keep_accesses() { asm volatile("" ::: "memory"); }
__device__ int index() { return static_cast<int>(blockIdx.x * kGroup + threadIdx.x); }

template <bool kRight>
__global__ void two_streams_write(int* data, int rounds) {
  for (int i = 0; i < rounds; ++i, keep_accesses()) data[index()] = i;  // mistake: two_streams_write races warning "other kernel"
}

template <bool kRight>
__global__ void one_stream_reads(int* data, int* to, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i, keep_accesses()) {
    if (to == nullptr) {
      data[index()] = i;  // mistake: one_stream_reads races warning "other kernel"
    } else {
      sum += data[index()];  // mistake: one_stream_reads races warning "other kernel"
    }
  }
  if (to != nullptr) to[index()] = sum;
}

// Both kernels only read the memory that they share.
__global__ void sums(const int* from, int* to, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) sum += from[(index() + i * kGroup) % kItems];
  to[index()] = sum;
}

class Streams {
 public:
  Streams() {
    for (hipStream_t& stream : streams) HIP_OK(hipStreamCreate(&stream));
    HIP_OK(hipEventCreate(&event));
  }
  // The second stream continues after the first one's kernels.
  void order() {
    HIP_OK(hipEventRecord(event, streams[0]));
    HIP_OK(hipStreamWaitEvent(streams[1], event, 0));
  }
  void synchronize() { HIP_OK(hipDeviceSynchronize()); }

  hipStream_t streams[2];
  hipEvent_t event;
};

int main() {
  Streams both;
  const auto [first, second] = both.streams;
  int *data, *sum, *other_sum;
  for (int** const array : {&data, &sum, &other_sum}) {
    HIP_OK(hipMalloc(reinterpret_cast<void**>(array), kItems * sizeof(int)));
    HIP_OK(hipMemset(*array, 0, kItems * sizeof(int)));
  }
  both.synchronize();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int rounds = attempt == 0 ? 1 : 200;  // The first attempt loads the code.
    two_streams_write<true><<<kItems / kGroup, kGroup, 0, first>>>(data, rounds);
    both.order();
    two_streams_write<true><<<kItems / kGroup, kGroup, 0, second>>>(data, rounds);
    both.synchronize();
    two_streams_write<false><<<kItems / kGroup, kGroup, 0, first>>>(data, rounds);
    two_streams_write<false><<<kItems / kGroup, kGroup, 0, second>>>(data, rounds);
    both.synchronize();

    one_stream_reads<true><<<kItems / kGroup, kGroup, 0, first>>>(data, nullptr, rounds);
    both.order();
    one_stream_reads<true><<<kItems / kGroup, kGroup, 0, second>>>(data, sum, rounds);
    both.synchronize();
    one_stream_reads<false><<<kItems / kGroup, kGroup, 0, first>>>(data, nullptr, rounds);
    one_stream_reads<false><<<kItems / kGroup, kGroup, 0, second>>>(data, sum, rounds);
    both.synchronize();

    sums<<<kItems / kGroup, kGroup, 0, first>>>(data, sum, rounds);
    sums<<<kItems / kGroup, kGroup, 0, second>>>(data, other_sum, rounds);
    both.synchronize();
  }
  return 0;
}
