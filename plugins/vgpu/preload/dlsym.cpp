// Hooks of dlsym() for programs that look up libc's functions with a handle, as Python's ctypes does:
// dlsym(dlopen("libc.so.6"), "open") returns the hook of open(). The entry points are in dlsym.S.
#include <dlfcn.h>

#include <atomic>

#include "plugins/vgpu/preload/loaded_library.hpp"

namespace rigel::vgpu {
namespace {

// A function without a hook in this library, so that libc is found.
constexpr const char* kLibcSymbol = "__libc_start_main";

const LoadedLibrary& self() noexcept {
  static constinit const char anchor = 0;
  static const LoadedLibrary library = LoadedLibrary::of(&anchor);
  return library;
}

// Returns the next library's function, looked up once.
template <class Function>
Function next(std::atomic<Function>& cache, const char* name) noexcept {
  Function function = cache.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<Function>(self().next_with(name).find(name));
    cache.store(function, std::memory_order_relaxed);
  }
  return function;
}

using Dlsym = void* (*)(void*, const char*);
using Dlvsym = void* (*)(void*, const char*, const char*);
constinit std::atomic<Dlsym> next_dlsym{nullptr};
constinit std::atomic<Dlvsym> next_dlvsym{nullptr};

// Returns the hook named `name` instead of `found` if `found` is libc's function. A library that exports the
// name itself gets libc's function, because the hook may call that library.
void* hook_of(void* found, const char* name, const void* caller) noexcept {
  if (found == nullptr) return nullptr;
  void* const hook = self().find(name);
  if (hook == nullptr || hook == found) return found;
  static const LoadedLibrary libc = self().next_with(kLibcSymbol);
  const LoadedLibrary caller_library = LoadedLibrary::of(caller);
  const bool is_from_libc = LoadedLibrary::of(found) == libc;
  return is_from_libc && caller_library != self() && caller_library.find(name) == nullptr ? hook : found;
}

}  // namespace
}  // namespace rigel::vgpu

using namespace rigel::vgpu;

#define FOR_ASSEMBLY extern "C" __attribute__((visibility("hidden")))

FOR_ASSEMBLY void* vgpu_next_dlsym() noexcept {
  return reinterpret_cast<void*>(next(next_dlsym, "dlsym"));
}
FOR_ASSEMBLY void* vgpu_next_dlvsym() noexcept {
  return reinterpret_cast<void*>(next(next_dlvsym, "dlvsym"));
}
FOR_ASSEMBLY void* vgpu_dlsym(void* handle, const char* name, const void* caller) noexcept {
  return hook_of(next(next_dlsym, "dlsym")(handle, name), name, caller);
}
FOR_ASSEMBLY void* vgpu_dlvsym(void* handle, const char* name, const char* version,
                               const void* caller) noexcept {
  return hook_of(next(next_dlvsym, "dlvsym")(handle, name, version), name, caller);
}
