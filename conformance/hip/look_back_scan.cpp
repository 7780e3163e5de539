// A single-pass scan with look-back: each block publishes its sum, then reads its predecessors' sums and
// waits for missing ones. It terminates only if waiting blocks let others run and blocks start in order.
#include "check.hpp"

constexpr unsigned kBlock = 256, kItems = 4, kPerBlock = kBlock * kItems;

// The state of a block: a flag in the upper half, a sum in the lower half.
constexpr unsigned long long kSumKnown = 1ull << 32, kPrefixKnown = 2ull << 32;

__device__ inline unsigned long long state_of(unsigned long long* state) {
  return __hip_atomic_load(state, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ inline void publish(unsigned long long* state, unsigned long long flag, unsigned value) {
  __hip_atomic_store(state, flag | value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

__global__ void scan(const unsigned* in, unsigned* out, unsigned count, unsigned long long* states) {
  __shared__ unsigned sums[kBlock];
  __shared__ unsigned prefix;
  const unsigned t = threadIdx.x, first = blockIdx.x * kPerBlock + t * kItems;
  unsigned values[kItems], sum = 0;
  for (unsigned k = 0; k < kItems; ++k) {
    values[k] = first + k < count ? in[first + k] : 0;
    sum += values[k];
  }
  sums[t] = sum;
  __syncthreads();
  for (unsigned step = 1; step < kBlock; step *= 2) {
    const unsigned other = t >= step ? sums[t - step] : 0;
    __syncthreads();
    sums[t] += other;
    __syncthreads();
  }
  if (t == 0) {
    const unsigned total = sums[kBlock - 1];
    unsigned before = 0;
    if (blockIdx.x > 0) {
      publish(&states[blockIdx.x], kSumKnown, total);
      for (unsigned b = blockIdx.x; b-- > 0;) {
        unsigned long long state;
        while (((state = state_of(&states[b])) >> 32) == 0) {
        }
        before += static_cast<unsigned>(state);
        if ((state >> 32) == 2) break;
      }
    }
    publish(&states[blockIdx.x], kPrefixKnown, before + total);
    prefix = before;
  }
  __syncthreads();
  unsigned running = prefix + sums[t] - sum;
  for (unsigned k = 0; k < kItems; ++k) {
    running += values[k];
    if (first + k < count) out[first + k] = running;
  }
}

int main() {
  for (const unsigned count : {1u, 1000u, 123'457u, 1'000'000u}) {
    Random random(count);
    std::vector<unsigned> in(count), expected(count);
    unsigned sum = 0;
    for (unsigned i = 0; i < count; ++i) {
      in[i] = static_cast<unsigned>(random.bits());
      expected[i] = sum += in[i];
    }
    const DeviceArray<unsigned> din(in), out(count, 0xff);
    const unsigned blocks = blocks_for(count, kPerBlock);
    const DeviceArray<unsigned long long> states(blocks, 0);
    scan<<<blocks, kBlock>>>(din.data(), out.data(), count, states.data());
    HIP_FINISH();
    expect_equal("scan of " + std::to_string(count), expected, out.read());
  }
  return verdict("look_back_scan");
}
