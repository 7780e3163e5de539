// A HIP program to be traced: on each of two streams a copy to the device, 500 kernels, and a copy back. Its kernel
// is in a code object, as HIP's compiler is not needed for that.
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
  uint32_t *in = nullptr, *out = nullptr;                // of the host
  uint32_t *device_in = nullptr, *device_out = nullptr;  // of the device
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
  for (Stream& one : streams) {
    CHECK(hipStreamCreateWithFlags(&one.stream, hipStreamNonBlocking));
    CHECK(hipHostMalloc(reinterpret_cast<void**>(&one.in), kBytes, 0));
    CHECK(hipHostMalloc(reinterpret_cast<void**>(&one.out), kBytes, 0));
    CHECK(hipMalloc(reinterpret_cast<void**>(&one.device_in), kBytes));
    CHECK(hipMalloc(reinterpret_cast<void**>(&one.device_out), kBytes));
    for (uint32_t i = 0; i < kWords; ++i) one.in[i] = i;
    CHECK(hipMemcpyAsync(one.device_in, one.in, kBytes, hipMemcpyHostToDevice, one.stream));
  }
  for (int i = 0; i < kKernels; ++i) {
    for (Stream& one : streams) {
      TripleArgs args{one.device_in, one.device_out, kWords, 0};
      size_t size = sizeof args;
      void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &args, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                       HIP_LAUNCH_PARAM_END};
      CHECK(hipModuleLaunchKernel(kernel, kWords / 64, 1, 1, 64, 1, 1, 0, one.stream, nullptr, extra));
    }
  }
  bool right = true;
  for (Stream& one : streams) {
    CHECK(hipMemcpyAsync(one.out, one.device_out, kBytes, hipMemcpyDeviceToHost, one.stream));
    CHECK(hipStreamSynchronize(one.stream));
    for (uint32_t i = 0; i < kWords; ++i) right = right && one.out[i] == 3 * i;
    CHECK(hipFree(one.device_in));
    CHECK(hipFree(one.device_out));
    CHECK(hipHostFree(one.in));
    CHECK(hipHostFree(one.out));
    CHECK(hipStreamDestroy(one.stream));
  }
  CHECK(hipModuleUnload(module));
  return right ? 0 : 1;
}
