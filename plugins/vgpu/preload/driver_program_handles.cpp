// Programs that look up libc's functions by handle, or call the kernel directly.
#include <dlfcn.h>
#include <sys/syscall.h>

#include "driver_program.hpp"

namespace driver_program {
namespace {

template <class Function>
Function* function_of(void* handle, const char* name, Function*) {
  return reinterpret_cast<Function*>(dlsym(handle, name));
}
#define FIND(handle, name) function_of(handle, #name, &::name)

}  // namespace

// As Python's ctypes does: uses the driver through functions that dlsym() returned for libc's handle.
void check_handles() {
  void* const libc = dlopen("libc.so.6", RTLD_NOW);
  EXPECT(libc != nullptr);
  const int kfd = FIND(libc, open)("/dev/kfd", O_RDWR | O_CLOEXEC);
  EXPECT(kfd >= 0);
  kfd_get_version version{};
  constexpr unsigned long kGetVersion =
      3ul << 30 | sizeof version << 16 | KFD_ABI_IOCTL_TYPE << 8 | KFD_NR_GET_VERSION;
  EXPECT(FIND(libc, ioctl)(kfd, kGetVersion, &version) == 0 && version.major == 1);
  FILE* const properties = FIND(libc, fopen)(kProperties, "r");
  EXPECT(properties != nullptr);
  std::fclose(properties);
  Gpu gpu;
  void* const page = FIND(libc, mmap)(nullptr, Gpu::kDoorbellBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                                      gpu.kfd, gpu.doorbell_mmap_offset());
  EXPECT(page != MAP_FAILED);
  gpu.make_queue();
  gpu.doorbells = static_cast<std::byte*>(page);
  gpu.set_doorbell_position(gpu.doorbell_position);
  gpu.fence(7);
  EXPECT(FIND(libc, munmap)(page, Gpu::kDoorbellBytes) == 0);
  EXPECT(FIND(libc, close)(kfd) == 0);

  // By version, by special handles, and through a dlsym() that was itself looked up.
  auto* const versioned = reinterpret_cast<decltype(&::access)>(dlvsym(libc, "access", "GLIBC_2.2.5"));
  if (versioned != nullptr) EXPECT(versioned("/dev/kfd", R_OK) == 0);
  EXPECT(FIND(RTLD_DEFAULT, access)("/dev/kfd", R_OK) == 0);
  EXPECT(FIND(RTLD_NEXT, access)("/dev/kfd", R_OK) == 0);
  EXPECT(FIND(dlopen(nullptr, RTLD_NOW), access)("/dev/kfd", R_OK) == 0);
  auto* const looked_up_dlsym = reinterpret_cast<decltype(&::dlsym)>(dlsym(libc, "dlsym"));
  EXPECT(reinterpret_cast<decltype(&::access)>(looked_up_dlsym(libc, "access"))("/dev/kfd", R_OK) == 0);

  // Other lookups are unchanged, including errors.
  EXPECT(dlsym(libc, "strlen") != nullptr && dlerror() == nullptr);
  EXPECT(dlsym(libc, "no_such_function") == nullptr && dlerror() != nullptr);
  EXPECT(dlvsym(libc, "access", "GLIBC_1.0") == nullptr);

  // A library that overrides the same function gets libc's function; the hook may call that library.
  EXPECT(eaccess("/dev/null", R_OK) == 0);
  EXPECT(eaccess("/dev/kfd", R_OK) == 0);
}

// Only mmap bypasses the hooks: the program ends with SIGBUS.
void check_bypassed_mmap() {
  Gpu gpu;
  const long page =
      syscall(SYS_mmap, nullptr, Gpu::kDoorbellBytes, PROT_READ | PROT_WRITE, MAP_SHARED, gpu.kfd, 0);
  EXPECT(page != -1);
  *reinterpret_cast<volatile uint64_t*>(page) = 1;
}

}  // namespace driver_program
