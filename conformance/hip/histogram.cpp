// Histograms with atomics in LDS and global memory, and every atomic operation of HIP in both: many
// work-items access few words, and the results do not depend on the order.
#include "check.hpp"

constexpr unsigned kBins = 64;

__global__ void histogram(const uint8_t* in, unsigned count, unsigned* bins) {
  __shared__ unsigned local[kBins];
  for (unsigned b = threadIdx.x; b < kBins; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    atomicAdd(&local[in[i] % kBins], 1u);
  }
  __syncthreads();
  for (unsigned b = threadIdx.x; b < kBins; b += blockDim.x) atomicAdd(&bins[b], local[b]);
}

static void check_histogram() {
  constexpr unsigned kCount = 300'001;
  Random random(1);
  std::vector<uint8_t> in(kCount);
  std::vector<unsigned> expected(kBins);
  for (uint8_t& value : in) {
    value = static_cast<uint8_t>(random.below(4) == 0 ? 17 : random.bits());
    ++expected[value % kBins];
  }
  const DeviceArray<uint8_t> din(in);
  const DeviceArray<unsigned> bins(kBins, 0);
  histogram<<<37, 256>>>(din.data(), kCount, bins.data());
  HIP_FINISH();
  expect_equal("histogram", expected, bins.read());
}

// Words for add, sub, min, max, and, or, xor, inc, dec, and for compare-and-swap.
enum Place { kAdd, kSub, kMin, kMax, kAnd, kOr, kXor, kInc, kDec, kCas, kPlaces };

template <typename T>
__device__ void all_operations(T* place, T value) {
  atomicAdd(&place[kAdd], value);
  if constexpr (sizeof(T) == 4) atomicSub(&place[kSub], value);
  atomicMin(&place[kMin], value);
  atomicMax(&place[kMax], value);
  atomicAnd(&place[kAnd], value);
  atomicOr(&place[kOr], value);
  atomicXor(&place[kXor], value);
  if constexpr (std::is_same_v<T, unsigned>) {
    atomicInc(&place[kInc], 1000u);
    atomicDec(&place[kDec], 1000u);
  }
  if constexpr (std::is_unsigned_v<T>) {
    // x -> 3x + 1 once per work-item: the result depends only on the number of applications.
    T old = place[kCas], seen;
    do {
      seen = old;
      old = atomicCAS(&place[kCas], seen, static_cast<T>(seen * 3 + 1));
    } while (old != seen);
  }
}

template <typename T>
__global__ void in_memory(const T* values, T* place) {
  all_operations(place, values[blockIdx.x * blockDim.x + threadIdx.x]);
}

