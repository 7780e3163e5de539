// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The Rigel authors
/**
 * @file
 * The HSA core API: what every HSA program includes.
 *
 * The interface is that of the HSA Runtime Programmer's Reference Manual 1.2 ("PRM" below, cited by
 * section; chapter 2 is the core API), with the AMD values that ROCr added to its enumerations. "SAR"
 * is the HSA Platform System Architecture Specification 1.2. Layouts and values are a frozen ABI.
 *
 * Rules that hold throughout and are not repeated at each function:
 *
 *  - Status. A function that returns ::hsa_status_t returns ::HSA_STATUS_SUCCESS when it did its job
 *    and ::HSA_STATUS_ERROR_NOT_INITIALIZED when the runtime is not initialized. `@retval` lists what
 *    else it can return, the prefix HSA_STATUS_ERROR_ left out. Output arguments are written on success
 *    only, unless said otherwise.
 *  - Validity. Functions without a status (signal and queue-index operations) are the hot path: they
 *    check nothing, and a bad handle is undefined behaviour.
 *  - Threads. Every function may be called from any thread, concurrently with any other, provided that
 *    no call uses an object which another call is destroying.
 *  - Iteration. An iterate function invokes `callback` on the calling thread, once per element. A callback
 *    that returns anything but ::HSA_STATUS_SUCCESS ends the traversal, and the iterate function returns
 *    that very value; ::HSA_STATUS_INFO_BREAK is the conventional "found it". `data` is passed through
 *    untouched and may be NULL, `callback` must not be NULL (INVALID_ARGUMENT).
 *  - Queries. A get_info function writes one value of the type noted at the attribute to `value`, a
 *    caller-owned buffer of at least that size (INVALID_ARGUMENT when NULL or the attribute is unknown).
 *  - Handles. A handle type wraps a 64-bit `handle` that is opaque, compares by value, belongs to this
 *    process and becomes invalid at the latest with the final ::hsa_shut_down. 0 is never a live object.
 *  - Strings are NUL-terminated and read during the call only; sizes are bytes.
 *  - Options. An `options` string holds switches named `-hsa_*`, `-hsa_ext_<extension>_*` or `-<vendor>_*`
 *    and may be NULL; unknown switches are ignored.
 *
 * Memory orders are named in the function: `relaxed`, `scacquire`, `screlease`, `scacq_screl`, the
 * sequentially consistent kinds of the HSA memory model at system scope. The older spellings `acquire`,
 * `release` and `acq_rel` are deprecated aliases with identical behaviour.
 */
#ifndef HSA_RUNTIME_INC_HSA_H_
#define HSA_RUNTIME_INC_HSA_H_

#include <stddef.h>
#include <stdint.h>

#ifndef __cplusplus
#include <stdbool.h>
#endif

/* Linkage. A translation unit that implements the API defines HSA_EXPORT first. */
#ifndef HSA_CALL
#define HSA_CALL
#endif

#ifndef HSA_EXPORT_DECORATOR
#ifdef __GNUC__
#define HSA_EXPORT_DECORATOR __attribute__((visibility("default")))
#else
#define HSA_EXPORT_DECORATOR
#endif
#endif

#define HSA_API_EXPORT HSA_EXPORT_DECORATOR HSA_CALL
#define HSA_API_IMPORT HSA_CALL

#if !defined(HSA_API) && defined(HSA_EXPORT)
#define HSA_API HSA_API_EXPORT
#else
#define HSA_API HSA_API_IMPORT
#endif

/* Machine model and byte order of this translation unit; they decide the padding around pointers. */
#undef HSA_LARGE_MODEL
#if defined(__LP64__) || defined(_M_X64)
#define HSA_LARGE_MODEL
#endif

#if !defined(LITTLEENDIAN_CPU) && !defined(BIGENDIAN_CPU)
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LITTLEENDIAN_CPU
#elif defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BIGENDIAN_CPU
#elif defined(__i386__) || defined(__x86_64__) || defined(_M_IX86) || defined(_M_X64)
#define LITTLEENDIAN_CPU
#endif
#endif

#undef HSA_LITTLE_ENDIAN
#if defined(LITTLEENDIAN_CPU)
#define HSA_LITTLE_ENDIAN
#elif !defined(BIGENDIAN_CPU)
#error "unknown byte order: define LITTLEENDIAN_CPU or BIGENDIAN_CPU"
#endif

/* Marks deprecated functions. Empty unless the client defines it, so that old programs build quietly. */
#ifndef HSA_DEPRECATED
#define HSA_DEPRECATED
#endif

/* Anonymous members are C11, and anonymous structs no C++ at all; GCC and Clang take them everywhere. */
#ifdef __GNUC__
#define HSA_ANONYMOUS_ __extension__
#else
#define HSA_ANONYMOUS_
#endif

/** Defined when the header describes at least version 1.0 of the API. */
#define HSA_VERSION_1_0 1

