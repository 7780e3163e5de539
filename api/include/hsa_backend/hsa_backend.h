/* The backend ABI: what a loadable backend of Rigel provides, and what the runtime provides to it.
 *
 * A backend is a shared library that knows one family of devices. It exports one function,
 * `hsa_backend_query_v1`, which returns a constant table of functions in groups; a JSON manifest tells the
 * runtime where the library is and which devices it claims (docs/backends.md). The runtime is never rebuilt
 * for a new backend, and a backend needs this header, sanitizer.h beside it and <hsa/...> only: it links no
 * symbol of the runtime.
 *
 * The header is C11 and C++20. hsa_backend.hpp beside it helps in C++.
 *
 * Rules of the line between runtime and backend
 *   Versions   The major version is part of the symbol's name. Within a major version structs only grow: at
 *              the end, before which nothing moves. Whoever fills a struct sets `struct_size`; whoever reads
 *              one asks HSABE_HAS before touching a field that the first version did not have.
 *   Types      Fixed-width integers, sized strings and pointers. No C++ types, exceptions, errno or FILE.
 *   Ownership  Each side frees what it made. Everything reachable from hsabe_backend_t lives as long as the
 *              module, and modules are never unloaded. Strings passed to a function are valid for the call.
 *   Errors     Functions return an hsa_status_t value as int32_t. The text that explains a failure is given
 *              to `host->events->report` by the thread that is about to return it, once.
 *   Threads    query, select and describe_kernel: any thread, re-entrant, no side effects. enumerate, open
 *              and close: never two at once for one backend. All others: concurrently for different queues
 *              and images, never for the same one. The runtime holds no lock while it calls a backend, but
 *              a queue's own. Services of the host may be called from any thread, from within any call.
 *   Fork       In a forked child the runtime never touches a device, queue or image that the parent opened.
 *              It may open devices anew: keep state in the device, not in variables of the module.
 *   Lifetime   close is called in the last hsa_shut_down, after every queue and image of the device is gone.
 *              That may run in a static destructor of somebody else: keep no state with a destructor.
 */
#ifndef HSA_BACKEND_HSA_BACKEND_H_
#define HSA_BACKEND_HSA_BACKEND_H_

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
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
#define HSABE_ABI_MINOR 6u
#define HSABE_ENTRY_SYMBOL "hsa_backend_query_v1"

