// Arrays, which are images: allocation in every shape and format of HIP, queries and release.
#include "check.hpp"

namespace {

struct Shape {
  const char* name;
  size_t width, height, depth;
  unsigned flags;
};

template <typename T>
void allocate(const char* type) {
  constexpr Shape kShapes[] = {{"1D", 301, 0, 0, hipArrayDefault},
                               {"2D", 301, 67, 0, hipArrayDefault},
                               {"3D", 31, 17, 9, hipArrayDefault},
                               {"2D layered", 31, 17, 9, hipArrayLayered}};
  const hipChannelFormatDesc format = hipCreateChannelDesc<T>();
  for (const Shape& shape : kShapes) {
    hipArray_t array = nullptr;
    const hipError_t status = hipMalloc3DArray(
        &array, &format, make_hipExtent(shape.width, shape.height, shape.depth), shape.flags);
    expect(status == hipSuccess && array != nullptr,
           std::string("an array ") + shape.name + " of " + type + ": " + hipGetErrorName(status));
    if (status == hipSuccess) HIP_OK(hipFreeArray(array));
  }
}

}  // namespace

int main() {
  allocate<unsigned char>("unsigned char");
  allocate<short2>("short2");
  allocate<float>("float");
  allocate<int4>("int4");
  allocate<float4>("float4");

  hipArray_t array = nullptr;
  const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  HIP_OK(hipMallocArray(&array, &format, 64, 32));
  HIP_OK(hipFreeArray(array));

  hipDeviceProp_t device{};
  HIP_OK(hipGetDeviceProperties(&device, 0));
  expect_equal("widest 1D array", 16384, device.maxTexture1D);
  expect_equal("widest 2D array", 16384, device.maxTexture2D[0]);
  expect_equal("highest 2D array", 16384, device.maxTexture2D[1]);
  expect_equal("widest 3D array", 16384, device.maxTexture3D[0]);
  expect_equal("deepest 3D array", 8192, device.maxTexture3D[2]);
  return verdict("arrays");
}
