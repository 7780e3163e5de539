/* Preloaded by tests: /dev/kfd opens but is not a KFD. $FAKE_INITSTATE, a file with the text "live", replaces
 * amdgpu's initstate. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* redirect(const char* path) {
  const char* state = getenv("FAKE_INITSTATE");
  if (state && strcmp(path, "/sys/module/amdgpu/initstate") == 0) return state;
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

#define WRAP_FOPEN(name)                                                                  \
  __attribute__((visibility("default"))) FILE* name(const char* path, const char* mode) { \
    FILE* (*next)(const char*, const char*) = (FILE * (*)(const char*, const char*))0;    \
    void* found = dlsym(RTLD_NEXT, #name);                                                \
    memcpy(&next, &found, sizeof next);                                                   \
    return next(redirect(path), mode);                                                    \
  }

FILE* fopen(const char* path, const char* mode);
FILE* fopen64(const char* path, const char* mode);
WRAP_FOPEN(fopen)
WRAP_FOPEN(fopen64)
