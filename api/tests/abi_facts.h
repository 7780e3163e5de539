// SPDX-License-Identifier: MIT
/*
 * What one translation unit sees of the public headers, as a table of named numbers. Units that include
 * different headers, or the same ones in another language, each export one; the test compares them.
 * Plain C, immutable, in static storage.
 */
#ifndef RIGEL_API_TESTS_ABI_FACTS_H_
#define RIGEL_API_TESTS_ABI_FACTS_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct AbiFact {
  const char* name;   /* "sizeof(hsa_dim3_t)", "offsetof(hsa_dim3_t, x)", "HSA_STATUS_ERROR", ... */
  long long actual;   /* what the compiler made of the header */
  long long expected; /* what the ABI says */
} AbiFact;

typedef struct AbiFacts {
  const AbiFact* first;
  size_t count;
} AbiFacts;

AbiFacts abi_hsa_facts_in_c(void);         /* our headers as C */
AbiFacts abi_hsa_facts_in_cpp(void);       /* our headers as C++ */
AbiFacts abi_hsa_facts_as_installed(void); /* the system's ROCr headers; no facts without them */

#ifdef __cplusplus
}
#endif

/* Rows of such a table; the unit defines ABI_ALIGNOF(type). */
#define ABI_SIZED_(type, size, alignment)               \
  {"sizeof(" #type ")", (long long)sizeof(type), size}, \
      {"alignof(" #type ")", (long long)ABI_ALIGNOF(type), alignment},
#define ABI_ENUM ABI_SIZED_
#define ABI_STRUCT ABI_SIZED_
#define ABI_VALUE(enumerator, value) {#enumerator, (long long)(enumerator), value},
#define ABI_FIELD(type, field, offset, size)                                     \
  {"offsetof(" #type ", " #field ")", (long long)offsetof(type, field), offset}, \
      {"sizeof(" #type "::" #field ")", (long long)sizeof(((type*)0)->field), size},

#endif
