// Uses rocRAND: generates numbers on the device with four generators and checks them on the host. Opens the
// library by name, so its headers are not needed.
#include <dlfcn.h>
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <vector>

namespace {

// From <rocrand/rocrand.h>.
using Generator = void*;
constexpr int kGenerators[] = {401, 402, 404, 501};  // XORWOW, MRG32k3a, Philox, Sobol

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

}  // namespace

int main() {
  void* const library = ::dlopen("librocrand.so.1", RTLD_NOW);
  if (library == nullptr) {
    std::puts("there is no rocRAND");
    return 77;
  }
  auto* const create = find<int(Generator*, int)>(library, "rocrand_create_generator");
  auto* const generate = find<int(Generator, float*, size_t)>(library, "rocrand_generate_uniform");
  auto* const destroy = find<int(Generator)>(library, "rocrand_destroy_generator");
  if (create == nullptr || generate == nullptr || destroy == nullptr) return 2;
  constexpr size_t kCount = 1 << 14;
  for (const int type : kGenerators) {
    float* numbers = nullptr;
    if (hipMalloc(reinterpret_cast<void**>(&numbers), kCount * sizeof(float)) != hipSuccess) return 3;
    Generator generator = nullptr;
    if (create(&generator, type) != 0 || generate(generator, numbers, kCount) != 0) {
      std::printf("generator %d fails\n", type);
      return 4;
    }
    std::vector<float> host(kCount);
    if (hipMemcpy(host.data(), numbers, kCount * sizeof(float), hipMemcpyDeviceToHost) != hipSuccess)
      return 5;
    double sum = 0;
    for (const float number : host) {
      if (!(number >= 0 && number <= 1)) return 6;
      sum += number;
    }
    std::printf("generator %d: mean %g\n", type, sum / kCount);
    if (sum / kCount < 0.45 || sum / kCount > 0.55) return 7;
    if (destroy(generator) != 0 || hipFree(numbers) != hipSuccess) return 8;
  }
  return 0;
}
