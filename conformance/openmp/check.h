// Shared by the OpenMP programs, which use only OpenMP. Each checks itself, prints failures and then exits
// with 1.
#ifndef CHECK_H_
#define CHECK_H_

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static int failures = 0;

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                             \
    }                                                                         \
  } while (0)

static int conclude(void) {
  if (failures == 0) puts("ok");
#if __clang_major__ == 15
  // The plugin of clang 15 uses a destroyed std::string at process exit (__tgt_rtl_is_valid_binary_info,
  // called by __tgt_unregister_lib) and crashes, with every runtime.
  fflush(stdout);
  _Exit(failures != 0);
#endif
  return failures != 0;
}

#endif  // CHECK_H_
