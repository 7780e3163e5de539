// Programs that do not call libc's functions by their names.
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

// As Python's ctypes does: all of the driver by functions that were asked for by handle.
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
                                      gpu.kfd, gpu.doorbell_offset());
  EXPECT(page != MAP_FAILED);
  gpu.make_queue();
  gpu.doorbells = static_cast<std::byte*>(page);
  gpu.at_doorbells(gpu.doorbell_at);
  gpu.fence(7);
  EXPECT(FIND(libc, munmap)(page, Gpu::kDoorbellBytes) == 0);
  EXPECT(FIND(libc, close)(kfd) == 0);

  // By a version, by all handles, and through a function of dlsym() that was asked for itself.
  auto* const versioned = reinterpret_cast<decltype(&::access)>(dlvsym(libc, "access", "GLIBC_2.2.5"));
  if (versioned != nullptr) EXPECT(versioned("/dev/kfd", R_OK) == 0);
  EXPECT(FIND(RTLD_DEFAULT, access)("/dev/kfd", R_OK) == 0);
  EXPECT(FIND(RTLD_NEXT, access)("/dev/kfd", R_OK) == 0);
  EXPECT(FIND(dlopen(nullptr, RTLD_NOW), access)("/dev/kfd", R_OK) == 0);
  auto* const other = reinterpret_cast<decltype(&::dlsym)>(dlsym(libc, "dlsym"));
  EXPECT(reinterpret_cast<decltype(&::access)>(other(libc, "access"))("/dev/kfd", R_OK) == 0);

  // What is none of ours is as it was, errors included.
  EXPECT(dlsym(libc, "strlen") != nullptr && dlerror() == nullptr);
  EXPECT(dlsym(libc, "no_such_function") == nullptr && dlerror() != nullptr);
  EXPECT(dlvsym(libc, "access", "GLIBC_1.0") == nullptr);

  // A library that stands before libc as we do gets libc's function, and our hook may come to it.
  EXPECT(eaccess("/dev/null", R_OK) == 0);
  EXPECT(eaccess("/dev/kfd", R_OK) == 0);
}

// Of all calls, mmap alone does not come by: the program is ended by SIGBUS.
void check_bypassed_mmap() {
  Gpu gpu;
  const long page =
      syscall(SYS_mmap, nullptr, Gpu::kDoorbellBytes, PROT_READ | PROT_WRITE, MAP_SHARED, gpu.kfd, 0);
  EXPECT(page != -1);
  *reinterpret_cast<volatile uint64_t*>(page) = 1;
}

}  // namespace driver_program
