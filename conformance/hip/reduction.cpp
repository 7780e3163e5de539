// Sums, minima and maxima of waves, blocks and grids, with shuffles, votes and LDS. The host adds
// floating-point values in the same order, so the bits of the results must be equal.
#include "check.hpp"

template <typename T>
__device__ T wave_sum(T value) {
  for (int step = warpSize / 2; step > 0; step /= 2) value += __shfl_down(value, step);
  return value;
}

template <typename T>
__global__ void block_sums(const T* in, T* out, unsigned count) {
  __shared__ T partial[32];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned wave = threadIdx.x / warpSize, lane = threadIdx.x % warpSize;
  const T value = wave_sum(i < count ? in[i] : T(0));
  if (lane == 0) partial[wave] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    T sum = 0;
    for (unsigned w = 0; w < blockDim.x / warpSize; ++w) sum += partial[w];
    out[blockIdx.x] = sum;
  }
}

// A reduction tree in LDS: half of the work-items add the other half's values.
template <typename T>
__global__ void block_sums_lds(const T* in, T* out, unsigned count) {
  __shared__ T values[256];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  values[threadIdx.x] = i < count ? in[i] : T(0);
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) values[threadIdx.x] += values[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = values[0];
}

static unsigned wave_size() {
  hipDeviceProp_t properties;
  HIP_OK(hipGetDeviceProperties(&properties, 0));
  return static_cast<unsigned>(properties.warpSize);
}

template <typename T>
T tree(std::vector<T> values) {
  for (size_t half = values.size() / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) values[i] = static_cast<T>(values[i] + values[i + half]);
  }
  return values[0];
}

template <typename T>
void check_sums(const char* type) {
  constexpr unsigned kCount = 100'003, kBlock = 256;
  Random random(7 + sizeof(T));
  std::vector<T> in(kCount);
  for (T& value : in) {
    if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(random.real(-100, 100));
    } else {
      value = static_cast<T>(random.bits());
    }
  }
  const unsigned blocks = blocks_for(kCount, kBlock), wave = wave_size();
  std::vector<T> by_shuffle(blocks), by_lds(blocks);
  for (unsigned b = 0; b < blocks; ++b) {
    std::vector<T> block(kBlock, T(0));
    for (unsigned i = 0; i < kBlock && b * kBlock + i < kCount; ++i) block[i] = in[b * kBlock + i];
    by_lds[b] = tree(block);
    T sum = 0;
    for (unsigned w = 0; w < kBlock; w += wave) {
      sum = static_cast<T>(sum + tree(std::vector<T>(block.begin() + w, block.begin() + w + wave)));
    }
    by_shuffle[b] = sum;
  }
  const DeviceArray<T> din(in), out(blocks, 0xff);
  block_sums<T><<<blocks, kBlock>>>(din.data(), out.data(), kCount);
  HIP_FINISH();
  expect_equal(std::string("shuffled sums of ") + type, by_shuffle, out.read());
  block_sums_lds<T><<<blocks, kBlock>>>(din.data(), out.data(), kCount);
  HIP_FINISH();
  expect_equal(std::string("sums in LDS of ") + type, by_lds, out.read());
}

// Every shuffle function, with widths that divide the wave size.
__global__ void shuffles(const int* in, int* out, int width) {
  const unsigned i = threadIdx.x, n = blockDim.x;
  const int value = in[i];
  out[i] = __shfl(value, static_cast<int>(i * 5 + 3) % width, width);
  out[n + i] = __shfl_up(value, 3, width);
  out[2 * n + i] = __shfl_down(value, 5, width);
  out[3 * n + i] = __shfl_xor(value, 6, width);
}

static void check_shuffles() {
  const int wave = static_cast<int>(wave_size()), block = 2 * wave;
  std::vector<int> in(static_cast<size_t>(block));
  Random random(3);
  for (int& value : in) value = static_cast<int>(random.bits());
  for (int width = 2; width <= wave; width *= 2) {
    std::vector<int> expected(static_cast<size_t>(4 * block));
    for (int i = 0; i < block; ++i) {
      const int lane = i % wave, base = i - lane, group = lane / width * width;
      const auto at = [&](int source) { return in[static_cast<size_t>(base + source)]; };
      const auto set = [&](int row, int source) {
        expected[static_cast<size_t>(row * block + i)] = at(source);
      };
      set(0, group + (i * 5 + 3) % width);
      set(1, lane - 3 < group ? lane : lane - 3);
      set(2, lane % width + 5 >= width ? lane : lane + 5);
      set(3, (lane ^ 6) >= group + width ? lane : lane ^ 6);
    }
    const DeviceArray<int> din(in), out(expected.size(), 0xff);
    shuffles<<<1, static_cast<unsigned>(block)>>>(din.data(), out.data(), width);
    HIP_FINISH();
    expect_equal("shuffles of width " + std::to_string(width), expected, out.read());
  }
}

__global__ void votes(const int* in, unsigned long long* out) {
  const unsigned i = threadIdx.x;
  out[3 * i] = __ballot(in[i] > 0);
  out[3 * i + 1] = static_cast<unsigned long long>(__any(in[i] > 90));
  out[3 * i + 2] = static_cast<unsigned long long>(__all(in[i] > -99));
}

static void check_votes() {
  const unsigned wave = wave_size(), block = 4 * wave;
  Random random(5);
  std::vector<int> in(block);
  for (int& value : in) value = static_cast<int>(random.below(192)) - 100;
  std::vector<unsigned long long> expected(3 * block);
  for (unsigned i = 0; i < block; ++i) {
    unsigned long long positive = 0, any = 0, all = 1;
    for (unsigned l = 0; l < wave; ++l) {
      const int value = in[i / wave * wave + l];
      positive |= static_cast<unsigned long long>(value > 0) << l;
      any |= value > 90;
      all &= value > -99;
    }
    expected[3 * i] = positive;
    expected[3 * i + 1] = any;
    expected[3 * i + 2] = all;
  }
  const DeviceArray<int> din(in);
  const DeviceArray<unsigned long long> out(expected.size(), 0xff);
  votes<<<1, block>>>(din.data(), out.data());
  HIP_FINISH();
  expect_equal("votes", expected, out.read());
}

int main() {
  check_sums<int>("int");
  check_sums<unsigned long long>("uint64");
  check_sums<float>("float");
  check_sums<double>("double");
  check_shuffles();
  check_votes();
  return verdict("reduction");
}
