// Every kind of copy, also asynchronously, from and to every kind of host memory: ordinary, pinned by HIP,
// registered, and mapped for kernels.
#include "check.hpp"

__global__ void invert(uint8_t* bytes, unsigned count) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    bytes[i] = static_cast<uint8_t>(~bytes[i]);
}

static std::vector<uint8_t> noise(size_t bytes, unsigned seed) {
  Random random(seed);
  std::vector<uint8_t> result(bytes);
  for (uint8_t& byte : result) byte = static_cast<uint8_t>(random.bits());
  return result;
}

static std::vector<uint8_t> inverted(std::vector<uint8_t> bytes) {
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(~byte);
  return bytes;
}

// Copies to the device, through a kernel, and back, in one stream.
static void there_and_back(const std::string& what, uint8_t* host, size_t bytes, hipStream_t stream) {
  const auto data = noise(bytes, static_cast<unsigned>(bytes));
  std::copy(data.begin(), data.end(), host);
  uint8_t* device = nullptr;
  HIP_OK(hipMalloc(&device, bytes));
  HIP_OK(hipMemcpyAsync(device, host, bytes, hipMemcpyHostToDevice, stream));
  invert<<<16, 256, 0, stream>>>(device, static_cast<unsigned>(bytes));
  HIP_OK(hipMemcpyAsync(host, device, bytes, hipMemcpyDeviceToHost, stream));
  HIP_OK(hipStreamSynchronize(stream));
  expect_equal(what + ", " + std::to_string(bytes) + " bytes", inverted(data),
               std::vector<uint8_t>(host, host + bytes));
  HIP_OK(hipFree(device));
}