#ifdef __cplusplus
extern "C" {
#endif

/* ==================================================================================================== */
/** @defgroup status Status codes
 *  PRM 2.2
 *  @{ */

/** What a function reports, and what a queue or system event handler is told. */
typedef enum {
  /** Done. */
  HSA_STATUS_SUCCESS = 0x0,
  /** A callback ended a traversal early on purpose. Not an error. */
  HSA_STATUS_INFO_BREAK = 0x1,
  /** Failure with no more specific code; the log has the reason. */
  HSA_STATUS_ERROR = 0x1000,
  /** An argument breaks a documented rule: NULL where an object is needed, an unknown enumerator, ... */
  HSA_STATUS_ERROR_INVALID_ARGUMENT = 0x1001,
  /** The agent cannot have such a queue. */
  HSA_STATUS_ERROR_INVALID_QUEUE_CREATION = 0x1002,
  /** The region does not serve such an allocation: wrong kind or larger than its maximum. */
  HSA_STATUS_ERROR_INVALID_ALLOCATION = 0x1003,
  /** Not a live ::hsa_agent_t, or one that cannot do this. */
  HSA_STATUS_ERROR_INVALID_AGENT = 0x1004,
  /** Not a live ::hsa_region_t. */
  HSA_STATUS_ERROR_INVALID_REGION = 0x1005,
  /** Not a live ::hsa_signal_t. */
  HSA_STATUS_ERROR_INVALID_SIGNAL = 0x1006,
  /** Not a live ::hsa_queue_t. */
  HSA_STATUS_ERROR_INVALID_QUEUE = 0x1007,
  /** Memory, a thread, a hardware queue, an operating system object or the device itself is not to be had. */
  HSA_STATUS_ERROR_OUT_OF_RESOURCES = 0x1008,
  /** A packet processor met a packet that it cannot decode. Delivered to the queue's callback. */
  HSA_STATUS_ERROR_INVALID_PACKET_FORMAT = 0x1009,
  /** Releasing a resource failed. */
  HSA_STATUS_ERROR_RESOURCE_FREE = 0x100A,
  /** The runtime's reference count is 0: ::hsa_init has not been called, or undone. */
  HSA_STATUS_ERROR_NOT_INITIALIZED = 0x100B,
  /** A reference count is at its ceiling. */
  HSA_STATUS_ERROR_REFCOUNT_OVERFLOW = 0x100C,
  /** Each argument is good by itself, their combination is not. */
  HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS = 0x100D,
  /** An index is out of range. */
  HSA_STATUS_ERROR_INVALID_INDEX = 0x100E,
  /** Not a known ::hsa_isa_t. */
  HSA_STATUS_ERROR_INVALID_ISA = 0x100F,
  /** No instruction set has this name. (0x1017: out of sequence.) */
  HSA_STATUS_ERROR_INVALID_ISA_NAME = 0x1017,
  /** Not a code object, or a damaged one. */
  HSA_STATUS_ERROR_INVALID_CODE_OBJECT = 0x1010,
  /** Not a live ::hsa_executable_t. */
  HSA_STATUS_ERROR_INVALID_EXECUTABLE = 0x1011,
  /** The executable is frozen, and this would change it. */
  HSA_STATUS_ERROR_FROZEN_EXECUTABLE = 0x1012,
  /** No symbol has this name. */
  HSA_STATUS_ERROR_INVALID_SYMBOL_NAME = 0x1013,
  /** The variable already has a definition. */
  HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED = 0x1014,
  /** A variable is declared but nowhere defined. */
  HSA_STATUS_ERROR_VARIABLE_UNDEFINED = 0x1015,
  /** An instruction raised a hardware exception. Delivered to the queue's callback. */
  HSA_STATUS_ERROR_EXCEPTION = 0x1016,
  /** Not a valid ::hsa_code_symbol_t. */
  HSA_STATUS_ERROR_INVALID_CODE_SYMBOL = 0x1018,
  /** Not a valid ::hsa_executable_symbol_t. */
  HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL = 0x1019,
  /** A file descriptor is closed, unreadable or of the wrong kind. */
  HSA_STATUS_ERROR_INVALID_FILE = 0x1020,
  /** Not a live ::hsa_code_object_reader_t. */
  HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER = 0x1021,
  /** Not a valid ::hsa_cache_t. */
  HSA_STATUS_ERROR_INVALID_CACHE = 0x1022,
  /** Not a valid ::hsa_wavefront_t. */
  HSA_STATUS_ERROR_INVALID_WAVEFRONT = 0x1023,
  /** Not a live ::hsa_signal_group_t. */
  HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP = 0x1024,
  /** The runtime is in a state in which this cannot be done, such as during shut-down. */
  HSA_STATUS_ERROR_INVALID_RUNTIME_STATE = 0x1025,
  /** The process cannot rely on the queue, or on the runtime, any more. Delivered to callbacks. */
  HSA_STATUS_ERROR_FATAL = 0x1026
} hsa_status_t;

/**
 * Names a status in words, for logs.
 *
 * Works for core and extension codes alike, and whether or not the runtime is initialized.
 * @param status [in] code to explain.
 * @param status_string [out] receives a static string that is never freed. Not NULL.
 * @retval INVALID_ARGUMENT `status` is unknown or `status_string` is NULL.
 */
hsa_status_t HSA_API hsa_status_string(hsa_status_t status, const char** status_string);

/** @} */
/* ==================================================================================================== */
/** @defgroup common Common definitions
 *  PRM 2.9
 *  @{ */

/** An extent in up to three dimensions, in work-items unless said otherwise. */
typedef struct hsa_dim3_s {
  uint32_t x; /**< first, fastest-varying dimension */
  uint32_t y; /**< second dimension */
  uint32_t z; /**< third dimension */
} hsa_dim3_t;

/** What an agent may do with a buffer. Bit 0 is read, bit 1 is write. */
typedef enum {
  HSA_ACCESS_PERMISSION_NONE = 0, /**< nothing; takes access away (AMD) */
  HSA_ACCESS_PERMISSION_RO = 1,   /**< read */
  HSA_ACCESS_PERMISSION_WO = 2,   /**< write */
  HSA_ACCESS_PERMISSION_RW = 3    /**< read and write */
} hsa_access_permission_t;

/** A file of the operating system: on Linux, a POSIX file descriptor. */
typedef int hsa_file_t;

/** A handle of the operating system: on Linux, a POSIX file descriptor. */
typedef int hsa_handle_t;

/** Flags of hsa_amd_interop_map_buffer. */
typedef uint32_t hsa_interop_map_flag_t;
/** Nothing special. */
#define HSA_INTEROP_MAP_FLAG_NONE 0u
/** The handle is one of Windows' kernel mode. */
#define HSA_INTEROP_MAP_FLAG_KMT_HANDLE (1u << 0)

/** Windows' name of an adapter. */
typedef struct hsa_luid_s {
  uint32_t low;  /**< its lower half; 0 elsewhere than on Windows */
  uint32_t high; /**< its upper half */
} hsa_luid_t;

/** @} */
/* ==================================================================================================== */
/** @defgroup initshutdown Initialization and shut-down
 *  PRM 2.1
 *  @{ */

/**
 * Takes a reference on the runtime, starting it with the first one.
 *
 * Starting discovers agents and loads backends and tools; later calls only count. Each successful call
 * wants one ::hsa_shut_down. Concurrent first calls are safe: one starts, the others wait for it.
 * @retval OUT_OF_RESOURCES no driver, device or memory, or a handler calls while the runtime ends; see log.
 * @retval REFCOUNT_OVERFLOW the count is already INT32_MAX.
 */
hsa_status_t HSA_API hsa_init(void);

/**
 * Drops a reference on the runtime; the last one stops it.
 *
 * Stopping invalidates every handle and pointer that the API gave out, including memory, and the status
 * of work still in queues is undefined. ::hsa_init may be called again afterwards. No other call may be
 * running when the last reference goes, and a callback must not drop it: only a queue's error callback and a
 * handler of GPU faults may.
 */
hsa_status_t HSA_API hsa_shut_down(void);

/** @} */
/* ==================================================================================================== */
/** @defgroup agentinfo System and agent information
 *  PRM 2.3
 *  @{ */

/** Byte order of the system. */
typedef enum {
  HSA_ENDIANNESS_LITTLE = 0, /**< least significant byte first */
  HSA_ENDIANNESS_BIG = 1     /**< most significant byte first */
} hsa_endianness_t;

/** Size of an address in the machine model. */
typedef enum {
  HSA_MACHINE_MODEL_SMALL = 0, /**< 32 bits */
  HSA_MACHINE_MODEL_LARGE = 1  /**< 64 bits */
} hsa_machine_model_t;

/** Feature level of the HSA specification (HSAIL PRM 16). */
typedef enum {
  HSA_PROFILE_BASE = 0, /**< relaxed requirements, as for a discrete GPU without system-wide shared memory */
  HSA_PROFILE_FULL = 1  /**< any pointer of the process works on the agent */
} hsa_profile_t;

/** Attributes for ::hsa_system_get_info; the value's type comes first. */
typedef enum {
  /** uint16_t: major version of the PRM implemented. */
  HSA_SYSTEM_INFO_VERSION_MAJOR = 0,
  /** uint16_t: minor version of the PRM implemented. */
  HSA_SYSTEM_INFO_VERSION_MINOR = 1,
  /** uint64_t: now, in ticks of a clock that is monotonic, of constant rate, and common to all agents. */
  HSA_SYSTEM_INFO_TIMESTAMP = 2,
  /** uint64_t: rate of that clock in Hz, from 1 MHz to 400 MHz by the specification (ROCr reports 1 GHz). */
  HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY = 3,
  /** uint64_t: longest time that a signal wait blocks, in ticks. UINT64_MAX: as long as asked. */
  HSA_SYSTEM_INFO_SIGNAL_MAX_WAIT = 4,
  /** ::hsa_endianness_t. */
  HSA_SYSTEM_INFO_ENDIANNESS = 5,
  /** ::hsa_machine_model_t of the runtime library. */
  HSA_SYSTEM_INFO_MACHINE_MODEL = 6,
  /** uint8_t[128]: a bit per ::hsa_extension_t; extension `i` is bit `i % 8` of byte `i / 8`. */
  HSA_SYSTEM_INFO_EXTENSIONS = 7,
  /** const char*: build identifier, a static string. */
  HSA_AMD_SYSTEM_INFO_BUILD_VERSION = 0x200,
  /** bool: the hsa_amd_svm_* functions work. */
  HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED = 0x201,
  /** bool: every agent reaches malloc'ed and mmap'ed memory without being asked to; otherwise a range has
   *  to be made accessible with hsa_amd_svm_attributes_set first. */
  HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT = 0x202,
  /** bool: host waits use the MWAITX instruction. */
  HSA_AMD_SYSTEM_INFO_MWAITX_ENABLED = 0x203,
  /** bool: memory can be exported as a Linux dma-buf. */
  HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED = 0x204,
  /** bool: the hsa_amd_vmem_* functions work. */
  HSA_AMD_SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED = 0x205,
  /** bool: this process runs with XNACK, that is, GPU page faults are retried. */
  HSA_AMD_SYSTEM_INFO_XNACK_ENABLED = 0x206,
  /** uint16_t: major version of the AMD extension (hsa_ext_amd.h). */
  HSA_AMD_SYSTEM_INFO_EXT_VERSION_MAJOR = 0x207,
  /** uint16_t: minor version of the AMD extension. */
  HSA_AMD_SYSTEM_INFO_EXT_VERSION_MINOR = 0x208,
  /** bool: memory can be shared among the nodes of a fabric, by hsa_amd_vmem_export_fabric_handle. */
  HSA_AMD_SYSTEM_INFO_FABRIC_HANDLES_SUPPORTED = 0x209,
  /** bool: the hsa_amd_vmem_* functions give host memory that can be exported as a dmabuf. */
  HSA_AMD_SYSTEM_INFO_HOST_ALLOC_DMA_BUF_SUPPORTED = 0x20A
} hsa_system_info_t;

/**
 * Queries an attribute of the system.
 *
 * @param attribute [in] what to query.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval INVALID_ARGUMENT unknown `attribute` or NULL `value`.
 */
hsa_status_t HSA_API hsa_system_get_info(hsa_system_info_t attribute, void* value);

/** Extension identifiers: below 0x200 the HSA Foundation's, from 0x200 AMD's. Passed as uint16_t. */
typedef enum {
  HSA_EXTENSION_FINALIZER = 0,            /**< HSAIL finalizer, hsa_ext_finalize.h */
  HSA_EXTENSION_IMAGES = 1,               /**< images and samplers, hsa_ext_image.h */
  HSA_EXTENSION_PERFORMANCE_COUNTERS = 2, /**< standard performance counters (no known implementation) */
  HSA_EXTENSION_PROFILING_EVENTS = 3,     /**< standard profiling events (no known implementation) */
  HSA_EXTENSION_STD_LAST = 3,             /**< largest standard identifier */
  HSA_AMD_FIRST_EXTENSION = 0x200,        /**< smallest AMD identifier */
  HSA_EXTENSION_AMD_PROFILER = 0x200,     /**< dispatch and copy profiling */
  HSA_EXTENSION_AMD_LOADER = 0x201,       /**< what is loaded where, hsa_ven_amd_loader.h */
  HSA_EXTENSION_AMD_AQLPROFILE = 0x202,   /**< hardware counters and traces, hsa_ven_amd_aqlprofile.h */
  HSA_EXTENSION_AMD_PC_SAMPLING = 0x203,  /**< program counter sampling, hsa_ven_amd_pc_sampling.h */
  HSA_AMD_LAST_EXTENSION = 0x203          /**< largest AMD identifier */
} hsa_extension_t;

/**
 * Gives the name of an extension.
 *
 * @param extension [in] an ::hsa_extension_t.
 * @param name [out] receives a static string. Not NULL.
 * @retval INVALID_ARGUMENT unknown `extension` or NULL `name`.
 */
hsa_status_t HSA_API hsa_extension_get_name(uint16_t extension, const char** name);

/**
 * Tells whether the runtime has exactly this version of an extension.
 *
 * @deprecated ::hsa_system_major_extension_supported, which also tells the minor version.
 * @param extension [in] an ::hsa_extension_t.
 * @param version_major [in] major version.
 * @param version_minor [in] minor version.
 * @param result [out] true if supported. Not NULL.
 * @retval INVALID_ARGUMENT unknown `extension` or NULL `result`.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_system_extension_supported(uint16_t extension, uint16_t version_major,
                                                                   uint16_t version_minor, bool* result);

/**
 * Tells whether the runtime has a major version of an extension, and its newest minor one.
 *
 * @param extension [in] an ::hsa_extension_t.
 * @param version_major [in] major version.
 * @param version_minor [out] newest minor version of that major one; left alone when unsupported. Not NULL.
 * @param result [out] true if supported. Not NULL.
 * @retval INVALID_ARGUMENT unknown `extension`, NULL `version_minor` or NULL `result`.
 */
hsa_status_t HSA_API hsa_system_major_extension_supported(uint16_t extension, uint16_t version_major,
                                                          uint16_t* version_minor, bool* result);

/**
 * Fills a table with the functions of exactly this version of an extension.
 *
 * @deprecated ::hsa_system_get_major_extension_table, which is told how large the table is.
 * @param extension [in] an ::hsa_extension_t.
 * @param version_major [in] major version; must be supported.
 * @param version_minor [in] minor version; must be supported.
 * @param table [out] caller-owned struct of that version, e.g. hsa_ven_amd_loader_1_00_pfn_t. Not NULL.
 * @retval INVALID_ARGUMENT unknown `extension` or NULL `table`.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_system_get_extension_table(uint16_t extension, uint16_t version_major,
                                                                   uint16_t version_minor, void* table);

/**
 * Fills a table with the functions of a major version of an extension.
 *
 * Minor versions append to the table, so its size selects the minor version: the runtime writes the
 * entries that it has, in order, and never past `table_length`. This is the portable way to reach an
 * extension, and for the loader extension the only one. The pointers stay valid until shut-down.
 * @param extension [in] an ::hsa_extension_t.
 * @param version_major [in] major version; ask ::hsa_system_major_extension_supported first.
 * @param table_length [in] size of `*table` in bytes.
 * @param table [out] caller-owned table. Not NULL.
 * @retval INVALID_ARGUMENT unknown `extension` or NULL `table`.
 */
hsa_status_t HSA_API hsa_system_get_major_extension_table(uint16_t extension, uint16_t version_major,
                                                          size_t table_length, void* table);

/** A participant in the memory model: a CPU socket, a GPU, an accelerator. Lives as long as the runtime. */
typedef struct hsa_agent_s {
  uint64_t handle; /**< opaque */
} hsa_agent_t;

/** What packets an agent takes. Bits of a mask. */
typedef enum {
  HSA_AGENT_FEATURE_KERNEL_DISPATCH = 1, /**< kernel dispatch packets: it is a "kernel agent" */
  HSA_AGENT_FEATURE_AGENT_DISPATCH = 2   /**< agent dispatch packets */
} hsa_agent_feature_t;

/** Kind of hardware. */
typedef enum {
  HSA_DEVICE_TYPE_CPU = 0, /**< the host's processors */
  HSA_DEVICE_TYPE_GPU = 1, /**< graphics processor */
  HSA_DEVICE_TYPE_DSP = 2, /**< signal processor */
  HSA_DEVICE_TYPE_AIE = 3  /**< AMD AI engine */
} hsa_device_type_t;

/** How floating-point operations round which ask for "the default". */
typedef enum {
  HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT = 0, /**< decided elsewhere, e.g. by the code object */
  HSA_DEFAULT_FLOAT_ROUNDING_MODE_ZERO = 1,    /**< towards zero */
  HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR = 2     /**< to nearest, ties to even */
} hsa_default_float_rounding_mode_t;

/**
 * Attributes for ::hsa_agent_get_info; the value's type comes first.
 *
 * "ISA 0" marks deprecated attributes which moved to ::hsa_isa_info_t: they answer for the first ISA that
 * ::hsa_agent_iterate_isas yields. "Kernel agents" marks those that mean nothing on other agents.
 */
typedef enum {
  /** char[64]: name such as "gfx906", padded with NULs, at most 63 characters. */
  HSA_AGENT_INFO_NAME = 0,
  /** char[64]: vendor, padded with NULs, at most 63 characters. */
  HSA_AGENT_INFO_VENDOR_NAME = 1,
  /** ::hsa_agent_feature_t, a mask of them; 0 if the agent takes no packets. */
  HSA_AGENT_INFO_FEATURE = 2,
  /** ::hsa_machine_model_t. @deprecated ISA 0, ::HSA_ISA_INFO_MACHINE_MODELS. */
  HSA_AGENT_INFO_MACHINE_MODEL = 3,
  /** ::hsa_profile_t. @deprecated ISA 0, ::HSA_ISA_INFO_PROFILES. */
  HSA_AGENT_INFO_PROFILE = 4,
  /** ::hsa_default_float_rounding_mode_t, ZERO or NEAR.
   *  @deprecated ISA 0, ::HSA_ISA_INFO_DEFAULT_FLOAT_ROUNDING_MODES. */
  HSA_AGENT_INFO_DEFAULT_FLOAT_ROUNDING_MODE = 5,
  /** uint32_t: mask of the other rounding modes usable as default in the Base profile.
   *  @deprecated ISA 0, ::HSA_ISA_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES. */
  HSA_AGENT_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES = 23,
  /** bool: half precision is no slower than single. Kernel agents.
   *  @deprecated ISA 0, ::HSA_ISA_INFO_FAST_F16_OPERATION. */
  HSA_AGENT_INFO_FAST_F16_OPERATION = 24,
  /** uint32_t: work-items per wavefront, a power of two up to 256. Kernel agents.
   *  @deprecated ISA 0, ::HSA_WAVEFRONT_INFO_SIZE. */
  HSA_AGENT_INFO_WAVEFRONT_SIZE = 6,
  /** uint16_t[3]: most work-items of a work-group in x, y, z. Kernel agents.
   *  @deprecated ISA 0, ::HSA_ISA_INFO_WORKGROUP_MAX_DIM. */
  HSA_AGENT_INFO_WORKGROUP_MAX_DIM = 7,
  /** uint32_t: most work-items of a work-group in all. Kernel agents.
   *  @deprecated ISA 0, ::HSA_ISA_INFO_WORKGROUP_MAX_SIZE. */
  HSA_AGENT_INFO_WORKGROUP_MAX_SIZE = 8,
  /** ::hsa_dim3_t: most work-items of a grid in x, y, z. Kernel agents.
   *  @deprecated ISA 0, ::HSA_ISA_INFO_GRID_MAX_DIM. */
  HSA_AGENT_INFO_GRID_MAX_DIM = 9,
  /** uint32_t: most work-items of a grid in all (64 bits wide in the ISA's attribute). Kernel agents.
   *  @deprecated ISA 0, ::HSA_ISA_INFO_GRID_MAX_SIZE. */
  HSA_AGENT_INFO_GRID_MAX_SIZE = 10,
  /** uint32_t: fbarriers per work-group, at least 32. Kernel agents.
   *  @deprecated ISA 0, ::HSA_ISA_INFO_FBARRIER_MAX_SIZE. */
  HSA_AGENT_INFO_FBARRIER_MAX_SIZE = 11,
  /** uint32_t: most queues that can exist at a time. @deprecated The number depends on other processes. */
  HSA_AGENT_INFO_QUEUES_MAX = 12,
  /** uint32_t: packets in the smallest queue, a power of two; smaller requests are rounded up to it. */
  HSA_AGENT_INFO_QUEUE_MIN_SIZE = 13,
  /** uint32_t: packets in the largest queue, a power of two; 0 if the agent has no queues. */
  HSA_AGENT_INFO_QUEUE_MAX_SIZE = 14,
  /** ::hsa_queue_type32_t: which producers its queues can have. */
  HSA_AGENT_INFO_QUEUE_TYPE = 15,
  /** uint32_t: number of the driver's topology node; the PRM has the NUMA node.
   *  @deprecated The rest of the API has no notion of NUMA. */
  HSA_AGENT_INFO_NODE = 16,
  /** ::hsa_device_type_t. */
  HSA_AGENT_INFO_DEVICE = 17,
  /** uint32_t[4]: bytes of data cache in L1 to L4, 0 where unknown.
   *  @deprecated ::hsa_agent_iterate_caches. */
  HSA_AGENT_INFO_CACHE_SIZE = 18,
  /** ::hsa_isa_t: ISA 0. @deprecated ::hsa_agent_iterate_isas. */
  HSA_AGENT_INFO_ISA = 19,
  /** uint8_t[128]: a bit per ::hsa_extension_t, laid out as ::HSA_SYSTEM_INFO_EXTENSIONS. */
  HSA_AGENT_INFO_EXTENSIONS = 20,
  /** uint16_t: major version of the PRM that the agent supports. */
  HSA_AGENT_INFO_VERSION_MAJOR = 21,
  /** uint16_t: minor version of the PRM that the agent supports. */
  HSA_AGENT_INFO_VERSION_MINOR = 22,
  /** No attribute. Widens the enumeration, so that an extension's attribute may be cast to it in C++. */
  HSA_AGENT_INFO_LAST = INT32_MAX
} hsa_agent_info_t;

/**
 * Queries an attribute of an agent.
 *
 * @param agent [in] agent.
 * @param attribute [in] an ::hsa_agent_info_t, or an extension's attribute cast to it.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT unknown `attribute` or NULL `value`.
 */
hsa_status_t HSA_API hsa_agent_get_info(hsa_agent_t agent, hsa_agent_info_t attribute, void* value);

/**
 * Visits every agent, CPUs included. The set and order are fixed while the runtime is up.
 *
 * @param callback [in] called with each agent and `data`. Not NULL.
 * @param data [in] passed through. May be NULL.
 * @retval INVALID_ARGUMENT NULL `callback`. Any other value is the callback's.
 */
hsa_status_t HSA_API hsa_iterate_agents(hsa_status_t (*callback)(hsa_agent_t agent, void* data), void* data);

/** What happens when an instruction raises an exception. Bits of a mask. */
typedef enum {
  HSA_EXCEPTION_POLICY_BREAK = 1, /**< the wavefront stops and the queue's callback is told */
  HSA_EXCEPTION_POLICY_DETECT = 2 /**< a sticky status bit is set, which the kernel can read */
} hsa_exception_policy_t;

/**
 * Gives the exception policies of an agent in a profile.
 *
 * @deprecated ::hsa_isa_get_exception_policies.
 * @param agent [in] agent.
 * @param profile [in] profile.
 * @param mask [out] mask of ::hsa_exception_policy_t. Not NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT unknown `profile` or NULL `mask`.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_agent_get_exception_policies(hsa_agent_t agent, hsa_profile_t profile,
                                                                     uint16_t* mask);

/** A data cache of an agent. Lives as long as the runtime. */
typedef struct hsa_cache_s {
  uint64_t handle; /**< opaque */
} hsa_cache_t;

/** Attributes for ::hsa_cache_get_info; the value's type comes first. */
typedef enum {
  /** uint32_t: length of the name, its NUL not counted. */
  HSA_CACHE_INFO_NAME_LENGTH = 0,
  /** const char*: the name, owned by the runtime. As in ROCr; the PRM has the characters copied instead. */
  HSA_CACHE_INFO_NAME = 1,
  /** uint8_t: 1 for L1, 2 for L2, ... */
  HSA_CACHE_INFO_LEVEL = 2,
  /** uint32_t: bytes, 0 where unknown. */
  HSA_CACHE_INFO_SIZE = 3
} hsa_cache_info_t;

/**
 * Queries an attribute of a cache.
 *
 * @param cache [in] cache.
 * @param attribute [in] what to query.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval INVALID_CACHE `cache` is not valid.
 * @retval INVALID_ARGUMENT unknown `attribute` or NULL `value`.
 */
hsa_status_t HSA_API hsa_cache_get_info(hsa_cache_t cache, hsa_cache_info_t attribute, void* value);

/**
 * Visits the caches of an agent, in order of level.
 *
 * @param agent [in] agent.
 * @param callback [in] called with each cache and `data`. Not NULL.
 * @param data [in] passed through. May be NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT NULL `callback`. Any other value is the callback's.
 */
hsa_status_t HSA_API hsa_agent_iterate_caches(hsa_agent_t agent,
                                              hsa_status_t (*callback)(hsa_cache_t cache, void* data),
                                              void* data);

/**
 * Tells whether an agent supports exactly this version of an extension.
 *
 * @deprecated ::hsa_agent_major_extension_supported.
 * @param extension [in] an ::hsa_extension_t.
 * @param agent [in] agent.
 * @param version_major [in] major version.
 * @param version_minor [in] minor version.
 * @param result [out] true if supported. Not NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT unknown `extension` or NULL `result`.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_agent_extension_supported(uint16_t extension, hsa_agent_t agent,
                                                                  uint16_t version_major,
                                                                  uint16_t version_minor, bool* result);

/**
 * Tells whether an agent supports a major version of an extension, and its newest minor one.
 *
 * @param extension [in] an ::hsa_extension_t.
 * @param agent [in] agent.
 * @param version_major [in] major version.
 * @param version_minor [out] newest minor version of that major one; left alone when unsupported. Not NULL.
 * @param result [out] true if supported. Not NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT unknown `extension`, NULL `version_minor` or NULL `result`.
 */
hsa_status_t HSA_API hsa_agent_major_extension_supported(uint16_t extension, hsa_agent_t agent,
                                                         uint16_t version_major, uint16_t* version_minor,
                                                         bool* result);

/** @} */
/* ==================================================================================================== */
/** @defgroup signals Signals
 *
 *  A signal is an integer that agents and host threads share, change atomically and wait on. It is how
 *  completion is announced and how work depends on work. PRM 2.4, SAR 2.5 (signals) and 2.6 (atomics).
 *
 *  A kernel or packet processor changes the value the same way as these functions do, so all of them
 *  together form one modification order. The name says which order applies to other memory:
 *  `screlease` makes the caller's earlier writes visible to whoever acquires the new value, `scacquire`
 *  makes the releasing agent's earlier writes visible to the caller, `scacq_screl` does both, `relaxed`
 *  orders nothing else. A handle of 0, where it is allowed at all, means "no signal"; it must not be
 *  passed to an operation.
 *  @{ */

/** A signal. Handle 0 means "none" in packet fields. */
typedef struct hsa_signal_s {
  uint64_t handle; /**< opaque; packet processors read it from packets */
} hsa_signal_t;

/** A signal's value: as wide as an address, signed. */
#ifdef HSA_LARGE_MODEL
typedef int64_t hsa_signal_value_t;
#else
typedef int32_t hsa_signal_value_t;
#endif

/**
 * Creates a signal.
 *
 * @param initial_value [in] value to start with.
 * @param num_consumers [in] elements in `consumers`; 0: any agent may wait.
 * @param consumers [in] the only agents that will wait on the signal, without repetition. A promise that
 *        lets the runtime choose a cheaper kind; waiting elsewhere is then undefined. Ignored, and may
 *        be NULL, if `num_consumers` is 0. Copied.
 * @param signal [out] the new signal; destroy it with ::hsa_signal_destroy. Not NULL.
 * @retval OUT_OF_RESOURCES out of memory or events.
 * @retval INVALID_ARGUMENT NULL `signal`, NULL `consumers` with a count, or a repeated consumer.
 */
hsa_status_t HSA_API hsa_signal_create(hsa_signal_value_t initial_value, uint32_t num_consumers,
                                       const hsa_agent_t* consumers, hsa_signal_t* signal);

/**
 * Destroys a signal, whose handle must not be used again by anyone.
 *
 * No thread may wait on it and no pending packet name it any more. Not for the doorbell of a queue.
 * @param signal [in] signal from ::hsa_signal_create.
 * @retval INVALID_SIGNAL `signal` is not valid.
 * @retval INVALID_ARGUMENT the handle is 0.
 */
hsa_status_t HSA_API hsa_signal_destroy(hsa_signal_t signal);

/** @name Load: returns the current value of `signal`. Not for doorbells of hardware queues.
 *  @{ */
/** Sequentially consistent acquire. */
hsa_signal_value_t HSA_API hsa_signal_load_scacquire(hsa_signal_t signal);
/** No ordering. */
hsa_signal_value_t HSA_API hsa_signal_load_relaxed(hsa_signal_t signal);
/** @deprecated ::hsa_signal_load_scacquire. */
hsa_signal_value_t HSA_API HSA_DEPRECATED hsa_signal_load_acquire(hsa_signal_t signal);
/** @} */

/** @name Store: sets `signal` to `value` and wakes waiters.
 *  The operation to ring a queue's doorbell with, `value` being the index of the last packet written.
 *  @{ */
/** No ordering. */
void HSA_API hsa_signal_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value);
/** Sequentially consistent release. */
void HSA_API hsa_signal_store_screlease(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_store_screlease. */
void HSA_API HSA_DEPRECATED hsa_signal_store_release(hsa_signal_t signal, hsa_signal_value_t value);
/** @} */

/** @name Silent store: sets `signal` to `value` but need not wake anybody.
 *  For a signal that nobody waits on at the moment, such as one being prepared for its next use.
 *  @{ */
/** No ordering. */
void HSA_API hsa_signal_silent_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value);
/** Sequentially consistent release. */
void HSA_API hsa_signal_silent_store_screlease(hsa_signal_t signal, hsa_signal_value_t value);
/** @} */

