// A library that driver_program.cpp needs, so that it begins before the preload face does. What it does then is for
// the check that the program is asked for.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

__attribute__((visibility("default"))) int early_kfd = -1;

// Handlers that were there before the preload face's run while that has its locks.
static void use_files() {
  struct stat status {};
  close(open("/dev/null", O_RDONLY | O_CLOEXEC));
  stat("/dev/kfd", &status);
  close(1000);
}

// A library that stands before libc, and gets libc's function by a handle.
extern "C" __attribute__((visibility("default"))) int eaccess(const char* path, int mode) noexcept {
  static const auto libcs =
      reinterpret_cast<int (*)(const char*, int)>(dlsym(dlopen("libc.so.6", RTLD_NOW), "eaccess"));
  return libcs(path, mode);
}

__attribute__((constructor)) static void begin(int argc, char** argv, char**) {
  if (argc != 2) return;
  if (std::strcmp(argv[1], "early") == 0) early_kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  if (std::strcmp(argv[1], "handlers") == 0) pthread_atfork(use_files, use_files, use_files);
}