static void check_host_memory(hipStream_t stream) {
  for (const size_t bytes : {size_t{1}, size_t{4099}, size_t{300'000}, size_t{5} << 20}) {
    std::vector<uint8_t> own(bytes + 1);
    there_and_back("the program's own memory", own.data() + 1, bytes, stream);

    HIP_OK(hipHostRegister(own.data(), own.size(), hipHostRegisterMapped));
    there_and_back("registered memory", own.data() + 1, bytes, stream);
    uint8_t* seen = nullptr;
    HIP_OK(hipHostGetDevicePointer(reinterpret_cast<void**>(&seen), own.data(), 0));
    const auto before = own;
    invert<<<16, 256, 0, stream>>>(seen, static_cast<unsigned>(own.size()));
    HIP_OK(hipStreamSynchronize(stream));
    expect_equal("registered memory, by a kernel", inverted(before), own);
    HIP_OK(hipHostUnregister(own.data()));

    const std::vector<unsigned> kinds{hipHostMallocDefault, hipHostMallocMapped | hipHostMallocPortable,
                                      hipHostMallocCoherent, hipHostMallocNonCoherent,
                                      hipHostMallocWriteCombined};
    for (const unsigned flags : kinds) {
      uint8_t* pinned = nullptr;
      HIP_OK(hipHostMalloc(reinterpret_cast<void**>(&pinned), bytes, flags));
      there_and_back("pinned memory, flags " + std::to_string(flags), pinned, bytes, stream);
      HIP_OK(hipHostFree(pinned));
    }
  }
}

static void check_rectangles(hipStream_t stream) {
  constexpr size_t kPitch = 512, kWidth = 301, kHeight = 67;
  const auto data = noise(kPitch * kHeight, 3);
  constexpr size_t pitch = 384;
  uint8_t* device = nullptr;
  HIP_OK(hipMalloc(&device, pitch * kHeight));
  std::vector<uint8_t> expected(kWidth * kHeight), back(kWidth * kHeight);
  for (size_t y = 0; y < kHeight; ++y)
    std::copy_n(data.begin() + static_cast<long>(y * kPitch), kWidth,
                expected.begin() + static_cast<long>(y * kWidth));
  HIP_OK(
      hipMemcpy2DAsync(device, pitch, data.data(), kPitch, kWidth, kHeight, hipMemcpyHostToDevice, stream));
  HIP_OK(
      hipMemcpy2DAsync(back.data(), kWidth, device, pitch, kWidth, kHeight, hipMemcpyDeviceToHost, stream));
  HIP_OK(hipStreamSynchronize(stream));
  expect_equal("a rectangle there and back", expected, back);

  uint8_t* other = nullptr;
  HIP_OK(hipMalloc(&other, kWidth * kHeight));
  HIP_OK(hipMemset2DAsync(device, pitch, 0x5a, 100, 20, stream));
  HIP_OK(hipMemcpy2DAsync(other, kWidth, device, pitch, kWidth, kHeight, hipMemcpyDeviceToDevice, stream));
  HIP_OK(hipMemcpyAsync(back.data(), other, back.size(), hipMemcpyDeviceToHost, stream));
  HIP_OK(hipStreamSynchronize(stream));
  for (size_t y = 0; y < 20; ++y) std::fill_n(expected.begin() + static_cast<long>(y * kWidth), 100, 0x5a);
  expect_equal("a rectangle within the device", expected, back);
  HIP_OK(hipFree(other));
  HIP_OK(hipFree(device));
}

static void check_boxes(hipStream_t stream) {
  const hipExtent size = make_hipExtent(70, 9, 5);
  const auto data = noise(size.width * size.height * size.depth, 4);
  std::vector<uint8_t> back(data.size());
  constexpr size_t kPitch = 128, kRows = 11;
  void* memory = nullptr;
  HIP_OK(hipMalloc(&memory, kPitch * kRows * size.depth));
  const hipPitchedPtr device = make_hipPitchedPtr(memory, kPitch, size.width, kRows);
  hipMemcpy3DParms there{};
  there.srcPtr = make_hipPitchedPtr(const_cast<uint8_t*>(data.data()), size.width, size.width, size.height);
  there.dstPtr = device;
  there.extent = size;
  there.kind = hipMemcpyHostToDevice;
  HIP_OK(hipMemcpy3DAsync(&there, stream));
  hipMemcpy3DParms here{};
  here.srcPtr = device;
  here.dstPtr = make_hipPitchedPtr(back.data(), size.width, size.width, size.height);
  here.extent = size;
  here.kind = hipMemcpyDeviceToHost;
  HIP_OK(hipMemcpy3DAsync(&here, stream));
  HIP_OK(hipStreamSynchronize(stream));
  expect_equal("a box there and back", data, back);
  HIP_OK(hipFree(memory));
}

static void check_fills(hipStream_t stream) {
  constexpr size_t kWords = 10'000;
  uint8_t* device = nullptr;
  HIP_OK(hipMalloc(&device, kWords * 4));
  std::vector<uint8_t> expected(kWords * 4), back(kWords * 4);
  HIP_OK(hipMemsetAsync(device, 0x11, kWords * 4, stream));
  HIP_OK(hipMemsetD8Async(reinterpret_cast<hipDeviceptr_t>(device + 3), 0x22, 501, stream));
  HIP_OK(hipMemsetD16Async(reinterpret_cast<hipDeviceptr_t>(device + 2000), 0x4433, 333, stream));
  HIP_OK(hipMemsetD32Async(reinterpret_cast<hipDeviceptr_t>(device + 8000), 0x44556677, 777, stream));
  HIP_OK(hipMemcpyAsync(back.data(), device, back.size(), hipMemcpyDeviceToHost, stream));
  HIP_OK(hipStreamSynchronize(stream));
  std::fill(expected.begin(), expected.end(), 0x11);
  std::fill_n(expected.begin() + 3, 501, 0x22);
  for (size_t i = 0; i < 333 * 2; ++i) expected[2000 + i] = i % 2 == 0 ? 0x33 : 0x44;
  for (size_t i = 0; i < 777 * 4; ++i) expected[8000 + i] = static_cast<uint8_t>(0x77 - 0x11 * (i % 4));
  expect_equal("fills", expected, back);
  HIP_OK(hipFree(device));
}

int main() {
  hipStream_t stream;
  HIP_OK(hipStreamCreate(&stream));
  check_host_memory(stream);
  check_rectangles(stream);
  check_boxes(stream);
  check_fills(stream);
  HIP_OK(hipStreamDestroy(stream));
  return verdict("copies");
}
