// Private arrays that are too large or too irregularly indexed for registers: scratch memory with divergent
// addresses, in all widths, and through generic pointers.
#include "check.hpp"

constexpr unsigned kWords = 600;

// A permutation by swaps, then a walk along it.
__global__ void shuffled_walk(const unsigned* seeds, unsigned* out) {
  unsigned cards[kWords];
  for (unsigned i = 0; i < kWords; ++i) cards[i] = i;
  unsigned state = seeds[blockIdx.x * blockDim.x + threadIdx.x];
  for (unsigned i = kWords - 1; i > 0; --i) {
    state = state * 1664525u + 1013904223u;
    const unsigned j = (state >> 8) % (i + 1);
    const unsigned card = cards[i];
    cards[i] = cards[j];
    cards[j] = card;
  }
  unsigned place = state % kWords, sum = 0;
  for (unsigned i = 0; i < 50; ++i) {
    place = cards[place];
    sum = sum * 31 + place;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

static unsigned walk_on_host(unsigned state) {
  unsigned cards[kWords];
  for (unsigned i = 0; i < kWords; ++i) cards[i] = i;
  for (unsigned i = kWords - 1; i > 0; --i) {
    state = state * 1664525u + 1013904223u;
    std::swap(cards[i], cards[(state >> 8) % (i + 1)]);
  }
  unsigned place = state % kWords, sum = 0;
  for (unsigned i = 0; i < 50; ++i) {
    place = cards[place];
    sum = sum * 31 + place;
  }
  return sum;
}

static void check_walk() {
  constexpr unsigned kCount = 500;
  Random random(8);
  std::vector<unsigned> seeds(kCount), expected(kCount);
  for (unsigned i = 0; i < kCount; ++i) {
    seeds[i] = static_cast<unsigned>(random.bits());
    expected[i] = walk_on_host(seeds[i]);
  }
  const DeviceArray<unsigned> din(seeds), out(kCount, 0xff);
  shuffled_walk<<<kCount / 100, 100>>>(din.data(), out.data());
  HIP_FINISH();
  expect_equal("walks through a shuffled array", expected, out.read());
}

// Bytes, halves, words and doubles of one private array, written in one width and read in another.
struct Mixed {
  uint8_t bytes[96];
};

__host__ __device__ inline uint64_t mix(Mixed& block, unsigned seed) {
  for (unsigned i = 0; i < 96; ++i) block.bytes[(i * 37 + seed) % 96] = static_cast<uint8_t>(i * 7 + seed);
  uint64_t sum = 0;
  for (unsigned i = 0; i < 24; ++i) {
    uint16_t half;
    uint32_t word;
    uint64_t two;
    __builtin_memcpy(&half, &block.bytes[(seed + i) % 94], 2);
    __builtin_memcpy(&word, &block.bytes[(seed * 3 + i) % 92], 4);
    __builtin_memcpy(&two, &block.bytes[(seed * 5 + i) % 88], 8);
    sum = sum * 1099511628211u ^ (half + word + two);
    __builtin_memcpy(&block.bytes[(seed + i * 11) % 92], &sum, 4);
    block.bytes[(seed + i) % 96] = static_cast<uint8_t>(static_cast<int8_t>(block.bytes[i]) >> 1);
  }
  return sum;
}

__global__ void mixed_widths(uint64_t* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  Mixed block;
  out[i] = mix(block, i);
}

static void check_mixed_widths() {
  constexpr unsigned kCount = 320;
  std::vector<uint64_t> expected(kCount);
  for (unsigned i = 0; i < kCount; ++i) {
    Mixed block;
    expected[i] = mix(block, i);
  }
  const DeviceArray<uint64_t> out(kCount, 0xff);
  mixed_widths<<<kCount / 64, 64>>>(out.data());
  HIP_FINISH();
  expect_equal("private memory in all widths", expected, out.read());
}

// Compilers fold the constant part of an index into the offset, so that the register has a negative index.
__global__ void negative_indices(const int* places, unsigned* out) {
  const unsigned t = threadIdx.x;
  unsigned mine[160];
#pragma unroll 1
  for (int i = 0; i < 160; ++i) mine[i] = t * 1000 + i;
  const int place = places[t];
  mine[place + 80] ^= 0x50000;
  out[t] = mine[place + 100] * 3 + mine[place + 60] + mine[t + 80 - 50];
}

static void check_negative_indices() {
  std::vector<int> places(64);
  std::vector<unsigned> expected(64);
  for (int t = 0; t < 64; ++t) {
    places[t] = t * 7 % 64 - 50;
    std::vector<unsigned> mine(160);
    for (int i = 0; i < 160; ++i) mine[i] = t * 1000 + i;
    mine[places[t] + 80] ^= 0x50000;
    expected[t] = mine[places[t] + 100] * 3 + mine[places[t] + 60] + mine[t + 80 - 50];
  }
  const DeviceArray<int> din(places);
  const DeviceArray<unsigned> out(64, 0xff);
  negative_indices<<<1, 64>>>(din.data(), out.data());
  HIP_FINISH();
  expect_equal("negative indices", expected, out.read());
}

// A generic pointer that refers to private, LDS or global memory, depending on the lane.
__device__ __attribute__((noinline)) unsigned sum_of(const unsigned* values, unsigned count) {
  unsigned sum = 0;
  for (unsigned i = 0; i < count; ++i) sum = sum * 3 + values[i];
  return sum;
}

__device__ __attribute__((noinline)) void add_to(unsigned* value, unsigned x) {
  atomicAdd(value, x);
}

__global__ void generic_pointers(const unsigned* memory, unsigned* out) {
  __shared__ unsigned shared[64];
  unsigned mine[64];
  const unsigned t = threadIdx.x;
  for (unsigned i = 0; i < 64; ++i) mine[i] = i * t;
  shared[t] = t * t;
  __syncthreads();
  const unsigned* which = t % 3 == 0 ? mine : t % 3 == 1 ? shared : memory;
  const unsigned sum = sum_of(which, 64);
  __syncthreads();
  add_to(t % 2 == 0 ? &shared[t] : &mine[t], 5);
  __syncthreads();
  out[t] = sum + shared[t] + mine[t];
}

static void check_generic_pointers() {
  std::vector<unsigned> memory(64), expected(64);
  for (unsigned i = 0; i < 64; ++i) memory[i] = 1000 - i;
  for (unsigned t = 0; t < 64; ++t) {
    unsigned sum = 0;
    for (unsigned i = 0; i < 64; ++i) sum = sum * 3 + (t % 3 == 0 ? i * t : t % 3 == 1 ? i * i : memory[i]);
    expected[t] = sum + t * t + t * t + 5;
  }
  const DeviceArray<unsigned> din(memory), out(64, 0xff);
  generic_pointers<<<1, 64>>>(din.data(), out.data());
  HIP_FINISH();
  expect_equal("generic pointers", expected, out.read());
}

int main() {
  check_walk();
  check_mixed_widths();
  check_negative_indices();
  check_generic_pointers();
  return verdict("private_arrays");
}
