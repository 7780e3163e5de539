/* The driver-transport ABI: system calls to the amdkfd driver, as a table of functions.
 *
 * A transport is a shared library that takes the place of the kernel. It exports one function,
 * `hsa_driver_query_v1`, which returns a constant table. Each operation has the meaning of the system call of
 * the same name, for the files that ROCm's user mode uses: /dev/kfd, the amdgpu render nodes, and the
 * topology in /sys/devices/virtual/kfd/kfd. The built-in transport makes the system calls. The virtual GPU
 * (libhsa_driver_vgpu.so) implements them in software. The runtime uses the same code for both.
 *
 * The header is C11 and C++20.
 *
 * Rules of the interface between runtime and transport:
 *  - Versions: The major version is part of the symbol's name. Within a major version, structs grow only at
 *    their end. The side that fills a struct sets `struct_size`. The side that reads it checks HSADRV_HAS
 *    before it reads a field that the first version did not have.
 *  - Errors: An operation returns the result of its system call, with the negated errno in place of -1. It
 *    does not read or write errno.
 *  - Files: Descriptors are real descriptors of the process: they can be polled, passed over a socket and
 *    closed by exec. All operations on them, close and mmap included, go through the transport that opened
 *    them.
 *  - Mappings: mmap creates real mappings of the process, so that loads and stores bypass the transport.
 *    munmap also goes through the transport, which keeps records of its mappings.
 *  - Threads: Any thread may call any operation between open_driver and close_driver. An operation that waits
 *    (ioctl of WAIT_EVENTS) does not block others. The caller holds no lock during a call.
 *  - Ownership: Each side frees what it allocated. Strings and buffers are valid for the call.
 *  - Fork: In a forked child every operation on a descriptor of the parent fails with -EBADF, as it does with
 *    amdkfd. open works.
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
#define HSADRV_ABI_MINOR 3u
#define HSADRV_ENTRY_SYMBOL "hsa_driver_query_v1"
#define HSADRV_LEND_SYMBOL "hsa_driver_lend_thread_v1"
#define HSADRV_SAMPLING_SYMBOL "hsa_driver_sampling_v1"

/* Offset of the end of the field `last` in struct T. */
#define HSADRV_END(T, last) (offsetof(T, last) + sizeof(((T*)0)->last))
/* Whether the struct at `p` is large enough to contain the field `f`. */
#define HSADRV_HAS(p, T, f) ((p)->struct_size >= HSADRV_END(T, f))
/* Checks that there is no padding at the end, so that a later field changes the size. */
#define HSADRV_CHECK(T, last)                                                \
  HSADRV_STATIC_ASSERT(sizeof(T) == HSADRV_END(T, last), #T " has padding"); \
  HSADRV_STATIC_ASSERT(sizeof(T) % 8 == 0, #T " is not a multiple of eight bytes")

/* Characters, not necessarily NUL-terminated. data may be null if size is 0. */
typedef struct hsadrv_str {
  const char* data;
  uint64_t size;
} hsadrv_str_t;
HSADRV_CHECK(hsadrv_str_t, size);

/* ------------------------------------------------------------------------------------------------------ */
/* Functions of the runtime for a transport. `self` is the first argument of each. */

enum { HSADRV_LOG_ERROR = 0, HSADRV_LOG_WARN = 1, HSADRV_LOG_INFO = 2, HSADRV_LOG_DEBUG = 3 };

typedef struct hsadrv_host {
  uint64_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  void* self;
  /* Logs one line, without a line break at its end. Any thread. */
  void (*log)(void* self, uint32_t level, hsadrv_str_t text);
} hsadrv_host_t;
HSADRV_CHECK(hsadrv_host_t, log);

/* ------------------------------------------------------------------------------------------------------ */
/* The operations. `driver` is the result of open_driver. */

/* Receives the entries of a directory, one call per entry, without "." and "..", in any order. */
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
  /* ioctl(2), once: the caller repeats it after -EINTR and -EAGAIN. */
  int32_t (*ioctl)(void* driver, int32_t fd, uint64_t request, void* argument);
  /* mmap(2). fd may be -1 (anonymous memory) or any descriptor of the process. *out is the address. */
  int32_t (*mmap)(void* driver, void* address, uint64_t size, int32_t protection, int32_t flags, int32_t fd,
                  uint64_t offset, void** out);
  /* munmap(2). */
  int32_t (*munmap)(void* driver, void* address, uint64_t size);
  /* Reads the first `capacity` bytes of a file. Returns the number of bytes read, or -errno. */
  int64_t (*read_file)(void* driver, const char* path, void* buffer, uint64_t capacity);
  /* Lists a directory. Returns 0 or -errno. */
  int32_t (*list_dir)(void* driver, const char* path, const hsadrv_dir_sink_t* sink);
} hsadrv_ops_t;
HSADRV_CHECK(hsadrv_ops_t, list_dir);

/* A function that rings the doorbell of a queue, so that the device need not poll the doorbell. */
typedef struct hsadrv_doorbell {
  uint64_t struct_size;
  /* Notifies the device, and has the effect of a store of `value` to the doorbell with release order. If
   * doorbells have 4 bytes, the lower 4 bytes count. Any thread. Costs as much as an atomic exchange while
   * the device is awake. Since 1.1 the function may also be called after DESTROY_QUEUE and close_driver: it
   * then stores to a doorbell that belongs to no queue or to a newer queue. */
  void (*ring)(void* context, uint64_t value);
  void* context;
} hsadrv_doorbell_t;
HSADRV_CHECK(hsadrv_doorbell_t, context);

/* Optional. Plain stores to doorbells always work, as on hardware. With this group, a ring through `attach`
 * wakes a sleeping device immediately, and the device need not poll. */
typedef struct hsadrv_doorbell_ops {
  uint64_t struct_size;
  /* Fills in *out with a function that rings the doorbell at address `doorbell`, in the mapping of the
   * doorbell page. The caller sets struct_size of *out. -EINVAL: the address is not a doorbell of a queue of
   * this transport. -ENOSPC: use stores, as for a transport without this group. */
  int32_t (*attach)(void* driver, void* doorbell, hsadrv_doorbell_t* out);
} hsadrv_doorbell_ops_t;
HSADRV_CHECK(hsadrv_doorbell_ops_t, attach);

/* Since 1.3: samples of the program counters of waves. */
typedef struct hsadrv_sample {
  uint64_t pc;       /* address of the instruction that the wave executes next */
  uint64_t exec;     /* active lanes */
  uint64_t dispatch; /* number of the queue in the upper half, of its packet in the lower half */
  uint32_t group[3]; /* work-group */
  uint32_t wave;     /* number in the work-group */
} hsadrv_sample_t;
HSADRV_CHECK(hsadrv_sample_t, wave);

typedef struct hsadrv_sampler {
  uint64_t struct_size;
  /* Number of instructions from one sample of a wave to the next, not 0. */
  uint64_t interval;
  /* Receives samples of a dispatch before the dispatch completes, and the number of samples that are lost; a
   * dispatch can need several calls. Several threads may call it at a time. It does not wait for devices. */
  void (*take)(void* context, const hsadrv_sample_t* samples, uint64_t count, uint64_t lost);
  void* context;
} hsadrv_sampler_t;
HSADRV_CHECK(hsadrv_sampler_t, context);

/* Optional, for software devices. */
typedef struct hsadrv_sampling_ops {
  uint64_t struct_size;
  /* Samples the dispatches of this process on a GPU that start from here on. -EINVAL: no such GPU, or the
   * sampler is invalid. -EBUSY: the GPU is being sampled. */
  int32_t (*start)(void* driver, uint32_t gpu_id, const hsadrv_sampler_t* sampler);
  /* Ends that; `take` is not called after the return. -EINVAL: the GPU is not being sampled. */
  int32_t (*stop)(void* driver, uint32_t gpu_id);
} hsadrv_sampling_ops_t;
HSADRV_CHECK(hsadrv_sampling_ops_t, stop);

/* A preloaded library that replaces the kernel without being a transport exports this function as
 * HSADRV_SAMPLING_SYMBOL. It returns a constant table, whose functions ignore `driver`. */
typedef const hsadrv_sampling_ops_t* (*hsa_driver_sampling_v1_fn)(void);

/* Runs a part of the pending work of software devices on the calling thread, for about ten microseconds.
 * Returns 1, or 0 if there was no work; the latter costs as much as a load. A thread that polls for a result
 * of a device calls it, so that the result arrives sooner. Any thread may call it at any time, also before
 * open_driver and after close_driver. It must not be called in a signal handler, or with a lock that a signal
 * handler takes: it blocks signals other than faults. It preserves errno. A preloaded library that replaces
 * the kernel without being a transport exports the function as HSADRV_LEND_SYMBOL. */
typedef int32_t (*hsa_driver_lend_thread_v1_fn)(void);

typedef struct hsadrv_driver {
  uint64_t struct_size;
  uint32_t abi_major;   /* HSADRV_ABI_MAJOR that the transport was built with */
  uint32_t abi_minor;   /* HSADRV_ABI_MINOR that the transport was built with */
  hsadrv_str_t name;    /* "kfd", "vgpu" */
  hsadrv_str_t version; /* free text */
  /* Starts a transport. `config` is a JSON object with the options of the transport, or empty. `host`
   * outlives the driver. Returns 0, or -errno after it has logged the reasons as errors; the runtime adds
   * these to its report. A line about an option starts with the JSON pointer of the option in `config`, as in
   * "/gpus: ...". The runtime prepends the file and the pointer of `config`. */
  int32_t (*open_driver)(const hsadrv_host_t* host, hsadrv_str_t config, void** driver);
  /* Closes the driver; no operation runs during or after the call. Existing descriptors and mappings stay
   * valid. */
  void (*close_driver)(void* driver);
  const hsadrv_ops_t* ops;                  /* required */
  const hsadrv_doorbell_ops_t* doorbell;    /* optional */
  hsa_driver_lend_thread_v1_fn lend_thread; /* optional; since 1.2 */
  const hsadrv_sampling_ops_t* sampling;    /* optional; since 1.3 */
} hsadrv_driver_t;
HSADRV_CHECK(hsadrv_driver_t, sampling);

/* The only export of the module. Pure and re-entrant. Returns static storage, or null if the module does not
 * support a host of this version. */
typedef const hsadrv_driver_t* (*hsa_driver_query_v1_fn)(uint32_t host_abi_major, uint32_t host_abi_minor);

#ifdef __cplusplus
}
#endif

#endif /* HSA_PLUGIN_HSA_DRIVER_H_ */
