// Shared by the programs in C. Each checks itself, prints failures and then exits with 1.
#ifndef CHECK_H_
#define CHECK_H_

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
  return failures != 0;
}

#endif  // CHECK_H_
