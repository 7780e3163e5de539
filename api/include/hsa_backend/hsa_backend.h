/* The backend ABI: the functions of a loadable backend of Rigel, and those of the runtime for it.
 *
 * A backend is a shared library that supports one family of devices. It exports one function,
 * `hsa_backend_query_v1`, which returns a constant table of functions in groups. A JSON manifest names the
 * library and the devices that it claims (docs/extend/backend.md). A new backend needs no rebuild of the
 * runtime. It includes this header, sanitizer.h and <hsa/...> only, and links no symbol of the runtime.
 *
 * The header is C11 and C++20. hsa_backend.hpp contains helpers for C++.
 *
 * Rules of the interface between runtime and backend:
 *  - Versions: The major version is part of the symbol's name. Within a major version, structs grow only at
 *    their end. The side that fills a struct sets `struct_size`. The side that reads it checks HSABE_HAS
 *    before it reads a field that the first version did not have.
 *  - Types: Fixed-width integers, sized strings and pointers. No C++ types, exceptions, errno or FILE.
 *  - Ownership: Each side frees what it allocated. Everything reachable from hsabe_backend_t lives as long as
 *    the module, and modules are never unloaded. Strings passed to a function are valid for the call.
 *  - Errors: Functions return an hsa_status_t value as int32_t. Before a function returns a failure, it
 *    passes the explanation to `host->events->report`, once, on the same thread.
 *  - Threads: query, select and describe_kernel: any thread, re-entrant, no side effects. enumerate, open and
 *    close: one call at a time per backend. All others: concurrently for different queues and images, one
 *    call at a time for the same queue or image. During a call the runtime holds no lock except that of the
 *    queue. Services of the host may be called on any thread and within any call.
 *  - Fork: In a forked child the runtime never uses a device, queue or image that the parent opened. It may
 *    open devices again: keep state in the device, not in variables of the module.
 *  - Lifetime: close is called in the last hsa_shut_down, after every queue and image of the device is
 *    destroyed. hsa_shut_down may run in a static destructor of the program: keep no state with a destructor.
 */
