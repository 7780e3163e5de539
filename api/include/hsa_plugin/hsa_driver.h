/* The driver-transport ABI: how Rigel reaches the amdkfd driver, at the granularity of system calls.
 *
 * A transport is a shared library that stands where the kernel stands. It exports one function,
 * `hsa_driver_query_v1`, which returns a constant table; every operation has the meaning of the system call
 * it is named after, on the files that ROCm's user mode touches: /dev/kfd, the amdgpu render nodes, the
 * topology below /sys/devices/virtual/kfd/kfd. The runtime's own transport makes the real calls; the virtual
 * GPU (libhsa_driver_vgpu.so) answers them in software. Everything above the line is the same code for both.
 *
 * The header is C11 and C++20.
 *
 * Rules of the line between runtime and transport
 *   Versions   The major version is part of the symbol's name. Within a major version structs only grow: at
 *              the end, before which nothing moves. Whoever fills a struct sets `struct_size`; whoever reads
 *              one asks HSADRV_HAS before touching a field that the first version did not have.
 *   Errors     An operation returns what its system call returns, with the negated errno in the place of -1.
 *              errno itself is never read or written.
 *   Files      Descriptors are real descriptors of the process: they can be polled, passed over a socket and
 *              closed by exec. But the operations on them go through the transport that opened them,
 *              close and mmap included.
 *   Mappings   mmap makes real mappings of the process, so that loads and stores need no transport. munmap of
 *              a range is the transport's too, because it may have to forget what was mapped there.
 *   Threads    Every operation from any thread at any time between open_driver and close_driver. An operation
 *              that waits (ioctl of WAIT_EVENTS) does not stop others. The caller holds no lock of its own
 *              while it calls.
 *   Ownership  Each side frees what it made. Strings and buffers are valid for the call.
 *   Fork       In a forked child every operation on a descriptor of the parent fails with -EBADF, as it does
 *              with amdkfd; open works and starts afresh.
 */
