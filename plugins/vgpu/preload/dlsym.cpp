// The preload face, for programs that ask for libc's functions by handle, as Python's ctypes does:
// dlsym(dlopen("libc.so.6"), "open") is the function that stands before libc's. dlsym.S has the rest.
#include <dlfcn.h>

#include <atomic>

#include "plugins/vgpu/preload/loaded_library.hpp"

namespace rigel::vgpu {
namespace {

// None of the names that this library has hooks of, so that libc's is found.
constexpr const char* kOfLibcAlone = "__libc_start_main";

const LoadedLibrary& self() noexcept {
  static constinit const char here = 0;
  static const LoadedLibrary is = LoadedLibrary::of(&here);
  return is;
}

// What stands behind this library, looked up once.
template <class Function>
Function next(std::atomic<Function>& found, const char* name) noexcept {
  Function is = found.load(std::memory_order_relaxed);
  if (is == nullptr) {
    is = reinterpret_cast<Function>(self().next_with(name).find(name));
    found.store(is, std::memory_order_relaxed);
  }
  return is;
}

using Dlsym = void* (*)(void*, const char*);
using Dlvsym = void* (*)(void*, const char*, const char*);
constinit std::atomic<Dlsym> next_dlsym{nullptr};
constinit std::atomic<Dlvsym> next_dlvsym{nullptr};

// The hook of that name in place of `found`, if that is libc's. A library that exports the name itself wants what it
// stands before, and may be what our hook calls.
void* hooked(void* found, const char* name, const void* caller) noexcept {
  if (found == nullptr) return nullptr;
  void* const hook = self().find(name);
  if (hook == nullptr || hook == found) return found;
  static const LoadedLibrary libc = self().next_with(kOfLibcAlone);
  const LoadedLibrary asks = LoadedLibrary::of(caller);
  const bool is_libcs = LoadedLibrary::of(found) == libc;
  return is_libcs && asks != self() && asks.find(name) == nullptr ? hook : found;
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
  return hooked(next(next_dlsym, "dlsym")(handle, name), name, caller);
}
FOR_ASSEMBLY void* vgpu_dlvsym(void* handle, const char* name, const char* version,
                               const void* caller) noexcept {
  return hooked(next(next_dlvsym, "dlvsym")(handle, name, version), name, caller);
}
