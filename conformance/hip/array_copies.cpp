// Copies to an array and back. HIP makes them with kernels that store and load elements of images.
#include "check.hpp"

int main() {
  constexpr size_t kWidth = 64, kHeight = 32;
  std::vector<float> data(kWidth * kHeight), back(data.size());
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i) * 0.5f;
  hipArray_t array = nullptr;
  const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  constexpr size_t kRow = kWidth * sizeof(float);
  HIP_OK(hipMallocArray(&array, &format, kWidth, kHeight));
  HIP_OK(hipMemcpy2DToArray(array, 0, 0, data.data(), kRow, kRow, kHeight, hipMemcpyHostToDevice));
  HIP_OK(hipMemcpy2DFromArray(back.data(), kRow, array, 0, 0, kRow, kHeight, hipMemcpyDeviceToHost));
  expect_equal("there and back", data, back);
  HIP_OK(hipFreeArray(array));
  return verdict("array_copies");
}
