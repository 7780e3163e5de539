// What the programs of this folder have in common: each checks itself, says what is wrong, and ends with 1 then. They
// know OpenMP and nothing of the runtime below.
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
  // Its plugin asks a std::string for its text when the process ends, after that has been destroyed
  // (__tgt_rtl_is_valid_binary_info, from __tgt_unregister_lib), and crashes, under every runtime.
  fflush(stdout);
  _Exit(failures != 0);
#endif
  return failures != 0;
}

#endif  // CHECK_H_