#ifndef HSA_PLUGIN_HSA_DRIVER_H_
#define HSA_PLUGIN_HSA_DRIVER_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define HSADRV_STATIC_ASSERT(condition, text) static_assert(condition, text)
extern "C" {
#else
#define HSADRV_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#define HSADRV_ABI_MAJOR 1u
#define HSADRV_ABI_MINOR 2u
#define HSADRV_ENTRY_SYMBOL "hsa_driver_query_v1"
#define HSADRV_LEND_SYMBOL "hsa_driver_lend_thread_v1"

/* Where the field `last` of struct T ends. */
#define HSADRV_END(T, last) (offsetof(T, last) + sizeof(((T*)0)->last))
/* Whether the struct at `p` was filled by somebody who knew the field `f`. */
#define HSADRV_HAS(p, T, f) ((p)->struct_size >= HSADRV_END(T, f))
/* No hidden padding at the end, where a later field could hide without the size showing it. */
#define HSADRV_CHECK(T, last)                                                \
  HSADRV_STATIC_ASSERT(sizeof(T) == HSADRV_END(T, last), #T " has padding"); \
  HSADRV_STATIC_ASSERT(sizeof(T) % 8 == 0, #T " is not a multiple of eight bytes")

/* Characters that need not end in a NUL. data may be null when size is 0. */
typedef struct hsadrv_str {
  const char* data;
  uint64_t size;
} hsadrv_str_t;
HSADRV_CHECK(hsadrv_str_t, size);

/* ------------------------------------------------------------------------------------------------------ */
/* What the runtime does for a transport. `self` is passed back as first argument. */

enum { HSADRV_LOG_ERROR = 0, HSADRV_LOG_WARN = 1, HSADRV_LOG_INFO = 2, HSADRV_LOG_DEBUG = 3 };

typedef struct hsadrv_host {
  uint64_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  void* self;
  /* One line, without a line break at its end. Any thread. */
  void (*log)(void* self, uint32_t level, hsadrv_str_t text);
} hsadrv_host_t;
HSADRV_CHECK(hsadrv_host_t, log);

/* ------------------------------------------------------------------------------------------------------ */
/* The operations. `driver` is what open_driver gave. */

/* Receives a folder's entries, one call an entry, without "." and "..", in any order. */
typedef struct hsadrv_dir_sink {
  void* self;
  void (*entry)(void* self, hsadrv_str_t name);
} hsadrv_dir_sink_t;
HSADRV_CHECK(hsadrv_dir_sink_t, entry);

typedef struct hsadrv_ops {
  uint64_t struct_size;
  /* open(2): a descriptor, or -errno. `path` ends in a NUL. `flags` are those of <fcntl.h>; files are never
   * created. */
  int32_t (*open)(void* driver, const char* path, int32_t flags);
  /* close(2). */
  int32_t (*close)(void* driver, int32_t fd);
  /* fcntl(2) F_DUPFD_CLOEXEC: another descriptor of the same open file, at least `minimum`. */
  int32_t (*dup)(void* driver, int32_t fd, int32_t minimum);
  /* ioctl(2), once: -EINTR and -EAGAIN are the caller's to repeat. */
  int32_t (*ioctl)(void* driver, int32_t fd, uint64_t request, void* argument);
  /* mmap(2). fd may be -1 (anonymous memory) or any descriptor of the process. *out is the address. */
  int32_t (*mmap)(void* driver, void* address, uint64_t size, int32_t protection, int32_t flags, int32_t fd,
                  uint64_t offset, void** out);
  /* munmap(2). */
  int32_t (*munmap)(void* driver, void* address, uint64_t size);
  /* The first `capacity` bytes of a file. Returns how many bytes were stored, or -errno. */
  int64_t (*read_file)(void* driver, const char* path, void* buffer, uint64_t capacity);
  /* Lists a folder. 0 or -errno. */
  int32_t (*list_dir)(void* driver, const char* path, const hsadrv_dir_sink_t* sink);
} hsadrv_ops_t;
HSADRV_CHECK(hsadrv_ops_t, list_dir);

/* How to ring a queue's doorbell without the device having to watch it. */
typedef struct hsadrv_doorbell {
  uint64_t struct_size;
  /* Does what a store of `value` to the doorbell does (4 bytes of it where doorbells have 4), with release
   * order, and lets the device see it. Any thread; as cheap as an atomic exchange while the device is awake.
   * Since 1.1 also after the queue's DESTROY_QUEUE, and after close_driver: it is then a store to a doorbell
   * that no queue owns, or that a younger one has got. */
  void (*ring)(void* context, uint64_t value);
  void* context;
} hsadrv_doorbell_t;
HSADRV_CHECK(hsadrv_doorbell_t, context);

/* Optional. Without it doorbells are plain stores, as on hardware; with it plain stores work as well, but
 * only rings through `attach` wake a device that sleeps at once and at no cost while nobody rings. */
typedef struct hsadrv_doorbell_ops {
  uint64_t struct_size;
  /* `doorbell` is the address of a queue's doorbell within the mapping of the doorbell page. *out, whose
   * struct_size the caller has set, rings the same queue. -EINVAL: no queue of this transport has its
   * doorbell there. -ENOSPC: stores only, as for a transport that has no such group. */
  int32_t (*attach)(void* driver, void* doorbell, hsadrv_doorbell_t* out);
} hsadrv_doorbell_ops_t;
HSADRV_CHECK(hsadrv_doorbell_ops_t, attach);

/* Lends the calling thread to devices that compute on processors of the host: it does some of what they have
 * to do, for ten microseconds or so, and returns 1, or 0 if there was nothing that it could do; where devices
 * do nothing, that is as cheap as a load. For threads that wait for a device and would look again and again:
 * what they wait for comes sooner. Any thread at any time, also before open_driver and after close_driver,
 * but not from signal handlers and not with locks that the program's handlers take: signals other than faults
 * wait until it returns. errno stays as it is. What stands between the runtime and the kernel without being a
 * transport, as a library that is preloaded does, exports the function as HSADRV_LEND_SYMBOL. */
typedef int32_t (*hsa_driver_lend_thread_v1_fn)(void);

typedef struct hsadrv_driver {
  uint64_t struct_size;
  uint32_t abi_major;   /* HSADRV_ABI_MAJOR that the transport was built with */
  uint32_t abi_minor;   /* HSADRV_ABI_MINOR that the transport was built with */
  hsadrv_str_t name;    /* "kfd", "vgpu" */
  hsadrv_str_t version; /* for people */
  /* Starts a transport. `config` is a JSON object of the transport's own options, or empty. `host` outlives
   * the driver. 0, or -errno with the reasons in the host's log, as errors: the runtime shows them in its report. A
   * line about an option begins with the option's JSON pointer in `config`, "/gpus: ...", before which the
   * runtime puts where `config` is in its file. */
  int32_t (*open_driver)(const hsadrv_host_t* host, hsadrv_str_t config, void** driver);
  /* Ends it: no operation runs any more. Descriptors and mappings that are still there stay valid memory. */
  void (*close_driver)(void* driver);
  const hsadrv_ops_t* ops;                  /* required */
  const hsadrv_doorbell_ops_t* doorbell;    /* optional */
  hsa_driver_lend_thread_v1_fn lend_thread; /* optional; since 1.2 */
} hsadrv_driver_t;
HSADRV_CHECK(hsadrv_driver_t, lend_thread);

/* The module's only export. Pure and re-entrant; returns static storage, or null if it cannot serve a host of
 * this version. */
typedef const hsadrv_driver_t* (*hsa_driver_query_v1_fn)(uint32_t host_abi_major, uint32_t host_abi_minor);

#ifdef __cplusplus
}
#endif

#endif /* HSA_PLUGIN_HSA_DRIVER_H_ */
