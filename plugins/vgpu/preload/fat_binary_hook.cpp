#include "plugins/vgpu/preload/fat_binary_hook.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "plugins/vgpu/preload/face.hpp"
#include "plugins/vgpu/preload/fat_binary.hpp"

namespace rigel::vgpu {

constinit Mutex registered_mutex;

namespace {

// Source: CGCUDANV.cpp of clang, __CudaFatBinaryWrapper for HIP.
struct FatBinaryWrapper {
  uint32_t magic;
  uint32_t version;
  const void* bundle;
  const void* unused;
};
constexpr uint32_t kHipMagic = 0x48495046;

struct Registered {
  std::string file;
  std::vector<std::string> targets;
};

// Binaries that were registered before the system was created. Leaked, because programs unregister at exit.
constinit std::vector<Registered>* registered RIGEL_GUARDED_BY(registered_mutex) = nullptr;
constinit System* reported_system RIGEL_GUARDED_BY(registered_mutex) = nullptr;

void warn_about(System& system, const Registered& binary) {
  std::vector<GpuName> gpus;
  for (const Gpu& gpu : system.process().virtual_system().gpus) {
    gpus.push_back({gpu.board.name, gfx_by_environment(gpu.board.gfx_name(), gpu.node, secure_getenv)});
  }
  const std::string text = missing_code(binary.file, binary.targets, gpus);
  if (!text.empty()) system.log()(LogCategory::kWarning, "{}", text);
}

void register_fat_binary(const void* data) {
  const Inside guard;
  FatBinaryWrapper wrapper;
  std::memcpy(&wrapper, data, sizeof wrapper);
  if (wrapper.magic != kHipMagic || wrapper.bundle == nullptr) return;
  Registered binary{{}, bundle_targets(static_cast<const std::byte*>(wrapper.bundle))};
  Dl_info info{};
  if (dladdr(data, &info) != 0 && info.dli_fname != nullptr) binary.file = info.dli_fname;
  const MutexLock lock(registered_mutex);
  if (reported_system != nullptr && current.load(std::memory_order_acquire) == reported_system)
    return warn_about(*reported_system, binary);
  if (registered == nullptr) registered = new std::vector<Registered>;
  registered->push_back(std::move(binary));
}

// Returns HIP's function. A library that was loaded with RTLD_LOCAL is not in the search order after this
// one.
void** (*next_register())(const void*) {
  constexpr const char* kName = "__hipRegisterFatBinary";
  void* found = dlsym(RTLD_NEXT, kName);
  if (found == nullptr) {
    dl_iterate_phdr(
        [](dl_phdr_info* object, size_t, void* out) {
          if (std::strstr(object->dlpi_name, "libamdhip64") == nullptr) return 0;
          void* const library = dlopen(object->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
          if (library == nullptr) return 0;
          void* const function = dlsym(library, kName);
          dlclose(library);
          *static_cast<void**>(out) = function;
          return function != nullptr ? 1 : 0;
        },
        &found);
  }
  return reinterpret_cast<void** (*)(const void*)>(found);
}

}  // namespace

void report_fat_binaries(System& system) {
  const MutexLock lock(registered_mutex);
  reported_system = &system;
  if (registered == nullptr) return;
  for (const Registered& binary : *registered) warn_about(system, binary);
  registered->clear();
}

}  // namespace rigel::vgpu

HOOK void** __hipRegisterFatBinary(const void* data);
HOOK void** __hipRegisterFatBinary(const void* data) {
  if (data != nullptr) rigel::vgpu::register_fat_binary(data);
  const auto next = rigel::vgpu::next_register();
  return next == nullptr ? nullptr : next(data);
}
