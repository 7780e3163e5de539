// Code compiled at run time, and modules: functions by name, variables, launches with packed arguments.
#include <hip/hiprtc.h>

#include "check.hpp"

static const char* const kSource = R"(
extern "C" __device__ unsigned factor = 3;
extern "C" __constant__ unsigned table[4] = {1, 10, 100, 1000};
extern "C" __global__ void fill(unsigned* out, unsigned count, unsigned short addend, double scale) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = i * factor + addend + table[i % 4] + (unsigned)(scale * 8);
}
extern "C" __global__ void count_up(unsigned* counter) { atomicAdd(counter, 1u); }
)";

static std::vector<char> compile() {
  hiprtcProgram program;
  if (hiprtcCreateProgram(&program, kSource, "module.hip", 0, nullptr, nullptr) != HIPRTC_SUCCESS) return {};
  hipDeviceProp_t properties;
  HIP_OK(hipGetDeviceProperties(&properties, 0));
  const std::string target = std::string("--gpu-architecture=") + properties.gcnArchName;
  const char* options[] = {target.c_str()};
  const hiprtcResult result = hiprtcCompileProgram(program, 1, options);
  if (result != HIPRTC_SUCCESS) {
    size_t size = 0;
    (void)hiprtcGetProgramLogSize(program, &size);
    std::string log(size, '\0');
    (void)hiprtcGetProgramLog(program, log.data());
    fail("hiprtc: " + std::string(hiprtcGetErrorString(result)) + "\n" + log);
    return {};
  }
  size_t size = 0;
  (void)hiprtcGetCodeSize(program, &size);
  std::vector<char> code(size);
  (void)hiprtcGetCode(program, code.data());
  (void)hiprtcDestroyProgram(&program);
  return code;
}

static std::vector<unsigned> expected_fill(unsigned count, unsigned factor, unsigned addend, double scale) {
  constexpr unsigned kTable[] = {1, 10, 100, 1000};
  std::vector<unsigned> values(count);
  for (unsigned i = 0; i < count; ++i)
    values[i] = i * factor + addend + kTable[i % 4] + static_cast<unsigned>(scale * 8);
  return values;
}

int main() {
  HIP_OK(hipInit(0));
  HIP_OK(hipSetDevice(0));
  const std::vector<char> code = compile();
  if (code.empty()) {
    fail("no code");
    return verdict("module");
  }
  hipModule_t module;
  HIP_OK(hipModuleLoadData(&module, code.data()));
  hipFunction_t fill, count_up, missing;
  HIP_OK(hipModuleGetFunction(&fill, module, "fill"));
  HIP_OK(hipModuleGetFunction(&count_up, module, "count_up"));
  expect(hipModuleGetFunction(&missing, module, "missing") != hipSuccess,
         "a function that is not there is not found");

  constexpr unsigned kCount = 1000;
  const DeviceArray<unsigned> out(kCount, 0xff);
  unsigned* pointer = out.data();
  unsigned count = kCount;
  unsigned short addend = 7;
  double scale = 2.5;
  void* arguments[] = {&pointer, &count, &addend, &scale};
  HIP_OK(hipModuleLaunchKernel(fill, blocks_for(kCount, 64), 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  HIP_FINISH();
  expect_equal("filled by arguments one by one", expected_fill(kCount, 3, 7, 2.5), out.read());

  hipDeviceptr_t factor;
  size_t bytes = 0;
  HIP_OK(hipModuleGetGlobal(&factor, &bytes, module, "factor"));
  expect_equal("bytes of a variable", size_t{4}, bytes);
  unsigned eleven = 11;
  HIP_OK(hipMemcpyHtoD(factor, &eleven, 4));
  struct {
    unsigned* out;
    unsigned count;
    unsigned short addend;
    double scale;
  } packed = {pointer, kCount, 9, -0.0};
  size_t size = sizeof packed;
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  HIP_OK(hipModuleLaunchKernel(fill, blocks_for(kCount, 64), 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
  HIP_FINISH();
  expect_equal("filled by packed arguments", expected_fill(kCount, 11, 9, 0), out.read());

  const DeviceArray<unsigned> counter(1, 0);
  pointer = counter.data();
  void* counted[] = {&pointer};
  HIP_OK(hipModuleLaunchKernel(count_up, 5, 2, 1, 17, 3, 1, 0, nullptr, counted, nullptr));
  HIP_FINISH();
  expect_equal("work-items", 5u * 2 * 17 * 3, counter.read()[0]);
  HIP_OK(hipModuleUnload(module));
  return verdict("module");
}