/** @name Exchange: sets `signal` to `value`, wakes waiters and returns the value before.
 *  @{ */
/** Acquire and release. */
hsa_signal_value_t HSA_API hsa_signal_exchange_scacq_screl(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_exchange_scacq_screl. */
hsa_signal_value_t HSA_API HSA_DEPRECATED hsa_signal_exchange_acq_rel(hsa_signal_t signal,
                                                                      hsa_signal_value_t value);
/** Acquire. */
hsa_signal_value_t HSA_API hsa_signal_exchange_scacquire(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_exchange_scacquire. */
hsa_signal_value_t HSA_API HSA_DEPRECATED hsa_signal_exchange_acquire(hsa_signal_t signal,
                                                                      hsa_signal_value_t value);
/** No ordering. */
hsa_signal_value_t HSA_API hsa_signal_exchange_relaxed(hsa_signal_t signal, hsa_signal_value_t value);
/** Release. */
hsa_signal_value_t HSA_API hsa_signal_exchange_screlease(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_exchange_screlease. */
hsa_signal_value_t HSA_API HSA_DEPRECATED hsa_signal_exchange_release(hsa_signal_t signal,
                                                                      hsa_signal_value_t value);
/** @} */

/** @name Compare and swap: if `signal` equals `expected`, sets it to `value` and wakes waiters.
 *  Returns the value before, which is `expected` exactly if the swap happened; never fails spuriously.
 *  @{ */
/** Acquire and release. */
hsa_signal_value_t HSA_API hsa_signal_cas_scacq_screl(hsa_signal_t signal, hsa_signal_value_t expected,
                                                      hsa_signal_value_t value);
/** @deprecated ::hsa_signal_cas_scacq_screl. */
hsa_signal_value_t HSA_API HSA_DEPRECATED hsa_signal_cas_acq_rel(hsa_signal_t signal,
                                                                 hsa_signal_value_t expected,
                                                                 hsa_signal_value_t value);
/** Acquire. */
hsa_signal_value_t HSA_API hsa_signal_cas_scacquire(hsa_signal_t signal, hsa_signal_value_t expected,
                                                    hsa_signal_value_t value);
/** @deprecated ::hsa_signal_cas_scacquire. */
hsa_signal_value_t HSA_API HSA_DEPRECATED hsa_signal_cas_acquire(hsa_signal_t signal,
                                                                 hsa_signal_value_t expected,
                                                                 hsa_signal_value_t value);
/** No ordering. */
hsa_signal_value_t HSA_API hsa_signal_cas_relaxed(hsa_signal_t signal, hsa_signal_value_t expected,
                                                  hsa_signal_value_t value);
/** Release. */
hsa_signal_value_t HSA_API hsa_signal_cas_screlease(hsa_signal_t signal, hsa_signal_value_t expected,
                                                    hsa_signal_value_t value);
/** @deprecated ::hsa_signal_cas_screlease. */
hsa_signal_value_t HSA_API HSA_DEPRECATED hsa_signal_cas_release(hsa_signal_t signal,
                                                                 hsa_signal_value_t expected,
                                                                 hsa_signal_value_t value);
/** @} */

/** @name Add: adds `value` to `signal`, wrapping around, and wakes waiters.
 *  @{ */
/** Acquire and release. */
void HSA_API hsa_signal_add_scacq_screl(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_add_scacq_screl. */
void HSA_API HSA_DEPRECATED hsa_signal_add_acq_rel(hsa_signal_t signal, hsa_signal_value_t value);
/** Acquire. */
void HSA_API hsa_signal_add_scacquire(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_add_scacquire. */
void HSA_API HSA_DEPRECATED hsa_signal_add_acquire(hsa_signal_t signal, hsa_signal_value_t value);
/** No ordering. */
void HSA_API hsa_signal_add_relaxed(hsa_signal_t signal, hsa_signal_value_t value);
/** Release. */
void HSA_API hsa_signal_add_screlease(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_add_screlease. */
void HSA_API HSA_DEPRECATED hsa_signal_add_release(hsa_signal_t signal, hsa_signal_value_t value);
/** @} */

/** @name Subtract: subtracts `value` from `signal`, wrapping around, and wakes waiters.
 *  @{ */
/** Acquire and release. */
void HSA_API hsa_signal_subtract_scacq_screl(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_subtract_scacq_screl. */
void HSA_API HSA_DEPRECATED hsa_signal_subtract_acq_rel(hsa_signal_t signal, hsa_signal_value_t value);
/** Acquire. */
void HSA_API hsa_signal_subtract_scacquire(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_subtract_scacquire. */
void HSA_API HSA_DEPRECATED hsa_signal_subtract_acquire(hsa_signal_t signal, hsa_signal_value_t value);
/** No ordering. */
void HSA_API hsa_signal_subtract_relaxed(hsa_signal_t signal, hsa_signal_value_t value);
/** Release. */
void HSA_API hsa_signal_subtract_screlease(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_subtract_screlease. */
void HSA_API HSA_DEPRECATED hsa_signal_subtract_release(hsa_signal_t signal, hsa_signal_value_t value);
/** @} */

/** @name And: replaces `signal` with the bitwise AND of itself and `value`, and wakes waiters.
 *  @{ */
/** Acquire and release. */
void HSA_API hsa_signal_and_scacq_screl(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_and_scacq_screl. */
void HSA_API HSA_DEPRECATED hsa_signal_and_acq_rel(hsa_signal_t signal, hsa_signal_value_t value);
/** Acquire. */
void HSA_API hsa_signal_and_scacquire(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_and_scacquire. */
void HSA_API HSA_DEPRECATED hsa_signal_and_acquire(hsa_signal_t signal, hsa_signal_value_t value);
/** No ordering. */
void HSA_API hsa_signal_and_relaxed(hsa_signal_t signal, hsa_signal_value_t value);
/** Release. */
void HSA_API hsa_signal_and_screlease(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_and_screlease. */
void HSA_API HSA_DEPRECATED hsa_signal_and_release(hsa_signal_t signal, hsa_signal_value_t value);
/** @} */

/** @name Or: replaces `signal` with the bitwise OR of itself and `value`, and wakes waiters.
 *  @{ */
/** Acquire and release. */
void HSA_API hsa_signal_or_scacq_screl(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_or_scacq_screl. */
void HSA_API HSA_DEPRECATED hsa_signal_or_acq_rel(hsa_signal_t signal, hsa_signal_value_t value);
/** Acquire. */
void HSA_API hsa_signal_or_scacquire(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_or_scacquire. */
void HSA_API HSA_DEPRECATED hsa_signal_or_acquire(hsa_signal_t signal, hsa_signal_value_t value);
/** No ordering. */
void HSA_API hsa_signal_or_relaxed(hsa_signal_t signal, hsa_signal_value_t value);
/** Release. */
void HSA_API hsa_signal_or_screlease(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_or_screlease. */
void HSA_API HSA_DEPRECATED hsa_signal_or_release(hsa_signal_t signal, hsa_signal_value_t value);
/** @} */

/** @name Xor: replaces `signal` with the bitwise XOR of itself and `value`, and wakes waiters.
 *  @{ */
/** Acquire and release. */
void HSA_API hsa_signal_xor_scacq_screl(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_xor_scacq_screl. */
void HSA_API HSA_DEPRECATED hsa_signal_xor_acq_rel(hsa_signal_t signal, hsa_signal_value_t value);
/** Acquire. */
void HSA_API hsa_signal_xor_scacquire(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_xor_scacquire. */
void HSA_API HSA_DEPRECATED hsa_signal_xor_acquire(hsa_signal_t signal, hsa_signal_value_t value);
/** No ordering. */
void HSA_API hsa_signal_xor_relaxed(hsa_signal_t signal, hsa_signal_value_t value);
/** Release. */
void HSA_API hsa_signal_xor_screlease(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_xor_screlease. */
void HSA_API HSA_DEPRECATED hsa_signal_xor_release(hsa_signal_t signal, hsa_signal_value_t value);
/** @} */

/** How a signal's value (left) is compared with a given one (right). Signed. */
typedef enum {
  HSA_SIGNAL_CONDITION_EQ = 0, /**< equal */
  HSA_SIGNAL_CONDITION_NE = 1, /**< different */
  HSA_SIGNAL_CONDITION_LT = 2, /**< less */
  HSA_SIGNAL_CONDITION_GTE = 3 /**< greater or equal */
} hsa_signal_condition_t;

/** How a thread should wait: a hint, which costs either latency or processor time. */
typedef enum {
  HSA_WAIT_STATE_BLOCKED = 0, /**< sleep: the thread gives up its processor */
  HSA_WAIT_STATE_ACTIVE = 1   /**< spin: lowest latency */
} hsa_wait_state_t;

/** @name Wait: blocks until the value of `signal` satisfies a condition or time is up.
 *
 *  Returns the value last observed. That may fail the condition, because time ran out or since a wait may
 *  end early for no reason: compare again. A condition that holds only briefly ends the wait, but the
 *  value returned may be a later one. Any number of threads may wait on a signal.
 *  @param signal [in] signal; not a doorbell.
 *  @param condition [in] comparison to satisfy.
 *  @param compare_value [in] right-hand side of it.
 *  @param timeout_hint [in] longest wait, in ticks of ::HSA_SYSTEM_INFO_TIMESTAMP, not exact.
 *         UINT64_MAX: no limit. 0: look once.
 *  @param wait_state_hint [in] sleep or spin.
 *  @{ */
/** Acquires on the value returned. */
hsa_signal_value_t HSA_API hsa_signal_wait_scacquire(hsa_signal_t signal, hsa_signal_condition_t condition,
                                                     hsa_signal_value_t compare_value, uint64_t timeout_hint,
                                                     hsa_wait_state_t wait_state_hint);
/** No ordering. */
hsa_signal_value_t HSA_API hsa_signal_wait_relaxed(hsa_signal_t signal, hsa_signal_condition_t condition,
                                                   hsa_signal_value_t compare_value, uint64_t timeout_hint,
                                                   hsa_wait_state_t wait_state_hint);
/** @deprecated ::hsa_signal_wait_scacquire. */
hsa_signal_value_t HSA_API HSA_DEPRECATED hsa_signal_wait_acquire(hsa_signal_t signal,
                                                                  hsa_signal_condition_t condition,
                                                                  hsa_signal_value_t compare_value,
                                                                  uint64_t timeout_hint,
                                                                  hsa_wait_state_t wait_state_hint);
/** @} */

/** A fixed set of signals to wait on together. */
typedef struct hsa_signal_group_s {
  uint64_t handle; /**< opaque */
} hsa_signal_group_t;

/**
 * Creates a signal group.
 *
 * The signals stay the caller's, and must outlive the group.
 * @param num_signals [in] elements in `signals`, at least 1.
 * @param signals [in] members, without repetition. Copied. Not NULL.
 * @param num_consumers [in] elements in `consumers`, at least 1.
 * @param consumers [in] agents that will wait on the group, without repetition, each of which may wait on
 *        every member; others must not. Copied. Not NULL.
 * @param signal_group [out] the new group. Not NULL.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_ARGUMENT a count of 0 or a NULL pointer.
 */
hsa_status_t HSA_API hsa_signal_group_create(uint32_t num_signals, const hsa_signal_t* signals,
                                             uint32_t num_consumers, const hsa_agent_t* consumers,
                                             hsa_signal_group_t* signal_group);

/**
 * Destroys a signal group on which nobody waits, and not its members.
 *
 * @param signal_group [in] group.
 * @retval INVALID_SIGNAL_GROUP `signal_group` is not valid.
 */
hsa_status_t HSA_API hsa_signal_group_destroy(hsa_signal_group_t signal_group);

/** @name Wait for any: blocks until one member of `signal_group` satisfies its condition. No time-out.
 *
 *  As with a single wait, the value reported may fail the condition: compare again.
 *  @param signal_group [in] group.
 *  @param conditions [in] one comparison per member, in the order of creation. Not NULL.
 *  @param compare_values [in] one right-hand side per member. Not NULL.
 *  @param wait_state_hint [in] sleep or spin.
 *  @param signal [out] the member that ended the wait. Not NULL.
 *  @param value [out] its value as observed. Not NULL.
 *  @retval INVALID_SIGNAL_GROUP `signal_group` is not valid.
 *  @retval INVALID_ARGUMENT a NULL pointer.
 *  @{ */
/** Acquires on the value reported. */
hsa_status_t HSA_API hsa_signal_group_wait_any_scacquire(hsa_signal_group_t signal_group,
                                                         const hsa_signal_condition_t* conditions,
                                                         const hsa_signal_value_t* compare_values,
                                                         hsa_wait_state_t wait_state_hint,
                                                         hsa_signal_t* signal, hsa_signal_value_t* value);
/** No ordering. */
hsa_status_t HSA_API hsa_signal_group_wait_any_relaxed(hsa_signal_group_t signal_group,
                                                       const hsa_signal_condition_t* conditions,
                                                       const hsa_signal_value_t* compare_values,
                                                       hsa_wait_state_t wait_state_hint, hsa_signal_t* signal,
                                                       hsa_signal_value_t* value);
/** @} */

/** @} */
/* ==================================================================================================== */
/** @defgroup queue Queues
 *
 *  A queue is a ring of 64-byte packets in memory and two indices that only grow, PRM 2.5, SAR 2.8.
 *  To submit: reserve slots by advancing the write index; wait until `index < read index + size`; fill the
 *  packet at `base_address + 64 * (index % size)`, all but its first 32 bits; store these with release
 *  semantics, which hands the packet over; ring the doorbell with the index. The packet processor
 *  invalidates a slot and only then advances the read index past it.
 *  @{ */

/** A kind of memory that an agent can reach: a segment with size and properties. Lives as long as the
 *  runtime. More under @ref memory. */
typedef struct hsa_region_s {
  uint64_t handle; /**< opaque */
} hsa_region_t;

/** Who may write packets, and what they may ask for. */
typedef enum {
  /** Any number of producers, who reserve slots atomically and may ring the doorbell out of order. */
  HSA_QUEUE_TYPE_MULTI = 0,
  /** One producer at a time, who may set the write index by plain stores and rings in order. */
  HSA_QUEUE_TYPE_SINGLE = 1,
  /** Multi, and work-groups of a dispatch may synchronize through GWS. AMD. Scarce: creation may hand out
   *  one shared queue several times, counting references and ignoring `size`; destroy it as often.
   *  Agents tell with HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES. */
  HSA_QUEUE_TYPE_COOPERATIVE = 2
} hsa_queue_type_t;

/** An ::hsa_queue_type_t with the width that the queue structure gives it. */
typedef uint32_t hsa_queue_type32_t;

/** Which packets a queue takes. Bits of a mask. */
typedef enum {
  HSA_QUEUE_FEATURE_KERNEL_DISPATCH = 1, /**< kernel dispatch packets */
  HSA_QUEUE_FEATURE_AGENT_DISPATCH = 2   /**< agent dispatch packets */
} hsa_queue_feature_t;

/**
 * The public part of a queue, SAR 2.8. Read-only for the application and constant; the indices are
 * elsewhere, behind the index functions.
 */
typedef struct hsa_queue_s {
  /** ::hsa_queue_type_t. */
  hsa_queue_type32_t type;
  /** Mask of ::hsa_queue_feature_t. */
  uint32_t features;
#if defined(HSA_LARGE_MODEL) || defined(HSA_LITTLE_ENDIAN)
  /** The ring: `size` packets of 64 bytes, aligned to 64. */
  void* base_address;
#ifndef HSA_LARGE_MODEL
  uint32_t reserved0; /**< 0 */
#endif
#else
  uint32_t reserved0; /**< 0 */
  void* base_address;
#endif
  /** To be stored to after packets were written; nothing else may be done with it on a hardware queue. */
  hsa_signal_t doorbell_signal;
  /** Packets in the ring, a power of two. */
  uint32_t size;
  uint32_t reserved1; /**< 0 */
  /** Identifies the queue within the process, soft queues included. Not reused. */
  uint64_t id;
} hsa_queue_t;

/**
 * Creates a queue that an agent processes.
 *
 * Ring, indices (0) and doorbell are the runtime's. Every packet starts out as ::HSA_PACKET_TYPE_INVALID.
 * @param agent [in] agent that will process the packets.
 * @param size [in] packets, a power of two up to ::HSA_AGENT_INFO_QUEUE_MAX_SIZE; raised to
 *        ::HSA_AGENT_INFO_QUEUE_MIN_SIZE if below it.
 * @param type [in] an ::hsa_queue_type_t; SINGLE if that is the agent's ::HSA_AGENT_INFO_QUEUE_TYPE.
 * @param callback [in] told of errors in the queue, after which it processes nothing more. Runs on a
 *        thread of the runtime; must not destroy the queue. May be NULL.
 * @param data [in] passed to `callback`. May be NULL.
 * @param private_segment_size [in] private memory per work-item to set aside, in bytes. A hint: needing
 *        more is slow, not wrong. UINT32_MAX: no opinion.
 * @param group_segment_size [in] group memory per work-group to expect, in bytes. A hint, likewise.
 * @param queue [out] the new queue; destroy it with ::hsa_queue_destroy. Not NULL.
 * @retval OUT_OF_RESOURCES out of memory or hardware queues.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_QUEUE_CREATION the agent has no queues of this type.
 * @retval INVALID_ARGUMENT `size` is 0, not a power of two or too large, unknown `type`, or NULL `queue`.
 */
hsa_status_t HSA_API hsa_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                      void (*callback)(hsa_status_t status, hsa_queue_t* source, void* data),
                                      void* data, uint32_t private_segment_size, uint32_t group_segment_size,
                                      hsa_queue_t** queue);

/**
 * Creates a queue whose packets the application itself processes ("soft queue"), in a thread or a kernel.
 *
 * Start state as for ::hsa_queue_create. Producers and consumers must all reach the region and the signal.
 * The consumer owes producers the packet processor's side of the protocol.
 * @param region [in] where ring, indices and structure are allocated.
 * @param size [in] packets, a power of two.
 * @param type [in] an ::hsa_queue_type_t.
 * @param features [in] mask of ::hsa_queue_feature_t that the consumer honours.
 * @param doorbell_signal [in] the caller's signal, not 0; it must outlive the queue, which does not own it.
 * @param queue [out] the new queue. Not NULL.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_ARGUMENT `size` is 0 or not a power of two, unknown `type`, a 0 doorbell, or NULL `queue`.
 */
hsa_status_t HSA_API hsa_soft_queue_create(hsa_region_t region, uint32_t size, hsa_queue_type32_t type,
                                           uint32_t features, hsa_signal_t doorbell_signal,
                                           hsa_queue_t** queue);

/**
 * Destroys a queue with its ring and, if the runtime created it, its doorbell.
 *
 * What becomes of packets not yet complete is undefined; wait for them first. `queue` dangles afterwards.
 * @param queue [in] queue from either create function. Not NULL.
 * @retval INVALID_QUEUE `queue` is not a live queue.
 * @retval INVALID_ARGUMENT NULL `queue`.
 */
hsa_status_t HSA_API hsa_queue_destroy(hsa_queue_t* queue);

/**
 * Stops a queue for good: running work is aborted, packets present and future are ignored.
 *
 * It remains to be destroyed. Completion signals of aborted packets may never change.
 * @param queue [in] queue. Not NULL.
 * @retval INVALID_QUEUE `queue` is not a live queue.
 * @retval INVALID_ARGUMENT NULL `queue`.
 */
hsa_status_t HSA_API hsa_queue_inactivate(hsa_queue_t* queue);

/** @name Load read index: packets consumed so far, counted from creation.
 *  @{ */
/** @deprecated ::hsa_queue_load_read_index_scacquire. */
uint64_t HSA_API HSA_DEPRECATED hsa_queue_load_read_index_acquire(const hsa_queue_t* queue);
/** Acquire: slots below the result plus `size` may be overwritten. */
uint64_t HSA_API hsa_queue_load_read_index_scacquire(const hsa_queue_t* queue);
/** No ordering. */
uint64_t HSA_API hsa_queue_load_read_index_relaxed(const hsa_queue_t* queue);
/** @} */

/** @name Load write index: packets reserved so far, counted from creation.
 *  @{ */
/** @deprecated ::hsa_queue_load_write_index_scacquire. */
uint64_t HSA_API HSA_DEPRECATED hsa_queue_load_write_index_acquire(const hsa_queue_t* queue);
/** Acquire. */
uint64_t HSA_API hsa_queue_load_write_index_scacquire(const hsa_queue_t* queue);
/** No ordering. */
uint64_t HSA_API hsa_queue_load_write_index_relaxed(const hsa_queue_t* queue);
/** @} */

/** @name Store write index: sets it to `value`. Single-producer queues only.
 *  @{ */
/** No ordering. */
void HSA_API hsa_queue_store_write_index_relaxed(const hsa_queue_t* queue, uint64_t value);
/** @deprecated ::hsa_queue_store_write_index_screlease. */
void HSA_API HSA_DEPRECATED hsa_queue_store_write_index_release(const hsa_queue_t* queue, uint64_t value);
/** Release. */
void HSA_API hsa_queue_store_write_index_screlease(const hsa_queue_t* queue, uint64_t value);
/** @} */

/** @name Compare and swap write index: if it equals `expected`, sets it to `value`.
 *  Returns the index before, which is `expected` exactly if the swap happened.
 *  @{ */
/** @deprecated ::hsa_queue_cas_write_index_scacq_screl. */
uint64_t HSA_API HSA_DEPRECATED hsa_queue_cas_write_index_acq_rel(const hsa_queue_t* queue, uint64_t expected,
                                                                  uint64_t value);
/** Acquire and release. */
uint64_t HSA_API hsa_queue_cas_write_index_scacq_screl(const hsa_queue_t* queue, uint64_t expected,
                                                       uint64_t value);
/** @deprecated ::hsa_queue_cas_write_index_scacquire. */
uint64_t HSA_API HSA_DEPRECATED hsa_queue_cas_write_index_acquire(const hsa_queue_t* queue, uint64_t expected,
                                                                  uint64_t value);
/** Acquire. */
uint64_t HSA_API hsa_queue_cas_write_index_scacquire(const hsa_queue_t* queue, uint64_t expected,
                                                     uint64_t value);
/** No ordering. */
uint64_t HSA_API hsa_queue_cas_write_index_relaxed(const hsa_queue_t* queue, uint64_t expected,
                                                   uint64_t value);
/** @deprecated ::hsa_queue_cas_write_index_screlease. */
uint64_t HSA_API HSA_DEPRECATED hsa_queue_cas_write_index_release(const hsa_queue_t* queue, uint64_t expected,
                                                                  uint64_t value);
/** Release. */
uint64_t HSA_API hsa_queue_cas_write_index_screlease(const hsa_queue_t* queue, uint64_t expected,
                                                     uint64_t value);
/** @} */

/** @name Add to write index: reserves `value` packets and returns the index of the first.
 *  @{ */
/** @deprecated ::hsa_queue_add_write_index_scacq_screl. */
uint64_t HSA_API HSA_DEPRECATED hsa_queue_add_write_index_acq_rel(const hsa_queue_t* queue, uint64_t value);
/** Acquire and release. */
uint64_t HSA_API hsa_queue_add_write_index_scacq_screl(const hsa_queue_t* queue, uint64_t value);
/** @deprecated ::hsa_queue_add_write_index_scacquire. */
uint64_t HSA_API HSA_DEPRECATED hsa_queue_add_write_index_acquire(const hsa_queue_t* queue, uint64_t value);
/** Acquire. */
uint64_t HSA_API hsa_queue_add_write_index_scacquire(const hsa_queue_t* queue, uint64_t value);
/** No ordering: enough for reserving, as the packet header's release store orders the rest. */
uint64_t HSA_API hsa_queue_add_write_index_relaxed(const hsa_queue_t* queue, uint64_t value);
/** @deprecated ::hsa_queue_add_write_index_screlease. */
uint64_t HSA_API HSA_DEPRECATED hsa_queue_add_write_index_release(const hsa_queue_t* queue, uint64_t value);
/** Release. */
uint64_t HSA_API hsa_queue_add_write_index_screlease(const hsa_queue_t* queue, uint64_t value);
/** @} */

/** @name Store read index: sets it to `value`. For the consumer of a soft queue only.
 *  @{ */
/** No ordering. */
void HSA_API hsa_queue_store_read_index_relaxed(const hsa_queue_t* queue, uint64_t value);
/** @deprecated ::hsa_queue_store_read_index_screlease. */
void HSA_API HSA_DEPRECATED hsa_queue_store_read_index_release(const hsa_queue_t* queue, uint64_t value);
/** Release: hands slots that were read and invalidated back to producers. */
void HSA_API hsa_queue_store_read_index_screlease(const hsa_queue_t* queue, uint64_t value);
/** @} */

/** @} */
/* ==================================================================================================== */
/** @defgroup aql Architected Queuing Language packets
 *
 *  Every packet is 64 bytes and begins with a 16-bit header. PRM 2.6, SAR 2.9. Fields named reserved are
 *  0. A completion signal is decremented when the packet is complete; 0 stands for none.
 *  @{ */

/** Value of the header's type field. */
typedef enum {
  /** Layout beyond the header is the vendor's. */
  HSA_PACKET_TYPE_VENDOR_SPECIFIC = 0,
  /** Slot is free, or being filled: the packet processor stops here. */
  HSA_PACKET_TYPE_INVALID = 1,
  /** ::hsa_kernel_dispatch_packet_t; the queue has ::HSA_QUEUE_FEATURE_KERNEL_DISPATCH. */
  HSA_PACKET_TYPE_KERNEL_DISPATCH = 2,
  /** ::hsa_barrier_and_packet_t. Any queue takes it. */
  HSA_PACKET_TYPE_BARRIER_AND = 3,
  /** ::hsa_agent_dispatch_packet_t; the queue has ::HSA_QUEUE_FEATURE_AGENT_DISPATCH. */
  HSA_PACKET_TYPE_AGENT_DISPATCH = 4,
  /** ::hsa_barrier_or_packet_t. Any queue takes it. */
  HSA_PACKET_TYPE_BARRIER_OR = 5
} hsa_packet_type_t;

/** How far a packet's memory fence reaches. It covers the global segment and images. */
typedef enum {
  HSA_FENCE_SCOPE_NONE = 0,  /**< no fence; other packets' fences have to do */
  HSA_FENCE_SCOPE_AGENT = 1, /**< everything that runs on the packet's agent */
  HSA_FENCE_SCOPE_SYSTEM = 2 /**< all agents and the host */
} hsa_fence_scope_t;

/** Bit position of each field in the 16-bit header. Widths: ::hsa_packet_header_width_t. */
typedef enum {
  /** ::hsa_packet_type_t. */
  HSA_PACKET_HEADER_TYPE = 0,
  /** 1: do not start before all earlier packets of the queue are complete. */
  HSA_PACKET_HEADER_BARRIER = 8,
  /** ::hsa_fence_scope_t of the acquire before the packet becomes active: what others released at that
   *  scope is seen by its work. */
  HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE = 9,
  /** @deprecated ::HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE. */
  HSA_PACKET_HEADER_ACQUIRE_FENCE_SCOPE = 9,
  /** ::hsa_fence_scope_t of the release between the end of its work and completion: what the work wrote is
   *  seen by whoever acquires at that scope. */
  HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE = 11,
  /** @deprecated ::HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE. */
  HSA_PACKET_HEADER_RELEASE_FENCE_SCOPE = 11
} hsa_packet_header_t;

/** Width in bits of each header field. */
typedef enum {
  HSA_PACKET_HEADER_WIDTH_TYPE = 8,                  /**< of ::HSA_PACKET_HEADER_TYPE */
  HSA_PACKET_HEADER_WIDTH_BARRIER = 1,               /**< of ::HSA_PACKET_HEADER_BARRIER */
  HSA_PACKET_HEADER_WIDTH_SCACQUIRE_FENCE_SCOPE = 2, /**< of ::HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE */
  HSA_PACKET_HEADER_WIDTH_ACQUIRE_FENCE_SCOPE = 2,   /**< @deprecated the same */
  HSA_PACKET_HEADER_WIDTH_SCRELEASE_FENCE_SCOPE = 2, /**< of ::HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE */
  HSA_PACKET_HEADER_WIDTH_RELEASE_FENCE_SCOPE = 2    /**< @deprecated the same */
} hsa_packet_header_width_t;

/** Bit position of each field in a kernel dispatch packet's `setup`. */
typedef enum {
  HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS = 0 /**< dimensions of the grid: 1, 2 or 3 */
} hsa_kernel_dispatch_packet_setup_t;

/** Width in bits of each `setup` field. */
typedef enum {
  HSA_KERNEL_DISPATCH_PACKET_SETUP_WIDTH_DIMENSIONS = 2 /**< the other bits of `setup` are 0 */
} hsa_kernel_dispatch_packet_setup_width_t;

/** Runs a kernel over a grid of work-items. */
typedef struct hsa_kernel_dispatch_packet_s {
  HSA_ANONYMOUS_ union {
    HSA_ANONYMOUS_ struct {
      /** Type, barrier and fences, ::hsa_packet_header_t. Written last, with release semantics. */
      uint16_t header;
      /** ::hsa_kernel_dispatch_packet_setup_t. Written together with the header. */
      uint16_t setup;
    };
    /** Both as one word, so that one atomic store publishes the packet. */
    uint32_t full_header;
  };
  uint16_t workgroup_size_x; /**< work-items of a work-group in x, at least 1 */
  uint16_t workgroup_size_y; /**< in y; 1 if the grid has fewer dimensions */
  uint16_t workgroup_size_z; /**< in z; 1 if the grid has fewer dimensions */
  uint16_t reserved0;
  uint32_t grid_size_x; /**< work-items of the grid in x, at least 1; need not be a multiple of the group */
  uint32_t grid_size_y; /**< in y; 1 if the grid has fewer dimensions */
  uint32_t grid_size_z; /**< in z; 1 if the grid has fewer dimensions */
  /** Bytes of private memory per work-item, no less than the kernel declares. */
  uint32_t private_segment_size;
  /** Bytes of group memory per work-group: what the kernel declares plus what is added dynamically. */
  uint32_t group_segment_size;
  /** ::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT of a kernel loaded for the queue's agent. */
  uint64_t kernel_object;
#if defined(HSA_LARGE_MODEL) || defined(HSA_LITTLE_ENDIAN)
  /** The arguments, in a kernarg region, aligned as the kernel asks; untouched until completion. */
  void* kernarg_address;
#ifndef HSA_LARGE_MODEL
  uint32_t reserved1;
#endif
#else
  uint32_t reserved1;
  void* kernarg_address;
#endif
  uint64_t reserved2;
  hsa_signal_t completion_signal; /**< decremented at completion; 0: none */
} hsa_kernel_dispatch_packet_t;

/** Has an agent run one of its built-in or the application's functions. */
typedef struct hsa_agent_dispatch_packet_s {
  uint16_t header; /**< as in every packet */
  uint16_t type;   /**< which function; 0x8000 and up are the application's, below is reserved */
  uint32_t reserved0;
#if defined(HSA_LARGE_MODEL) || defined(HSA_LITTLE_ENDIAN)
  /** Where the result goes; its type is the function's business. */
  void* return_address;
#ifndef HSA_LARGE_MODEL
  uint32_t reserved1;
#endif
#else
  uint32_t reserved1;
  void* return_address;
#endif
  uint64_t arg[4]; /**< arguments */
  uint64_t reserved2;
  hsa_signal_t completion_signal; /**< decremented at completion; 0: none */
} hsa_agent_dispatch_packet_t;

/** Completes once all its dependencies are 0; holds back packets with the barrier bit. */
typedef struct hsa_barrier_and_packet_s {
  uint16_t header; /**< as in every packet */
  uint16_t reserved0;
  uint32_t reserved1;
  /** Signals of which each must have been 0 at some time; a handle of 0 is fulfilled. */
  hsa_signal_t dep_signal[5];
  uint64_t reserved2;
  hsa_signal_t completion_signal; /**< decremented at completion; 0: none */
} hsa_barrier_and_packet_t;

/** Completes once any of its dependencies is 0; laid out like ::hsa_barrier_and_packet_t. */
typedef struct hsa_barrier_or_packet_s {
  uint16_t header; /**< as in every packet */
  uint16_t reserved0;
  uint32_t reserved1;
  /** Signals of which one must have been 0; handles of 0 are skipped, and all 0 is fulfilled. */
  hsa_signal_t dep_signal[5];
  uint64_t reserved2;
  hsa_signal_t completion_signal; /**< decremented at completion; 0: none */
} hsa_barrier_or_packet_t;

/** @} */
/* ==================================================================================================== */
/** @defgroup memory Memory
 *
 *  Regions are the memory that an agent sees. One piece of memory may appear as several regions, of one or
 *  of several agents. PRM 2.7. (AMD's pools, hsa_ext_amd.h, refine this.)
 *  @{ */

/** Segment of the HSA memory model. */
typedef enum {
  HSA_REGION_SEGMENT_GLOBAL = 0,   /**< seen by all agents */
  HSA_REGION_SEGMENT_READONLY = 1, /**< constant while a kernel runs */
  HSA_REGION_SEGMENT_PRIVATE = 2,  /**< of one work-item */
  HSA_REGION_SEGMENT_GROUP = 3,    /**< of one work-group */
  HSA_REGION_SEGMENT_KERNARG = 4   /**< kernel arguments */
} hsa_region_segment_t;

/** Properties of a global region. Bits of a mask; exactly one of fine and coarse is set. */
typedef enum {
  /** Kernel arguments may be put there. Implies fine-grained. */
  HSA_REGION_GLOBAL_FLAG_KERNARG = 1,
  /** Coherent: agents see each other's updates as the memory model has it, without further ado. */
  HSA_REGION_GLOBAL_FLAG_FINE_GRAINED = 2,
  /** Each buffer has one owner at a time, changed by ::hsa_memory_assign_agent. */
  HSA_REGION_GLOBAL_FLAG_COARSE_GRAINED = 4,
  /** AMD. Coherent, and atomics of device scope act with system scope on it. Devices that do not
   *  guarantee this by themselves may want extra cache maintenance. */
  HSA_REGION_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED = 8
} hsa_region_global_flag_t;

/** Attributes for ::hsa_region_get_info; the value's type comes first. */
#ifdef __cplusplus
typedef enum : int {
#else
typedef enum {
#endif
  /** ::hsa_region_segment_t. */
  HSA_REGION_INFO_SEGMENT = 0,
  /** uint32_t: mask of ::hsa_region_global_flag_t. Global segment. */
  HSA_REGION_INFO_GLOBAL_FLAGS = 1,
  /** size_t: bytes in the region. */
  HSA_REGION_INFO_SIZE = 2,
  /** size_t: bytes of the largest allocation; in the group segment, per work-group of a dispatch; in the
   *  private segment, per work-item, and at least 256. */
  HSA_REGION_INFO_ALLOC_MAX_SIZE = 4,
  /** uint32_t: bytes of private memory per work-group of a dispatch, at least 65536. Private segment. */
  HSA_REGION_INFO_ALLOC_MAX_PRIVATE_WORKGROUP_SIZE = 8,
  /** bool: ::hsa_memory_allocate works here. Never in the group and private segments. */
  HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED = 5,
  /** size_t: allocations are rounded up to a multiple of this many bytes. If allocation is allowed. */
  HSA_REGION_INFO_RUNTIME_ALLOC_GRANULE = 6,
  /** size_t: alignment of allocations in bytes, a power of two. If allocation is allowed. */
  HSA_REGION_INFO_RUNTIME_ALLOC_ALIGNMENT = 7
} hsa_region_info_t;

/**
 * Queries an attribute of a region.
 *
 * @param region [in] region.
 * @param attribute [in] an ::hsa_region_info_t, or an extension's attribute cast to it.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval INVALID_REGION `region` is not valid.
 * @retval INVALID_ARGUMENT unknown `attribute` or NULL `value`.
 */
hsa_status_t HSA_API hsa_region_get_info(hsa_region_t region, hsa_region_info_t attribute, void* value);

/**
 * Visits the regions that an agent can reach. The set and order are fixed while the runtime is up.
 *
 * @param agent [in] agent.
 * @param callback [in] called with each region and `data`. Not NULL.
 * @param data [in] passed through. May be NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT NULL `callback`. Any other value is the callback's.
 */
hsa_status_t HSA_API hsa_agent_iterate_regions(hsa_agent_t agent,
                                               hsa_status_t (*callback)(hsa_region_t region, void* data),
                                               void* data);

/**
 * Allocates memory in a region.
 *
 * Contents are undefined. In a coarse-grained region the buffer belongs to the region's agent at first.
 * @param region [in] region with ::HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED.
 * @param size [in] bytes, at least 1; rounded up to the region's granule.
 * @param ptr [out] the buffer, aligned as the region says; free it with ::hsa_memory_free. Not NULL.
 * @retval OUT_OF_RESOURCES not that much left.
 * @retval INVALID_REGION `region` is not valid.
 * @retval INVALID_ALLOCATION no allocation here, or `size` above ::HSA_REGION_INFO_ALLOC_MAX_SIZE.
 * @retval INVALID_ARGUMENT NULL `ptr` or `size` 0.
 */
hsa_status_t HSA_API hsa_memory_allocate(hsa_region_t region, size_t size, void** ptr);

/**
 * Frees memory from ::hsa_memory_allocate. No agent may be using it.
 *
 * @param ptr [in] the buffer's start. NULL does nothing.
 */
hsa_status_t HSA_API hsa_memory_free(void* ptr);

/**
 * Copies memory and returns when that is done. Either side may be anywhere that the runtime can reach,
 * device memory included.
 *
 * A coarse-grained source must have an owner, and in a coarse-grained destination only the owner sees the
 * result.
 * @param dst [out] destination, of `size` bytes or more. Not NULL.
 * @param src [in] source, of `size` bytes or more, not overlapping. Not NULL.
 * @param size [in] bytes; 0 does nothing.
 * @retval INVALID_ARGUMENT NULL `dst` or `src`.
 */
hsa_status_t HSA_API hsa_memory_copy(void* dst, const void* src, size_t size);

/**
 * Makes an agent the owner of a coarse-grained buffer; the owner before loses access.
 *
 * The address stays; the bytes may move. On a fine-grained buffer it does nothing, and outside the global
 * segment the behaviour is undefined. Making the owner the owner again may change its permission.
 * @param ptr [in] start of a buffer from ::hsa_memory_allocate, all of which changes hands. Not NULL.
 * @param agent [in] new owner, who must be able to reach the buffer's region.
 * @param access [in] what the owner will do: RO, WO or RW.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval OUT_OF_RESOURCES the move failed for want of memory.
 * @retval INVALID_ARGUMENT NULL `ptr` or another `access`.
 */
hsa_status_t HSA_API hsa_memory_assign_agent(void* ptr, hsa_agent_t agent, hsa_access_permission_t access);

/**
 * Announces that kernel agents will use memory that came from the operating system. A performance hint.
 *
 * Does nothing for memory from ::hsa_memory_allocate, for a range already registered, and in the Base
 * profile. Ranges must not overlap.
 * @param ptr [in] start of the range. NULL does nothing.
 * @param size [in] bytes; 0 only with a NULL `ptr`.
 * @retval OUT_OF_RESOURCES the range cannot be registered.
 * @retval INVALID_ARGUMENT `size` is 0 and `ptr` is not NULL.
 */
hsa_status_t HSA_API hsa_memory_register(void* ptr, size_t size);

/**
 * Takes a ::hsa_memory_register back.
 *
 * @param ptr [in] start of a registered range. NULL does nothing.
 * @param size [in] its size in bytes, as registered; other ranges are undefined behaviour.
 */
hsa_status_t HSA_API hsa_memory_deregister(void* ptr, size_t size);

/** @} */
/* ==================================================================================================== */
/** @defgroup isa Instruction sets
 *  PRM 2.8
 *  @{ */

/** An instruction set, with its feature settings. Lives as long as the runtime. */
typedef struct hsa_isa_s {
  uint64_t handle; /**< opaque */
} hsa_isa_t;

/**
 * Finds an instruction set by name.
 *
 * @param name [in] name such as "amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-", compared byte by byte.
 *        Not NULL.
 * @param isa [out] the instruction set; no agent needs to have it. Not NULL.
 * @retval INVALID_ISA_NAME no such instruction set.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_ARGUMENT NULL `name` or `isa`.
 */
hsa_status_t HSA_API hsa_isa_from_name(const char* name, hsa_isa_t* isa);

/**
 * Visits the instruction sets that an agent executes, best first.
 *
 * @param agent [in] agent; one without kernel dispatch may have none.
 * @param callback [in] called with each instruction set and `data`. Not NULL.
 * @param data [in] passed through. May be NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT NULL `callback`. Any other value is the callback's.
 */
hsa_status_t HSA_API hsa_agent_iterate_isas(hsa_agent_t agent,
                                            hsa_status_t (*callback)(hsa_isa_t isa, void* data), void* data);

/** Attributes for ::hsa_isa_get_info_alt; the value's type comes first. */
typedef enum {
  /** uint32_t: bytes that ::HSA_ISA_INFO_NAME writes. As in ROCr, the terminating NUL is counted; the PRM
   *  does not count it. */
  HSA_ISA_INFO_NAME_LENGTH = 0,
  /** char[]: the name, NUL-terminated. */
  HSA_ISA_INFO_NAME = 1,
  /** uint32_t: number of call conventions, at least 1. @deprecated Wavefronts took their place. */
  HSA_ISA_INFO_CALL_CONVENTION_COUNT = 2,
  /** uint32_t: work-items per wavefront in a call convention.
   *  @deprecated ::HSA_WAVEFRONT_INFO_SIZE. */
  HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONT_SIZE = 3,
  /** uint32_t: most wavefronts per compute unit in a call convention, registers and group memory
   *  permitting. @deprecated No successor. */
  HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONTS_PER_COMPUTE_UNIT = 4,
  /** bool[2]: supported machine models, indexed by ::hsa_machine_model_t. */
  HSA_ISA_INFO_MACHINE_MODELS = 5,
  /** bool[2]: supported profiles, indexed by ::hsa_profile_t. */
  HSA_ISA_INFO_PROFILES = 6,
  /** bool[3]: supported default rounding modes, indexed by ::hsa_default_float_rounding_mode_t. */
  HSA_ISA_INFO_DEFAULT_FLOAT_ROUNDING_MODES = 7,
  /** bool[3]: the same in the Base profile; element 0 is false, and at least one of the others true. */
  HSA_ISA_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES = 8,
  /** bool: half precision is no slower than single. */
  HSA_ISA_INFO_FAST_F16_OPERATION = 9,
  /** uint16_t[3]: most work-items of a work-group in x, y, z; each from 1 to the next attribute. */
  HSA_ISA_INFO_WORKGROUP_MAX_DIM = 12,
  /** uint32_t: most work-items of a work-group in all. */
  HSA_ISA_INFO_WORKGROUP_MAX_SIZE = 13,
  /** ::hsa_dim3_t: most work-items of a grid in x, y, z; none less than for a work-group. */
  HSA_ISA_INFO_GRID_MAX_DIM = 14,
  /** uint64_t: most work-items of a grid in all. */
  HSA_ISA_INFO_GRID_MAX_SIZE = 16,
  /** uint32_t: fbarriers per work-group, at least 32. */
  HSA_ISA_INFO_FBARRIER_MAX_SIZE = 17
} hsa_isa_info_t;

/**
 * Queries an attribute of an instruction set, or of one of its call conventions.
 *
 * @deprecated ::hsa_isa_get_info_alt.
 * @param isa [in] instruction set.
 * @param attribute [in] what to query.
 * @param index [in] call convention for the attributes about one, below
 *        ::HSA_ISA_INFO_CALL_CONVENTION_COUNT; otherwise 0.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval INVALID_ISA `isa` is not valid.
 * @retval INVALID_INDEX `index` is out of range.
 * @retval INVALID_ARGUMENT unknown `attribute` or NULL `value`.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_isa_get_info(hsa_isa_t isa, hsa_isa_info_t attribute, uint32_t index,
                                                     void* value);

/**
 * Queries an attribute of an instruction set.
 *
 * @param isa [in] instruction set.
 * @param attribute [in] what to query.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval INVALID_ISA `isa` is not valid.
 * @retval INVALID_ARGUMENT unknown `attribute` or NULL `value`.
 */
hsa_status_t HSA_API hsa_isa_get_info_alt(hsa_isa_t isa, hsa_isa_info_t attribute, void* value);

/**
 * Gives the exception policies of an instruction set in a profile.
 *
 * @param isa [in] instruction set.
 * @param profile [in] profile.
 * @param mask [out] mask of ::hsa_exception_policy_t. Not NULL.
 * @retval INVALID_ISA `isa` is not valid.
 * @retval INVALID_ARGUMENT unknown `profile` or NULL `mask`.
 */
hsa_status_t HSA_API hsa_isa_get_exception_policies(hsa_isa_t isa, hsa_profile_t profile, uint16_t* mask);

/** Floating-point formats. Bits of a mask. */
typedef enum {
  HSA_FP_TYPE_16 = 1, /**< half precision */
  HSA_FP_TYPE_32 = 2, /**< single precision */
  HSA_FP_TYPE_64 = 4  /**< double precision */
} hsa_fp_type_t;

/** What becomes of subnormal numbers. Bits of a mask. */
typedef enum {
  HSA_FLUSH_MODE_FTZ = 1,    /**< become zero */
  HSA_FLUSH_MODE_NON_FTZ = 2 /**< are kept */
} hsa_flush_mode_t;

/** How often a multiply-add rounds. Bits of a mask. */
typedef enum {
  HSA_ROUND_METHOD_SINGLE = 1, /**< once, at the end: fused */
  HSA_ROUND_METHOD_DOUBLE = 2  /**< after the product, and after the sum */
} hsa_round_method_t;

/**
 * Tells how HSAIL's floating-point `mad` rounds on an instruction set.
 *
 * @param isa [in] instruction set.
 * @param fp_type [in] format.
 * @param flush_mode [in] treatment of subnormals.
 * @param round_method [out] the answer. Not NULL.
 * @retval INVALID_ISA `isa` is not valid.
 * @retval INVALID_ARGUMENT unknown `fp_type` or `flush_mode`, or NULL `round_method`.
 */
hsa_status_t HSA_API hsa_isa_get_round_method(hsa_isa_t isa, hsa_fp_type_t fp_type,
                                              hsa_flush_mode_t flush_mode, hsa_round_method_t* round_method);

/** A width in which an instruction set executes work-items together. */
typedef struct hsa_wavefront_s {
  uint64_t handle; /**< opaque */
} hsa_wavefront_t;

/** Attributes for ::hsa_wavefront_get_info; the value's type comes first. */
typedef enum {
  /** uint32_t: work-items, a power of two up to 256. */
  HSA_WAVEFRONT_INFO_SIZE = 0
} hsa_wavefront_info_t;

/**
 * Queries an attribute of a wavefront.
 *
 * @param wavefront [in] wavefront.
 * @param attribute [in] what to query.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval INVALID_WAVEFRONT `wavefront` is not valid.
 * @retval INVALID_ARGUMENT unknown `attribute` or NULL `value`.
 */
hsa_status_t HSA_API hsa_wavefront_get_info(hsa_wavefront_t wavefront, hsa_wavefront_info_t attribute,
                                            void* value);

/**
 * Visits the wavefronts of an instruction set; the first is its usual one.
 *
 * @param isa [in] instruction set.
 * @param callback [in] called with each wavefront and `data`. Not NULL.
 * @param data [in] passed through. May be NULL.
 * @retval INVALID_ISA `isa` is not valid.
 * @retval INVALID_ARGUMENT NULL `callback`. Any other value is the callback's.
 */
hsa_status_t HSA_API hsa_isa_iterate_wavefronts(
    hsa_isa_t isa, hsa_status_t (*callback)(hsa_wavefront_t wavefront, void* data), void* data);

/**
 * Tells whether code for one instruction set runs on an agent that has another.
 *
 * @deprecated Loading reports what does not fit.
 * @param code_object_isa [in] instruction set of the code; a generic processor's fits only itself.
 * @param agent_isa [in] instruction set of the agent.
 * @param result [out] true if it runs. Not NULL.
 * @retval INVALID_ISA either is not valid.
 * @retval INVALID_ARGUMENT NULL `result`.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_isa_compatible(hsa_isa_t code_object_isa, hsa_isa_t agent_isa,
                                                       bool* result);

/** @} */
/* ==================================================================================================== */
/** @defgroup executable Code object readers, executables, symbols
 *
 *  A reader wraps the bytes of an ELF file. An executable collects code objects for one or several agents
 *  and external variables, is frozen, and then gives out kernel handles and addresses. PRM 2.8.
 *  @{ */

/** A source of code object bytes. */
typedef struct hsa_code_object_reader_s {
  uint64_t handle; /**< opaque */
} hsa_code_object_reader_t;

/**
 * Creates a reader for an open file, from its beginning to its end.
 *
 * @param file [in] descriptor, open for reading; still the caller's, who keeps it open and unchanged for
 *        as long as the reader lives.
 * @param code_object_reader [out] the reader. Not NULL.
 * @retval INVALID_FILE `file` cannot be read.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_ARGUMENT NULL `code_object_reader`.
 */
hsa_status_t HSA_API hsa_code_object_reader_create_from_file(hsa_file_t file,
                                                             hsa_code_object_reader_t* code_object_reader);

/**
 * Creates a reader for bytes in memory. They are checked when loaded, not here.
 *
 * @param code_object [in] the bytes, not copied: unchanged for as long as the reader lives. Not NULL.
 * @param size [in] their number, at least 1.
 * @param code_object_reader [out] the reader. Not NULL.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_ARGUMENT a NULL pointer or `size` 0.
 */
hsa_status_t HSA_API hsa_code_object_reader_create_from_memory(const void* code_object, size_t size,
                                                               hsa_code_object_reader_t* code_object_reader);

/**
 * Destroys a reader, which must outlive the executables that were loaded from it.
 *
 * @param code_object_reader [in] reader.
 * @retval INVALID_CODE_OBJECT_READER `code_object_reader` is not valid.
 */
hsa_status_t HSA_API hsa_code_object_reader_destroy(hsa_code_object_reader_t code_object_reader);

/** Loaded code and variables, ready to run once frozen. */
typedef struct hsa_executable_s {
  uint64_t handle; /**< opaque */
} hsa_executable_t;

/** State of an executable; it changes once, by ::hsa_executable_freeze. */
typedef enum {
  /** Can be loaded into; symbols of loaded code objects may have addresses and kernel objects already. */
  HSA_EXECUTABLE_STATE_UNFROZEN = 0,
  /** Cannot be changed; symbols have addresses and kernel objects, and kernels can run. */
  HSA_EXECUTABLE_STATE_FROZEN = 1
} hsa_executable_state_t;

/**
 * Creates an empty executable in a given state.
 *
 * @deprecated ::hsa_executable_create_alt.
 * @param profile [in] profile.
 * @param executable_state [in] UNFROZEN, unless an executable that stays empty is wanted.
 * @param options [in] options. May be NULL.
 * @param executable [out] the executable; destroy it with ::hsa_executable_destroy. Not NULL.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_ARGUMENT unknown `profile`, or NULL `executable`.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_executable_create(hsa_profile_t profile,
                                                          hsa_executable_state_t executable_state,
                                                          const char* options, hsa_executable_t* executable);

/**
 * Creates an empty, unfrozen executable.
 *
 * @param profile [in] profile; code objects loaded must agree.
 * @param default_float_rounding_mode [in] mode with which code objects loaded must agree; DEFAULT: any.
 * @param options [in] options. May be NULL.
 * @param executable [out] the executable; destroy it with ::hsa_executable_destroy. Not NULL.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_ARGUMENT unknown `profile` or mode, or NULL `executable`.
 */
hsa_status_t HSA_API hsa_executable_create_alt(hsa_profile_t profile,
                                               hsa_default_float_rounding_mode_t default_float_rounding_mode,
                                               const char* options, hsa_executable_t* executable);

/**
 * Destroys an executable with its code and variables. Nothing of it may be running or queued.
 *
 * External variables stay the application's. Symbols and loaded code objects of it become invalid.
 * @param executable [in] executable.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 */
hsa_status_t HSA_API hsa_executable_destroy(hsa_executable_t executable);

/** A code object inside an executable, and as long-lived. What it tells: hsa_ven_amd_loader.h. */
typedef struct hsa_loaded_code_object_s {
  uint64_t handle; /**< opaque */
} hsa_loaded_code_object_t;

/**
 * Loads the code object with what is common to all agents: program-allocated variables. Once at most.
 *
 * @param executable [in] unfrozen executable.
 * @param code_object_reader [in] reader; must outlive the executable.
 * @param options [in] options. May be NULL.
 * @param loaded_code_object [out] the code object as loaded. May be NULL.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval FROZEN_EXECUTABLE `executable` is frozen.
 * @retval INVALID_CODE_OBJECT_READER `code_object_reader` is not valid.
 * @retval INCOMPATIBLE_ARGUMENTS the code object does not fit the executable or this runtime.
 */
hsa_status_t HSA_API hsa_executable_load_program_code_object(hsa_executable_t executable,
                                                             hsa_code_object_reader_t code_object_reader,
                                                             const char* options,
                                                             hsa_loaded_code_object_t* loaded_code_object);

/**
 * Loads a code object for one agent: kernels, functions and agent-allocated variables.
 *
 * External variables that it refers to must have been defined before. Different agents may get different
 * code objects; all agents together form the executable.
 * @param executable [in] unfrozen executable.
 * @param agent [in] agent to load for.
 * @param code_object_reader [in] reader; must outlive the executable.
 * @param options [in] options. May be NULL.
 * @param loaded_code_object [out] the code object as loaded. May be NULL.
 * @retval OUT_OF_RESOURCES out of host or device memory.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval FROZEN_EXECUTABLE `executable` is frozen.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_CODE_OBJECT_READER `code_object_reader` is not valid.
 * @retval INVALID_CODE_OBJECT the bytes are not a well-formed code object.
 * @retval INCOMPATIBLE_ARGUMENTS the agent lacks the instruction set, or profile or rounding mode differ.
 */
hsa_status_t HSA_API hsa_executable_load_agent_code_object(hsa_executable_t executable, hsa_agent_t agent,
                                                           hsa_code_object_reader_t code_object_reader,
                                                           const char* options,
                                                           hsa_loaded_code_object_t* loaded_code_object);

/**
 * Finishes an executable: from here on it can be run and not changed.
 *
 * @param executable [in] unfrozen executable.
 * @param options [in] options. May be NULL.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval VARIABLE_UNDEFINED something declared is still undefined.
 * @retval FROZEN_EXECUTABLE it is frozen already.
 */
hsa_status_t HSA_API hsa_executable_freeze(hsa_executable_t executable, const char* options);

/** Attributes for ::hsa_executable_get_info; the value's type comes first. */
typedef enum {
  /** ::hsa_profile_t given at creation. */
  HSA_EXECUTABLE_INFO_PROFILE = 1,
  /** ::hsa_executable_state_t. */
  HSA_EXECUTABLE_INFO_STATE = 2,
  /** ::hsa_default_float_rounding_mode_t given at creation. */
  HSA_EXECUTABLE_INFO_DEFAULT_FLOAT_ROUNDING_MODE = 3
} hsa_executable_info_t;

/**
 * Queries an attribute of an executable.
 *
 * @param executable [in] executable.
 * @param attribute [in] what to query.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval INVALID_ARGUMENT unknown `attribute` or NULL `value`.
 */
hsa_status_t HSA_API hsa_executable_get_info(hsa_executable_t executable, hsa_executable_info_t attribute,
                                             void* value);

/**
 * Defines an external global variable that all agents share (program allocation).
 *
 * To be done before loading code that refers to it and does not define it.
 * @param executable [in] unfrozen executable.
 * @param variable_name [in] linker name. Not NULL.
 * @param address [in] where it is: memory in a global region that all agents reach, kept until the
 *        executable is destroyed.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval VARIABLE_ALREADY_DEFINED it has a definition.
 * @retval INVALID_SYMBOL_NAME no such variable.
 * @retval FROZEN_EXECUTABLE `executable` is frozen.
 * @retval INVALID_ARGUMENT NULL `variable_name`.
 */
hsa_status_t HSA_API hsa_executable_global_variable_define(hsa_executable_t executable,
                                                           const char* variable_name, void* address);

/**
 * Defines an external global variable of one agent (agent allocation).
 *
 * To be done before loading code for the agent that refers to it and does not define it.
 * @param executable [in] unfrozen executable.
 * @param agent [in] agent whose variable it is.
 * @param variable_name [in] linker name. Not NULL.
 * @param address [in] where it is: memory in a global region of that agent, kept until the executable is
 *        destroyed.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval VARIABLE_ALREADY_DEFINED it has a definition for this agent.
 * @retval INVALID_SYMBOL_NAME no such variable.
 * @retval FROZEN_EXECUTABLE `executable` is frozen.
 * @retval INVALID_ARGUMENT NULL `variable_name`.
 */
hsa_status_t HSA_API hsa_executable_agent_global_variable_define(hsa_executable_t executable,
                                                                 hsa_agent_t agent, const char* variable_name,
                                                                 void* address);

/**
 * Defines an external read-only variable of one agent.
 *
 * As ::hsa_executable_agent_global_variable_define, but `address` is in a readonly region of the agent and
 * its contents must not change while the executable exists.
 * @param executable [in] unfrozen executable.
 * @param agent [in] agent whose variable it is.
 * @param variable_name [in] linker name. Not NULL.
 * @param address [in] where it is.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval VARIABLE_ALREADY_DEFINED it has a definition for this agent.
 * @retval INVALID_SYMBOL_NAME no such variable.
 * @retval FROZEN_EXECUTABLE `executable` is frozen.
 * @retval INVALID_ARGUMENT NULL `variable_name`.
 */
hsa_status_t HSA_API hsa_executable_readonly_variable_define(hsa_executable_t executable, hsa_agent_t agent,
                                                             const char* variable_name, void* address);

/**
 * Checks that the parts of an executable fit together.
 *
 * That is: one machine model, profile and default rounding mode throughout, a definition for every
 * declaration, and declarations that match it (HSAIL PRM). Slow; meant for development.
 * @param executable [in] frozen executable.
 * @param result [out] 0 if they fit. Not NULL.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval INVALID_ARGUMENT NULL `result`.
 */
hsa_status_t HSA_API hsa_executable_validate(hsa_executable_t executable, uint32_t* result);

/**
 * ::hsa_executable_validate with options.
 *
 * @param executable [in] frozen executable.
 * @param options [in] options. May be NULL.
 * @param result [out] 0 if the parts fit. Not NULL.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval INVALID_ARGUMENT NULL `result`.
 */
hsa_status_t HSA_API hsa_executable_validate_alt(hsa_executable_t executable, const char* options,
                                                 uint32_t* result);

/** A kernel, variable or indirect function of an executable, and as long-lived. */
typedef struct hsa_executable_symbol_s {
  uint64_t handle; /**< opaque */
} hsa_executable_symbol_t;

/**
 * Finds a symbol by module, name and agent.
 *
 * @deprecated ::hsa_executable_get_symbol_by_name.
 * @param executable [in] executable.
 * @param module_name [in] module of a symbol with module linkage; NULL or "" for program linkage.
 * @param symbol_name [in] linker name. Not NULL.
 * @param agent [in] agent of an agent-allocated symbol; ignored for program-allocated variables.
 * @param call_convention [in] call convention of a kernel or indirect function; otherwise ignored.
 * @param symbol [out] the symbol. Not NULL.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval INVALID_SYMBOL_NAME no such symbol.
 * @retval INVALID_ARGUMENT NULL `symbol_name` or `symbol`.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_executable_get_symbol(hsa_executable_t executable,
                                                              const char* module_name,
                                                              const char* symbol_name, hsa_agent_t agent,
                                                              int32_t call_convention,
                                                              hsa_executable_symbol_t* symbol);

/**
 * Finds a symbol by name and agent.
 *
 * @param executable [in] executable, frozen or not.
 * @param symbol_name [in] linker name; a kernel's is that of its descriptor, ending in ".kd". Not NULL.
 * @param agent [in] the agent for which it is defined; NULL for program-allocated variables.
 * @param symbol [out] the symbol. Not NULL.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval INVALID_SYMBOL_NAME no such symbol.
 * @retval INVALID_ARGUMENT NULL `symbol_name` or `symbol`.
 */
hsa_status_t HSA_API hsa_executable_get_symbol_by_name(hsa_executable_t executable, const char* symbol_name,
                                                       const hsa_agent_t* agent,
                                                       hsa_executable_symbol_t* symbol);

/** What a symbol names. */
typedef enum {
  HSA_SYMBOL_KIND_VARIABLE = 0,         /**< data */
  HSA_SYMBOL_KIND_KERNEL = 1,           /**< can be dispatched */
  HSA_SYMBOL_KIND_INDIRECT_FUNCTION = 2 /**< can be called through a pointer, by kernels */
} hsa_symbol_kind_t;

/** How far a symbol's name reaches. */
typedef enum {
  HSA_SYMBOL_LINKAGE_MODULE = 0, /**< its module */
  HSA_SYMBOL_LINKAGE_PROGRAM = 1 /**< the whole executable */
} hsa_symbol_linkage_t;

/** How many copies of a variable there are. */
typedef enum {
  HSA_VARIABLE_ALLOCATION_AGENT = 0,  /**< one per agent */
  HSA_VARIABLE_ALLOCATION_PROGRAM = 1 /**< one for all */
} hsa_variable_allocation_t;

/** Segment of a variable. */
typedef enum {
  HSA_VARIABLE_SEGMENT_GLOBAL = 0,  /**< global */
  HSA_VARIABLE_SEGMENT_READONLY = 1 /**< read-only */
} hsa_variable_segment_t;

/**
 * Attributes for ::hsa_executable_symbol_get_info; the value's type comes first.
 *
 * Where a kind of symbol is named, the attribute means nothing for the other kinds. "Frozen" marks values
 * that are 0 until the executable is frozen.
 */
typedef enum {
  /** ::hsa_symbol_kind_t. */
  HSA_EXECUTABLE_SYMBOL_INFO_TYPE = 0,
  /** uint32_t: length of the name, without a NUL. */
  HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH = 1,
  /** char[]: the name, exactly that many bytes, not terminated. */
  HSA_EXECUTABLE_SYMBOL_INFO_NAME = 2,
  /** uint32_t: length of the module's name; 0 with program linkage. @deprecated */
  HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME_LENGTH = 3,
  /** char[]: the module's name, exactly that many bytes. @deprecated */
  HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME = 4,
  /** ::hsa_agent_t of an agent-allocated symbol. @deprecated Iterate by agent. */
  HSA_EXECUTABLE_SYMBOL_INFO_AGENT = 20,
  /** uint64_t: address of a variable. Frozen. */
  HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS = 21,
  /** ::hsa_symbol_linkage_t. */
  HSA_EXECUTABLE_SYMBOL_INFO_LINKAGE = 5,
  /** bool: a definition, not just a declaration. */
  HSA_EXECUTABLE_SYMBOL_INFO_IS_DEFINITION = 17,
  /** ::hsa_variable_allocation_t of a variable. @deprecated */
  HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALLOCATION = 6,
  /** ::hsa_variable_segment_t of a variable. @deprecated */
  HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SEGMENT = 7,
  /** uint32_t: alignment of a variable in bytes, as declared. @deprecated */
  HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALIGNMENT = 8,
  /** uint32_t: size of a variable in bytes; 0 if external and of unknown size. @deprecated */
  HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE = 9,
  /** bool: a variable is constant. @deprecated */
  HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST = 10,
  /** uint64_t: handle of a kernel for ::hsa_kernel_dispatch_packet_t; on AMD GPUs, the address of its
   *  kernel descriptor. Frozen. */
  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT = 22,
  /** uint32_t: bytes of a kernel's arguments; a multiple of 16 by the PRM. */
  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE = 11,
  /** uint32_t: alignment of a kernel's arguments in bytes, at least 16. */
  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT = 12,
  /** uint32_t: bytes of group memory that a kernel declares, per work-group; dynamic memory comes on top. */
  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE = 13,
  /** uint32_t: bytes of private memory that a kernel declares, per work-item, spills included; a dynamic
   *  call stack comes on top. */
  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE = 14,
  /** bool: a kernel recurses, calls indirectly or allocates on its stack, so the dispatch has to add
   *  private memory for it. */
  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK = 15,
  /** uint32_t: call convention of a kernel. @deprecated */
  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_CALL_CONVENTION = 18,
  /** uint64_t (uint32_t in the small model): handle of an indirect function, in the Full profile. Frozen. */
  HSA_EXECUTABLE_SYMBOL_INFO_INDIRECT_FUNCTION_OBJECT = 23,
  /** uint32_t: call convention of an indirect function, in the Full profile. @deprecated */
  HSA_EXECUTABLE_SYMBOL_INFO_INDIRECT_FUNCTION_CALL_CONVENTION = 16
} hsa_executable_symbol_info_t;

/**
 * Queries an attribute of an executable's symbol.
 *
 * @param executable_symbol [in] symbol.
 * @param attribute [in] what to query.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval INVALID_EXECUTABLE_SYMBOL `executable_symbol` is not valid.
 * @retval INVALID_ARGUMENT unknown `attribute` or NULL `value`.
 */
hsa_status_t HSA_API hsa_executable_symbol_get_info(hsa_executable_symbol_t executable_symbol,
                                                    hsa_executable_symbol_info_t attribute, void* value);

/**
 * Visits all symbols of an executable.
 *
 * @deprecated ::hsa_executable_iterate_agent_symbols, ::hsa_executable_iterate_program_symbols.
 * @param executable [in] executable.
 * @param callback [in] called with the executable, each symbol and `data`. Not NULL.
 * @param data [in] passed through. May be NULL.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval INVALID_ARGUMENT NULL `callback`. Any other value is the callback's.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_executable_iterate_symbols(
    hsa_executable_t executable,
    hsa_status_t (*callback)(hsa_executable_t exec, hsa_executable_symbol_t symbol, void* data), void* data);

/**
 * Visits the kernels, indirect functions and agent-allocated variables of one agent.
 *
 * @param executable [in] executable.
 * @param agent [in] agent.
 * @param callback [in] called with the executable, the agent, each symbol and `data`. Not NULL.
 * @param data [in] passed through. May be NULL.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT NULL `callback`. Any other value is the callback's.
 */
hsa_status_t HSA_API
hsa_executable_iterate_agent_symbols(hsa_executable_t executable, hsa_agent_t agent,
                                     hsa_status_t (*callback)(hsa_executable_t exec, hsa_agent_t agent,
                                                              hsa_executable_symbol_t symbol, void* data),
                                     void* data);

/**
 * Visits the program-allocated variables of an executable.
 *
 * @param executable [in] executable.
 * @param callback [in] called with the executable, each symbol and `data`. Not NULL.
 * @param data [in] passed through. May be NULL.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval INVALID_ARGUMENT NULL `callback`. Any other value is the callback's.
 */
hsa_status_t HSA_API hsa_executable_iterate_program_symbols(
    hsa_executable_t executable,
    hsa_status_t (*callback)(hsa_executable_t exec, hsa_executable_symbol_t symbol, void* data), void* data);

/** @} */
/* ==================================================================================================== */
/** @defgroup code-object Code objects (deprecated)
 *
 *  Version 1.0's way to load code, since replaced by readers; all of it is deprecated.
 *  @{ */

/** A code object in memory. @deprecated ::hsa_code_object_reader_t. */
typedef struct hsa_code_object_s {
  uint64_t handle; /**< opaque */
} hsa_code_object_t;

/** The application's data for a callback that gets them by value. @deprecated */
typedef struct hsa_callback_data_s {
  uint64_t handle; /**< the application's, e.g. a pointer */
} hsa_callback_data_t;

/**
 * Writes a code object into one block of memory.
 *
 * @deprecated Code objects are files already.
 * @param code_object [in] code object.
 * @param alloc_callback [in] called once, on this thread, for `size` bytes, which it stores in `address`;
 *        another status than success ends the call with that status. Not NULL.
 * @param callback_data [in] passed to it.
 * @param options [in] options. May be NULL.
 * @param serialized_code_object [out] the block, the application's to free. Not NULL.
 * @param serialized_code_object_size [out] its size in bytes. Not NULL.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_CODE_OBJECT `code_object` is not valid.
 * @retval INVALID_ARGUMENT a NULL pointer.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_code_object_serialize(
    hsa_code_object_t code_object,
    hsa_status_t (*alloc_callback)(size_t size, hsa_callback_data_t data, void** address),
    hsa_callback_data_t callback_data, const char* options, void** serialized_code_object,
    size_t* serialized_code_object_size);

/**
 * Makes a code object from bytes.
 *
 * @deprecated ::hsa_code_object_reader_create_from_memory.
 * @param serialized_code_object [in] the bytes; keep them until the code object is destroyed. Not NULL.
 * @param serialized_code_object_size [in] their number, at least 1.
 * @param options [in] options. May be NULL.
 * @param code_object [out] the code object. Not NULL.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_CODE_OBJECT the bytes are not a code object.
 * @retval INVALID_ARGUMENT a NULL pointer or a size of 0.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_code_object_deserialize(void* serialized_code_object,
                                                                size_t serialized_code_object_size,
                                                                const char* options,
                                                                hsa_code_object_t* code_object);

/**
 * Destroys a code object. Executables loaded from it live on.
 *
 * @deprecated ::hsa_code_object_reader_destroy.
 * @param code_object [in] code object.
 * @retval INVALID_CODE_OBJECT `code_object` is not valid.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_code_object_destroy(hsa_code_object_t code_object);

/** Kind of a code object. @deprecated */
typedef enum {
  HSA_CODE_OBJECT_TYPE_PROGRAM = 0 /**< the code of all kernels and indirect functions of a program */
} hsa_code_object_type_t;

/** Attributes for ::hsa_code_object_get_info; the value's type comes first. @deprecated */
typedef enum {
  /** char[64]: version, padded with NULs, at most 63 characters. */
  HSA_CODE_OBJECT_INFO_VERSION = 0,
  /** ::hsa_code_object_type_t. */
  HSA_CODE_OBJECT_INFO_TYPE = 1,
  /** ::hsa_isa_t that it was compiled for. */
  HSA_CODE_OBJECT_INFO_ISA = 2,
  /** ::hsa_machine_model_t that it was compiled for. */
  HSA_CODE_OBJECT_INFO_MACHINE_MODEL = 3,
  /** ::hsa_profile_t that it was compiled for. */
  HSA_CODE_OBJECT_INFO_PROFILE = 4,
  /** ::hsa_default_float_rounding_mode_t that it was compiled with. */
  HSA_CODE_OBJECT_INFO_DEFAULT_FLOAT_ROUNDING_MODE = 5
} hsa_code_object_info_t;

/**
 * Queries an attribute of a code object.
 *
 * @deprecated With the code object.
 * @param code_object [in] code object.
 * @param attribute [in] what to query.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval INVALID_CODE_OBJECT `code_object` is not valid.
 * @retval INVALID_ARGUMENT unknown `attribute` or NULL `value`.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_code_object_get_info(hsa_code_object_t code_object,
                                                             hsa_code_object_info_t attribute, void* value);

/**
 * Loads a code object into an executable for an agent.
 *
 * @deprecated ::hsa_executable_load_agent_code_object.
 * @param executable [in] unfrozen executable.
 * @param agent [in] agent to load for.
 * @param code_object [in] code object; may be destroyed afterwards.
 * @param options [in] options. May be NULL.
 * @retval OUT_OF_RESOURCES out of host or device memory.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_CODE_OBJECT `code_object` is not valid.
 * @retval INCOMPATIBLE_ARGUMENTS instruction set, machine model, profile or rounding mode do not fit.
 * @retval FROZEN_EXECUTABLE `executable` is frozen.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_executable_load_code_object(hsa_executable_t executable,
                                                                    hsa_agent_t agent,
                                                                    hsa_code_object_t code_object,
                                                                    const char* options);

/** A symbol of a code object, and as long-lived. @deprecated ::hsa_executable_symbol_t. */
typedef struct hsa_code_symbol_s {
  uint64_t handle; /**< opaque */
} hsa_code_symbol_t;

/**
 * Finds a symbol of a code object by name.
 *
 * @deprecated ::hsa_executable_get_symbol_by_name.
 * @param code_object [in] code object.
 * @param symbol_name [in] linker name. Not NULL.
 * @param symbol [out] the symbol. Not NULL.
 * @retval INVALID_CODE_OBJECT `code_object` is not valid.
 * @retval INVALID_SYMBOL_NAME no such symbol.
 * @retval INVALID_ARGUMENT NULL `symbol_name` or `symbol`.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_code_object_get_symbol(hsa_code_object_t code_object,
                                                               const char* symbol_name,
                                                               hsa_code_symbol_t* symbol);

/**
 * Finds a symbol of a code object by module and name.
 *
 * @deprecated ::hsa_executable_get_symbol_by_name.
 * @param code_object [in] code object.
 * @param module_name [in] module of a symbol with module linkage; NULL for program linkage.
 * @param symbol_name [in] linker name. Not NULL.
 * @param symbol [out] the symbol. Not NULL.
 * @retval INVALID_CODE_OBJECT `code_object` is not valid.
 * @retval INVALID_SYMBOL_NAME no such symbol.
 * @retval INVALID_ARGUMENT NULL `symbol_name` or `symbol`.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_code_object_get_symbol_from_name(hsa_code_object_t code_object,
                                                                         const char* module_name,
                                                                         const char* symbol_name,
                                                                         hsa_code_symbol_t* symbol);

/**
 * Attributes for ::hsa_code_symbol_get_info; the value's type comes first. @deprecated
 *
 * Values and meaning are those of ::hsa_executable_symbol_info_t, less what only loading decides.
 */
typedef enum {
  /** ::hsa_symbol_kind_t. */
  HSA_CODE_SYMBOL_INFO_TYPE = 0,
  /** uint32_t: length of the name, without a NUL. */
  HSA_CODE_SYMBOL_INFO_NAME_LENGTH = 1,
  /** char[]: the name, exactly that many bytes, not terminated. */
  HSA_CODE_SYMBOL_INFO_NAME = 2,
  /** uint32_t: length of the module's name; 0 with program linkage. */
  HSA_CODE_SYMBOL_INFO_MODULE_NAME_LENGTH = 3,
  /** char[]: the module's name, exactly that many bytes. */
  HSA_CODE_SYMBOL_INFO_MODULE_NAME = 4,
  /** ::hsa_symbol_linkage_t. */
  HSA_CODE_SYMBOL_INFO_LINKAGE = 5,
  /** bool: a definition, not just a declaration. */
  HSA_CODE_SYMBOL_INFO_IS_DEFINITION = 17,
  /** ::hsa_variable_allocation_t of a variable. */
  HSA_CODE_SYMBOL_INFO_VARIABLE_ALLOCATION = 6,
  /** ::hsa_variable_segment_t of a variable. */
  HSA_CODE_SYMBOL_INFO_VARIABLE_SEGMENT = 7,
  /** uint32_t: alignment of a variable in bytes, as declared. */
  HSA_CODE_SYMBOL_INFO_VARIABLE_ALIGNMENT = 8,
  /** uint32_t: size of a variable in bytes; 0 if external and of unknown size. */
  HSA_CODE_SYMBOL_INFO_VARIABLE_SIZE = 9,
  /** bool: a variable is constant. */
  HSA_CODE_SYMBOL_INFO_VARIABLE_IS_CONST = 10,
  /** uint32_t: bytes of a kernel's arguments. */
  HSA_CODE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE = 11,
  /** uint32_t: alignment of a kernel's arguments in bytes. */
  HSA_CODE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT = 12,
  /** uint32_t: bytes of group memory that a kernel declares, per work-group. */
  HSA_CODE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE = 13,
  /** uint32_t: bytes of private memory that a kernel declares, per work-item. */
  HSA_CODE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE = 14,
  /** bool: a kernel has a dynamic call stack. */
  HSA_CODE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK = 15,
  /** uint32_t: call convention of a kernel. */
  HSA_CODE_SYMBOL_INFO_KERNEL_CALL_CONVENTION = 18,
  /** uint32_t: call convention of an indirect function. */
  HSA_CODE_SYMBOL_INFO_INDIRECT_FUNCTION_CALL_CONVENTION = 16,
  /** uint32_t: work-items per wavefront of a kernel, 32 or 64. AMD; no counterpart in an executable. */
  HSA_CODE_SYMBOL_INFO_KERNEL_WAVEFRONT_SIZE = 19
} hsa_code_symbol_info_t;

/**
 * Queries an attribute of a code object's symbol.
 *
 * @deprecated ::hsa_executable_symbol_get_info.
 * @param code_symbol [in] symbol.
 * @param attribute [in] what to query.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval INVALID_CODE_SYMBOL `code_symbol` is not valid.
 * @retval INVALID_ARGUMENT unknown `attribute` or NULL `value`.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_code_symbol_get_info(hsa_code_symbol_t code_symbol,
                                                             hsa_code_symbol_info_t attribute, void* value);

/**
 * Visits the symbols of a code object.
 *
 * @deprecated ::hsa_executable_iterate_agent_symbols.
 * @param code_object [in] code object.
 * @param callback [in] called with the code object, each symbol and `data`. Not NULL.
 * @param data [in] passed through. May be NULL.
 * @retval INVALID_CODE_OBJECT `code_object` is not valid.
 * @retval INVALID_ARGUMENT NULL `callback`. Any other value is the callback's.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_code_object_iterate_symbols(
    hsa_code_object_t code_object,
    hsa_status_t (*callback)(hsa_code_object_t code_object, hsa_code_symbol_t symbol, void* data),
    void* data);

/** @} */

#ifdef __cplusplus
}
#endif

#undef HSA_ANONYMOUS_

#endif /* HSA_RUNTIME_INC_HSA_H_ */
