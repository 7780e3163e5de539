// A HIP program for unmodified HIP: copies in every direction, streams and events, with verified data. It has
// no kernels; HIP and ROCr use theirs.
//
//   hip_program copies|streams|no_gpu|memory_without_gpu
//
// Exit status 0: success.
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

void check(hipError_t error, const char* what) {
  if (error == hipSuccess) return;
  std::printf("%s: %s\n", what, hipGetErrorName(error));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

using Bytes = std::vector<unsigned char>;

Bytes pattern(size_t bytes, unsigned seed) {
  Bytes data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>((i * 2654435761u + seed) >> 11);
  return data;
}

void expect_same(const void* a, const void* b, size_t bytes, const std::string& direction) {
  if (std::memcmp(a, b, bytes) == 0) return;
  std::printf("%s of %zu bytes: the data is not the same\n", direction.c_str(), bytes);
  std::exit(1);
}

void copies() {
  for (const size_t bytes :
       {size_t{1}, size_t{4096}, size_t{65537}, size_t{1} << 20, (size_t{5} << 20) + 13, size_t{32} << 20}) {
    const Bytes source = pattern(bytes, static_cast<unsigned>(bytes));
    Bytes back(bytes);
    void *device = nullptr, *other = nullptr, *pinned = nullptr;
    CHECK(hipMalloc(&device, bytes));
    CHECK(hipMalloc(&other, bytes));
    CHECK(hipHostMalloc(&pinned, bytes, 0));
    CHECK(hipMemcpy(device, source.data(), bytes, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(back.data(), device, bytes, hipMemcpyDeviceToHost));
    expect_same(back.data(), source.data(), bytes, "host to device to host");
    CHECK(hipMemcpy(pinned, device, bytes, hipMemcpyDeviceToHost));
    expect_same(pinned, source.data(), bytes, "device to pinned host");
    CHECK(hipMemcpy(other, device, bytes, hipMemcpyDeviceToDevice));
    CHECK(hipDeviceSynchronize());
    std::memset(pinned, 0, bytes);
    CHECK(hipMemcpy(pinned, other, bytes, hipMemcpyDeviceToHost));
    expect_same(pinned, source.data(), bytes, "device to device");
    std::fill(back.begin(), back.end(), 0);
    CHECK(hipMemcpy(back.data(), source.data(), bytes, hipMemcpyHostToHost));
    expect_same(back.data(), source.data(), bytes, "host to host");
    CHECK(hipFree(device));
    CHECK(hipFree(other));
    CHECK(hipHostFree(pinned));
  }
}

void streams() {
  constexpr size_t kStreams = 4, kBytes = 1 << 20;
  struct StreamTest {
    hipStream_t stream;
    hipEvent_t begin, end;
    void *in, *out, *device;
  };
  std::vector<StreamTest> streams_under_test(kStreams);
  for (size_t i = 0; i < kStreams; ++i) {
    StreamTest& stream_test = streams_under_test[i];
    CHECK(hipStreamCreate(&stream_test.stream));
    CHECK(hipEventCreate(&stream_test.begin));
    CHECK(hipEventCreate(&stream_test.end));
    CHECK(hipHostMalloc(&stream_test.in, kBytes, 0));
    CHECK(hipHostMalloc(&stream_test.out, kBytes, 0));
    CHECK(hipMalloc(&stream_test.device, kBytes));
    std::memcpy(stream_test.in, pattern(kBytes, static_cast<unsigned>(i)).data(), kBytes);
    std::memset(stream_test.out, 0, kBytes);
  }
  for (size_t i = 0; i < kStreams; ++i) {
    StreamTest& stream_test = streams_under_test[i];
    if (i > 0) CHECK(hipStreamWaitEvent(stream_test.stream, streams_under_test[i - 1].end, 0));
    CHECK(hipEventRecord(stream_test.begin, stream_test.stream));
    CHECK(hipMemcpyAsync(stream_test.device, stream_test.in, kBytes, hipMemcpyHostToDevice,
                         stream_test.stream));
    CHECK(hipMemcpyAsync(stream_test.out, stream_test.device, kBytes, hipMemcpyDeviceToHost,
                         stream_test.stream));
    CHECK(hipEventRecord(stream_test.end, stream_test.stream));
  }
  for (StreamTest& stream_test : streams_under_test) {
    CHECK(hipStreamSynchronize(stream_test.stream));
    CHECK(hipEventQuery(stream_test.end));
    expect_same(stream_test.out, stream_test.in, kBytes, "a stream's copy");
    float milliseconds = -1;
    CHECK(hipEventElapsedTime(&milliseconds, stream_test.begin, stream_test.end));
    if (milliseconds < 0) {
      std::printf("time runs backwards\n");
      std::exit(1);
    }
    CHECK(hipEventDestroy(stream_test.begin));
    CHECK(hipEventDestroy(stream_test.end));
    CHECK(hipStreamDestroy(stream_test.stream));
    CHECK(hipHostFree(stream_test.in));
    CHECK(hipHostFree(stream_test.out));
    CHECK(hipFree(stream_test.device));
  }
}

// Programs query the number of GPUs, and may work without GPUs.
void no_gpu() {
  int count = -1;
  const hipError_t status = hipGetDeviceCount(&count);
  if (status == hipErrorNoDevice && count == 0) return;
  std::printf("%s, %d GPUs\n", hipGetErrorName(status), count);
  std::exit(1);
}

// Other programs call HIP without GPUs, and check the errors.
void memory_without_gpu() {
  void* memory = nullptr;
  hipStream_t stream = nullptr;
  size_t free = 0, total = 0;
  for (const hipError_t status :
       {hipMalloc(&memory, 64), hipHostMalloc(&memory, 64, 0), hipStreamCreate(&stream),
        hipMemGetInfo(&free, &total), hipSetDevice(0), hipDeviceSynchronize()}) {
    if (status == hipErrorInvalidDevice || status == hipErrorNoDevice) continue;
    std::printf("without a GPU: %s\n", hipGetErrorName(status));
    std::exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string test = argc > 1 ? argv[1] : "";
  if (test == "copies") {
    copies();
  } else if (test == "streams") {
    streams();
  } else if (test == "no_gpu") {
    no_gpu();
  } else if (test == "memory_without_gpu") {
    memory_without_gpu();
  } else {
    std::printf("what?\n");
    return 2;
  }
  return 0;
}
