// A library of driver_program.cpp that is initialised before the preload front end. Its actions depend on the
// program's check.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

__attribute__((visibility("default"))) int early_kfd = -1;

// Fork handlers that were registered before the front end's; they run while it holds its locks.
static void use_files() {
  struct stat status {};
  close(open("/dev/null", O_RDONLY | O_CLOEXEC));
  stat("/dev/kfd", &status);
  close(1000);
}

// A library that overrides a libc function, and finds libc's by handle.
extern "C" __attribute__((visibility("default"))) int eaccess(const char* path, int mode) noexcept {
  static const auto libc_function =
      reinterpret_cast<int (*)(const char*, int)>(dlsym(dlopen("libc.so.6", RTLD_NOW), "eaccess"));
  return libc_function(path, mode);
}

__attribute__((constructor)) static void initialize(int argc, char** argv, char**) {
  if (argc != 2) return;
  if (std::strcmp(argv[1], "early") == 0) early_kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  if (std::strcmp(argv[1], "handlers") == 0) pthread_atfork(use_files, use_files, use_files);
}
