// Copies to, from and between arrays. HIP implements them by kernels that store and load image elements.
#include "check.hpp"

namespace {

constexpr size_t kWidth = 61, kHeight = 32, kDepth = 5;
constexpr size_t kRow = kWidth * sizeof(float);

std::vector<float> numbers(size_t count, float step) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) * step;
  return values;
}

hipArray_t plane() {
  hipArray_t array = nullptr;
  const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  HIP_OK(hipMallocArray(&array, &format, kWidth, kHeight));
  return array;
}

hipArray_t volume(unsigned flags) {
  hipArray_t array = nullptr;
  const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  HIP_OK(hipMalloc3DArray(&array, &format, make_hipExtent(kWidth, kHeight, kDepth), flags));
  return array;
}

std::vector<float> read(hipArray_t array) {
  std::vector<float> values(kWidth * kHeight);
  HIP_OK(hipMemcpy2DFromArray(values.data(), kRow, array, 0, 0, kRow, kHeight, hipMemcpyDeviceToHost));
  return values;
}

hipPitchedPtr rows_of(float* data) {
  return make_hipPitchedPtr(data, kRow, kWidth, kHeight);
}

void check_planes() {
  const std::vector<float> data = numbers(kWidth * kHeight, 0.5f);
  const hipArray_t array = plane();
  HIP_OK(hipMemcpy2DToArray(array, 0, 0, data.data(), kRow, kRow, kHeight, hipMemcpyHostToDevice));
  expect_equal("there and back", data, read(array));

  // A block, from device memory.
  constexpr size_t kLeft = 7, kTop = 9, kBlockWidth = 20, kBlockHeight = 11;
  const std::vector<float> block = numbers(kBlockWidth * kBlockHeight, -3);
  const DeviceArray<float> on_device(block);
  HIP_OK(hipMemcpy2DToArray(array, kLeft * sizeof(float), kTop, on_device.data(), kBlockWidth * sizeof(float),
                            kBlockWidth * sizeof(float), kBlockHeight, hipMemcpyDeviceToDevice));
  std::vector<float> expected = data;
  for (size_t y = 0; y < kBlockHeight; ++y) {
    for (size_t x = 0; x < kBlockWidth; ++x)
      expected[(kTop + y) * kWidth + kLeft + x] = block[y * kBlockWidth + x];
  }
  expect_equal("a block", expected, read(array));

  // To another array, and from there to device memory.
  const hipArray_t other = plane();
  hipMemcpy3DParms copy{};
  copy.srcArray = array;
  copy.dstArray = other;
  copy.extent = make_hipExtent(kWidth, kHeight, 1);
  copy.kind = hipMemcpyDeviceToDevice;
  HIP_OK(hipMemcpy3D(&copy));
  expect_equal("from array to array", expected, read(other));
  const DeviceArray<float> rows(data.size());
  HIP_OK(hipMemcpy2DFromArray(rows.data(), kRow, other, 0, 0, kRow, kHeight, hipMemcpyDeviceToDevice));
  expect_equal("to memory of the device", expected, rows.read());
  HIP_OK(hipFreeArray(other));
  HIP_OK(hipFreeArray(array));
}

void check_volumes(const std::string& what, unsigned flags) {
  std::vector<float> data = numbers(kWidth * kHeight * kDepth, 0.25f), back(data.size());
  const hipArray_t array = volume(flags), other = volume(flags);
  hipMemcpy3DParms in{};
  in.srcPtr = rows_of(data.data());
  in.dstArray = array;
  in.extent = make_hipExtent(kWidth, kHeight, kDepth);
  in.kind = hipMemcpyHostToDevice;
  HIP_OK(hipMemcpy3D(&in));
  hipMemcpy3DParms between{};
  between.srcArray = array;
  between.dstArray = other;
  between.extent = in.extent;
  between.kind = hipMemcpyDeviceToDevice;
  HIP_OK(hipMemcpy3D(&between));
  hipMemcpy3DParms out{};
  out.srcArray = other;
  out.dstPtr = rows_of(back.data());
  out.extent = in.extent;
  out.kind = hipMemcpyDeviceToHost;
  HIP_OK(hipMemcpy3D(&out));
  expect_equal(what, data, back);
  HIP_OK(hipFreeArray(array));
  HIP_OK(hipFreeArray(other));
}

}  // namespace

int main() {
  check_planes();
  check_volumes("a volume", hipArrayDefault);
  check_volumes("layers", hipArrayLayered);
  return verdict("array_copies");
}
