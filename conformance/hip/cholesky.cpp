// Cholesky factorisations of 1 to 300 rows with the algorithm of rocSOLVER's dpotrf: a block of 32 × 32
// work-items factors a diagonal block that is packed in LDS, and other kernels update the rest.
//
// As in that library, each work-item computes the root of the diagonal element after a barrier, and one of
// them overwrites the element with the root without another barrier. This works on hardware, because all
// waves have loaded the element before the first one stores.
#include <algorithm>

#include "check.hpp"

constexpr int kBlock = 96;  // rows of a diagonal block: more than a wave has lanes

__device__ int packed(int row, int column) {
  return row * (row + 1) / 2 + column;
}

// Factors rows and columns [first, first + count) of the matrix of `n` rows.
__global__ __launch_bounds__(1024) void factor_diagonal(double* a, int n, int first, int count) {
  __shared__ double l[kBlock * (kBlock + 1) / 2];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  for (int row = y; row < count; row += 32) {
    for (int column = x; column <= row; column += 32)
      l[packed(row, column)] = a[(first + row) * n + first + column];
  }
  for (int k = 0; k < count; ++k) {
    __syncthreads();
    const double root = sqrt(l[packed(k, k)]);
    if (x == 0 && y == 0) l[packed(k, k)] = root;
    for (int row = k + 1 + y * 32 + x; row < count; row += 1024) l[packed(row, k)] /= root;
    __syncthreads();
    for (int row = k + 1 + y; row < count; row += 32) {
      for (int column = k + 1 + x; column <= row; column += 32)
        l[packed(row, column)] -= l[packed(row, k)] * l[packed(column, k)];
    }
  }
  __syncthreads();
  for (int row = y; row < count; row += 32) {
    for (int column = x; column <= row; column += 32)
      a[(first + row) * n + first + column] = l[packed(row, column)];
  }
}

// Computes the block's columns in the rows below it.
__global__ void solve_below(double* a, int n, int first, int count) {
  const int row = first + count + static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= n) return;
  for (int column = first; column < first + count; ++column) {
    double value = a[row * n + column];
    for (int k = first; k < column; ++k) value -= a[row * n + k] * a[column * n + k];
    a[row * n + column] = value / a[column * n + column];
  }
}

__global__ void update_rest(double* a, int n, int first, int count) {
  const int begin = first + count;
  const int row = begin + static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  const int column = begin + static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= n || column > row) return;
  double value = a[row * n + column];
  for (int k = first; k < begin; ++k) value -= a[row * n + k] * a[column * n + k];
  a[row * n + column] = value;
}

int main() {
  for (int n = 1; n <= 300; n += n < 100 ? 3 : 29) {
    // L · Lᵀ for an L whose diagonal is between 1 and 2.
    Random random(static_cast<uint64_t>(n));
    const auto number = [&] { return static_cast<double>(random.bits() >> 11) * 0x1p-53; };
    std::vector<double> wanted(static_cast<size_t>(n * n)), matrix(wanted);
    const auto at = [n](std::vector<double>& of, int row, int column) -> double& {
      return of[static_cast<size_t>(row * n + column)];
    };
    for (int row = 0; row < n; ++row) {
      for (int column = 0; column <= row; ++column)
        at(wanted, row, column) = row == column ? 1 + number() : (number() - 0.5) / n;
    }
    for (int row = 0; row < n; ++row) {
      for (int column = 0; column <= row; ++column) {
        for (int k = 0; k <= column; ++k)
          at(matrix, row, column) += at(wanted, row, k) * at(wanted, column, k);
      }
    }
    DeviceArray<double> a(matrix);
    for (int first = 0; first < n; first += kBlock) {
      const int count = std::min(kBlock, n - first), rest = n - first - count;
      factor_diagonal<<<1, dim3(32, 32)>>>(a.data(), n, first, count);
      if (rest == 0) break;
      solve_below<<<(rest + 63) / 64, 64>>>(a.data(), n, first, count);
      const auto blocks = static_cast<unsigned>((rest + 15) / 16);
      update_rest<<<dim3(blocks, blocks), dim3(16, 16)>>>(a.data(), n, first, count);
    }
    HIP_FINISH();
    std::vector<double> found = a.read();
    double worst = 0;
    for (int row = 0; row < n; ++row) {
      for (int column = 0; column <= row; ++column)
        worst = std::max(worst, std::fabs(at(found, row, column) - at(wanted, row, column)));
    }
    if (!(worst <= 1e-12)) {
      std::printf("%d rows: a factor differs by %g\n", n, worst);
      return 1;
    }
  }
  return verdict("cholesky");
}
