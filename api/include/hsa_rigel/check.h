/* Reports the operations of a custom allocator to `vgpu-run --check`, which then finds accesses between
 * suballocations and to freed ones.
 *
 *   hipMalloc(&chunk, chunk_bytes);
 *   hsa_rigel_check_poison(chunk, chunk_bytes);
 *   ...
 *   hsa_rigel_check_allocate(part, bytes, "particles");
 *   ...
 *   hsa_rigel_check_free(part);
 *
 * An access past the end of a suballocation is found if it hits poisoned memory. Leave some bytes between
 * suballocations if hsa_rigel_check_is_active().
 *
 * C99 and C++. Needs GCC or clang, and -ldl with glibc before 2.34. Without the checker each function is a
 * comparison. All functions accept any address. Memory that the runtime frees loses its poison and its
 * suballocations.
 *
 * Threads: any, in the order in which the program uses the memory.
 * Lifetime: after hsa_init, which the first HIP or OpenCL call makes. Earlier calls have no effect.
 */
#ifndef HSA_RIGEL_CHECK_H_
#define HSA_RIGEL_CHECK_H_

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The checker's functions. Later versions append members; `size` is the size of the checker's version. */
typedef struct hsa_rigel_check_client_s {
  size_t size;
  void (*poison)(const void* address, size_t bytes);
  void (*unpoison)(const void* address, size_t bytes);
  void (*allocate)(const void* address, size_t bytes, const char* name);
  void (*free)(const void* address);
  void (*name)(const void* address, const char* name);
  void (*initialize)(const void* address, size_t bytes);
} hsa_rigel_check_client_t;

/* Exported by libvgpu_check.so. */
typedef const hsa_rigel_check_client_t* (*hsa_rigel_check_client_v1_t)(void);

/* Returns the checker's functions, or NULL. Programs use the functions below. */
static inline const hsa_rigel_check_client_t* hsa_rigel_check_client(void) {
  static const hsa_rigel_check_client_t* client = NULL;
  static int is_absent = 0;
  const hsa_rigel_check_client_t* found = __atomic_load_n(&client, __ATOMIC_ACQUIRE);
  if (found != NULL || __atomic_load_n(&is_absent, __ATOMIC_RELAXED)) return found;
  const char* const tools = getenv("HSA_TOOLS_LIB");
  if (tools == NULL || strstr(tools, "libvgpu_check.so") == NULL) {
    __atomic_store_n(&is_absent, 1, __ATOMIC_RELAXED);
    return NULL;
  }
  /* Not cached if it fails: the runtime loads the checker in hsa_init. */
  void* const library = dlopen("libvgpu_check.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == NULL) return NULL;
  hsa_rigel_check_client_v1_t query;
  *(void**)(&query) = dlsym(library, "hsa_rigel_check_client_v1");
  if (query != NULL) found = query();
  if (found != NULL && found->size < sizeof *found) found = NULL;
  __atomic_store_n(&is_absent, found == NULL, __ATOMIC_RELAXED);
  __atomic_store_n(&client, found, __ATOMIC_RELEASE);
  return found;
}

/* Returns whether the program runs under the checker. */
static inline int hsa_rigel_check_is_active(void) {
  return hsa_rigel_check_client() != NULL;
}

/* Makes memory inaccessible: kernels that access it are reported. */
static inline void hsa_rigel_check_poison(const void* address, size_t bytes) {
  const hsa_rigel_check_client_t* const client = hsa_rigel_check_client();
  if (client != NULL) client->poison(address, bytes);
}

/* Makes memory accessible as a part of the allocation that contains it. Ends suballocations there. */
static inline void hsa_rigel_check_unpoison(const void* address, size_t bytes) {
  const hsa_rigel_check_client_t* const client = hsa_rigel_check_client();
  if (client != NULL) client->unpoison(address, bytes);
}

/* Starts a suballocation. Its bytes become accessible, and reports about it show its size, its name and this
 * call. `name` can be NULL; 39 bytes are kept. */
static inline void hsa_rigel_check_allocate(const void* address, size_t bytes, const char* name) {
  const hsa_rigel_check_client_t* const client = hsa_rigel_check_client();
  if (client != NULL) client->allocate(address, bytes, name);
}

/* Frees the suballocation that starts at `address`. An access to its bytes is a use after free, until they
 * are allocated, poisoned or unpoisoned again. */
static inline void hsa_rigel_check_free(const void* address) {
  const hsa_rigel_check_client_t* const client = hsa_rigel_check_client();
  if (client != NULL) client->free(address);
}

/* Sets the name of the allocation or suballocation that starts at `address`. */
static inline void hsa_rigel_check_name(const void* address, const char* name) {
  const hsa_rigel_check_client_t* const client = hsa_rigel_check_client();
  if (client != NULL) client->name(address, name);
}

/* Marks memory as initialised, although nothing has written it. It counts as initialised until the allocation
 * that contains it is freed. */
static inline void hsa_rigel_check_initialize(const void* address, size_t bytes) {
  const hsa_rigel_check_client_t* const client = hsa_rigel_check_client();
  if (client != NULL) client->initialize(address, bytes);
}

#ifdef __cplusplus
}
#endif

#endif /* HSA_RIGEL_CHECK_H_ */
