/* Preloaded by tests: makes /dev/kfd a file that opens and is no KFD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

static const char* redirect(const char* path) {
  return strcmp(path, "/dev/kfd") == 0 ? "/dev/null" : path;
}

#define WRAP_OPEN(name)                                                               \
  __attribute__((visibility("default"))) int name(const char* path, int flags, ...) { \
    va_list list;                                                                     \
    mode_t mode;                                                                      \
    int (*next)(const char*, int, ...) = (int (*)(const char*, int, ...))0;           \
    void* found = dlsym(RTLD_NEXT, #name);                                            \
    va_start(list, flags);                                                            \
    mode = (flags & O_CREAT) != 0 ? (mode_t)va_arg(list, unsigned) : 0;               \
    va_end(list);                                                                     \
    memcpy(&next, &found, sizeof next);                                               \
    return next(redirect(path), flags, mode);                                         \
  }

int open(const char* path, int flags, ...);
int open64(const char* path, int flags, ...);
WRAP_OPEN(open)
WRAP_OPEN(open64)