/* Where the field `last` of struct T ends. */
#define HSABE_END(T, last) (offsetof(T, last) + sizeof(((T*)0)->last))
/* Whether the struct at `p` was filled by somebody who knew the field `f`. */
#define HSABE_HAS(p, T, f) ((p)->struct_size >= HSABE_END(T, f))
/* No hidden padding at the end, where a later field could hide without the size showing it. */
#define HSABE_CHECK(T, last)                                               \
  HSABE_STATIC_ASSERT(sizeof(T) == HSABE_END(T, last), #T " has padding"); \
  HSABE_STATIC_ASSERT(sizeof(T) % 8 == 0, #T " is not a multiple of eight bytes")

/* A status: a value of hsa_status_t. */
typedef int32_t hsabe_status_t;

/* Characters that need not end in a NUL. data may be null when size is 0. */
typedef struct hsabe_str {
  const char* data;
  uint64_t size;
} hsabe_str_t;
HSABE_CHECK(hsabe_str_t, size);

/* ------------------------------------------------------------------------------------------------------ */
/* Host services: what the runtime does for a backend. `self` is passed back as first argument everywhere. */

enum { HSABE_LOG_ERROR = 0, HSABE_LOG_WARN = 1, HSABE_LOG_INFO = 2, HSABE_LOG_DEBUG = 3 };

typedef struct hsabe_host_log {
  uint64_t struct_size;
  /* Nonzero if a message of this level would be shown: ask before formatting. */
  int32_t (*enabled)(void* self, uint32_t level);
  /* One line, without a line break at its end. Warnings that come while devices are looked for and opened
   * are lines of the discovery report as well: what makes the opening fail is what events->report is for. */
  void (*write)(void* self, uint32_t level, hsabe_str_t text);
} hsabe_host_log_t;
HSABE_CHECK(hsabe_host_log_t, write);

typedef struct hsabe_host_memory {
  uint64_t struct_size;
  /* `size` bytes of zeroed memory on the device's nearest NUMA node, page aligned, for all agents to read
   * and write. OUT_OF_RESOURCES when there is none, as while devices are still being opened. */
  hsabe_status_t (*allocate)(void* self, uint64_t size, void** out);
  /* Frees what allocate returned. Null is allowed. */
  void (*release)(void* self, void* pointer);
} hsabe_host_memory_t;
HSABE_CHECK(hsabe_host_memory_t, release);

/* What a thread waits for: that `value` compares with the signal's value as `condition` (a value of
 * hsa_signal_condition_t) says. `signal` is the handle of an hsa_signal_t: the address of an amd_signal_t. */
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
  /* Devices see signals, and wake who waits for them, that are made after all devices have been opened: those
   * that device.open makes are the host's alone. */
  hsabe_status_t (*create)(void* self, int64_t initial_value, uint64_t* out);
  void (*destroy)(void* self, uint64_t signal);
  /* Changes the value with release semantics and wakes whoever waits. Writing to amd_signal_t.value without
   * these wakes nobody; reading it directly, atomically, is fine and is the fast way to poll. */
  void (*store)(void* self, uint64_t signal, int64_t value);
  void (*subtract)(void* self, uint64_t signal, int64_t value);
  /* Sleeps until one of the waits holds and returns its index, or HSABE_WAIT_TIMED_OUT after `timeout_ns`.
   * Looks at the values with acquire semantics. Spins for `spin_ns` before it sleeps in the kernel. */
  uint32_t (*wait_any)(void* self, const hsabe_wait_t* waits, uint32_t count, uint64_t timeout_ns,
                       uint64_t spin_ns);
  /* Since 1.1. Calls `handler(value, argument)` on a thread of the runtime when the condition holds; as often
   * as it returns true. The last call is over when `settle` returns after the signal was destroyed. A
   * handler may wait for a device, but not for the application. */
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

/* Since 1.6. Something that happens to the scratch memory of a queue begins, or has ended. */
typedef struct hsabe_scratch_event {
  uint64_t struct_size;
  uint64_t queue_cookie;
  uint32_t what;     /* HSABE_SCRATCH_ */
  int32_t ended;     /* nonzero: it is over; else it begins */
  int32_t use_once;  /* nonzero: it is for one dispatch. Of GIVEN, when it has ended */
  uint32_t reserved; /* 0 */
  uint64_t packet;   /* GIVEN: the index of the dispatch in the queue */
  uint64_t bytes;    /* GIVEN that has ended: what the queue has now; 0: it got none */
  uint64_t waves;    /* and for how many waves at a time that is enough */
  uint64_t host;     /* the host's, which sets it at the begin and finds it again at the end */
} hsabe_scratch_event_t;
HSABE_CHECK(hsabe_scratch_event_t, host);

typedef struct hsabe_host_events {
  uint64_t struct_size;
  /* The queue whose hsabe_queue_desc_t had this cookie has stopped because of `status`. The application's
   * callback runs later, on a thread of the runtime: it may destroy the queue. Once per queue. */
  void (*queue_error)(void* self, uint64_t queue_cookie, hsabe_status_t status);
  /* Why the call that this thread is in fails. Ends up in the discovery report or the log. */
  void (*report)(void* self, hsabe_str_t text);
  /* Since 1.6. For tools that want to know: the begin, and then the end on the same thread, while the queue is
   * not destroyed. What a tool does then may call any function of the backend but those that create and destroy
   * queues. Nothing is told of queues that are the backend's own. */
  void (*scratch)(void* self, hsabe_scratch_event_t* event);
} hsabe_host_events_t;
HSABE_CHECK(hsabe_host_events_t, scratch);

/* Typed reads of this backend's options: the manifest's `config`, overlaid by the configuration file's
 * `backends.<name>`. `key` names a member; a missing one, or one of another type, gives the fallback (the
 * latter with a warning in the report or the log). Strings live as long as the host. */
typedef struct hsabe_host_config {
  uint64_t struct_size;
  int64_t (*get_integer)(void* self, hsabe_str_t key, int64_t fallback);
  int32_t (*get_boolean)(void* self, hsabe_str_t key, int32_t fallback);
  hsabe_str_t (*get_string)(void* self, hsabe_str_t key, hsabe_str_t fallback);
} hsabe_host_config_t;
HSABE_CHECK(hsabe_host_config_t, get_string);

/* Since 1.1: what the runtime does for a device on the KFD bus (HSABE_BUS_KFD), whose kernel driver it is
 * connected to. The device's address space has been acquired; memory pools are the runtime's own affair. */

enum {
  HSABE_BLOCK_HOST = 1, /* host memory that the driver allocates */
  HSABE_BLOCK_LOCAL = 2 /* the device's own */
};
enum {
  HSABE_BLOCK_HOST_ACCESS = 1u << 0, /* the host reads and writes it at the same address. HOST always has it;
                                      * LOCAL only where driver facts say host_sees_local */
  HSABE_BLOCK_EXECUTABLE = 1u << 1,
  HSABE_BLOCK_COHERENT = 1u << 2, /* fine-grained */
  HSABE_BLOCK_UNCACHED = 1u << 3,
  HSABE_BLOCK_TWICE = 1u << 4 /* a ring: `size` bytes of addresses, over which half as much memory lies twice
                               * in a row for the device; the host sees it once */
};

typedef struct hsabe_block {
  uint64_t struct_size;
  void* address; /* for the host, if it has access, and for the device */
  uint64_t size; /* bytes of addresses */
  uint64_t handle;
  uint64_t at_reserved; /* nonzero: of allocate_at */
} hsabe_block_t;
HSABE_CHECK(hsabe_block_t, at_reserved);

typedef struct hsabe_driver_facts {
  uint64_t struct_size;
  uint32_t version_major; /* of the amdkfd interface */
  uint32_t version_minor;
  uint32_t gpu_id;
  uint32_t host_sees_local;  /* nonzero: the host can be given access to every byte of the device's memory */
  uint64_t group_aperture;   /* first address of the group segment's aperture */
  uint64_t private_aperture; /* of the private segment's */
  uint64_t address_limit;    /* the last address that every GPU can use */
  uint64_t exceptions; /* since 1.2; nonzero: RUNTIME_ENABLE holds, and errors of queues are reported where
                        * the headers of their save areas say */
  /* Since 1.4: the compute units that queues of the backend's own begin with, as queue->set_cu_mask takes
   * them; 0 bits: all there are. Of the program's queues the runtime takes care. Lives as long as the device
   * is open. */
  const uint32_t* cu_mask;
  uint64_t cu_mask_bits;
} hsabe_driver_facts_t;
HSABE_CHECK(hsabe_driver_facts_t, cu_mask_bits);

/* Since 1.3: how to ring a doorbell by a call. What it does is what a store of `value` to the register does;
 * any thread, at any time, also when the queue has been destroyed. */
typedef struct hsabe_bell {
  uint64_t struct_size;
  void (*ring)(void* context, uint64_t value); /* null: the register is stored to */
  void* context;
} hsabe_bell_t;
HSABE_CHECK(hsabe_bell_t, context);

typedef struct hsabe_host_driver {
  uint64_t struct_size;
  void (*facts)(void* self, hsabe_driver_facts_t* facts);
  /* An ioctl on /dev/kfd by its number, repeated while it is interrupted. 0 or -errno. The argument is a
   * struct of <hsa_plugin/kfd_abi.h>, or a shorter or longer version of it. */
  int32_t (*ioctl)(void* self, uint32_t number, void* argument, uint64_t size);
  /* `size` bytes, a multiple of a page, mapped to this device. Contents are undefined. */
  hsabe_status_t (*allocate)(void* self, uint32_t kind, uint32_t flags, uint64_t size, uint64_t alignment,
                             hsabe_block_t* out);
  /* The same within addresses that `reserve` gave; they stay reserved. */
  hsabe_status_t (*allocate_at)(void* self, uint32_t kind, uint32_t flags, void* address, uint64_t size,
                                hsabe_block_t* out);
  void (*release)(void* self, const hsabe_block_t* block);
  /* Addresses without memory. release_addresses frees them, after the blocks in them. */
  hsabe_status_t (*reserve)(void* self, uint64_t size, uint64_t alignment, void** address);
  void (*release_addresses)(void* self, void* address, uint64_t size);
  /* The doorbell of a queue of this device, by what CREATE_QUEUE has returned. Null if it cannot be mapped.
   * The first call has the runtime listen to the driver's events, once all devices are open. */
  void* (*doorbell)(void* self, uint64_t doorbell_offset, uint32_t queue_id);
  /* The page of registers that user mode may write, or null: at 0 the one that flushes the host data path's
   * memory accesses, at 4 the one for its registers. */
  void* (*registers)(void* self);
  /* Since 1.3. A call that rings the doorbell of which `doorbell` has given the address, where the device is
   * made of software and would have to look whether somebody has stored to it. Fills in *bell; ring is null
   * where there is no such call, as with a device of hardware. */
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

/* What is known of a device before it is opened. */
typedef struct hsabe_node {
  uint64_t struct_size;
  uint32_t bus;       /* HSABE_BUS_ */
  uint32_t node_id;   /* CPU: NUMA node number. KFD: topology node number. OWN: whatever the backend likes. */
  hsabe_str_t name;   /* CPU: model name as the kernel gives it. KFD: the node's name. OWN: the backend's. */
  uint32_t gfx_major; /* the target version, after HSA_OVERRIDE_GFX_VERSION; 0 where there is none */
  uint32_t gfx_minor;
  uint32_t gfx_stepping;
  uint32_t reserved0;
  /* Everything else that is known, sorted by name. KFD: the node's `properties` file as it stands,
   * gpu_id, xnack_enabled: whether this process's GPU code may fault and go on, and host_atomics (since 1.5):
   * whether the device's 64-bit atomics reach host memory.
   * CPU: cpu_cores_count, cpu_max_clock_mhz, cpu_first, cacheline_bytes, memory_bytes. */
  const hsabe_property_t* properties;
  uint64_t property_count;
} hsabe_node_t;
HSABE_CHECK(hsabe_node_t, property_count);

enum {
  /* The 64-bit index of the last packet written, to a mapped register (gfx9 and later). */
  HSABE_DOORBELL_INDEX64 = 1,
  /* The 32-bit index + 1, to a mapped register, monotonic, under amd_queue_t.legacy_doorbell_lock (gfx8). */
  HSABE_DOORBELL_INDEX32_LEGACY = 2,
  /* An ordinary signal that the backend's own thread waits on. */
  HSABE_DOORBELL_SIGNAL = 3,
  /* Since 1.5: a runtime of an earlier version refuses the device, and says so in the report. The register,
   * the lock and max_legacy_doorbell_dispatch_id_plus_1 as with HSABE_DOORBELL_INDEX32_LEGACY, but what is
   * written is the end of the packets in dwords, of a ring that is mapped twice in a row: after the last
   * packet of the second mapping it is 0 again. (index + 1) % (2 * packets) * 16 (gfx7, Tonga). */
  HSABE_DOORBELL_DWORDS32_LEGACY = 4
};

enum {
  HSABE_HEAP_HOST = 1,  /* memory of the host's NUMA node `node_id`: the runtime allocates it */
  HSABE_HEAP_LOCAL = 2, /* the device's own memory: the backend's memory group allocates it */
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

/* What one device can do. Filled by `select`; pointers are to static storage of the module or, for a device
 * that is open, live until it is closed. Sizes that are 0 mean the feature is absent. */
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
  uint64_t quirks;         /* bits of the backend's own; shown by tools, not interpreted */
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
  /* Since 1.4. So many compute units, counted from the first, are enabled together or not at all in the masks
   * of queues; 0: each by itself. */
  uint32_t compute_units_together;
  /* Since 1.4. Of how many compute units it is certain that a cooperative dispatch is on all at a time;
   * 0: of all. */
  uint32_t cooperative_compute_units;
} hsabe_caps_t;
HSABE_CHECK(hsabe_caps_t, cooperative_compute_units);

/* ------------------------------------------------------------------------------------------------------ */
/* Backend groups. A device, a queue and an image are opaque pointers of the backend. */

/* Receives what device->enumerate finds, one call a device; the node is copied. */
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
  /* Says what the device of these facts can do. Pure: no I/O, no state. HSA_STATUS_ERROR_INVALID_AGENT: not
   * a device of this backend after all. The caller zeroes *caps and sets its struct_size. */
  hsabe_status_t (*select)(const hsabe_host_t* host, const hsabe_node_t* node, hsabe_caps_t* caps);
  /* Opens the device. `host` outlives it. */
  hsabe_status_t (*open)(const hsabe_host_t* host, const hsabe_node_t* node, void** device);
  void (*close)(void* device);
  /* Optional (null: the system clock). Reads the clock in which the device stamps packets. */
  hsabe_status_t (*read_clock)(void* device, uint64_t* ticks, uint64_t* ticks_per_second);
  /* Since 1.2. Optional. Gives back memory of the device that it keeps and does not use now, as the scratch
   * memory of idle queues. Nonzero if there was any. Any thread. */
  int32_t (*trim)(void* device);
  /* Since 1.2. Optional, both or neither. How many bytes of scratch memory a queue may keep between
   * dispatches. It returns when no queue has more. INVALID_ARGUMENT: more than the most. */
  hsabe_status_t (*set_scratch_limit)(void* device, uint64_t bytes);
  void (*scratch_limits)(void* device, uint64_t* most, uint64_t* now);
} hsabe_device_ops_t;
HSABE_CHECK(hsabe_device_ops_t, scratch_limits);

typedef struct hsabe_queue_desc {
  uint64_t struct_size;
  uint64_t cookie;               /* names the queue in events->queue_error */
  uint64_t doorbell_signal;      /* a signal made by the runtime: the queue's doorbell. Its value is -1. */
  uint32_t packets;              /* a power of two within the device's bounds */
  uint32_t type;                 /* hsa_queue_type32_t */
  uint32_t private_segment_size; /* bytes a work-item, a hint; UINT32_MAX: none given */
  uint32_t group_segment_size;   /* bytes a work-group, a hint; UINT32_MAX: none given */
} hsabe_queue_desc_t;
HSABE_CHECK(hsabe_queue_desc_t, group_segment_size);

/* The hot path never calls a backend: from this description the runtime writes indices and rings. */
typedef struct hsabe_queue_info {
  uint64_t struct_size;
  void* queue; /* the backend's name for it */
  /* The amd_queue_t (<hsa/amd_hsa_queue.h>), made and filled in by the backend: type, features, ring, size,
   * id, doorbell_signal as given. */
  void* amd_queue;
  void* doorbell; /* the register; null for HSABE_DOORBELL_SIGNAL */
  /* Since 1.3. For kinds that have a register: called instead of a store to the register, if `ring` is not
   * null. The register is there all the same: programs and kernels may store to it. */
  hsabe_bell_t bell;
} hsabe_queue_info_t;
HSABE_CHECK(hsabe_queue_info_t, bell);

enum { HSABE_PRIORITY_LOW = 0, HSABE_PRIORITY_NORMAL = 1, HSABE_PRIORITY_HIGH = 2 };

/* Required of a device with a FEATURE_. */
typedef struct hsabe_queue_ops {
  uint64_t struct_size;
  hsabe_status_t (*create)(void* device, const hsabe_queue_desc_t* desc, hsabe_queue_info_t* info);
  /* Stops the queue, wherever it is, waits until nothing of it runs any more, and frees it. Packets not yet
   * begun are dropped. */
  void (*destroy)(void* queue);
  /* Stops it for good, as hsa_queue_inactivate says; packets not yet begun are dropped. */
  hsabe_status_t (*inactivate)(void* queue);
  /* Optional. Turns on time stamps of dispatches: amd_signal_t.start_ts and end_ts, in device ticks. */
  hsabe_status_t (*set_profiling)(void* queue, int32_t enabled);
  /* Optional. */
  hsabe_status_t (*set_priority)(void* queue, uint32_t priority);
  /* Optional. One bit a compute unit; `bits` is a multiple of 32 and not 0. What the device does not have is
   * not asked for. INVALID_ARGUMENT: none, or some of those that go together. */
  hsabe_status_t (*set_cu_mask)(void* queue, uint32_t bits, const uint32_t* mask);
} hsabe_queue_ops_t;
HSABE_CHECK(hsabe_queue_ops_t, set_cu_mask);

/* What a code object says it is for. */
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

/* A part of loaded code that may be accessed in one way. */
typedef struct hsabe_segment_part {
  uint64_t struct_size;
  uint64_t offset; /* bytes, from the segment's begin */
  uint64_t size;   /* bytes */
  uint32_t protection;
  uint32_t reserved0;
} hsabe_segment_part_t;
HSABE_CHECK(hsabe_segment_part_t, reserved0);

/* One loaded segment group of a code object: contiguous. */
typedef struct hsabe_segment {
  uint64_t struct_size;
  uint64_t device_address; /* where the device sees it */
  void* host_address;      /* where its bytes are now; equal to device_address for host code */
  uint64_t size;           /* bytes */
  /* Since 1.1: how its parts may be accessed, by offset; what is in none may be accessed in no way. */
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
  /* 0 if the device cannot run it (and report says why), else how well it fits: higher is better. */
  uint32_t (*accepts)(void* device, const hsabe_code_target_t* target);
  /* Optional. The address of a symbol that neither the code object nor the executable defines. */
  hsabe_status_t (*resolve)(void* device, hsabe_str_t name, uint64_t* address);
  /* Bytes and relocations are in place: make them executable and visible to instruction fetch.
   * `symbols` are the defined dynamic symbols. *image names it until `unload`. */
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
  /* Optional where every heap is HOST_VISIBLE. Copies between host memory and the device's, or within the
   * latter, and returns when it is done. */
  hsabe_status_t (*copy)(void* device, uint64_t destination, uint64_t source, uint64_t size);
} hsabe_memory_ops_t;
HSABE_CHECK(hsabe_memory_ops_t, copy);

/* Since 1.1. A copy that a device makes on its own: it waits for signals, moves bytes and says so. Addresses
 * are as the device sees them; it has access to both sides. */
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
  const uint64_t* dependencies; /* handles of signals: each must be seen at 0 first */
  uint64_t dependency_count;
  uint64_t completion; /* handle of a signal: minus 1 when the bytes are there for all to see */
  uint64_t start_time; /* where the device stamps its clock before and after: 32-byte aligned; 0: nowhere */
  uint64_t end_time;
  uint32_t from_host; /* nonzero: the source is host memory */
  uint32_t to_host;   /* nonzero: the destination is */
  uint32_t engines;   /* bits of hsa_amd_sdma_engine_id_t, one of which is to do it; 0: whichever is best */
  uint32_t reserved0;
} hsabe_copy_t;
HSABE_CHECK(hsabe_copy_t, reserved0);

/* Since 1.1. Optional. */
typedef struct hsabe_copy_ops {
  uint64_t struct_size;
  /* Begins a copy and returns. HSA_STATUS_ERROR_OUT_OF_RESOURCES: the device cannot do this one so, and
   * nothing has happened; that also answers dependencies that the device had better not wait for, because
   * copies that do not depend on them would wait as well. Any thread, several at a time. */
  hsabe_status_t (*submit)(void* device, const hsabe_copy_t* copy);
  /* Begins to write `count` words of 32 bits at an address aligned to them; `completion` as above. */
  hsabe_status_t (*fill)(void* device, uint64_t destination, uint32_t value, uint64_t count,
                         uint64_t completion);
  /* Which engines there are (bits of hsa_amd_sdma_engine_id_t), and which of them have nothing to do. */
  void (*engines)(void* device, uint32_t* all, uint32_t* idle);
  /* Since 1.2; optional. The driver has said that the device failed: what it was given and has not done is
   * ended here, with the negative of `status` in the completion signals, and later copies begin anew. */
  void (*abandon)(void* device, hsabe_status_t status);
} hsabe_copy_ops_t;
HSABE_CHECK(hsabe_copy_ops_t, abandon);

/* Since 1.4: images and samplers (<hsa/hsa_ext_image.h>) as the device has them. */

#define HSABE_IMAGE_GEOMETRIES 8u /* values of hsa_ext_image_geometry_t */
#define HSABE_IMAGE_WORDS 12u     /* words behind an image's handle, and behind a sampler's, as compilers */
#define HSABE_SAMPLER_WORDS 8u    /* and language runtimes know them */

typedef struct hsabe_image_limits {
  uint64_t struct_size;
  /* Most elements, by geometry: width, height, depth, layers. 1 where a geometry has no such dimension. */
  uint32_t most[HSABE_IMAGE_GEOMETRIES][4];
  uint32_t read_handles;        /* read-only images at a time */
  uint32_t write_handles;       /* other images at a time */
  uint32_t samplers;            /* at a time */
  uint32_t row_pitch_alignment; /* bytes: rows of linear images that are multiples of it are always right */
} hsabe_image_limits_t;
HSABE_CHECK(hsabe_image_limits_t, row_pitch_alignment);

typedef struct hsabe_image_format {
  uint64_t struct_size;
  uint32_t capability;   /* bits of hsa_ext_image_capability_t; 0: there are no such images */
  uint32_t element_size; /* bytes */
} hsabe_image_format_t;
HSABE_CHECK(hsabe_image_format_t, element_size);

/* How elements lie in memory. */
typedef struct hsabe_image_layout {
  uint64_t struct_size;
  uint64_t size;        /* bytes */
  uint64_t alignment;   /* bytes, a power of two */
  uint64_t row_pitch;   /* bytes from row to row */
  uint64_t slice_pitch; /* bytes from plane to plane, or from layer to layer */
  uint32_t linear;      /* nonzero: as the pitches say. Otherwise in an order that only the device knows */
  uint32_t element_size;
} hsabe_image_layout_t;
HSABE_CHECK(hsabe_image_layout_t, element_size);

/* Optional. Pure but for what the device is; any thread. Descriptors of images have a known geometry. */
typedef struct hsabe_image_ops {
  uint64_t struct_size;
  void (*limits)(void* device, hsabe_image_limits_t* limits);
  void (*format)(void* device, uint32_t geometry, const hsa_ext_image_format_t* format,
                 hsabe_image_format_t* out);
  /* The layout of an image within the limits. `data_layout` is a value of hsa_ext_image_data_layout_t, which
   * may be laid out in any way if it is OPAQUE, with both pitches 0. Else a pitch of 0 means the least that
   * there could be. HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED, _IMAGE_SIZE_UNSUPPORTED,
   * _IMAGE_PITCH_UNSUPPORTED. */
  hsabe_status_t (*lay_out)(void* device, const hsa_ext_image_descriptor_t* image, uint32_t data_layout,
                            uint64_t row_pitch, uint64_t slice_pitch, hsabe_image_layout_t* out);
  /* Writes the HSABE_IMAGE_WORDS words of an image at a device address, aligned as the layout says. */
  hsabe_status_t (*describe)(void* device, const hsa_ext_image_descriptor_t* image,
                             const hsabe_image_layout_t* layout, uint64_t address, uint32_t* words);
  /* Optional: the same for an image that a graphics API has laid out, and the layout as far as it is
   * known. */
  hsabe_status_t (*describe_foreign)(void* device, const hsa_ext_image_descriptor_t* image,
                                     const hsa_amd_image_descriptor_t* layout, uint64_t address,
                                     hsabe_image_layout_t* out, uint32_t* words);
  /* Writes the HSABE_SAMPLER_WORDS words. HSA_EXT_STATUS_ERROR_SAMPLER_DESCRIPTOR_UNSUPPORTED. */
  hsabe_status_t (*describe_sampler)(void* device, const hsa_ext_sampler_descriptor_v2_t* sampler,
                                     uint32_t* words);
} hsabe_image_ops_t;
HSABE_CHECK(hsabe_image_ops_t, describe_sampler);

/* A named group that this header does not know, for experiments and for vendors. */
typedef struct hsabe_extension {
  hsabe_str_t name;
  const void* table; /* begins with its struct_size */
} hsabe_extension_t;
HSABE_CHECK(hsabe_extension_t, table);

typedef struct hsabe_backend {
  uint64_t struct_size;
  uint32_t abi_major;   /* HSABE_ABI_MAJOR that the backend was built with */
  uint32_t abi_minor;   /* HSABE_ABI_MINOR that the backend was built with */
  hsabe_str_t name;     /* as in the manifest */
  hsabe_str_t version;  /* for people */
  hsabe_str_t build_id; /* compared with the manifest's when both are there */
  /* HSABE_SANITIZER (sanitizer.h). Two of them in a process fail in ways that take days to find, so the
   * runtime refuses a module whose value is not its own, unless the module has none. */
  uint32_t sanitizer;
  uint32_t reserved0;
  const hsabe_device_ops_t* device; /* required */
  const hsabe_queue_ops_t* queue;
  const hsabe_code_ops_t* code;
  const hsabe_memory_ops_t* memory;
  const hsabe_extension_t* extensions;
  uint64_t extension_count;
  const hsabe_copy_ops_t* copy;   /* since 1.1 */
  const hsabe_image_ops_t* image; /* since 1.4 */
} hsabe_backend_t;
HSABE_CHECK(hsabe_backend_t, image);

/* The module's only export. Pure and re-entrant; returns static storage, or null if it cannot serve a host of
 * this version. A host of a higher minor version serves a backend of a lower one; a backend may serve an
 * older host by returning a table of that host's minor version. */
typedef const hsabe_backend_t* (*hsa_backend_query_v1_fn)(uint32_t host_abi_major, uint32_t host_abi_minor);

#ifdef __cplusplus
}
#endif

#endif /* HSA_BACKEND_HSA_BACKEND_H_ */