template <typename T>
__global__ void in_lds(const T* values, T* places) {
  __shared__ T place[kPlaces];
  if (threadIdx.x < kPlaces) place[threadIdx.x] = places[blockIdx.x * kPlaces + threadIdx.x];
  __syncthreads();
  all_operations(place, values[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x < kPlaces) places[blockIdx.x * kPlaces + threadIdx.x] = place[threadIdx.x];
}

template <typename T>
std::vector<T> initial() {
  std::vector<T> place(kPlaces, T(5));
  place[kMin] = std::numeric_limits<T>::max();
  place[kMax] = std::numeric_limits<T>::min();
  place[kAnd] = static_cast<T>(~T(0));
  return place;
}

template <typename T>
void apply(std::vector<T>& place, T value) {
  using U = std::make_unsigned_t<T>;
  const auto wrapped = [](U v) { return static_cast<T>(v); };
  place[kAdd] = wrapped(static_cast<U>(place[kAdd]) + static_cast<U>(value));
  if (sizeof(T) == 4) place[kSub] = wrapped(static_cast<U>(place[kSub]) - static_cast<U>(value));
  place[kMin] = value < place[kMin] ? value : place[kMin];
  place[kMax] = value > place[kMax] ? value : place[kMax];
  place[kAnd] &= value;
  place[kOr] |= value;
  place[kXor] ^= value;
  if (std::is_same_v<T, unsigned>) {
    place[kInc] = place[kInc] >= T(1000) ? T(0) : static_cast<T>(place[kInc] + 1);
    place[kDec] = place[kDec] == 0 || place[kDec] > T(1000) ? T(1000) : static_cast<T>(place[kDec] - 1);
  }
  if (std::is_unsigned_v<T>) place[kCas] = wrapped(static_cast<U>(place[kCas]) * 3 + 1);
}

template <typename T>
void check_operations(const char* type) {
  constexpr unsigned kBlocks = 9, kBlock = 128;
  Random random(11 + sizeof(T));
  std::vector<T> values(kBlocks * kBlock);
  // Most bits are set: otherwise the first few values determine and/or.
  for (T& value : values) value = static_cast<T>(random.bits() | random.bits() | random.bits());
  std::vector<T> expected = initial<T>();
  for (const T value : values) apply(expected, value);
  const DeviceArray<T> din(values), place(initial<T>());
  in_memory<T><<<kBlocks, kBlock>>>(din.data(), place.data());
  HIP_FINISH();
  expect_equal(std::string("atomics in memory, ") + type, expected, place.read());

  std::vector<T> each, all_expected;
  for (unsigned b = 0; b < kBlocks; ++b) {
    std::vector<T> group = initial<T>();
    each.insert(each.end(), group.begin(), group.end());
    for (unsigned i = 0; i < kBlock; ++i) apply(group, values[b * kBlock + i]);
    all_expected.insert(all_expected.end(), group.begin(), group.end());
  }
  const DeviceArray<T> places(each);
  in_lds<T><<<kBlocks, kBlock>>>(din.data(), places.data());
  HIP_FINISH();
  expect_equal(std::string("atomics in LDS, ") + type, all_expected, places.read());
}

// Floating-point additions of small integers are exact in any order.
template <typename T>
__global__ void float_atomics(T* sum, T* last) {
  __shared__ T local;
  if (threadIdx.x == 0) local = 0;
  __syncthreads();
  const T value = static_cast<T>(threadIdx.x % 17) - 3;
  atomicAdd(&local, value);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&sum[0], local);
  atomicAdd(&sum[1], value);
  const T old = atomicExch(last, static_cast<T>(threadIdx.x));
  if (old < 0 || old >= 1024) atomicAdd(&sum[2], T(1));
}

template <typename T>
void check_float(const char* type) {
  constexpr unsigned kBlocks = 12, kBlock = 256;
  T expected = 0;
  for (unsigned i = 0; i < kBlock; ++i) expected += static_cast<T>(i % 17) - 3;
  expected *= kBlocks;
  const DeviceArray<T> sum(3, 0), last(1, 0);
  float_atomics<T><<<kBlocks, kBlock>>>(sum.data(), last.data());
  HIP_FINISH();
  expect_equal(std::string("atomic sums of ") + type, std::vector<T>{expected, expected, T(0)}, sum.read());
}

// Atomics return the previous value, so the sum of all returned values has an expected value.
__global__ void tickets(unsigned* counter, unsigned* taken) {
  taken[atomicAdd(counter, 1u)] += 1;
}

static void check_tickets() {
  constexpr unsigned kCount = 64 * 256;
  const DeviceArray<unsigned> counter(1, 0), taken(kCount, 0);
  tickets<<<64, 256>>>(counter.data(), taken.data());
  HIP_FINISH();
  expect_equal("tickets", std::vector<unsigned>(kCount, 1), taken.read());
  expect_equal("tickets given", kCount, counter.read()[0]);
}

int main() {
  check_histogram();
  check_operations<int>("int");
  check_operations<unsigned>("uint");
  check_operations<unsigned long long>("uint64");
  check_float<float>("float");
  check_float<double>("double");
  check_tickets();
  return verdict("histogram");
}
