// Blocks that wait for each other: a grid barrier from atomics, and the barrier of a cooperative launch. Both
// require that all blocks are resident and that waiting blocks let others run.

// The cooperative groups header requires the runtime's header and does not include it.
// clang-format off
#include "check.hpp"
#include <hip/hip_cooperative_groups.h>
// clang-format on

namespace cg = cooperative_groups;

constexpr unsigned kRounds = 6;

// Each round adds values of the next block, which are wrong unless all blocks finished the previous round.
template <typename Barrier>
__device__ void rounds(unsigned* values, Barrier barrier) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  for (unsigned r = 0; r < kRounds; ++r) {
    unsigned* from = values + (r % 2) * n;
    unsigned* to = values + (1 - r % 2) * n;
    const unsigned neighbour =
        __hip_atomic_load(&from[(i + blockDim.x) % n], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    const unsigned own = __hip_atomic_load(&from[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __hip_atomic_store(&to[i], own * 5 + neighbour, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    barrier(r);
  }
}

static std::vector<unsigned> rounds_on_host(std::vector<unsigned> values, unsigned block) {
  const size_t n = values.size();
  for (unsigned r = 0; r < kRounds; ++r) {
    std::vector<unsigned> next(n);
    for (size_t i = 0; i < n; ++i) next[i] = values[i] * 5 + values[(i + block) % n];
    values = next;
  }
  return values;
}

__global__ void by_atomics(unsigned* values, unsigned* arrived) {
  rounds(values, [&](unsigned round) {
    __syncthreads();
    if (threadIdx.x == 0) {
      __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
      while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) <
             gridDim.x * (round + 1)) {
        __builtin_amdgcn_s_sleep(1);
      }
    }
    __syncthreads();
  });
}

__global__ void by_cooperation(unsigned* values) {
  rounds(values, [](unsigned) { cg::this_grid().sync(); });
}

static std::vector<unsigned> initial(size_t count) {
  Random random(count);
  std::vector<unsigned> values(count);
  for (unsigned& value : values) value = static_cast<unsigned>(random.bits());
  return values;
}

static void check_atomics(unsigned blocks, unsigned block) {
  const std::vector<unsigned> start = initial(blocks * block);
  std::vector<unsigned> both = start;
  both.resize(2 * start.size());
  const DeviceArray<unsigned> values(both), arrived(1, 0);
  by_atomics<<<blocks, block>>>(values.data(), arrived.data());
  HIP_FINISH();
  std::vector<unsigned> result = values.read();
  result.resize(start.size());
  expect_equal("a barrier of " + std::to_string(blocks) + " blocks by atomics", rounds_on_host(start, block),
               result);
}

static void check_cooperation(unsigned blocks, unsigned block) {
  const std::vector<unsigned> start = initial(blocks * block);
  std::vector<unsigned> both = start;
  both.resize(2 * start.size());
  const DeviceArray<unsigned> values(both);
  unsigned* pointer = values.data();
  void* arguments[] = {&pointer};
  HIP_OK(hipLaunchCooperativeKernel(reinterpret_cast<void*>(by_cooperation), dim3(blocks), dim3(block),
                                    arguments, 0, nullptr));
  HIP_FINISH();
  std::vector<unsigned> result = values.read();
  result.resize(start.size());
  expect_equal("a cooperative launch of " + std::to_string(blocks) + " blocks", rounds_on_host(start, block),
               result);
}

// A launch with one block more than can be resident would wait forever. It must fail without running.
static void check_too_large(unsigned block) {
  int blocks = 0, units = 0;
  HIP_OK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, by_cooperation, static_cast<int>(block), 0));
  HIP_OK(hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, 0));
  const unsigned room = static_cast<unsigned>(blocks) * static_cast<unsigned>(units);
  check_cooperation(room, block);
  const std::vector<unsigned> start = initial(2 * (room + 1) * block);
  const DeviceArray<unsigned> values(start);
  unsigned* pointer = values.data();
  void* arguments[] = {&pointer};
  const hipError_t error = hipLaunchCooperativeKernel(reinterpret_cast<void*>(by_cooperation), dim3(room + 1),
                                                      dim3(block), arguments, 0, nullptr);
  if (error != hipErrorCooperativeLaunchTooLarge) {
    fail("a cooperative launch of " + std::to_string(room + 1) + " blocks, where " + std::to_string(room) +
         " have room, gives " + hipGetErrorName(error));
  }
  (void)hipGetLastError();
  HIP_FINISH();
  expect_equal("what a refused launch was to change", start, values.read());
}

int main() {
  check_atomics(1, 64);
  check_atomics(8, 256);
  check_atomics(32, 100);
  int cooperative = 0;
  HIP_OK(hipDeviceGetAttribute(&cooperative, hipDeviceAttributeCooperativeLaunch, 0));
  if (cooperative != 0) {
    check_cooperation(1, 64);
    check_cooperation(8, 256);
    check_cooperation(30, 128);
    // RDNA in WGP mode: a pair of compute units holds five blocks of 12 waves or three of 20.
    for (const unsigned block : {256u, 384u, 640u}) check_too_large(block);
  } else {
    std::printf("this device has no cooperative launches\n");
  }
  return verdict("grid_barrier");
}
