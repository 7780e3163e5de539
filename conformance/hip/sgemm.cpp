// Matrix products in single and double precision: a naive kernel and one with tiles in LDS. Both add in the
// host's order with fused multiply-adds, so the bits of the results must be equal.
#include "check.hpp"

constexpr unsigned kTile = 16;

template <typename T>
__device__ __host__ T multiply_add(T a, T b, T c) {
  if constexpr (sizeof(T) == 4) return __builtin_fmaf(a, b, c);
  return __builtin_fma(a, b, c);
}

template <typename T>
__global__ void gemm_naive(unsigned m, unsigned n, unsigned k, const T* a, const T* b, T* c) {
  const unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  T sum = 0;
  for (unsigned i = 0; i < k; ++i) sum = multiply_add(a[row * k + i], b[i * n + column], sum);
  c[row * n + column] = sum;
}

template <typename T>
__global__ void gemm_tiled(unsigned m, unsigned n, unsigned k, const T* a, const T* b, T* c) {
  __shared__ T tile_a[kTile][kTile];
  __shared__ T tile_b[kTile][kTile + 1];
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const unsigned row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  T sum = 0;
  for (unsigned base = 0; base < k; base += kTile) {
    tile_a[y][x] = row < m && base + x < k ? a[row * k + base + x] : T(0);
    tile_b[y][x] = column < n && base + y < k ? b[(base + y) * n + column] : T(0);
    __syncthreads();
    for (unsigned i = 0; i < kTile && base + i < k; ++i) sum = multiply_add(tile_a[y][i], tile_b[i][x], sum);
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

template <typename T>
void check(const char* type, unsigned m, unsigned n, unsigned k) {
  Random random(m * n + k);
  std::vector<T> a(size_t{m} * k), b(size_t{k} * n), c(size_t{m} * n);
  for (T& value : a) value = static_cast<T>(random.real(-1, 1));
  for (T& value : b) value = static_cast<T>(random.real(-1, 1));
  for (unsigned row = 0; row < m; ++row) {
    for (unsigned column = 0; column < n; ++column) {
      T sum = 0;
      for (unsigned i = 0; i < k; ++i) sum = multiply_add(a[row * k + i], b[i * n + column], sum);
      c[row * n + column] = sum;
    }
  }
  const DeviceArray<T> da(a), db(b), dc(c.size(), 0xff);
  const dim3 grid(blocks_for(n, kTile), blocks_for(m, kTile)), block(kTile, kTile);
  char size[64];
  std::snprintf(size, sizeof size, "%s %ux%ux%u", type, m, n, k);
  gemm_naive<T><<<grid, block>>>(m, n, k, da.data(), db.data(), dc.data());
  HIP_FINISH();
  expect_equal(std::string("naive ") + size, c, dc.read());
  HIP_OK(hipMemset(dc.data(), 0xff, dc.bytes()));
  gemm_tiled<T><<<grid, block>>>(m, n, k, da.data(), db.data(), dc.data());
  HIP_FINISH();
  expect_equal(std::string("tiled ") + size, c, dc.read());
}

int main() {
  check<float>("sgemm", 64, 64, 64);
  check<float>("sgemm", 100, 75, 83);
  check<float>("sgemm", 128, 192, 96);
  check<double>("dgemm", 64, 64, 64);
  check<double>("dgemm", 61, 77, 53);
  return verdict("sgemm");
}
