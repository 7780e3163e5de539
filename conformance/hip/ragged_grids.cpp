// Ids of work-items: grids and blocks of one, two and three dimensions, odd block sizes, blocks that do not
// fill a wave, and a number of elements that is not a multiple of the block size.
#include "check.hpp"

struct Shape {
  dim3 grid, block;
};

// Every work-item writes its position to the element that the host assigns to that position.
__global__ void where_am_i(uint32_t* out) {
  const uint32_t x = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t y = blockIdx.y * blockDim.y + threadIdx.y;
  const uint32_t z = blockIdx.z * blockDim.z + threadIdx.z;
  const uint32_t width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
  const uint32_t place = (z * height + y) * width + x;
  out[place] =
      x * 2654435761u + y * 40503u + z * 97u + threadIdx.x + (threadIdx.y << 10) + (threadIdx.z << 20);
}

static void check_shape(const Shape& s) {
  const uint32_t width = s.grid.x * s.block.x, height = s.grid.y * s.block.y, depth = s.grid.z * s.block.z;
  std::vector<uint32_t> expected(size_t{width} * height * depth);
  for (uint32_t z = 0; z < depth; ++z) {
    for (uint32_t y = 0; y < height; ++y) {
      for (uint32_t x = 0; x < width; ++x) {
        expected[(size_t{z} * height + y) * width + x] = x * 2654435761u + y * 40503u + z * 97u +
                                                         x % s.block.x + (y % s.block.y << 10) +
                                                         (z % s.block.z << 20);
      }
    }
  }
  const DeviceArray<uint32_t> out(expected.size(), 0xff);
  where_am_i<<<s.grid, s.block>>>(out.data());
  HIP_FINISH();
  char name[96];
  std::snprintf(name, sizeof name, "grid %ux%ux%u of %ux%ux%u", s.grid.x, s.grid.y, s.grid.z, s.block.x,
                s.block.y, s.block.z);
  expect_equal(name, expected, out.read());
}

// In a partial wave, missing lanes must not be counted.
__global__ void live_lanes(uint32_t* out) {
  const unsigned long long lanes = __ballot(1);
  out[blockIdx.x * blockDim.x + threadIdx.x] = static_cast<uint32_t>(__popcll(lanes));
}

static void check_partial_waves() {
  for (const unsigned block : {1u, 7u, 33u, 63u, 65u, 100u, 1000u}) {
    const DeviceArray<uint32_t> out(block * 3, 0xff);
    live_lanes<<<3, block>>>(out.data());
    HIP_FINISH();
    const unsigned wave = [] {
      hipDeviceProp_t properties;
      HIP_OK(hipGetDeviceProperties(&properties, 0));
      return static_cast<unsigned>(properties.warpSize);
    }();
    std::vector<uint32_t> expected(block * 3);
    for (unsigned i = 0; i < expected.size(); ++i) {
      const unsigned first = i % block / wave * wave;
      expected[i] = block - first < wave ? block - first : wave;
    }
    expect_equal("live lanes in blocks of " + std::to_string(block), expected, out.read());
  }
}

// HIP launches whole blocks. The last one has fewer elements than work-items, on both sides of a barrier.
__global__ void ragged(uint32_t* out, uint32_t count) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t sum = 0;
  for (uint32_t k = 0; k <= threadIdx.x; ++k) sum += k;
  if (i < count) out[i] = sum + i;
  __syncthreads();
  if (i < count && threadIdx.x == blockDim.x - 1) out[i] += 1;
}

static void check_tail() {
  constexpr uint32_t kCount = 777, kBlock = 96;
  const DeviceArray<uint32_t> out(kCount, 0xff);
  ragged<<<blocks_for(kCount, kBlock), kBlock>>>(out.data(), kCount);
  HIP_FINISH();
  std::vector<uint32_t> expected(kCount);
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint32_t t = i % kBlock;
    expected[i] = t * (t + 1) / 2 + i + (t == kBlock - 1 ? 1 : 0);
  }
  expect_equal("a ragged end", expected, out.read());
}

int main() {
  const Shape shapes[] = {{dim3(1), dim3(1)},
                          {dim3(5), dim3(37)},
                          {dim3(3, 5), dim3(8, 8)},
                          {dim3(7, 3), dim3(33, 3)},
                          {dim3(2, 3, 4), dim3(4, 4, 4)},
                          {dim3(3, 1, 5), dim3(5, 7, 3)},
                          {dim3(1, 1, 9), dim3(1, 1, 64)},
                          {dim3(1, 70), dim3(1, 1)},
                          {dim3(2, 2, 2), dim3(1024)},
                          {dim3(2000), dim3(1)}};
  for (const Shape& shape : shapes) check_shape(shape);
  check_partial_waves();
  check_tail();
  return verdict("ragged_grids");
}
