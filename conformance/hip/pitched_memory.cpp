// Pitched memory, which HIP supports on devices with images.
#include "check.hpp"

int main() {
  constexpr size_t kWidth = 301, kHeight = 67;
  std::vector<uint8_t> data(kWidth * kHeight), back(data.size());
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(i * 7);
  void* device = nullptr;
  size_t pitch = 0;
  HIP_OK(hipMallocPitch(&device, &pitch, kWidth, kHeight));
  expect(pitch >= kWidth, "a row fits");
  HIP_OK(hipMemcpy2D(device, pitch, data.data(), kWidth, kWidth, kHeight, hipMemcpyHostToDevice));
  HIP_OK(hipMemcpy2D(back.data(), kWidth, device, pitch, kWidth, kHeight, hipMemcpyDeviceToHost));
  expect_equal("rows there and back", data, back);
  HIP_OK(hipFree(device));
  hipPitchedPtr box{};
  HIP_OK(hipMalloc3D(&box, make_hipExtent(70, 9, 5)));
  HIP_OK(hipFree(box.ptr));
  return verdict("pitched_memory");
}
