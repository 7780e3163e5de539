// Device variables, constant or not: the host writes and reads them by name, and kernels change them.
#include "check.hpp"

__device__ unsigned values[100];
__device__ unsigned long long total = 42;
__constant__ int coefficients[8] = {1, -2, 3, -4, 5, -6, 7, -8};
__device__ const char kText[] = "a text of the device";
__device__ unsigned* pointer_to_values = &values[10];

__global__ void work(int* out) {
  const unsigned i = threadIdx.x;
  values[i] = values[i] * 2 + 1;
  atomicAdd(&total, static_cast<unsigned long long>(i));
  out[i] = coefficients[i % 8] * static_cast<int>(i) + kText[i % 20];
  __syncthreads();
  if (i == 0) pointer_to_values[5] = 12345;
}

int main() {
  std::vector<unsigned> in(100), expected(100);
  for (unsigned i = 0; i < 100; ++i) {
    in[i] = i * i;
    expected[i] = i == 15 ? 12345 : 2 * i * i + 1;
  }
  HIP_OK(hipMemcpyToSymbol(HIP_SYMBOL(values), in.data(), 400));
  const DeviceArray<int> out(100, 0xff);
  work<<<1, 100>>>(out.data());
  HIP_FINISH();
  std::vector<unsigned> result(100);
  HIP_OK(hipMemcpyFromSymbol(result.data(), HIP_SYMBOL(values), 400));
  expect_equal("a variable that a kernel changed", expected, result);
  unsigned long long sum = 0;
  HIP_OK(hipMemcpyFromSymbol(&sum, HIP_SYMBOL(total), 8));
  expect_equal("a sum", 42ull + 99 * 100 / 2, sum);

  constexpr int kCoefficients[] = {1, -2, 3, -4, 5, -6, 7, -8};
  constexpr char kHostText[] = "a text of the device";
  std::vector<int> from_constants(100);
  for (int i = 0; i < 100; ++i)
    from_constants[static_cast<size_t>(i)] = kCoefficients[i % 8] * i + kHostText[i % 20];
  expect_equal("constants", from_constants, out.read());

  // Other constants, written through the variable's address.
  void* address = nullptr;
  size_t bytes = 0;
  HIP_OK(hipGetSymbolAddress(&address, HIP_SYMBOL(coefficients)));
  HIP_OK(hipGetSymbolSize(&bytes, HIP_SYMBOL(coefficients)));
  expect_equal("bytes of the constants", sizeof kCoefficients, bytes);
  const int others[8] = {9, 9, 9, 9, 9, 9, 9, 100};
  HIP_OK(hipMemcpy(address, others, sizeof others, hipMemcpyHostToDevice));
  work<<<1, 100>>>(out.data());
  HIP_FINISH();
  for (int i = 0; i < 100; ++i)
    from_constants[static_cast<size_t>(i)] = others[i % 8] * i + kHostText[i % 20];
  expect_equal("other constants", from_constants, out.read());
  return verdict("symbols");
}
