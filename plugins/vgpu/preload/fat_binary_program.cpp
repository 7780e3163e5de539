// A HIP program as compilers build it, except that its GPU code is empty: a bundle for the given targets,
// registered at start.
//
//   fat_binary_program TARGET...
//
// Prints the number of GPUs.
#include <hip/hip_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <string>

extern "C" void** __hipRegisterFatBinary(const void* wrapper);

namespace {

struct Wrapper {
  uint32_t magic = 0x48495046;
  uint32_t version = 1;
  const void* bundle = nullptr;
  const void* unused = nullptr;
};

std::string number(uint64_t value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string entry(const std::string& name) {
  return number(4096) + number(0) + number(name.size()) + name;
}

}  // namespace

int main(int count, char** arguments) {
  static std::string bundle = "__CLANG_OFFLOAD_BUNDLE__" + number(static_cast<uint64_t>(count)) +
                              entry("host-x86_64-unknown-linux--");
  for (int i = 1; i < count; ++i) bundle += entry(std::string("hipv4-amdgcn-amd-amdhsa--") + arguments[i]);
  bundle.resize(8192);
  static Wrapper wrapper;
  wrapper.bundle = bundle.data();
  if (__hipRegisterFatBinary(&wrapper) == nullptr) return 1;
  int gpus = 0;
  const hipError_t error = hipGetDeviceCount(&gpus);
  std::printf("%s, %d GPUs\n", hipGetErrorName(error), gpus);
  return 0;
}