#ifndef HSA_BACKEND_HSA_BACKEND_H_
#define HSA_BACKEND_HSA_BACKEND_H_

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_aqlprofile.h>
#include <hsa_backend/sanitizer.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define HSABE_STATIC_ASSERT(condition, text) static_assert(condition, text)
extern "C" {
#else
#define HSABE_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#define HSABE_ABI_MAJOR 1u
#define HSABE_ABI_MINOR 7u
#define HSABE_ENTRY_SYMBOL "hsa_backend_query_v1"

/* Offset of the end of the field `last` in struct T. */
#define HSABE_END(T, last) (offsetof(T, last) + sizeof(((T*)0)->last))
/* Whether the struct at `p` is large enough to contain the field `f`. */
#define HSABE_HAS(p, T, f) ((p)->struct_size >= HSABE_END(T, f))
/* Checks that there is no padding at the end, so that a later field changes the size. */
#define HSABE_CHECK(T, last)                                               \
  HSABE_STATIC_ASSERT(sizeof(T) == HSABE_END(T, last), #T " has padding"); \
  HSABE_STATIC_ASSERT(sizeof(T) % 8 == 0, #T " is not a multiple of eight bytes")

/* A status: a value of hsa_status_t. */
typedef int32_t hsabe_status_t;

/* Characters, not necessarily NUL-terminated. data may be null if size is 0. */
typedef struct hsabe_str {
  const char* data;
  uint64_t size;
} hsabe_str_t;
HSABE_CHECK(hsabe_str_t, size);

/* ------------------------------------------------------------------------------------------------------ */
/* Host services: functions of the runtime for a backend. `self` is the first argument of each. */

enum { HSABE_LOG_ERROR = 0, HSABE_LOG_WARN = 1, HSABE_LOG_INFO = 2, HSABE_LOG_DEBUG = 3 };

typedef struct hsabe_host_log {
  uint64_t struct_size;
  /* Nonzero if a message of this level is logged. Call it before formatting. */
  int32_t (*enabled)(void* self, uint32_t level);
  /* Logs one line, without a line break at its end, as `rigel: <level>: <backend>: <text>`. Warnings during
   * discovery also become lines of the discovery report. Use events->report for the reason of a failure. */
  void (*write)(void* self, uint32_t level, hsabe_str_t text);
} hsabe_host_log_t;
HSABE_CHECK(hsabe_host_log_t, write);

typedef struct hsabe_host_memory {
  uint64_t struct_size;
  /* Allocates `size` bytes of zeroed memory on the NUMA node nearest to the device, page aligned, accessible
   * to all agents. OUT_OF_RESOURCES: no memory, or devices are still being opened. */
  hsabe_status_t (*allocate)(void* self, uint64_t size, void** out);
  /* Frees memory of `allocate`. Null is allowed. */
  void (*release)(void* self, void* pointer);
} hsabe_host_memory_t;
HSABE_CHECK(hsabe_host_memory_t, release);

/* The condition of a wait: the value of the signal compares with `value` as `condition` specifies (a value of
 * hsa_signal_condition_t). `signal` is the handle of an hsa_signal_t: the address of an amd_signal_t. */
typedef struct hsabe_wait {
  uint64_t signal;
  int64_t value;
  uint32_t condition;
  uint32_t reserved0;
} hsabe_wait_t;
HSABE_CHECK(hsabe_wait_t, reserved0);

#define HSABE_WAIT_FOREVER UINT64_MAX
#define HSABE_WAIT_TIMED_OUT UINT32_MAX

typedef struct hsabe_host_signal {
  uint64_t struct_size;
  /* Creates a signal. Devices can access signals that are created after all devices have been opened. Only
   * the host can access a signal that device.open creates. */
  hsabe_status_t (*create)(void* self, int64_t initial_value, uint64_t* out);
  void (*destroy)(void* self, uint64_t signal);
  /* Change the value with release semantics and wake all waiting threads. A direct store to
   * amd_signal_t.value wakes no thread. A direct atomic load of it is allowed, and is the fast way to
   * poll. */
  void (*store)(void* self, uint64_t signal, int64_t value);
  void (*subtract)(void* self, uint64_t signal, int64_t value);
  /* Sleeps until one of the waits holds and returns its index, or HSABE_WAIT_TIMED_OUT after `timeout_ns`.
   * Loads the values with acquire semantics. Spins for `spin_ns` before it sleeps in the kernel. */
  uint32_t (*wait_any)(void* self, const hsabe_wait_t* waits, uint32_t count, uint64_t timeout_ns,
                       uint64_t spin_ns);
  /* Since 1.1. Calls `handler(value, argument)` on a thread of the runtime when the condition holds, and
   * again while the handler returns true. After the signal is destroyed, `settle` returns when the last call
   * has returned. A handler may wait for a device, but not for the application. */
  hsabe_status_t (*watch)(void* self, const hsabe_wait_t* wait, hsa_amd_signal_handler handler,
                          void* argument);
  void (*settle)(void* self);
} hsabe_host_signal_t;
HSABE_CHECK(hsabe_host_signal_t, settle);

enum {
  HSABE_SCRATCH_GIVEN = 1,    /* to a dispatch that needs more than its queue has */
  HSABE_SCRATCH_RETURNED = 2, /* by a queue that had it for one dispatch */
  HSABE_SCRATCH_RECLAIMED = 3 /* from a queue that may go on running */
};

/* Since 1.6. The start or the end of a change of the scratch memory of a queue. */
typedef struct hsabe_scratch_event {
  uint64_t struct_size;
  uint64_t queue_cookie;
  uint32_t what;     /* HSABE_SCRATCH_ */
  int32_t ended;     /* nonzero: the end; 0: the start */
  int32_t use_once;  /* nonzero: the memory is for one dispatch (for the end of GIVEN) */
  uint32_t reserved; /* 0 */
  uint64_t packet;   /* GIVEN: the index of the dispatch in the queue */
  uint64_t bytes;    /* end of GIVEN: bytes that the queue has; 0: none could be allocated */
  uint64_t waves;    /* end of GIVEN: number of concurrent waves that the bytes suffice for */
  uint64_t host;     /* data of the host, which sets it at the start and reads it at the end */
} hsabe_scratch_event_t;
HSABE_CHECK(hsabe_scratch_event_t, host);

typedef struct hsabe_host_events {
  uint64_t struct_size;
  /* Reports that the queue with this cookie (hsabe_queue_desc_t) has stopped because of `status`, once per
   * queue. The error callback of the application runs later, on a thread of the runtime; it may destroy the
   * queue. */
  void (*queue_error)(void* self, uint64_t queue_cookie, hsabe_status_t status);
  /* Passes the reason why the current call on this thread fails. The runtime adds it to the discovery report
   * or the log. The text has the form `<problem>; <remedy>`. */
  void (*report)(void* self, hsabe_str_t text);
  /* Since 1.6. Reports the start and then the end of a scratch event on the same thread, while the queue
   * exists. A tool that receives it may call any function of the backend except those that create and destroy
   * queues. A backend does not report events of its internal queues. */
  void (*scratch)(void* self, hsabe_scratch_event_t* event);
} hsabe_host_events_t;
HSABE_CHECK(hsabe_host_events_t, scratch);

/* Typed reads of this backend's options: `config` of the manifest, overridden by `backends.<name>` of the
 * configuration file. `key` names a member. If it is missing or has another type, the functions return the
 * fallback; another type also causes a warning. Strings live as long as the host. */
typedef struct hsabe_host_config {
  uint64_t struct_size;
  int64_t (*get_integer)(void* self, hsabe_str_t key, int64_t fallback);
  int32_t (*get_boolean)(void* self, hsabe_str_t key, int32_t fallback);
  hsabe_str_t (*get_string)(void* self, hsabe_str_t key, hsabe_str_t fallback);
} hsabe_host_config_t;
HSABE_CHECK(hsabe_host_config_t, get_string);

/* Since 1.1: functions of the runtime for a device on the KFD bus (HSABE_BUS_KFD). The runtime has opened the
 * kernel driver and acquired the address space of the device. The runtime manages the memory pools. */

enum {
  HSABE_BLOCK_HOST = 1, /* host memory that the driver allocates */
  HSABE_BLOCK_LOCAL = 2 /* memory of the device */
};
enum {
  HSABE_BLOCK_HOST_ACCESS = 1u << 0, /* the host reads and writes it at the same address. HOST always has it;
                                      * LOCAL only if host_sees_local of the driver facts is set */
  HSABE_BLOCK_EXECUTABLE = 1u << 1,
  HSABE_BLOCK_COHERENT = 1u << 2, /* fine-grained */
  HSABE_BLOCK_UNCACHED = 1u << 3,
  HSABE_BLOCK_TWICE = 1u << 4 /* a ring: `size / 2` bytes of memory, mapped twice in succession for the device
                               * and once for the host */
};

typedef struct hsabe_block {
  uint64_t struct_size;
  void* address; /* for the host, if it has access, and for the device */
  uint64_t size; /* bytes of addresses */
  uint64_t handle;
  uint64_t at_reserved; /* nonzero: allocated by allocate_at */
} hsabe_block_t;
HSABE_CHECK(hsabe_block_t, at_reserved);

typedef struct hsabe_driver_facts {
  uint64_t struct_size;
  uint32_t version_major; /* of the amdkfd interface */
  uint32_t version_minor;
  uint32_t gpu_id;
  uint32_t host_sees_local;  /* nonzero: all memory of the device can be mapped for the host */
  uint64_t group_aperture;   /* first address of the group segment's aperture */
  uint64_t private_aperture; /* of the private segment's */
  uint64_t address_limit;    /* the last address that every GPU can use */
  /* Since 1.2. Nonzero: RUNTIME_ENABLE is in effect, and the driver reports errors of queues through the
   * headers of their save areas. */
  uint64_t exceptions;
  /* Since 1.4: the initial compute units of internal queues of the backend, in the format of
   * queue->set_cu_mask; 0 bits: all. The runtime sets the masks of the program's queues. Valid while the
   * device is open. */
  const uint32_t* cu_mask;
  uint64_t cu_mask_bits;
} hsabe_driver_facts_t;
HSABE_CHECK(hsabe_driver_facts_t, cu_mask_bits);

/* Since 1.3: a function that rings a doorbell. It has the effect of a store of `value` to the register.
 * Threads: any, at any time, also after the queue is destroyed. */
typedef struct hsabe_bell {
  uint64_t struct_size;
  void (*ring)(void* context, uint64_t value); /* null: store to the register */
  void* context;
} hsabe_bell_t;
HSABE_CHECK(hsabe_bell_t, context);

typedef struct hsabe_host_driver {
  uint64_t struct_size;
  void (*facts)(void* self, hsabe_driver_facts_t* facts);
  /* Makes the ioctl with this number on /dev/kfd, and repeats it while it is interrupted. Returns 0 or
   * -errno. The argument is a struct of <hsa_plugin/kfd_abi.h>, or a shorter or longer version of it. */
  int32_t (*ioctl)(void* self, uint32_t number, void* argument, uint64_t size);
  /* Allocates `size` bytes (a multiple of the page size) and maps them to this device. The contents are
   * undefined. */
  hsabe_status_t (*allocate)(void* self, uint32_t kind, uint32_t flags, uint64_t size, uint64_t alignment,
                             hsabe_block_t* out);
  /* The same at an address within a range of `reserve`; release keeps the range reserved. */
  hsabe_status_t (*allocate_at)(void* self, uint32_t kind, uint32_t flags, void* address, uint64_t size,
                                hsabe_block_t* out);
  void (*release)(void* self, const hsabe_block_t* block);
  /* Reserves an address range without memory. release_addresses releases it, after the blocks in it. */
  hsabe_status_t (*reserve)(void* self, uint64_t size, uint64_t alignment, void** address);
  void (*release_addresses)(void* self, void* address, uint64_t size);
  /* Returns the doorbell of a queue of this device, from the results of CREATE_QUEUE; null if it cannot be
   * mapped. After the first call, the runtime receives the driver's events as soon as all devices are
   * open. */
  void* (*doorbell)(void* self, uint64_t doorbell_offset, uint32_t queue_id);
  /* Returns the page of registers that user mode may write, or null. A store at offset 0 flushes memory
   * accesses of the host data path, a store at offset 4 flushes its register accesses. */
  void* (*registers)(void* self);
  /* Since 1.3. Fills in *bell with a function that rings the doorbell at the address that `doorbell`
   * returned. A software device provides one, so that it need not poll the doorbell. For a physical device,
   * ring is null. */
  void (*bell)(void* self, void* doorbell, hsabe_bell_t* bell);
} hsabe_host_driver_t;
HSABE_CHECK(hsabe_host_driver_t, bell);

typedef struct hsabe_host {
  uint64_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  void* self; /* first argument of every service */
  const hsabe_host_log_t* log;
  const hsabe_host_memory_t* memory;
  const hsabe_host_signal_t* signal;
  const hsabe_host_events_t* events;
  const hsabe_host_config_t* config;
  const hsabe_host_driver_t* driver; /* since 1.1; null for a device of another bus */
} hsabe_host_t;
HSABE_CHECK(hsabe_host_t, driver);

/* ------------------------------------------------------------------------------------------------------ */
/* Facts in, capabilities out. */

enum {
  HSABE_BUS_CPU = 1, /* a NUMA node of this machine */
  HSABE_BUS_KFD = 2, /* a node of the amdkfd topology */
  HSABE_BUS_OWN = 3  /* a device that only its backend can find: device->enumerate lists them */
};

typedef struct hsabe_property {
  hsabe_str_t name;
  uint64_t value;
} hsabe_property_t;
HSABE_CHECK(hsabe_property_t, value);

/* Properties of a device before it is opened. */
typedef struct hsabe_node {
  uint64_t struct_size;
  uint32_t bus;     /* HSABE_BUS_ */
  uint32_t node_id; /* CPU: NUMA node number. KFD: topology node number. OWN: chosen by the backend. */
  hsabe_str_t name; /* CPU: model name from the kernel. KFD: name of the node. OWN: chosen by the backend. */
  uint32_t gfx_major; /* the target version, after HSA_OVERRIDE_GFX_VERSION; 0 if there is none */
  uint32_t gfx_minor;
  uint32_t gfx_stepping;
  uint32_t reserved0;
  /* All other properties, sorted by name. KFD: the `properties` file of the node; gpu_id; xnack_enabled:
   * whether GPU page faults of this process are retried; host_atomics (since 1.5): whether 64-bit atomics of
   * the device work on host memory. CPU: cpu_cores_count, cpu_max_clock_mhz, cpu_first, cacheline_bytes,
   * memory_bytes. */
  const hsabe_property_t* properties;
  uint64_t property_count;
} hsabe_node_t;
HSABE_CHECK(hsabe_node_t, property_count);

enum {
  /* The 64-bit index of the last packet written, to a mapped register (gfx9 and later). */
  HSABE_DOORBELL_INDEX64 = 1,
  /* The 32-bit index + 1, to a mapped register, monotonic, under amd_queue_t.legacy_doorbell_lock (gfx8). */
  HSABE_DOORBELL_INDEX32_LEGACY = 2,
  /* An ordinary signal that a thread of the backend waits on. */
  HSABE_DOORBELL_SIGNAL = 3,
  /* Since 1.5; earlier runtimes reject the device and report the reason. The register, the lock and
   * max_legacy_doorbell_dispatch_id_plus_1 are those of HSABE_DOORBELL_INDEX32_LEGACY. The value is the end
   * of the packets in dwords, in a ring that is mapped twice in succession: (index + 1) % (2 * packets) * 16
   * (gfx7, Tonga). */
  HSABE_DOORBELL_DWORDS32_LEGACY = 4
};

enum {
  HSABE_HEAP_HOST = 1,  /* memory of the host's NUMA node `node_id`: the runtime allocates it */
  HSABE_HEAP_LOCAL = 2, /* memory of the device: the memory group of the backend allocates it */
  HSABE_HEAP_GROUP = 3  /* group segment: reported, never allocated from */
};

enum {
  HSABE_HEAP_FINE_GRAINED = 1u << 0,
  HSABE_HEAP_COARSE_GRAINED = 1u << 1,
  HSABE_HEAP_KERNARG = 1u << 2,
  HSABE_HEAP_HOST_VISIBLE = 1u << 3 /* the host's loads and stores reach it at the same address */
};

typedef struct hsabe_heap {
  uint64_t struct_size;
  uint32_t kind;    /* HSABE_HEAP_ kind */
  uint32_t flags;   /* HSABE_HEAP_ flags */
  uint64_t size;    /* bytes; HOST: 0 = all of the node's memory */
  uint64_t granule; /* bytes; 0 = 4096 */
} hsabe_heap_t;
HSABE_CHECK(hsabe_heap_t, granule);

typedef struct hsabe_cache {
  uint64_t struct_size;
  hsabe_str_t name; /* "L2" */
  uint32_t level;   /* 1, 2, 3 */
  uint32_t reserved0;
  uint64_t size; /* bytes */
} hsabe_cache_t;
HSABE_CHECK(hsabe_cache_t, size);

enum { HSABE_FEATURE_KERNEL_DISPATCH = 1u << 0, HSABE_FEATURE_AGENT_DISPATCH = 1u << 1 };

/* Capabilities of one device, filled in by `select`. Pointers refer to static storage of the module, or to
 * storage of the open device that lives until it is closed. A size of 0 means that the feature is absent. */
typedef struct hsabe_caps {
  uint64_t struct_size;
  hsabe_str_t name;         /* HSA_AGENT_INFO_NAME, at most 63 bytes */
  hsabe_str_t vendor_name;  /* HSA_AGENT_INFO_VENDOR_NAME, at most 63 bytes */
  hsabe_str_t product_name; /* HSA_AMD_AGENT_INFO_PRODUCT_NAME, at most 63 bytes */
  hsabe_str_t uuid;         /* HSA_AMD_AGENT_INFO_UUID, at most 20 bytes; empty: "CPU-XX" or "GPU-XX" */
  uint32_t device_type;     /* hsa_device_type_t */
  uint32_t features;        /* HSABE_FEATURE_ */
  uint32_t doorbell;        /* HSABE_DOORBELL_ */
  uint32_t profile;         /* hsa_profile_t */
  uint32_t float_rounding;  /* hsa_default_float_rounding_mode_t of the agent */
  uint32_t fast_f16;        /* nonzero: half precision is at least as fast as single */
  /* ISA names, best first, each in the form that hsa_isa_from_name takes. */
  const hsabe_str_t* isa_names;
  uint64_t isa_count;
  const hsabe_heap_t* heaps;
  uint64_t heap_count;
  const hsabe_cache_t* caches;
  uint64_t cache_count;
  uint64_t quirks;         /* bits that the backend defines; tools print them, the runtime ignores them */
  uint32_t wavefront_size; /* work-items */
  uint32_t compute_units;
  uint32_t workgroup_max_dim[3]; /* work-items */
  uint32_t workgroup_max_size;   /* work-items */
  uint32_t grid_max_dim[3];      /* work-items */
  uint32_t fbarrier_max_size;
  uint64_t grid_max_size; /* work-items */
  uint32_t queues_max;
  uint32_t queue_min_size;           /* packets, a power of two */
  uint32_t queue_max_size;           /* packets, a power of two */
  uint32_t queue_types;              /* bit (1 << hsa_queue_type_t) for each that can be created */
  uint32_t group_segment_size;       /* bytes a work-group can have */
  uint32_t private_segment_max_size; /* bytes a work-item can have */
  uint32_t max_clock_mhz;
  uint32_t memory_max_clock_mhz;
  uint32_t memory_width_bits;
  uint32_t cacheline_size; /* bytes */
  uint32_t chip_id;
  uint32_t asic_revision;
  uint32_t max_waves_per_cu;
  uint32_t simds_per_cu;
  uint32_t shader_engines;
  uint32_t shader_arrays_per_engine;
  uint32_t bdf_id; /* PCI bus << 8 | device << 3 | function */
  uint32_t pci_domain;
  /* Since 1.4. Number of compute units in a group that CU masks enable or disable as a whole; the first group
   * starts at unit 0. 0: each unit separately. */
  uint32_t compute_units_together;
  /* Since 1.4. Number of compute units that a cooperative dispatch is guaranteed to occupy at the same time;
   * 0: all. */
  uint32_t cooperative_compute_units;
} hsabe_caps_t;
HSABE_CHECK(hsabe_caps_t, cooperative_compute_units);

/* ------------------------------------------------------------------------------------------------------ */
/* Backend groups. A device, a queue and an image are opaque pointers of the backend. */

/* Receives the devices that device->enumerate finds, one call per device; the node is copied. */
typedef struct hsabe_node_sink {
  void* self;
  void (*add)(void* self, const hsabe_node_t* node);
} hsabe_node_sink_t;
HSABE_CHECK(hsabe_node_sink_t, add);

/* Required. */
typedef struct hsabe_device_ops {
  uint64_t struct_size;
  /* Optional: lists the devices of the bus HSABE_BUS_OWN. Required of a backend that claims that bus. */
  hsabe_status_t (*enumerate)(const hsabe_host_t* host, const hsabe_node_sink_t* sink);
  /* Fills in the capabilities of the device that `node` describes. Pure: no I/O, no state.
   * HSA_STATUS_ERROR_INVALID_AGENT: the backend does not support the device. The caller zeroes *caps and sets
   * its struct_size. */
  hsabe_status_t (*select)(const hsabe_host_t* host, const hsabe_node_t* node, hsabe_caps_t* caps);
  /* Opens the device. `host` outlives it. */
  hsabe_status_t (*open)(const hsabe_host_t* host, const hsabe_node_t* node, void** device);
  void (*close)(void* device);
  /* Optional (null: the system clock). Reads the clock of the device's time stamps. */
  hsabe_status_t (*read_clock)(void* device, uint64_t* ticks, uint64_t* ticks_per_second);
  /* Since 1.2. Optional. Releases unused memory that the backend keeps, such as scratch memory of idle
   * queues. Returns nonzero if it released any. Any thread. */
  int32_t (*trim)(void* device);
  /* Since 1.2. Optional, both or neither. Sets the bytes of scratch memory that a queue may keep between
   * dispatches, and returns when no queue keeps more. INVALID_ARGUMENT: more than the maximum (`most`). */
  hsabe_status_t (*set_scratch_limit)(void* device, uint64_t bytes);
  void (*scratch_limits)(void* device, uint64_t* most, uint64_t* now);
} hsabe_device_ops_t;
HSABE_CHECK(hsabe_device_ops_t, scratch_limits);

typedef struct hsabe_queue_desc {
  uint64_t struct_size;
  uint64_t cookie; /* names the queue in events->queue_error */
  /* The doorbell of the queue: a signal that the runtime created with the value -1. */
  uint64_t doorbell_signal;
  uint32_t packets;              /* a power of two within the device's bounds */
  uint32_t type;                 /* hsa_queue_type32_t */
  uint32_t private_segment_size; /* bytes a work-item, a hint; UINT32_MAX: none given */
  uint32_t group_segment_size;   /* bytes a work-group, a hint; UINT32_MAX: none given */
} hsabe_queue_desc_t;
HSABE_CHECK(hsabe_queue_desc_t, group_segment_size);

/* The runtime submits packets with this description and without calls of the backend. */
typedef struct hsabe_queue_info {
  uint64_t struct_size;
  void* queue; /* passed to the functions of hsabe_queue_ops_t */
  /* The amd_queue_t (<hsa/amd_hsa_queue.h>), created by the backend with type, features, ring, size, id and
   * the doorbell_signal of the descriptor. */
  void* amd_queue;
  void* doorbell; /* the register; null for HSABE_DOORBELL_SIGNAL */
  /* Since 1.3. For doorbells with a register: if `ring` is not null, the runtime calls it instead of storing
   * to the register. The register must work nevertheless, since programs and kernels may store to it. */
  hsabe_bell_t bell;
} hsabe_queue_info_t;
HSABE_CHECK(hsabe_queue_info_t, bell);

enum { HSABE_PRIORITY_LOW = 0, HSABE_PRIORITY_NORMAL = 1, HSABE_PRIORITY_HIGH = 2 };

/* Required of a device with a FEATURE_. */
typedef struct hsabe_queue_ops {
  uint64_t struct_size;
  hsabe_status_t (*create)(void* device, const hsabe_queue_desc_t* desc, hsabe_queue_info_t* info);
  /* Stops the queue, waits until none of its packets runs, and frees it. Packets that have not started are
   * dropped. */
  void (*destroy)(void* queue);
  /* Stops the queue permanently, as hsa_queue_inactivate specifies. Packets that have not started are
   * dropped. */
  hsabe_status_t (*inactivate)(void* queue);
  /* Optional. Turns on time stamps of dispatches: amd_signal_t.start_ts and end_ts, in device ticks. */
  hsabe_status_t (*set_profiling)(void* queue, int32_t enabled);
  /* Optional. */
  hsabe_status_t (*set_priority)(void* queue, uint32_t priority);
  /* Optional. One bit per compute unit; `bits` is a positive multiple of 32, and only existing units are set.
   * INVALID_ARGUMENT: no unit is set, or only a part of a group (compute_units_together). */
  hsabe_status_t (*set_cu_mask)(void* queue, uint32_t bits, const uint32_t* mask);
} hsabe_queue_ops_t;
HSABE_CHECK(hsabe_queue_ops_t, set_cu_mask);

/* The target of a code object, from its header. */
typedef struct hsabe_code_target {
  uint64_t struct_size;
  uint32_t elf_machine; /* e_machine */
  uint32_t elf_flags;   /* e_flags */
  uint32_t elf_os_abi;
  uint32_t elf_abi_version;
  hsabe_str_t isa_name; /* the ISA's name as derived from the header, empty if there is none */
  const void* image;    /* the whole file */
  uint64_t image_size;  /* bytes */
} hsabe_code_target_t;
HSABE_CHECK(hsabe_code_target_t, image_size);

enum { HSABE_PROTECT_READ = 1u << 0, HSABE_PROTECT_WRITE = 1u << 1, HSABE_PROTECT_EXECUTE = 1u << 2 };

/* A part of loaded code with one memory protection. */
typedef struct hsabe_segment_part {
  uint64_t struct_size;
  uint64_t offset; /* bytes, from the start of the segment */
  uint64_t size;   /* bytes */
  uint32_t protection;
  uint32_t reserved0;
} hsabe_segment_part_t;
HSABE_CHECK(hsabe_segment_part_t, reserved0);

/* One loaded segment group of a code object: contiguous. */
typedef struct hsabe_segment {
  uint64_t struct_size;
  uint64_t device_address; /* address for the device */
  void* host_address;      /* where its bytes are now; equal to device_address for host code */
  uint64_t size;           /* bytes */
  /* Since 1.1: the protection of its parts, sorted by offset. Bytes outside of all parts are not
   * accessible. */
  const hsabe_segment_part_t* parts;
  uint64_t part_count;
} hsabe_segment_t;
HSABE_CHECK(hsabe_segment_t, part_count);

typedef struct hsabe_code_symbol {
  hsabe_str_t name;
  uint64_t device_address;
  uint64_t size; /* bytes */
} hsabe_code_symbol_t;
HSABE_CHECK(hsabe_code_symbol_t, size);

typedef struct hsabe_kernel_info {
  uint64_t struct_size;
  uint32_t kernarg_size;      /* bytes; 0: unknown, take the metadata's */
  uint32_t kernarg_alignment; /* bytes; the metadata's, if that is more */
  uint32_t group_size;        /* bytes, fixed part */
  uint32_t private_size;      /* bytes a work-item, fixed part */
  uint32_t dynamic_callstack; /* nonzero: private_size is only an estimate */
  uint32_t wavefront_size;
} hsabe_kernel_info_t;
HSABE_CHECK(hsabe_kernel_info_t, wavefront_size);

/* Required of a device with HSABE_FEATURE_KERNEL_DISPATCH. */
typedef struct hsabe_code_ops {
  uint64_t struct_size;
  /* Returns 0 if the device cannot run the code, after a report of the reason; otherwise how well the code
   * fits (higher is better). */
  uint32_t (*accepts)(void* device, const hsabe_code_target_t* target);
  /* Optional. The address of a symbol that neither the code object nor the executable defines. */
  hsabe_status_t (*resolve)(void* device, hsabe_str_t name, uint64_t* address);
  /* Makes the code executable and visible to instruction fetch, after the runtime has written the bytes and
   * applied the relocations. `symbols` are the defined dynamic symbols. *image identifies the code until
   * `unload`. */
  hsabe_status_t (*load)(void* device, const hsabe_segment_t* segment, const hsabe_code_symbol_t* symbols,
                         uint64_t symbol_count, void** image);
  void (*unload)(void* device, void* image);
  /* Reads the 64 bytes of a kernel descriptor. */
  hsabe_status_t (*describe_kernel)(void* device, const void* descriptor, hsabe_kernel_info_t* info);
} hsabe_code_ops_t;
HSABE_CHECK(hsabe_code_ops_t, describe_kernel);

/* Required of a device with a heap of kind HSABE_HEAP_LOCAL. */
typedef struct hsabe_memory_ops {
  uint64_t struct_size;
  /* `heap` is the index in caps.heaps, `size` a multiple of its granule, `alignment` a power of two and at
   * least the granule. *address is the same for the device and, if the heap is HOST_VISIBLE, for the host. */
  hsabe_status_t (*allocate)(void* device, uint32_t heap, uint64_t size, uint64_t alignment,
                             uint64_t* address);
  hsabe_status_t (*release)(void* device, uint32_t heap, uint64_t address, uint64_t size);
  /* Optional if every heap is HOST_VISIBLE. Copies between host memory and device memory, or within device
   * memory, and returns when the copy is complete. */
  hsabe_status_t (*copy)(void* device, uint64_t destination, uint64_t source, uint64_t size);
} hsabe_memory_ops_t;
HSABE_CHECK(hsabe_memory_ops_t, copy);

/* Since 1.1. A copy by the device: it waits for signals, copies bytes and decrements the completion signal.
 * Addresses are device addresses; the device can access both sides. */
typedef struct hsabe_copy {
  uint64_t struct_size;
  uint64_t destination;
  uint64_t source;
  uint64_t width;             /* bytes a row */
  uint64_t height;            /* rows a slice; 1 for a plain copy */
  uint64_t depth;             /* slices */
  uint64_t destination_pitch; /* bytes from row to row; only with more than one */
  uint64_t destination_slice; /* bytes from slice to slice; only with more than one */
  uint64_t source_pitch;
  uint64_t source_slice;
  const uint64_t* dependencies; /* handles of signals: the copy starts after each is 0 */
  uint64_t dependency_count;
  uint64_t completion; /* handle of a signal: decremented when the bytes are visible to all agents */
  /* Addresses to which the device stores its clock before and after the copy, 32-byte aligned; 0: none. */
  uint64_t start_time;
  uint64_t end_time;
  uint32_t from_host; /* nonzero: the source is host memory */
  uint32_t to_host;   /* nonzero: the destination is */
  /* Bits of hsa_amd_sdma_engine_id_t; one of these engines makes the copy. 0: the backend chooses. */
  uint32_t engines;
  uint32_t reserved0;
} hsabe_copy_t;
HSABE_CHECK(hsabe_copy_t, reserved0);

/* Since 1.1. Optional. */
typedef struct hsabe_copy_ops {
  uint64_t struct_size;
  /* Starts a copy and returns. HSA_STATUS_ERROR_OUT_OF_RESOURCES: the device cannot make this copy, and
   * nothing has been copied. A backend also returns it for dependencies that would delay unrelated copies.
   * Any thread, several calls at a time. */
  hsabe_status_t (*submit)(void* device, const hsabe_copy_t* copy);
  /* Starts to store `count` words of 32 bits at a 4-byte aligned address; `completion` as in hsabe_copy_t. */
  hsabe_status_t (*fill)(void* device, uint64_t destination, uint32_t value, uint64_t count,
                         uint64_t completion);
  /* Returns the existing engines and the idle engines (bits of hsa_amd_sdma_engine_id_t). */
  void (*engines)(void* device, uint32_t* all, uint32_t* idle);
  /* Since 1.2; optional. Called after the driver reported a failure of the device. Ends all pending copies
   * with the negative of `status` in their completion signals. Later copies start normally. */
  void (*abandon)(void* device, hsabe_status_t status);
} hsabe_copy_ops_t;
HSABE_CHECK(hsabe_copy_ops_t, abandon);

/* Since 1.4: images and samplers (<hsa/hsa_ext_image.h>) of the device. */

#define HSABE_IMAGE_GEOMETRIES 8u /* values of hsa_ext_image_geometry_t */
#define HSABE_IMAGE_WORDS 12u     /* words at the address that an image handle is, as compilers expect them */
#define HSABE_SAMPLER_WORDS 8u    /* words at the address that a sampler handle is */

typedef struct hsabe_image_limits {
  uint64_t struct_size;
  /* Maximum numbers of elements by geometry: width, height, depth, layers; 1 for dimensions that it does not
   * have. */
  uint32_t most[HSABE_IMAGE_GEOMETRIES][4];
  uint32_t read_handles;        /* read-only images at a time */
  uint32_t write_handles;       /* other images at a time */
  uint32_t samplers;            /* at a time */
  uint32_t row_pitch_alignment; /* bytes: multiples of it are always valid row pitches of linear images */
} hsabe_image_limits_t;
HSABE_CHECK(hsabe_image_limits_t, row_pitch_alignment);

typedef struct hsabe_image_format {
  uint64_t struct_size;
  uint32_t capability;   /* bits of hsa_ext_image_capability_t; 0: not supported */
  uint32_t element_size; /* bytes */
} hsabe_image_format_t;
HSABE_CHECK(hsabe_image_format_t, element_size);

/* The arrangement of elements in memory. */
typedef struct hsabe_image_layout {
  uint64_t struct_size;
  uint64_t size;        /* bytes */
  uint64_t alignment;   /* bytes, a power of two */
  uint64_t row_pitch;   /* bytes from row to row */
  uint64_t slice_pitch; /* bytes from plane to plane, or from layer to layer */
  uint32_t linear;      /* nonzero: linear, by the pitches; 0: in an order that depends on the device */
  uint32_t element_size;
} hsabe_image_layout_t;
HSABE_CHECK(hsabe_image_layout_t, element_size);

/* Optional. The results depend only on the device and the arguments; any thread. Image descriptors have a
 * valid geometry. */
typedef struct hsabe_image_ops {
  uint64_t struct_size;
  void (*limits)(void* device, hsabe_image_limits_t* limits);
  void (*format)(void* device, uint32_t geometry, const hsa_ext_image_format_t* format,
                 hsabe_image_format_t* out);
  /* Returns the layout of an image within the limits. `data_layout` is a value of
   * hsa_ext_image_data_layout_t. If it is OPAQUE, both pitches are 0 and the backend chooses the layout.
   * Otherwise a pitch of 0 selects the minimum. HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED,
   * _IMAGE_SIZE_UNSUPPORTED, _IMAGE_PITCH_UNSUPPORTED. */
  hsabe_status_t (*lay_out)(void* device, const hsa_ext_image_descriptor_t* image, uint32_t data_layout,
                            uint64_t row_pitch, uint64_t slice_pitch, hsabe_image_layout_t* out);
  /* Writes the HSABE_IMAGE_WORDS words of an image whose data is at `address`, aligned as the layout
   * requires. */
  hsabe_status_t (*describe)(void* device, const hsa_ext_image_descriptor_t* image,
                             const hsabe_image_layout_t* layout, uint64_t address, uint32_t* words);
  /* Optional. Does the same for an image with the layout of a graphics API, and returns the known properties
   * of the layout in *out. */
  hsabe_status_t (*describe_foreign)(void* device, const hsa_ext_image_descriptor_t* image,
                                     const hsa_amd_image_descriptor_t* layout, uint64_t address,
                                     hsabe_image_layout_t* out, uint32_t* words);
  /* Writes the HSABE_SAMPLER_WORDS words. HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED. */
  hsabe_status_t (*describe_sampler)(void* device, const hsa_ext_sampler_descriptor_v2_t* sampler,
                                     uint32_t* words);
} hsabe_image_ops_t;
HSABE_CHECK(hsabe_image_ops_t, describe_sampler);

/* Since 1.7: performance counters of the device, for <hsa/hsa_ven_amd_aqlprofile.h>. An event is that
 * header's hsa_ven_amd_aqlprofile_event_t. */

typedef struct hsabe_counter_block {
  uint64_t struct_size;
  hsabe_str_t name;   /* as profilers know it: "SQ" */
  uint32_t instances; /* of the block, which events select by number */
  uint32_t counters;  /* events that an instance counts at a time; 0: none is supported */
  /* Each event has a sample for each die x engine x array x processor. The numbers are 1 if the block does
   * not depend on it. */
  uint32_t dies;       /* compute dies of the device */
  uint32_t engines;    /* shader engines of a die */
  uint32_t arrays;     /* shader arrays of an engine */
  uint32_t processors; /* work-group processors of an array */
} hsabe_counter_block_t;
HSABE_CHECK(hsabe_counter_block_t, processors);

enum {
  HSABE_COUNTERS_START = 0,   /* selects the events, resets the counters and starts them */
  HSABE_COUNTERS_STOP = 1,    /* stores the samples and stops the counters */
  HSABE_COUNTERS_READ = 2,    /* stores the samples */
  HSABE_COUNTERS_ENABLE = 3,  /* lets dispatches of the queue count; START does so, too */
  HSABE_COUNTERS_DISABLE = 4, /* ends that */
  HSABE_COUNTERS_WAIT = 5     /* waits for earlier dispatches of the queue */
};

/* Optional. The results depend only on the device and the arguments; any thread. */
typedef struct hsabe_counter_ops {
  uint64_t struct_size;
  /* Describes the block with a number of hsa_ven_amd_aqlprofile_block_name_t. INVALID_ARGUMENT, without a
   * report: the device has no such block. */
  hsabe_status_t (*describe_block)(void* device, uint32_t block, hsabe_counter_block_t* out);
  /* Returns nonzero if the device counts the event. */
  int32_t (*counts)(void* device, const hsa_ven_amd_aqlprofile_event_t* event);
  /* Writes commands that execute an action (HSABE_COUNTERS_) and returns their number of dwords. `commands`
   * may be null, to ask for the number. START, STOP and READ have supported events only, and no more of an
   * instance than it has counters. The samples are 64-bit numbers at `output`, a multiple of 8: for each die,
   * for each event in order, those of the engines, arrays and processors; the last changes fastest. The
   * commands may store the low halves only: the caller has zeroed the samples. */
  uint64_t (*write_commands)(void* device, uint32_t action, const hsa_ven_amd_aqlprofile_event_t* events,
                             uint64_t count, uint64_t output, uint32_t* commands);
  /* Writes a packet that executes `dwords` dwords of commands at a device address, except its header and
   * completion signal. */
  void (*make_packet)(void* device, uint64_t commands, uint64_t dwords, hsa_ext_amd_aql_pm4_packet_t* packet);
  /* Optional. Converts such a packet, with its header and completion signal, to
   * HSA_VEN_AMD_AQLPROFILE_LEGACY_PM4_PACKET_SIZE bytes for the ring of a device whose queues do not take it.
   * INVALID_AGENT, without a report: the queues of this device take the packet. */
  hsabe_status_t (*convert_packet)(void* device, const hsa_ext_amd_aql_pm4_packet_t* packet, void* slots);
} hsabe_counter_ops_t;
HSABE_CHECK(hsabe_counter_ops_t, convert_packet);

/* A named group outside this header, for experiments and vendors. */
typedef struct hsabe_extension {
  hsabe_str_t name;
  const void* table; /* starts with its struct_size */
} hsabe_extension_t;
HSABE_CHECK(hsabe_extension_t, table);

typedef struct hsabe_backend {
  uint64_t struct_size;
  uint32_t abi_major;   /* HSABE_ABI_MAJOR that the backend was built with */
  uint32_t abi_minor;   /* HSABE_ABI_MINOR that the backend was built with */
  hsabe_str_t name;     /* as in the manifest */
  hsabe_str_t version;  /* free text */
  hsabe_str_t build_id; /* compared with that of the manifest if both are given */
  /* HSABE_SANITIZER (sanitizer.h). Two different sanitizers in a process do not work. The runtime rejects a
   * module with a sanitizer that differs from its own. */
  uint32_t sanitizer;
  uint32_t reserved0;
  const hsabe_device_ops_t* device; /* required */
  const hsabe_queue_ops_t* queue;
  const hsabe_code_ops_t* code;
  const hsabe_memory_ops_t* memory;
  const hsabe_extension_t* extensions;
  uint64_t extension_count;
  const hsabe_copy_ops_t* copy;        /* since 1.1 */
  const hsabe_image_ops_t* image;      /* since 1.4 */
  const hsabe_counter_ops_t* counters; /* since 1.7 */
} hsabe_backend_t;
HSABE_CHECK(hsabe_backend_t, counters);

/* The only export of the module. Pure and re-entrant. Returns static storage, or null if the module does not
 * support a host of this version. A host supports backends of lower minor versions. A backend supports an
 * older host by returning a table of that host's minor version. */
typedef const hsabe_backend_t* (*hsa_backend_query_v1_fn)(uint32_t host_abi_major, uint32_t host_abi_minor);

#ifdef __cplusplus
}
#endif

#endif /* HSA_BACKEND_HSA_BACKEND_H_ */
