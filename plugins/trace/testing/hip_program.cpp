// A HIP program to be traced: on each of two streams, a copy to the device, 500 kernels, and a copy back. The
// kernel is in a code object, so that HIP's compiler is not needed.
//
//   hip_program <code object> <kernel>
#include <hip/hip_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "plugins/trace/testing/kernels.hpp"

namespace {

void check(hipError_t error, const char* what) {
  if (error == hipSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, hipGetErrorName(error));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

constexpr uint32_t kWords = 16384;
constexpr int kKernels = 500;

struct Stream {
  hipStream_t stream = nullptr;
  uint32_t *in = nullptr, *out = nullptr;                // host memory
  uint32_t *device_in = nullptr, *device_out = nullptr;  // device memory
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  hipModule_t module = nullptr;
  hipFunction_t kernel = nullptr;
  CHECK(hipInit(0));
  CHECK(hipModuleLoad(&module, argv[1]));
  CHECK(hipModuleGetFunction(&kernel, module, argv[2]));
  constexpr size_t kBytes = kWords * sizeof(uint32_t);
  std::vector<Stream> streams(2);
  for (Stream& stream : streams) {
    CHECK(hipStreamCreateWithFlags(&stream.stream, hipStreamNonBlocking));
    CHECK(hipHostMalloc(reinterpret_cast<void**>(&stream.in), kBytes, 0));
    CHECK(hipHostMalloc(reinterpret_cast<void**>(&stream.out), kBytes, 0));
    CHECK(hipMalloc(reinterpret_cast<void**>(&stream.device_in), kBytes));
    CHECK(hipMalloc(reinterpret_cast<void**>(&stream.device_out), kBytes));
    for (uint32_t i = 0; i < kWords; ++i) stream.in[i] = i;
    CHECK(hipMemcpyAsync(stream.device_in, stream.in, kBytes, hipMemcpyHostToDevice, stream.stream));
  }
  for (int i = 0; i < kKernels; ++i) {
    for (Stream& stream : streams) {
      TripleArgs args{stream.device_in, stream.device_out, kWords, 0};
      size_t size = sizeof args;
      void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &args, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                       HIP_LAUNCH_PARAM_END};
      CHECK(hipModuleLaunchKernel(kernel, kWords / 64, 1, 1, 64, 1, 1, 0, stream.stream, nullptr, extra));
    }
  }
  bool right = true;
  for (Stream& stream : streams) {
    CHECK(hipMemcpyAsync(stream.out, stream.device_out, kBytes, hipMemcpyDeviceToHost, stream.stream));
    CHECK(hipStreamSynchronize(stream.stream));
    for (uint32_t i = 0; i < kWords; ++i) right = right && stream.out[i] == 3 * i;
    CHECK(hipFree(stream.device_in));
    CHECK(hipFree(stream.device_out));
    CHECK(hipHostFree(stream.in));
    CHECK(hipHostFree(stream.out));
    CHECK(hipStreamDestroy(stream.stream));
  }
  CHECK(hipModuleUnload(module));
  return right ? 0 : 1;
}
