#include "plugins/vgpu/check/allocations.hpp"

#include <dlfcn.h>

namespace rigel::vgpu::check {

Allocations* find_allocations() {
  void* const library = dlopen("libvgpu_check.so", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  const auto record =
      reinterpret_cast<decltype(&vgpu_check_allocations_v1)>(dlsym(library, "vgpu_check_allocations_v1"));
  // The library stays loaded, because the caller keeps the record.
  return record == nullptr ? nullptr : record();
}

}  // namespace rigel::vgpu::check
