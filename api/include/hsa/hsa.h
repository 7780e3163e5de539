// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The Rigel authors
/**
 * @file
 * The HSA core API, which every HSA program includes.
 *
 * The interface is that of the HSA Runtime Programmer's Reference Manual 1.2, with the AMD values that ROCr
 * added to its enumerations. "PRM" below cites its sections; chapter 2 is the core API. "SAR" is the HSA
 * Platform System Architecture Specification 1.2. Layouts and values are a frozen ABI.
 *
 * These rules apply to every function:
 *
 *  - Status. A function that returns ::hsa_status_t returns ::HSA_STATUS_SUCCESS if it succeeds, and
 *    ::HSA_STATUS_ERROR_NOT_INITIALIZED if the runtime is not initialized. `@retval` lists the other statuses
 *    without the prefix HSA_STATUS_ERROR_. A function writes output arguments only if it succeeds, unless it
 *    states otherwise.
 *  - Validity. Functions without a status (signal and queue-index operations) are the hot path. They check
 *    nothing: an invalid handle is undefined behaviour.
 *  - Threads. Any thread may call any function at any time. But no call may use an object that another call
 *    is destroying.
 *  - Iteration. An iterate function calls `callback` on the calling thread, once per element. If the callback
 *    returns a status other than ::HSA_STATUS_SUCCESS, the traversal ends, and the iterate function returns
 *    that status. By convention, ::HSA_STATUS_INFO_BREAK means "found". `data` is an argument for the
 *    callback and may be NULL. `callback` must not be NULL (INVALID_ARGUMENT).
 *  - Queries. A get_info function writes one value to `value`, a buffer of the caller. The buffer has at
 *    least the size of the type noted at the attribute. If it is NULL or the attribute is unknown, the
 *    function returns INVALID_ARGUMENT.
 *  - Handles. A handle type wraps a 64-bit `handle`. It is opaque, compares by value and belongs to this
 *    process. It becomes invalid with the final ::hsa_shut_down at the latest. 0 is never a live object.
 *  - Strings are NUL-terminated. Functions read them during the call only. Sizes are bytes.
 *  - Options. An `options` string contains switches named `-hsa_*`, `-hsa_ext_<extension>_*` or
 *    `-<vendor>_*`. It may be NULL. Unknown switches are ignored.
 *
 * The name of a function has its memory order: `relaxed`, `scacquire`, `screlease` or `scacq_screl`. All but
 * `relaxed` are the sequentially consistent orders of the HSA memory model at system scope. The older
 * spellings `acquire`, `release` and `acq_rel` are deprecated aliases with identical behaviour.
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

/* Machine model and byte order of this translation unit; they determine the padding around pointers. */
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

/* Marks deprecated functions. Empty unless the client defines it, so that old programs compile without
 * warnings. */
#ifndef HSA_DEPRECATED
#define HSA_DEPRECATED
#endif

/* C has anonymous members since C11, and C++ has no anonymous structs. GCC and Clang accept both as
 * extensions. */
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

/** Status that a function returns, or that a handler of queue or system events receives. */
typedef enum {
  /** Success. */
  HSA_STATUS_SUCCESS = 0x0,
  /** A callback ended a traversal early on purpose. Not an error. */
  HSA_STATUS_INFO_BREAK = 0x1,
  /** Failure without a more specific status; the log has the reason. */
  HSA_STATUS_ERROR = 0x1000,
  /** An argument breaks a documented rule: NULL for an object, an unknown enumerator, ... */
  HSA_STATUS_ERROR_INVALID_ARGUMENT = 0x1001,
  /** The agent does not support such a queue. */
  HSA_STATUS_ERROR_INVALID_QUEUE_CREATION = 0x1002,
  /** The region does not support the allocation: wrong kind, or larger than its maximum. */
  HSA_STATUS_ERROR_INVALID_ALLOCATION = 0x1003,
  /** Not a live ::hsa_agent_t, or an agent that does not support the call. */
  HSA_STATUS_ERROR_INVALID_AGENT = 0x1004,
  /** Not a live ::hsa_region_t. */
  HSA_STATUS_ERROR_INVALID_REGION = 0x1005,
  /** Not a live ::hsa_signal_t. */
  HSA_STATUS_ERROR_INVALID_SIGNAL = 0x1006,
  /** Not a live ::hsa_queue_t. */
  HSA_STATUS_ERROR_INVALID_QUEUE = 0x1007,
  /** Memory, a thread, a hardware queue, an operating system object or the device is not available. */
  HSA_STATUS_ERROR_OUT_OF_RESOURCES = 0x1008,
  /** A packet processor read a packet that it cannot decode. Passed to the queue's callback. */
  HSA_STATUS_ERROR_INVALID_PACKET_FORMAT = 0x1009,
  /** Releasing a resource failed. */
  HSA_STATUS_ERROR_RESOURCE_FREE = 0x100A,
  /** The runtime's reference count is 0: no ::hsa_init without its ::hsa_shut_down. */
  HSA_STATUS_ERROR_NOT_INITIALIZED = 0x100B,
  /** A reference count is at its maximum. */
  HSA_STATUS_ERROR_REFCOUNT_OVERFLOW = 0x100C,
  /** Each argument is valid, but their combination is not. */
  HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS = 0x100D,
  /** An index is out of range. */
  HSA_STATUS_ERROR_INVALID_INDEX = 0x100E,
  /** Not a known ::hsa_isa_t. */
  HSA_STATUS_ERROR_INVALID_ISA = 0x100F,
  /** No instruction set has this name. (0x1017: not in sequence.) */
  HSA_STATUS_ERROR_INVALID_ISA_NAME = 0x1017,
  /** Not a code object, or a damaged code object. */
  HSA_STATUS_ERROR_INVALID_CODE_OBJECT = 0x1010,
  /** Not a live ::hsa_executable_t. */
  HSA_STATUS_ERROR_INVALID_EXECUTABLE = 0x1011,
  /** The executable is frozen and cannot change. */
  HSA_STATUS_ERROR_FROZEN_EXECUTABLE = 0x1012,
  /** No symbol has this name. */
  HSA_STATUS_ERROR_INVALID_SYMBOL_NAME = 0x1013,
  /** The variable already has a definition. */
  HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED = 0x1014,
  /** A variable is declared but not defined. */
  HSA_STATUS_ERROR_VARIABLE_UNDEFINED = 0x1015,
  /** An instruction raised a hardware exception. Passed to the queue's callback. */
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
  /** The state of the runtime does not permit the call, for example during shut-down. */
  HSA_STATUS_ERROR_INVALID_RUNTIME_STATE = 0x1025,
  /** The process can no longer use the queue, or the runtime. Passed to callbacks. */
  HSA_STATUS_ERROR_FATAL = 0x1026
} hsa_status_t;

/**
 * Returns a description of a status, for logs.
 *
 * Supports core and extension statuses, even if the runtime is not initialized.
 * @param status [in] the status.
 * @param status_string [out] receives a static string. Not NULL.
 * @retval INVALID_ARGUMENT `status` is unknown or `status_string` is NULL.
 */
hsa_status_t HSA_API hsa_status_string(hsa_status_t status, const char** status_string);

/** @} */
/* ==================================================================================================== */
/** @defgroup common Common definitions
 *  PRM 2.9
 *  @{ */

/** An extent in up to three dimensions, in work-items unless stated otherwise. */
typedef struct hsa_dim3_s {
  uint32_t x; /**< first, fastest-varying dimension */
  uint32_t y; /**< second dimension */
  uint32_t z; /**< third dimension */
} hsa_dim3_t;

/** Access of an agent to a buffer. Bit 0 is read, bit 1 is write. */
typedef enum {
  HSA_ACCESS_PERMISSION_NONE = 0, /**< no access; revokes access (AMD) */
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
/** No flag. */
#define HSA_INTEROP_MAP_FLAG_NONE 0u
/** The handle is a kernel-mode handle of Windows. */
#define HSA_INTEROP_MAP_FLAG_KMT_HANDLE (1u << 0)

/** Windows' name of an adapter. */
typedef struct hsa_luid_s {
  uint32_t low;  /**< lower half; 0 on other systems than Windows */
  uint32_t high; /**< upper half */
} hsa_luid_t;

/** @} */
/* ==================================================================================================== */
/** @defgroup initshutdown Initialization and shut-down
 *  PRM 2.1
 *  @{ */

/**
 * Adds a reference to the runtime. The first reference starts the runtime.
 *
 * The start discovers agents and loads backends and tools; later calls only count. Each successful call needs
 * one ::hsa_shut_down. Concurrent first calls are safe: one starts the runtime, the others wait for it.
 * @retval OUT_OF_RESOURCES no driver, device or memory, or a handler calls it while the runtime ends; see
 *   log.
 * @retval REFCOUNT_OVERFLOW the count is already INT32_MAX.
 */
hsa_status_t HSA_API hsa_init(void);

/**
 * Releases a reference to the runtime. The last release stops the runtime.
 *
 * The stop invalidates every handle and pointer that the API returned, including memory. The status of work
 * in queues is undefined. Programs may call ::hsa_init again afterwards. During the last release, no other
 * call may run. A callback must not make the last release, except a queue's error callback and a handler of
 * GPU faults.
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

/** Attributes for ::hsa_system_get_info. The value's type comes first. */
typedef enum {
  /** uint16_t: major version of the PRM implemented. */
  HSA_SYSTEM_INFO_VERSION_MAJOR = 0,
  /** uint16_t: minor version of the PRM implemented. */
  HSA_SYSTEM_INFO_VERSION_MINOR = 1,
  /** uint64_t: current time in ticks of a clock that is monotonic, has a constant rate and is common to
   * all agents. */
  HSA_SYSTEM_INFO_TIMESTAMP = 2,
  /** uint64_t: rate of that clock in Hz, from 1 MHz to 400 MHz by the specification (ROCr reports 1 GHz). */
  HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY = 3,
  /** uint64_t: maximum time that a signal wait blocks, in ticks. UINT64_MAX: no limit. */
  HSA_SYSTEM_INFO_SIGNAL_MAX_WAIT = 4,
  /** ::hsa_endianness_t. */
  HSA_SYSTEM_INFO_ENDIANNESS = 5,
  /** ::hsa_machine_model_t of the runtime library. */
  HSA_SYSTEM_INFO_MACHINE_MODEL = 6,
  /** uint8_t[128]: one bit per ::hsa_extension_t; extension `i` is bit `i % 8` of byte `i / 8`. */
  HSA_SYSTEM_INFO_EXTENSIONS = 7,
  /** const char*: build identifier, a static string. */
  HSA_AMD_SYSTEM_INFO_BUILD_VERSION = 0x200,
  /** bool: the hsa_amd_svm_* functions are supported. */
  HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED = 0x201,
  /** bool: every agent can access memory of malloc and mmap without a call. If false, a range must first
   * be made accessible with hsa_amd_svm_attributes_set. */
  HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT = 0x202,
  /** bool: host waits use the MWAITX instruction. */
  HSA_AMD_SYSTEM_INFO_MWAITX_ENABLED = 0x203,
  /** bool: memory can be exported as a Linux dma-buf. */
  HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED = 0x204,
  /** bool: the hsa_amd_vmem_* functions are supported. */
  HSA_AMD_SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED = 0x205,
  /** bool: this process uses XNACK: GPU page faults are retried. */
  HSA_AMD_SYSTEM_INFO_XNACK_ENABLED = 0x206,
  /** uint16_t: major version of the AMD extension (hsa_ext_amd.h). */
  HSA_AMD_SYSTEM_INFO_EXT_VERSION_MAJOR = 0x207,
  /** uint16_t: minor version of the AMD extension. */
  HSA_AMD_SYSTEM_INFO_EXT_VERSION_MINOR = 0x208,
  /** bool: hsa_amd_vmem_export_fabric_handle can share memory among the nodes of a fabric. */
  HSA_AMD_SYSTEM_INFO_FABRIC_HANDLES_SUPPORTED = 0x209,
  /** bool: host memory of the hsa_amd_vmem_* functions can be exported as a dmabuf. */
  HSA_AMD_SYSTEM_INFO_HOST_ALLOC_DMA_BUF_SUPPORTED = 0x20A
} hsa_system_info_t;

/**
 * Returns an attribute of the system.
 *
 * @param attribute [in] the attribute.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval INVALID_ARGUMENT unknown `attribute` or NULL `value`.
 */
hsa_status_t HSA_API hsa_system_get_info(hsa_system_info_t attribute, void* value);

/** Extension identifiers. The HSA Foundation has those below 0x200, AMD those from 0x200. Passed as
 * uint16_t. */
typedef enum {
  HSA_EXTENSION_FINALIZER = 0,            /**< HSAIL finalizer, hsa_ext_finalize.h */
  HSA_EXTENSION_IMAGES = 1,               /**< images and samplers, hsa_ext_image.h */
  HSA_EXTENSION_PERFORMANCE_COUNTERS = 2, /**< standard performance counters (no known implementation) */
  HSA_EXTENSION_PROFILING_EVENTS = 3,     /**< standard profiling events (no known implementation) */
  HSA_EXTENSION_STD_LAST = 3,             /**< largest standard identifier */
  HSA_AMD_FIRST_EXTENSION = 0x200,        /**< smallest AMD identifier */
  HSA_EXTENSION_AMD_PROFILER = 0x200,     /**< dispatch and copy profiling */
  HSA_EXTENSION_AMD_LOADER = 0x201,       /**< queries of loaded code, hsa_ven_amd_loader.h */
  HSA_EXTENSION_AMD_AQLPROFILE = 0x202,   /**< hardware counters and traces, hsa_ven_amd_aqlprofile.h */
  HSA_EXTENSION_AMD_PC_SAMPLING = 0x203,  /**< program counter sampling, hsa_ven_amd_pc_sampling.h */
  HSA_AMD_LAST_EXTENSION = 0x203          /**< largest AMD identifier */
} hsa_extension_t;

/**
 * Returns the name of an extension.
 *
 * @param extension [in] an ::hsa_extension_t.
 * @param name [out] receives a static string. Not NULL.
 * @retval INVALID_ARGUMENT unknown `extension` or NULL `name`.
 */
hsa_status_t HSA_API hsa_extension_get_name(uint16_t extension, const char** name);

/**
 * Reports whether the runtime supports exactly this version of an extension.
 *
 * @deprecated ::hsa_system_major_extension_supported, which also returns the minor version.
 * @param extension [in] an ::hsa_extension_t.
 * @param version_major [in] major version.
 * @param version_minor [in] minor version.
 * @param result [out] true if supported. Not NULL.
 * @retval INVALID_ARGUMENT unknown `extension` or NULL `result`.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_system_extension_supported(uint16_t extension, uint16_t version_major,
                                                                   uint16_t version_minor, bool* result);

/**
 * Reports whether the runtime supports a major version of an extension, and its newest minor version.
 *
 * @param extension [in] an ::hsa_extension_t.
 * @param version_major [in] major version.
 * @param version_minor [out] newest minor version of the major version; unchanged if unsupported. Not NULL.
 * @param result [out] true if supported. Not NULL.
 * @retval INVALID_ARGUMENT unknown `extension`, NULL `version_minor` or NULL `result`.
 */
hsa_status_t HSA_API hsa_system_major_extension_supported(uint16_t extension, uint16_t version_major,
                                                          uint16_t* version_minor, bool* result);

/**
 * Fills a table with the functions of exactly this version of an extension.
 *
 * @deprecated ::hsa_system_get_major_extension_table, which receives the size of the table.
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
 * Minor versions append to the table, so its size selects the minor version. The runtime writes the entries
 * that it has, in order, and never past `table_length`. This is the portable way to call an extension, and
 * the only one for the loader extension. The pointers are valid until shut-down.
 * @param extension [in] an ::hsa_extension_t.
 * @param version_major [in] major version; call ::hsa_system_major_extension_supported first.
 * @param table_length [in] size of `*table` in bytes.
 * @param table [out] caller-owned table. Not NULL.
 * @retval INVALID_ARGUMENT unknown `extension` or NULL `table`.
 */
hsa_status_t HSA_API hsa_system_get_major_extension_table(uint16_t extension, uint16_t version_major,
                                                          size_t table_length, void* table);

/** A participant in the memory model: a CPU socket, a GPU, an accelerator. Valid until shut-down. */
typedef struct hsa_agent_s {
  uint64_t handle; /**< opaque */
} hsa_agent_t;

/** Packets that an agent supports. Bits of a mask. */
typedef enum {
  HSA_AGENT_FEATURE_KERNEL_DISPATCH = 1, /**< kernel dispatch packets: the agent is a "kernel agent" */
  HSA_AGENT_FEATURE_AGENT_DISPATCH = 2   /**< agent dispatch packets */
} hsa_agent_feature_t;

/** Kind of hardware. */
typedef enum {
  HSA_DEVICE_TYPE_CPU = 0, /**< the CPU */
  HSA_DEVICE_TYPE_GPU = 1, /**< graphics processor */
  HSA_DEVICE_TYPE_DSP = 2, /**< signal processor */
  HSA_DEVICE_TYPE_AIE = 3  /**< AMD AI engine */
} hsa_device_type_t;

/** Rounding of floating-point operations that request "the default". */
typedef enum {
  HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT = 0, /**< specified elsewhere, e.g. by the code object */
  HSA_DEFAULT_FLOAT_ROUNDING_MODE_ZERO = 1,    /**< towards zero */
  HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR = 2     /**< to nearest, ties to even */
} hsa_default_float_rounding_mode_t;

/**
 * Attributes for ::hsa_agent_get_info. The value's type comes first.
 *
 * "ISA 0" marks deprecated attributes that moved to ::hsa_isa_info_t. They return the value of the first ISA
 * of ::hsa_agent_iterate_isas. "Kernel agents" marks attributes that are undefined for other agents.
 */
typedef enum {
  /** char[64]: name such as "gfx906", padded with NULs, at most 63 characters. */
  HSA_AGENT_INFO_NAME = 0,
  /** char[64]: vendor, padded with NULs, at most 63 characters. */
  HSA_AGENT_INFO_VENDOR_NAME = 1,
  /** ::hsa_agent_feature_t, combined with bitwise OR; 0 if the agent supports no packets. */
  HSA_AGENT_INFO_FEATURE = 2,
  /** ::hsa_machine_model_t. @deprecated ISA 0, ::HSA_ISA_INFO_MACHINE_MODELS. */
  HSA_AGENT_INFO_MACHINE_MODEL = 3,
  /** ::hsa_profile_t. @deprecated ISA 0, ::HSA_ISA_INFO_PROFILES. */
  HSA_AGENT_INFO_PROFILE = 4,
  /** ::hsa_default_float_rounding_mode_t, ZERO or NEAR.
   *  @deprecated ISA 0, ::HSA_ISA_INFO_DEFAULT_FLOAT_ROUNDING_MODES. */
  HSA_AGENT_INFO_DEFAULT_FLOAT_ROUNDING_MODE = 5,
  /** uint32_t: mask of the other rounding modes that can be the default in the Base profile.
   *  @deprecated ISA 0, ::HSA_ISA_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES. */
  HSA_AGENT_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES = 23,
  /** bool: half precision is at least as fast as single. Kernel agents.
   *  @deprecated ISA 0, ::HSA_ISA_INFO_FAST_F16_OPERATION. */
  HSA_AGENT_INFO_FAST_F16_OPERATION = 24,
  /** uint32_t: work-items per wavefront, a power of two up to 256. Kernel agents.
   *  @deprecated ISA 0, ::HSA_WAVEFRONT_INFO_SIZE. */
  HSA_AGENT_INFO_WAVEFRONT_SIZE = 6,
  /** uint16_t[3]: maximum work-items of a work-group in x, y, z. Kernel agents.
   *  @deprecated ISA 0, ::HSA_ISA_INFO_WORKGROUP_MAX_DIM. */
  HSA_AGENT_INFO_WORKGROUP_MAX_DIM = 7,
  /** uint32_t: maximum work-items of a work-group. Kernel agents.
   *  @deprecated ISA 0, ::HSA_ISA_INFO_WORKGROUP_MAX_SIZE. */
  HSA_AGENT_INFO_WORKGROUP_MAX_SIZE = 8,
  /** ::hsa_dim3_t: maximum work-items of a grid in x, y, z. Kernel agents.
   *  @deprecated ISA 0, ::HSA_ISA_INFO_GRID_MAX_DIM. */
  HSA_AGENT_INFO_GRID_MAX_DIM = 9,
  /** uint32_t: maximum work-items of a grid (64 bits wide in the ISA's attribute). Kernel agents.
   *  @deprecated ISA 0, ::HSA_ISA_INFO_GRID_MAX_SIZE. */
  HSA_AGENT_INFO_GRID_MAX_SIZE = 10,
  /** uint32_t: fbarriers per work-group, at least 32. Kernel agents.
   *  @deprecated ISA 0, ::HSA_ISA_INFO_FBARRIER_MAX_SIZE. */
  HSA_AGENT_INFO_FBARRIER_MAX_SIZE = 11,
  /** uint32_t: maximum number of queues. @deprecated The number depends on other processes. */
  HSA_AGENT_INFO_QUEUES_MAX = 12,
  /** uint32_t: packets of the smallest queue, a power of two; smaller requests are rounded up to it. */
  HSA_AGENT_INFO_QUEUE_MIN_SIZE = 13,
  /** uint32_t: packets of the largest queue, a power of two; 0 if the agent has no queues. */
  HSA_AGENT_INFO_QUEUE_MAX_SIZE = 14,
  /** ::hsa_queue_type32_t: type of its queues. */
  HSA_AGENT_INFO_QUEUE_TYPE = 15,
  /** uint32_t: number of the driver's topology node. In the PRM: the NUMA node.
   * @deprecated The other functions of the API do not know NUMA nodes. */
  HSA_AGENT_INFO_NODE = 16,
  /** ::hsa_device_type_t. */
  HSA_AGENT_INFO_DEVICE = 17,
  /** uint32_t[4]: bytes of data cache in L1 to L4, 0 if unknown.
   *  @deprecated ::hsa_agent_iterate_caches. */
  HSA_AGENT_INFO_CACHE_SIZE = 18,
  /** ::hsa_isa_t: ISA 0. @deprecated ::hsa_agent_iterate_isas. */
  HSA_AGENT_INFO_ISA = 19,
  /** uint8_t[128]: one bit per ::hsa_extension_t, with the layout of ::HSA_SYSTEM_INFO_EXTENSIONS. */
  HSA_AGENT_INFO_EXTENSIONS = 20,
  /** uint16_t: major version of the PRM that the agent supports. */
  HSA_AGENT_INFO_VERSION_MAJOR = 21,
  /** uint16_t: minor version of the PRM that the agent supports. */
  HSA_AGENT_INFO_VERSION_MINOR = 22,
  /** Not an attribute. Widens the enumeration, so that C++ can cast an extension's attribute to it. */
  HSA_AGENT_INFO_LAST = INT32_MAX
} hsa_agent_info_t;

/**
 * Returns an attribute of an agent.
 *
 * @param agent [in] agent.
 * @param attribute [in] an ::hsa_agent_info_t, or an extension's attribute cast to it.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT unknown `attribute` or NULL `value`.
 */
hsa_status_t HSA_API hsa_agent_get_info(hsa_agent_t agent, hsa_agent_info_t attribute, void* value);

/**
 * Visits every agent, including CPUs. The set and the order do not change until shut-down.
 *
 * @param callback [in] called with each agent and `data`. Not NULL.
 * @param data [in] argument for the callback. May be NULL.
 * @retval INVALID_ARGUMENT NULL `callback`. Any other value is the callback's.
 */
hsa_status_t HSA_API hsa_iterate_agents(hsa_status_t (*callback)(hsa_agent_t agent, void* data), void* data);

/** Effect of an exception that an instruction raises. Bits of a mask. */
typedef enum {
  HSA_EXCEPTION_POLICY_BREAK = 1, /**< the wavefront stops and the queue's callback is called */
  HSA_EXCEPTION_POLICY_DETECT = 2 /**< a sticky status bit is set; the kernel can read it */
} hsa_exception_policy_t;

/**
 * Returns the exception policies of an agent in a profile.
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

/** A data cache of an agent. Valid until shut-down. */
typedef struct hsa_cache_s {
  uint64_t handle; /**< opaque */
} hsa_cache_t;

/** Attributes for ::hsa_cache_get_info. The value's type comes first. */
typedef enum {
  /** uint32_t: length of the name without the NUL. */
  HSA_CACHE_INFO_NAME_LENGTH = 0,
  /** const char*: the name, owned by the runtime, as in ROCr. (In the PRM, the function copies the
   * characters.) */
  HSA_CACHE_INFO_NAME = 1,
  /** uint8_t: 1 for L1, 2 for L2, ... */
  HSA_CACHE_INFO_LEVEL = 2,
  /** uint32_t: bytes, 0 if unknown. */
  HSA_CACHE_INFO_SIZE = 3
} hsa_cache_info_t;

/**
 * Returns an attribute of a cache.
 *
 * @param cache [in] cache.
 * @param attribute [in] the attribute.
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
 * @param data [in] argument for the callback. May be NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT NULL `callback`. Any other value is the callback's.
 */
hsa_status_t HSA_API hsa_agent_iterate_caches(hsa_agent_t agent,
                                              hsa_status_t (*callback)(hsa_cache_t cache, void* data),
                                              void* data);

/**
 * Reports whether an agent supports exactly this version of an extension.
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
 * Reports whether an agent supports a major version of an extension, and its newest minor version.
 *
 * @param extension [in] an ::hsa_extension_t.
 * @param agent [in] agent.
 * @param version_major [in] major version.
 * @param version_minor [out] newest minor version of the major version; unchanged if unsupported. Not NULL.
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
 * A signal is an integer that agents and host threads share. They change it atomically and wait on it.
 * Signals report completion and express dependencies. PRM 2.4, SAR 2.5 (signals) and 2.6 (atomics).
 *
 * Kernels and packet processors change the value like these functions. All changes of a signal form one
 * modification order. The name of a function has the memory order for other memory:
 *
 *  - `screlease`: earlier writes of the caller become visible to a thread that acquires the new value.
 *  - `scacquire`: earlier writes of the releasing agent become visible to the caller.
 *  - `scacq_screl`: both.
 *  - `relaxed`: orders no other memory.
 *
 * A handle of 0, if it is valid at all, means "no signal". It must not be passed to an operation.
 *  @{ */

/** A signal. Handle 0 means "none" in packet fields. */
typedef struct hsa_signal_s {
  uint64_t handle; /**< opaque; packet processors read it from packets */
} hsa_signal_t;

/** Value of a signal: signed, as wide as an address. */
#ifdef HSA_LARGE_MODEL
typedef int64_t hsa_signal_value_t;
#else
typedef int32_t hsa_signal_value_t;
#endif

/**
 * Creates a signal.
 *
 * @param initial_value [in] initial value.
 * @param num_consumers [in] elements in `consumers`; 0: any agent may wait.
 * @param consumers [in] the only agents that will wait on the signal, without repetition. They let the
 *   runtime choose a cheaper kind; a wait on another agent is then undefined. Copied. Ignored, and may be
 *   NULL, if `num_consumers` is 0.
 * @param signal [out] the new signal; destroy it with ::hsa_signal_destroy. Not NULL.
 * @retval OUT_OF_RESOURCES out of memory or events.
 * @retval INVALID_ARGUMENT NULL `signal`, NULL `consumers` with a count, or a repeated consumer.
 */
hsa_status_t HSA_API hsa_signal_create(hsa_signal_value_t initial_value, uint32_t num_consumers,
                                       const hsa_agent_t* consumers, hsa_signal_t* signal);

/**
 * Destroys a signal. The handle must not be used afterwards.
 *
 * No thread may be waiting on the signal, and no pending packet may refer to it. Not for the doorbell of a
 * queue.
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
 *  Also rings a queue's doorbell; `value` is then the index of the last packet written.
 *  @{ */
/** No ordering. */
void HSA_API hsa_signal_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value);
/** Sequentially consistent release. */
void HSA_API hsa_signal_store_screlease(hsa_signal_t signal, hsa_signal_value_t value);
/** @deprecated ::hsa_signal_store_screlease. */
void HSA_API HSA_DEPRECATED hsa_signal_store_release(hsa_signal_t signal, hsa_signal_value_t value);
/** @} */

/** @name Silent store: sets `signal` to `value` without the duty to wake waiters.
 *  For a signal without waiters, for example before its next use.
 *  @{ */
/** No ordering. */
void HSA_API hsa_signal_silent_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value);
/** Sequentially consistent release. */
void HSA_API hsa_signal_silent_store_screlease(hsa_signal_t signal, hsa_signal_value_t value);
/** @} */

/** @name Exchange: sets `signal` to `value`, wakes waiters and returns the previous value.
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
 * Returns the previous value. It equals `expected` if and only if the swap happened. Never fails spuriously.
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

/** Comparison of a signal's value (left) with a given value (right). Signed. */
typedef enum {
  HSA_SIGNAL_CONDITION_EQ = 0, /**< equal */
  HSA_SIGNAL_CONDITION_NE = 1, /**< different */
  HSA_SIGNAL_CONDITION_LT = 2, /**< less */
  HSA_SIGNAL_CONDITION_GTE = 3 /**< greater or equal */
} hsa_signal_condition_t;

/** How a thread waits: a hint, which trades latency for CPU time. */
typedef enum {
  HSA_WAIT_STATE_BLOCKED = 0, /**< sleep: the CPU is free for other threads */
  HSA_WAIT_STATE_ACTIVE = 1   /**< spin: lowest latency */
} hsa_wait_state_t;

/** @name Wait: blocks until the value of `signal` satisfies a condition or the time is over.
 *
 *  Returns the last value that the thread saw. Compare it again: it may not satisfy the condition, because
 *  the time was over or the wait ended spuriously. A condition that holds only briefly ends the wait, but the
 *  function may return a later value. Any number of threads may wait on a signal.
 *  @param signal [in] signal; not a doorbell.
 *  @param condition [in] comparison.
 *  @param compare_value [in] right-hand side of the comparison.
 *  @param timeout_hint [in] approximate maximum wait, in ticks of ::HSA_SYSTEM_INFO_TIMESTAMP. UINT64_MAX: no
 *    limit. 0: check once.
 *  @param wait_state_hint [in] sleep or spin.
 *  @{ */
/** Acquire on the returned value. */
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
 * The caller keeps the signals, which must outlive the group.
 * @param num_signals [in] elements in `signals`, at least 1.
 * @param signals [in] members, without repetition. Copied. Not NULL.
 * @param num_consumers [in] elements in `consumers`, at least 1.
 * @param consumers [in] the only agents that will wait on the group, without repetition. Each must be able to
 *   wait on every member. Copied. Not NULL.
 * @param signal_group [out] the new group. Not NULL.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_SIGNAL a member is not valid.
 * @retval INVALID_ARGUMENT a count of 0, a NULL pointer, or a repeated signal or consumer.
 */
hsa_status_t HSA_API hsa_signal_group_create(uint32_t num_signals, const hsa_signal_t* signals,
                                             uint32_t num_consumers, const hsa_agent_t* consumers,
                                             hsa_signal_group_t* signal_group);

/**
 * Destroys a signal group without waiters. Does not destroy its members.
 *
 * @param signal_group [in] group.
 * @retval INVALID_SIGNAL_GROUP `signal_group` is not valid.
 */
hsa_status_t HSA_API hsa_signal_group_destroy(hsa_signal_group_t signal_group);

/** @name Wait for any: blocks until one member of `signal_group` satisfies its condition. No time-out.
 *
 * As for a single wait, the returned value may not satisfy the condition: compare it again.
 *  @param signal_group [in] group.
 *  @param conditions [in] one comparison per member, in the order of creation. Not NULL.
 *  @param compare_values [in] one right-hand side per member. Not NULL.
 *  @param wait_state_hint [in] sleep or spin.
 * @param signal [out] the member that ended the wait. Not NULL.
 *  @param value [out] the value of that member. Not NULL.
 *  @retval INVALID_SIGNAL_GROUP `signal_group` is not valid.
 *  @retval INVALID_SIGNAL all members were destroyed.
 *  @retval INVALID_ARGUMENT a NULL pointer or an unknown condition.
 *  @retval OUT_OF_RESOURCES out of memory.
 *  @{ */
/** Acquire on the returned value. */
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
 * A queue is a ring of 64-byte packets in memory and two indices that only grow, PRM 2.5, SAR 2.8. To submit
 * a packet:
 *
 *  1. Reserve a slot: advance the write index.
 *  2. Wait until `index < read index + size`.
 *  3. Write the packet at `base_address + 64 * (index % size)`, except its first 32 bits.
 *  4. Store the first 32 bits with release semantics. From then on, the packet processor owns the packet.
 *  5. Ring the doorbell with the index.
 *
 * The packet processor marks a slot invalid before it advances the read index past it.
 *  @{ */

/** A kind of memory that an agent can access: a segment with size and properties. Valid until shut-down.
 * See @ref memory. */
typedef struct hsa_region_s {
  uint64_t handle; /**< opaque */
} hsa_region_t;

/** Producers of a queue and features of its packets. */
typedef enum {
  /** Any number of producers. They reserve slots atomically and may ring the doorbell out of order. */
  HSA_QUEUE_TYPE_MULTI = 0,
  /** One producer at a time. It may set the write index by plain stores and rings the doorbell in order. */
  HSA_QUEUE_TYPE_SINGLE = 1,
  /** Like MULTI; the work-groups of a dispatch may also synchronize through GWS. AMD. An agent has few of
   * them: each call may return the same shared queue, count references and ignore `size`. Destroy it once
   * per call. HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES reports whether an agent supports them. */
  HSA_QUEUE_TYPE_COOPERATIVE = 2
} hsa_queue_type_t;

/** An ::hsa_queue_type_t with the width of the field in the queue structure. */
typedef uint32_t hsa_queue_type32_t;

/** Packets that a queue supports. Bits of a mask. */
typedef enum {
  HSA_QUEUE_FEATURE_KERNEL_DISPATCH = 1, /**< kernel dispatch packets */
  HSA_QUEUE_FEATURE_AGENT_DISPATCH = 2   /**< agent dispatch packets */
} hsa_queue_feature_t;

/**
 * The public part of a queue, SAR 2.8. Constant; the application must not write to it. The indices are
 * elsewhere: use the index functions.
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
  /** Signal to store to after packets were written. On a hardware queue, no other operation is valid. */
  hsa_signal_t doorbell_signal;
  /** Packets in the ring, a power of two. */
  uint32_t size;
  uint32_t reserved1; /**< 0 */
  /** Identifier of the queue, unique in the process, also among soft queues. Not reused. */
  uint64_t id;
} hsa_queue_t;

/**
 * Creates a queue that an agent processes.
 *
 * The runtime owns the ring, the indices (initially 0) and the doorbell. The initial type of every packet is
 * ::HSA_PACKET_TYPE_INVALID.
 * @param agent [in] agent that will process the packets.
 * @param size [in] packets, a power of two up to ::HSA_AGENT_INFO_QUEUE_MAX_SIZE; raised to
 *        ::HSA_AGENT_INFO_QUEUE_MIN_SIZE if below it.
 * @param type [in] an ::hsa_queue_type_t; must be SINGLE if the agent's ::HSA_AGENT_INFO_QUEUE_TYPE is
 *   SINGLE.
 * @param callback [in] called if the queue has an error; the queue processes nothing afterwards. A thread of
 *   the runtime calls it. It must not destroy the queue. May be NULL.
 * @param data [in] argument for `callback`. May be NULL.
 * @param private_segment_size [in] bytes of private memory per work-item to reserve. A hint: a kernel that
 *   needs more starts later. UINT32_MAX: the runtime chooses.
 * @param group_segment_size [in] expected bytes of group memory per work-group. A hint.
 * @param queue [out] the new queue; destroy it with ::hsa_queue_destroy. Not NULL.
 * @retval OUT_OF_RESOURCES out of memory or hardware queues.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_QUEUE_CREATION the agent does not support this type of queue.
 * @retval INVALID_ARGUMENT `size` is 0, not a power of two or too large, unknown `type`, or NULL `queue`.
 */
hsa_status_t HSA_API hsa_queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                      void (*callback)(hsa_status_t status, hsa_queue_t* source, void* data),
                                      void* data, uint32_t private_segment_size, uint32_t group_segment_size,
                                      hsa_queue_t** queue);

/**
 * Creates a queue whose packets the application itself processes ("soft queue"), in a thread or a kernel.
 *
 * The initial state is that of ::hsa_queue_create. Producers and consumers must all be able to access the
 * region and the signal. The consumer must follow the packet processor's part of the protocol.
 * @param region [in] region for the ring, the indices and the structure.
 * @param size [in] packets, a power of two.
 * @param type [in] an ::hsa_queue_type_t.
 * @param features [in] mask of ::hsa_queue_feature_t that the consumer supports.
 * @param doorbell_signal [in] the caller's signal, not 0; it must outlive the queue, which does not own it.
 * @param queue [out] the new queue. Not NULL.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_REGION `region` is not valid.
 * @retval INVALID_ALLOCATION the region does not allocate, or the host cannot access it.
 * @retval INVALID_SIGNAL `doorbell_signal` is not valid.
 * @retval INVALID_ARGUMENT `size` is 0 or not a power of two, `type` is not MULTI or SINGLE, `features` is 0
 *   or has an unknown bit, the doorbell is 0, or `queue` is NULL.
 */
hsa_status_t HSA_API hsa_soft_queue_create(hsa_region_t region, uint32_t size, hsa_queue_type32_t type,
                                           uint32_t features, hsa_signal_t doorbell_signal,
                                           hsa_queue_t** queue);

/**
 * Destroys a queue with its ring and, if the runtime created it, its doorbell.
 *
 * The outcome of incomplete packets is undefined; wait for them first. `queue` is invalid afterwards.
 * @param queue [in] queue from either create function. Not NULL.
 * @retval INVALID_QUEUE `queue` is not a live queue.
 * @retval INVALID_ARGUMENT NULL `queue`.
 */
hsa_status_t HSA_API hsa_queue_destroy(hsa_queue_t* queue);

/**
 * Stops a queue permanently: running work is aborted, present and later packets are ignored.
 *
 * The queue must still be destroyed. Completion signals of aborted packets may never change.
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
 * Returns the previous index. It equals `expected` if and only if the swap happened.
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
/** No ordering: sufficient to reserve slots, because the release store of the packet header orders the
 * rest. */
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
/** Release: returns slots that were read and marked invalid to the producers. */
void HSA_API hsa_queue_store_read_index_screlease(const hsa_queue_t* queue, uint64_t value);
/** @} */

/** @} */
/* ==================================================================================================== */
/** @defgroup aql Architected Queuing Language packets
 *
 * Every packet has 64 bytes and starts with a 16-bit header. PRM 2.6, SAR 2.9. Fields named reserved are 0.
 * The completion signal is decremented when the packet is complete; 0 for none.
 *  @{ */

/** Value of the header's type field. */
typedef enum {
  /** The vendor defines the layout after the header. */
  HSA_PACKET_TYPE_VENDOR_SPECIFIC = 0,
  /** The slot is free, or a producer is writing it: the packet processor stops here. */
  HSA_PACKET_TYPE_INVALID = 1,
  /** ::hsa_kernel_dispatch_packet_t, for queues with ::HSA_QUEUE_FEATURE_KERNEL_DISPATCH. */
  HSA_PACKET_TYPE_KERNEL_DISPATCH = 2,
  /** ::hsa_barrier_and_packet_t, for any queue. */
  HSA_PACKET_TYPE_BARRIER_AND = 3,
  /** ::hsa_agent_dispatch_packet_t, for queues with ::HSA_QUEUE_FEATURE_AGENT_DISPATCH. */
  HSA_PACKET_TYPE_AGENT_DISPATCH = 4,
  /** ::hsa_barrier_or_packet_t, for any queue. */
  HSA_PACKET_TYPE_BARRIER_OR = 5
} hsa_packet_type_t;

/** Scope of a packet's memory fence, which covers the global segment and images. */
typedef enum {
  HSA_FENCE_SCOPE_NONE = 0,  /**< no fence; fences of other packets must suffice */
  HSA_FENCE_SCOPE_AGENT = 1, /**< all work on the packet's agent */
  HSA_FENCE_SCOPE_SYSTEM = 2 /**< all agents and the host */
} hsa_fence_scope_t;

/** Bit position of each field in the 16-bit header. Widths: ::hsa_packet_header_width_t. */
typedef enum {
  /** ::hsa_packet_type_t. */
  HSA_PACKET_HEADER_TYPE = 0,
  /** 1: the packet starts after all earlier packets of the queue are complete. */
  HSA_PACKET_HEADER_BARRIER = 8,
  /** ::hsa_fence_scope_t of the acquire before the packet becomes active: its work sees memory that was
   * released at that scope. */
  HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE = 9,
  /** @deprecated ::HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE. */
  HSA_PACKET_HEADER_ACQUIRE_FENCE_SCOPE = 9,
  /** ::hsa_fence_scope_t of the release between the end of the work and completion: acquires at that scope
   * see the writes of the work. */
  HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE = 11,
  /** @deprecated ::HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE. */
  HSA_PACKET_HEADER_RELEASE_FENCE_SCOPE = 11
} hsa_packet_header_t;

/** Width in bits of each header field. */
typedef enum {
  HSA_PACKET_HEADER_WIDTH_TYPE = 8,                  /**< of ::HSA_PACKET_HEADER_TYPE */
  HSA_PACKET_HEADER_WIDTH_BARRIER = 1,               /**< of ::HSA_PACKET_HEADER_BARRIER */
  HSA_PACKET_HEADER_WIDTH_SCACQUIRE_FENCE_SCOPE = 2, /**< of ::HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE */
  HSA_PACKET_HEADER_WIDTH_ACQUIRE_FENCE_SCOPE = 2,   /**< @deprecated alias */
  HSA_PACKET_HEADER_WIDTH_SCRELEASE_FENCE_SCOPE = 2, /**< of ::HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE */
  HSA_PACKET_HEADER_WIDTH_RELEASE_FENCE_SCOPE = 2    /**< @deprecated alias */
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
      /** Type, barrier and fences, ::hsa_packet_header_t. Store it last, with release semantics. */
      uint16_t header;
      /** ::hsa_kernel_dispatch_packet_setup_t. Store it together with the header. */
      uint16_t setup;
    };
    /** Header and setup as one word, so that one atomic store publishes the packet. */
    uint32_t full_header;
  };
  uint16_t workgroup_size_x; /**< work-items of a work-group in x, at least 1 */
  uint16_t workgroup_size_y; /**< work-items of a work-group in y; 1 if the grid has fewer dimensions */
  uint16_t workgroup_size_z; /**< work-items of a work-group in z; 1 if the grid has fewer dimensions */
  uint16_t reserved0;
  uint32_t grid_size_x; /**< work-items of the grid in x, at least 1; need not be a multiple of the group */
  uint32_t grid_size_y; /**< work-items of the grid in y; 1 if the grid has fewer dimensions */
  uint32_t grid_size_z; /**< work-items of the grid in z; 1 if the grid has fewer dimensions */
  /** Bytes of private memory per work-item; at least the size that the kernel declares. */
  uint32_t private_segment_size;
  /** Bytes of group memory per work-group: the size that the kernel declares plus dynamic memory. */
  uint32_t group_segment_size;
  /** ::HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT of a kernel loaded for the queue's agent. */
  uint64_t kernel_object;
#if defined(HSA_LARGE_MODEL) || defined(HSA_LITTLE_ENDIAN)
  /** Kernel arguments, in a kernarg region with the alignment of the kernel. Not to be changed before
   * completion. */
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

/** Calls a built-in function of an agent or a function of the application. */
typedef struct hsa_agent_dispatch_packet_s {
  uint16_t header; /**< as in every packet */
  uint16_t type;   /**< function: those from 0x8000 are the application's, lower ones are reserved */
  uint32_t reserved0;
#if defined(HSA_LARGE_MODEL) || defined(HSA_LITTLE_ENDIAN)
  /** Destination of the result, whose type the function defines. */
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

/** Barrier that completes when each dependency has been 0. Blocks later packets with the barrier bit. */
typedef struct hsa_barrier_and_packet_s {
  uint16_t header; /**< as in every packet */
  uint16_t reserved0;
  uint32_t reserved1;
  /** Dependencies. Each signal must have been 0 at some time; a handle of 0 counts as satisfied. */
  hsa_signal_t dep_signal[5];
  uint64_t reserved2;
  hsa_signal_t completion_signal; /**< decremented at completion; 0: none */
} hsa_barrier_and_packet_t;

/** Barrier that completes when one dependency has been 0. Same layout as ::hsa_barrier_and_packet_t. */
typedef struct hsa_barrier_or_packet_s {
  uint16_t header; /**< as in every packet */
  uint16_t reserved0;
  uint32_t reserved1;
  /** Dependencies. One signal must have been 0 at some time; handles of 0 are skipped. If all are 0, the
   * barrier completes. */
  hsa_signal_t dep_signal[5];
  uint64_t reserved2;
  hsa_signal_t completion_signal; /**< decremented at completion; 0: none */
} hsa_barrier_or_packet_t;

/** @} */
/* ==================================================================================================== */
/** @defgroup memory Memory
 *
 * Regions are the memory that an agent can access. One piece of memory may belong to several regions, of one
 * or several agents. PRM 2.7. (AMD's pools in hsa_ext_amd.h have more properties.)
 *  @{ */

/** Segment of the HSA memory model. */
typedef enum {
  HSA_REGION_SEGMENT_GLOBAL = 0,   /**< shared by all agents */
  HSA_REGION_SEGMENT_READONLY = 1, /**< constant while a kernel runs */
  HSA_REGION_SEGMENT_PRIVATE = 2,  /**< of one work-item */
  HSA_REGION_SEGMENT_GROUP = 3,    /**< of one work-group */
  HSA_REGION_SEGMENT_KERNARG = 4   /**< kernel arguments */
} hsa_region_segment_t;

/** Properties of a global region. Bits of a mask; exactly one of fine and coarse is set. */
typedef enum {
  /** Region for kernel arguments. Implies fine-grained. */
  HSA_REGION_GLOBAL_FLAG_KERNARG = 1,
  /** Coherent: agents see updates of each other according to the memory model, without additional calls. */
  HSA_REGION_GLOBAL_FLAG_FINE_GRAINED = 2,
  /** Each buffer has one owner at a time; ::hsa_memory_assign_agent changes it. */
  HSA_REGION_GLOBAL_FLAG_COARSE_GRAINED = 4,
  /** AMD. Coherent; atomics of device scope act at system scope. Devices that do not guarantee this may
   * need additional cache maintenance. */
  HSA_REGION_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED = 8
} hsa_region_global_flag_t;

/** Attributes for ::hsa_region_get_info. The value's type comes first. */
#ifdef __cplusplus
typedef enum : int {
#else
typedef enum {
#endif
  /** ::hsa_region_segment_t. */
  HSA_REGION_INFO_SEGMENT = 0,
  /** uint32_t: mask of ::hsa_region_global_flag_t. Global segment only. */
  HSA_REGION_INFO_GLOBAL_FLAGS = 1,
  /** size_t: size of the region, bytes. */
  HSA_REGION_INFO_SIZE = 2,
  /** size_t: maximum size of an allocation, bytes. In the group segment, per work-group of a dispatch. In
   * the private segment, per work-item; at least 256. */
  HSA_REGION_INFO_ALLOC_MAX_SIZE = 4,
  /** uint32_t: bytes of private memory per work-group of a dispatch, at least 65536. Private segment only. */
  HSA_REGION_INFO_ALLOC_MAX_PRIVATE_WORKGROUP_SIZE = 8,
  /** bool: ::hsa_memory_allocate supports the region. False for group and private segments. */
  HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED = 5,
  /** size_t: granule of allocation sizes, which are rounded up to it, bytes. Only if allocation is
   * allowed. */
  HSA_REGION_INFO_RUNTIME_ALLOC_GRANULE = 6,
  /** size_t: alignment of allocations, bytes; a power of two. Only if allocation is allowed. */
  HSA_REGION_INFO_RUNTIME_ALLOC_ALIGNMENT = 7
} hsa_region_info_t;

/**
 * Returns an attribute of a region.
 *
 * @param region [in] region.
 * @param attribute [in] an ::hsa_region_info_t, or an extension's attribute cast to it.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval INVALID_REGION `region` is not valid.
 * @retval INVALID_ARGUMENT unknown `attribute` or NULL `value`.
 */
hsa_status_t HSA_API hsa_region_get_info(hsa_region_t region, hsa_region_info_t attribute, void* value);

/**
 * Visits the regions that an agent can access. The set and the order do not change until shut-down.
 *
 * @param agent [in] agent.
 * @param callback [in] called with each region and `data`. Not NULL.
 * @param data [in] argument for the callback. May be NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT NULL `callback`. Any other value is the callback's.
 */
hsa_status_t HSA_API hsa_agent_iterate_regions(hsa_agent_t agent,
                                               hsa_status_t (*callback)(hsa_region_t region, void* data),
                                               void* data);

/**
 * Allocates memory in a region.
 *
 * The contents are undefined. In a coarse-grained region, the region's agent is the first owner of the
 * buffer.
 * @param region [in] region with ::HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED.
 * @param size [in] bytes, at least 1; rounded up to the region's granule.
 * @param ptr [out] the buffer, with the region's alignment; free it with ::hsa_memory_free. Not NULL.
 * @retval OUT_OF_RESOURCES the region has not enough memory left.
 * @retval INVALID_REGION `region` is not valid.
 * @retval INVALID_ALLOCATION the region does not allocate, or `size` is above
 *   ::HSA_REGION_INFO_ALLOC_MAX_SIZE.
 * @retval INVALID_ARGUMENT NULL `ptr` or `size` 0.
 */
hsa_status_t HSA_API hsa_memory_allocate(hsa_region_t region, size_t size, void** ptr);

/**
 * Frees memory from ::hsa_memory_allocate. No agent may be using it.
 *
 * @param ptr [in] the buffer's start. NULL does nothing.
 * @retval INVALID_ALLOCATION `ptr` is not the start of an allocation.
 * @retval INVALID_ARGUMENT `ptr` is in locked, reserved, mapped or attached memory.
 */
hsa_status_t HSA_API hsa_memory_free(void* ptr);

/**
 * Copies memory and returns after the copy. Source and destination may be any memory that the runtime can
 * access, including device memory.
 *
 * A coarse-grained source must have an owner. In a coarse-grained destination, only the owner sees the
 * result.
 * @param dst [out] destination, of `size` bytes or more. Not NULL.
 * @param src [in] source, of `size` bytes or more, not overlapping. Not NULL.
 * @param size [in] bytes; 0 does nothing.
 * @retval INVALID_ALLOCATION no agent can access both ranges.
 * @retval INVALID_ARGUMENT NULL `dst` or `src`, or a range exceeds its allocation.
 */
hsa_status_t HSA_API hsa_memory_copy(void* dst, const void* src, size_t size);

/**
 * Makes an agent the owner of a coarse-grained buffer. The previous owner loses access.
 *
 * The address does not change; the data may move. The function does nothing for a fine-grained buffer.
 * Outside the global segment, the behaviour is undefined. A call for the current owner may change its
 * permission. Rigel only checks the arguments: it keeps coarse-grained memory coherent between copies and
 * dispatches.
 * @param ptr [in] start of a buffer from ::hsa_memory_allocate; the whole buffer changes its owner. Not NULL.
 * @param agent [in] new owner. It must be able to access the buffer's region.
 * @param access [in] access of the owner: RO, WO or RW.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval OUT_OF_RESOURCES the data could not move, because memory is missing.
 * @retval INVALID_ARGUMENT NULL `ptr` or another `access`.
 */
hsa_status_t HSA_API hsa_memory_assign_agent(void* ptr, hsa_agent_t agent, hsa_access_permission_t access);

/**
 * Announces that kernel agents will use memory of the operating system. A performance hint.
 *
 * Does nothing in the Base profile, for memory from ::hsa_memory_allocate, and for a registered range. Ranges
 * must not overlap. Rigel only checks the arguments.
 * @param ptr [in] start of the range. NULL does nothing.
 * @param size [in] bytes; 0 only with a NULL `ptr`.
 * @retval OUT_OF_RESOURCES the range cannot be registered.
 * @retval INVALID_ARGUMENT `size` is 0 and `ptr` is not NULL.
 */
hsa_status_t HSA_API hsa_memory_register(void* ptr, size_t size);

/**
 * Removes a registration of ::hsa_memory_register.
 *
 * @param ptr [in] start of a registered range. NULL does nothing.
 * @param size [in] size of the registered range in bytes. Other ranges are undefined behaviour.
 */
hsa_status_t HSA_API hsa_memory_deregister(void* ptr, size_t size);

/** @} */
/* ==================================================================================================== */
/** @defgroup isa Instruction sets
 *  PRM 2.8
 *  @{ */

/** An instruction set with its feature settings. Valid until shut-down. */
typedef struct hsa_isa_s {
  uint64_t handle; /**< opaque */
} hsa_isa_t;

/**
 * Finds an instruction set by name.
 *
 * @param name [in] name such as "amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-", compared byte by byte.
 *        Not NULL.
 * @param isa [out] the instruction set, even if no agent executes it. Not NULL.
 * @retval INVALID_ISA_NAME `name` is not the name of a known instruction set.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_ARGUMENT NULL `name` or `isa`.
 */
hsa_status_t HSA_API hsa_isa_from_name(const char* name, hsa_isa_t* isa);

/**
 * Visits the instruction sets that an agent executes, best first.
 *
 * @param agent [in] agent. An agent without kernel dispatch may have no instruction set.
 * @param callback [in] called with each instruction set and `data`. Not NULL.
 * @param data [in] argument for the callback. May be NULL.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval INVALID_ARGUMENT NULL `callback`. Any other value is the callback's.
 */
hsa_status_t HSA_API hsa_agent_iterate_isas(hsa_agent_t agent,
                                            hsa_status_t (*callback)(hsa_isa_t isa, void* data), void* data);

/** Attributes for ::hsa_isa_get_info_alt. The value's type comes first. */
typedef enum {
  /** uint32_t: bytes that ::HSA_ISA_INFO_NAME writes. As in ROCr, this includes the terminating NUL; in
   * the PRM, it does not. */
  HSA_ISA_INFO_NAME_LENGTH = 0,
  /** char[]: the name, NUL-terminated. */
  HSA_ISA_INFO_NAME = 1,
  /** uint32_t: number of call conventions, at least 1. @deprecated Replaced by wavefronts. */
  HSA_ISA_INFO_CALL_CONVENTION_COUNT = 2,
  /** uint32_t: work-items per wavefront in a call convention.
   *  @deprecated ::HSA_WAVEFRONT_INFO_SIZE. */
  HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONT_SIZE = 3,
  /** uint32_t: maximum wavefronts per compute unit in a call convention, if registers and group memory
   * suffice. @deprecated No successor. */
  HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONTS_PER_COMPUTE_UNIT = 4,
  /** bool[2]: supported machine models, indexed by ::hsa_machine_model_t. */
  HSA_ISA_INFO_MACHINE_MODELS = 5,
  /** bool[2]: supported profiles, indexed by ::hsa_profile_t. */
  HSA_ISA_INFO_PROFILES = 6,
  /** bool[3]: supported default rounding modes, indexed by ::hsa_default_float_rounding_mode_t. */
  HSA_ISA_INFO_DEFAULT_FLOAT_ROUNDING_MODES = 7,
  /** bool[3]: the same for the Base profile; element 0 is false, and another element is true. */
  HSA_ISA_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES = 8,
  /** bool: half precision is at least as fast as single. */
  HSA_ISA_INFO_FAST_F16_OPERATION = 9,
  /** uint16_t[3]: maximum work-items of a work-group in x, y, z; each is at most
   * ::HSA_ISA_INFO_WORKGROUP_MAX_SIZE. */
  HSA_ISA_INFO_WORKGROUP_MAX_DIM = 12,
  /** uint32_t: maximum work-items of a work-group. */
  HSA_ISA_INFO_WORKGROUP_MAX_SIZE = 13,
  /** ::hsa_dim3_t: maximum work-items of a grid in x, y, z; each at least that of a work-group. */
  HSA_ISA_INFO_GRID_MAX_DIM = 14,
  /** uint64_t: maximum work-items of a grid. */
  HSA_ISA_INFO_GRID_MAX_SIZE = 16,
  /** uint32_t: fbarriers per work-group, at least 32. */
  HSA_ISA_INFO_FBARRIER_MAX_SIZE = 17
} hsa_isa_info_t;

/**
 * Returns an attribute of an instruction set, or of one of its call conventions.
 *
 * @deprecated ::hsa_isa_get_info_alt.
 * @param isa [in] instruction set.
 * @param attribute [in] the attribute.
 * @param index [in] call convention, below ::HSA_ISA_INFO_CALL_CONVENTION_COUNT, for attributes of call
 *   conventions; 0 for others.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval INVALID_ISA `isa` is not valid.
 * @retval INVALID_INDEX `index` is out of range.
 * @retval INVALID_ARGUMENT unknown `attribute` or NULL `value`.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_isa_get_info(hsa_isa_t isa, hsa_isa_info_t attribute, uint32_t index,
                                                     void* value);

/**
 * Returns an attribute of an instruction set.
 *
 * @param isa [in] instruction set.
 * @param attribute [in] the attribute.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval INVALID_ISA `isa` is not valid.
 * @retval INVALID_ARGUMENT unknown `attribute` or NULL `value`.
 */
hsa_status_t HSA_API hsa_isa_get_info_alt(hsa_isa_t isa, hsa_isa_info_t attribute, void* value);

/**
 * Returns the exception policies of an instruction set in a profile.
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

/** Treatment of subnormal numbers. Bits of a mask. */
typedef enum {
  HSA_FLUSH_MODE_FTZ = 1,    /**< subnormals become zero */
  HSA_FLUSH_MODE_NON_FTZ = 2 /**< subnormals are kept */
} hsa_flush_mode_t;

/** Number of roundings of a multiply-add. Bits of a mask. */
typedef enum {
  HSA_ROUND_METHOD_SINGLE = 1, /**< one, at the end: fused */
  HSA_ROUND_METHOD_DOUBLE = 2  /**< two: after the multiplication and after the addition */
} hsa_round_method_t;

/**
 * Returns the rounding of HSAIL's floating-point `mad` on an instruction set.
 *
 * @param isa [in] instruction set.
 * @param fp_type [in] format.
 * @param flush_mode [in] treatment of subnormals.
 * @param round_method [out] the rounding. Not NULL.
 * @retval INVALID_ISA `isa` is not valid.
 * @retval INVALID_ARGUMENT unknown `fp_type` or `flush_mode`, or NULL `round_method`.
 */
hsa_status_t HSA_API hsa_isa_get_round_method(hsa_isa_t isa, hsa_fp_type_t fp_type,
                                              hsa_flush_mode_t flush_mode, hsa_round_method_t* round_method);

/** A number of work-items that an instruction set executes together. */
typedef struct hsa_wavefront_s {
  uint64_t handle; /**< opaque */
} hsa_wavefront_t;

/** Attributes for ::hsa_wavefront_get_info. The value's type comes first. */
typedef enum {
  /** uint32_t: work-items, a power of two up to 256. */
  HSA_WAVEFRONT_INFO_SIZE = 0
} hsa_wavefront_info_t;

/**
 * Returns an attribute of a wavefront.
 *
 * @param wavefront [in] wavefront.
 * @param attribute [in] the attribute.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval INVALID_WAVEFRONT `wavefront` is not valid.
 * @retval INVALID_ARGUMENT unknown `attribute` or NULL `value`.
 */
hsa_status_t HSA_API hsa_wavefront_get_info(hsa_wavefront_t wavefront, hsa_wavefront_info_t attribute,
                                            void* value);

/**
 * Visits the wavefronts of an instruction set, the default one first.
 *
 * @param isa [in] instruction set.
 * @param callback [in] called with each wavefront and `data`. Not NULL.
 * @param data [in] argument for the callback. May be NULL.
 * @retval INVALID_ISA `isa` is not valid.
 * @retval INVALID_ARGUMENT NULL `callback`. Any other value is the callback's.
 */
hsa_status_t HSA_API hsa_isa_iterate_wavefronts(
    hsa_isa_t isa, hsa_status_t (*callback)(hsa_wavefront_t wavefront, void* data), void* data);

/**
 * Reports whether code for one instruction set runs on an agent with another one.
 *
 * @deprecated Loading reports incompatible code.
 * @param code_object_isa [in] instruction set of the code. That of a generic processor matches only itself.
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
 * A reader provides the bytes of an ELF file. An executable collects code objects, for one or several agents,
 * and external variables. After it is frozen, it returns kernel handles and addresses. PRM 2.8.
 *  @{ */

/** A source of code object bytes. */
typedef struct hsa_code_object_reader_s {
  uint64_t handle; /**< opaque */
} hsa_code_object_reader_t;

/**
 * Creates a reader for an open file, from its start to its end.
 *
 * @param file [in] descriptor, open for reading. The caller owns it, and keeps it open and unchanged while
 *   the reader exists.
 * @param code_object_reader [out] the reader. Not NULL.
 * @retval INVALID_FILE `file` cannot be read.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_ARGUMENT NULL `code_object_reader`.
 */
hsa_status_t HSA_API hsa_code_object_reader_create_from_file(hsa_file_t file,
                                                             hsa_code_object_reader_t* code_object_reader);

/**
 * Creates a reader for bytes in memory. Loading checks the bytes; this function does not.
 *
 * @param code_object [in] the bytes, not copied. They must not change while the reader exists. Not NULL.
 * @param size [in] number of bytes, at least 1.
 * @param code_object_reader [out] the reader. Not NULL.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_ARGUMENT a NULL pointer or `size` 0.
 */
hsa_status_t HSA_API hsa_code_object_reader_create_from_memory(const void* code_object, size_t size,
                                                               hsa_code_object_reader_t* code_object_reader);

/**
 * Destroys a reader. It must outlive the executables that were loaded from it.
 *
 * @param code_object_reader [in] reader.
 * @retval INVALID_CODE_OBJECT_READER `code_object_reader` is not valid.
 */
hsa_status_t HSA_API hsa_code_object_reader_destroy(hsa_code_object_reader_t code_object_reader);

/** Loaded code and variables; kernels can run after it is frozen. */
typedef struct hsa_executable_s {
  uint64_t handle; /**< opaque */
} hsa_executable_t;

/** State of an executable. It changes once, by ::hsa_executable_freeze. */
typedef enum {
  /** Accepts code. Symbols of loaded code objects may already have addresses and kernel objects. */
  HSA_EXECUTABLE_STATE_UNFROZEN = 0,
  /** Cannot change. Symbols have addresses and kernel objects, and kernels can run. */
  HSA_EXECUTABLE_STATE_FROZEN = 1
} hsa_executable_state_t;

/**
 * Creates an empty executable in a given state.
 *
 * @deprecated ::hsa_executable_create_alt.
 * @param profile [in] profile.
 * @param executable_state [in] UNFROZEN; with FROZEN the executable stays empty.
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
 * @param profile [in] profile of all code objects to be loaded.
 * @param default_float_rounding_mode [in] rounding mode of all code objects to be loaded; DEFAULT: any.
 * @param options [in] options. May be NULL.
 * @param executable [out] the executable; destroy it with ::hsa_executable_destroy. Not NULL.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_ARGUMENT unknown `profile` or mode, or NULL `executable`.
 */
hsa_status_t HSA_API hsa_executable_create_alt(hsa_profile_t profile,
                                               hsa_default_float_rounding_mode_t default_float_rounding_mode,
                                               const char* options, hsa_executable_t* executable);

/**
 * Destroys an executable with its code and variables. None of its kernels may be running or queued.
 *
 * External variables remain valid; the application owns them. Symbols and loaded code objects of the
 * executable become invalid.
 * @param executable [in] executable.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 */
hsa_status_t HSA_API hsa_executable_destroy(hsa_executable_t executable);

/** A code object in an executable, valid as long as the executable. hsa_ven_amd_loader.h has its
 * attributes. */
typedef struct hsa_loaded_code_object_s {
  uint64_t handle; /**< opaque */
} hsa_loaded_code_object_t;

/**
 * Loads the code object of program-allocated variables, which all agents share. At most once.
 *
 * @param executable [in] unfrozen executable.
 * @param code_object_reader [in] reader; must outlive the executable.
 * @param options [in] options. May be NULL.
 * @param loaded_code_object [out] the code object as loaded. May be NULL.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval FROZEN_EXECUTABLE `executable` is frozen.
 * @retval INVALID_CODE_OBJECT_READER `code_object_reader` is not valid.
 * @retval INVALID_CODE_OBJECT the bytes are not a well-formed code object.
 * @retval VARIABLE_ALREADY_DEFINED a symbol of the code object is already defined.
 * @retval VARIABLE_UNDEFINED an external symbol has no definition.
 * @retval INCOMPATIBLE_ARGUMENTS the code object does not fit the executable or this runtime, or the
 *   executable already has a program code object.
 */
hsa_status_t HSA_API hsa_executable_load_program_code_object(hsa_executable_t executable,
                                                             hsa_code_object_reader_t code_object_reader,
                                                             const char* options,
                                                             hsa_loaded_code_object_t* loaded_code_object);

/**
 * Loads a code object for one agent: kernels, functions and agent-allocated variables.
 *
 * External variables that the code object uses must be defined before. Different agents may have different
 * code objects; those of all agents form the executable.
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
 * @retval VARIABLE_ALREADY_DEFINED a symbol of the code object is already defined for this agent.
 * @retval VARIABLE_UNDEFINED an external symbol has no definition.
 * @retval INCOMPATIBLE_ARGUMENTS the agent lacks the instruction set, or profile or rounding mode differ.
 */
hsa_status_t HSA_API hsa_executable_load_agent_code_object(hsa_executable_t executable, hsa_agent_t agent,
                                                           hsa_code_object_reader_t code_object_reader,
                                                           const char* options,
                                                           hsa_loaded_code_object_t* loaded_code_object);

/**
 * Freezes an executable. Afterwards its kernels can run, and it cannot change.
 *
 * @param executable [in] unfrozen executable.
 * @param options [in] options. May be NULL.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval VARIABLE_UNDEFINED a declared symbol has no definition. (Rigel reports this at loading.)
 * @retval FROZEN_EXECUTABLE `executable` is already frozen.
 */
hsa_status_t HSA_API hsa_executable_freeze(hsa_executable_t executable, const char* options);

/** Attributes for ::hsa_executable_get_info. The value's type comes first. */
typedef enum {
  /** ::hsa_profile_t given at creation. */
  HSA_EXECUTABLE_INFO_PROFILE = 1,
  /** ::hsa_executable_state_t. */
  HSA_EXECUTABLE_INFO_STATE = 2,
  /** ::hsa_default_float_rounding_mode_t given at creation. */
  HSA_EXECUTABLE_INFO_DEFAULT_FLOAT_ROUNDING_MODE = 3
} hsa_executable_info_t;

/**
 * Returns an attribute of an executable.
 *
 * @param executable [in] executable.
 * @param attribute [in] the attribute.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval INVALID_ARGUMENT unknown `attribute` or NULL `value`.
 */
hsa_status_t HSA_API hsa_executable_get_info(hsa_executable_t executable, hsa_executable_info_t attribute,
                                             void* value);

/**
 * Defines an external global variable that all agents share (program allocation).
 *
 * Call it before loading code that uses the variable without defining it.
 * @param executable [in] unfrozen executable.
 * @param variable_name [in] linker name. Not NULL.
 * @param address [in] address of the variable, in a global region that all agents can access. The memory must
 *   exist until the executable is destroyed.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval VARIABLE_ALREADY_DEFINED the variable has a definition.
 * @retval INVALID_SYMBOL_NAME the name is empty.
 * @retval FROZEN_EXECUTABLE `executable` is frozen.
 * @retval INVALID_ARGUMENT NULL `variable_name`.
 */
hsa_status_t HSA_API hsa_executable_global_variable_define(hsa_executable_t executable,
                                                           const char* variable_name, void* address);

/**
 * Defines an external global variable of one agent (agent allocation).
 *
 * Call it before loading code for the agent that uses the variable without defining it.
 * @param executable [in] unfrozen executable.
 * @param agent [in] agent of the variable.
 * @param variable_name [in] linker name. Not NULL.
 * @param address [in] address of the variable, in a global region of that agent. The memory must exist until
 *   the executable is destroyed.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval VARIABLE_ALREADY_DEFINED the variable has a definition for this agent.
 * @retval INVALID_SYMBOL_NAME the name is empty.
 * @retval FROZEN_EXECUTABLE `executable` is frozen.
 * @retval INVALID_ARGUMENT NULL `variable_name`.
 */
hsa_status_t HSA_API hsa_executable_agent_global_variable_define(hsa_executable_t executable,
                                                                 hsa_agent_t agent, const char* variable_name,
                                                                 void* address);

/**
 * Defines an external read-only variable of one agent.
 *
 * Like ::hsa_executable_agent_global_variable_define, but `address` is in a readonly region of the agent. Its
 * contents must not change while the executable exists.
 * @param executable [in] unfrozen executable.
 * @param agent [in] agent of the variable.
 * @param variable_name [in] linker name. Not NULL.
 * @param address [in] address of the variable.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval INVALID_AGENT `agent` is not valid.
 * @retval VARIABLE_ALREADY_DEFINED the variable has a definition for this agent.
 * @retval INVALID_SYMBOL_NAME the name is empty.
 * @retval FROZEN_EXECUTABLE `executable` is frozen.
 * @retval INVALID_ARGUMENT NULL `variable_name`.
 */
hsa_status_t HSA_API hsa_executable_readonly_variable_define(hsa_executable_t executable, hsa_agent_t agent,
                                                             const char* variable_name, void* address);

/**
 * Checks that the parts of an executable are consistent.
 *
 * All parts must have one machine model, profile and default rounding mode. Every declaration must have a
 * definition that matches it (HSAIL PRM). Slow; intended for development.
 * @param executable [in] frozen executable.
 * @param result [out] 0 if the parts are consistent. Not NULL.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval INVALID_ARGUMENT NULL `result`.
 */
hsa_status_t HSA_API hsa_executable_validate(hsa_executable_t executable, uint32_t* result);

/**
 * Checks an executable like ::hsa_executable_validate, with options.
 *
 * @param executable [in] frozen executable.
 * @param options [in] options. May be NULL.
 * @param result [out] 0 if the parts are consistent. Not NULL.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval INVALID_ARGUMENT NULL `result`.
 */
hsa_status_t HSA_API hsa_executable_validate_alt(hsa_executable_t executable, const char* options,
                                                 uint32_t* result);

/** A kernel, variable or indirect function of an executable, valid as long as the executable. */
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
 * @retval INVALID_SYMBOL_NAME the executable has no symbol of this name.
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
 * @param symbol_name [in] linker name. For a kernel: the name of its descriptor, which ends in ".kd". Not
 *   NULL.
 * @param agent [in] agent of the symbol; NULL for program-allocated variables.
 * @param symbol [out] the symbol. Not NULL.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval INVALID_SYMBOL_NAME the executable has no symbol of this name.
 * @retval INVALID_ARGUMENT NULL `symbol_name` or `symbol`.
 */
hsa_status_t HSA_API hsa_executable_get_symbol_by_name(hsa_executable_t executable, const char* symbol_name,
                                                       const hsa_agent_t* agent,
                                                       hsa_executable_symbol_t* symbol);

/** Kind of a symbol. */
typedef enum {
  HSA_SYMBOL_KIND_VARIABLE = 0,         /**< data */
  HSA_SYMBOL_KIND_KERNEL = 1,           /**< kernel, which can be dispatched */
  HSA_SYMBOL_KIND_INDIRECT_FUNCTION = 2 /**< function that kernels can call through a pointer */
} hsa_symbol_kind_t;

/** Scope of a symbol's name. */
typedef enum {
  HSA_SYMBOL_LINKAGE_MODULE = 0, /**< its module */
  HSA_SYMBOL_LINKAGE_PROGRAM = 1 /**< the whole executable */
} hsa_symbol_linkage_t;

/** Number of copies of a variable. */
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
 * Attributes for ::hsa_executable_symbol_get_info. The value's type comes first.
 *
 * An attribute of one kind of symbol is undefined for other kinds. "Frozen" marks values that are 0 before
 * the executable is frozen.
 */
typedef enum {
  /** ::hsa_symbol_kind_t. */
  HSA_EXECUTABLE_SYMBOL_INFO_TYPE = 0,
  /** uint32_t: length of the name without a NUL. */
  HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH = 1,
  /** char[]: the name, exactly that many bytes, without a NUL. */
  HSA_EXECUTABLE_SYMBOL_INFO_NAME = 2,
  /** uint32_t: length of the module's name; 0 for program linkage. @deprecated */
  HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME_LENGTH = 3,
  /** char[]: the module's name, exactly that many bytes. @deprecated */
  HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME = 4,
  /** ::hsa_agent_t of an agent-allocated symbol. @deprecated Use iteration by agent. */
  HSA_EXECUTABLE_SYMBOL_INFO_AGENT = 20,
  /** uint64_t: address of a variable. Frozen. */
  HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS = 21,
  /** ::hsa_symbol_linkage_t. */
  HSA_EXECUTABLE_SYMBOL_INFO_LINKAGE = 5,
  /** bool: the symbol is a definition, not only a declaration. */
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
  /** uint64_t: handle of a kernel for ::hsa_kernel_dispatch_packet_t. On AMD GPUs: address of its kernel
   * descriptor. Frozen. */
  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT = 22,
  /** uint32_t: bytes of a kernel's arguments. In the PRM: a multiple of 16. */
  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE = 11,
  /** uint32_t: alignment of a kernel's arguments in bytes, at least 16. */
  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT = 12,
  /** uint32_t: bytes of group memory that a kernel declares, per work-group, without dynamic memory. */
  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE = 13,
  /** uint32_t: bytes of private memory that a kernel declares, per work-item. Includes spills, but not a
   * dynamic call stack. */
  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE = 14,
  /** bool: the kernel recurses, calls indirectly or allocates on its stack. The dispatch must add private
   * memory for this. */
  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK = 15,
  /** uint32_t: call convention of a kernel. @deprecated */
  HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_CALL_CONVENTION = 18,
  /** uint64_t (uint32_t in the small model): handle of an indirect function, in the Full profile. Frozen. */
  HSA_EXECUTABLE_SYMBOL_INFO_INDIRECT_FUNCTION_OBJECT = 23,
  /** uint32_t: call convention of an indirect function, in the Full profile. @deprecated */
  HSA_EXECUTABLE_SYMBOL_INFO_INDIRECT_FUNCTION_CALL_CONVENTION = 16
} hsa_executable_symbol_info_t;

/**
 * Returns an attribute of an executable's symbol.
 *
 * @param executable_symbol [in] symbol.
 * @param attribute [in] the attribute.
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
 * @param data [in] argument for the callback. May be NULL.
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
 * @param data [in] argument for the callback. May be NULL.
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
 * @param data [in] argument for the callback. May be NULL.
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
 * Functions of version 1.0 to load code. Readers replace them; all are deprecated.
 *  @{ */

/** A code object in memory. @deprecated ::hsa_code_object_reader_t. */
typedef struct hsa_code_object_s {
  uint64_t handle; /**< opaque */
} hsa_code_object_t;

/** Data of the application for a callback that receives it by value. @deprecated */
typedef struct hsa_callback_data_s {
  uint64_t handle; /**< the application's, e.g. a pointer */
} hsa_callback_data_t;

/**
 * Writes a code object into one block of memory.
 *
 * @deprecated Code objects are already files.
 * @param code_object [in] code object.
 * @param alloc_callback [in] called once, on this thread: allocates `size` bytes and stores their address in
 *   `address`. If it does not return success, the function returns its status. Not NULL.
 * @param callback_data [in] argument for `alloc_callback`.
 * @param options [in] options. May be NULL.
 * @param serialized_code_object [out] the block, which the application frees. Not NULL.
 * @param serialized_code_object_size [out] size of the block in bytes. Not NULL.
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
 * Creates a code object from bytes.
 *
 * @deprecated ::hsa_code_object_reader_create_from_memory.
 * @param serialized_code_object [in] the bytes; keep them until the code object is destroyed. Not NULL.
 * @param serialized_code_object_size [in] number of bytes, at least 1.
 * @param options [in] options. May be NULL.
 * @param code_object [out] the code object. Not NULL.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_CODE_OBJECT the bytes are not a code object. (Rigel reports this in queries and at
 *   loading.)
 * @retval INVALID_ARGUMENT a NULL pointer or a size of 0.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_code_object_deserialize(void* serialized_code_object,
                                                                size_t serialized_code_object_size,
                                                                const char* options,
                                                                hsa_code_object_t* code_object);

/**
 * Destroys a code object. Executables that were loaded from it remain valid.
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

/** Attributes for ::hsa_code_object_get_info. The value's type comes first. @deprecated */
typedef enum {
  /** char[64]: version, padded with NULs, at most 63 characters. */
  HSA_CODE_OBJECT_INFO_VERSION = 0,
  /** ::hsa_code_object_type_t. */
  HSA_CODE_OBJECT_INFO_TYPE = 1,
  /** ::hsa_isa_t of the code. */
  HSA_CODE_OBJECT_INFO_ISA = 2,
  /** ::hsa_machine_model_t of the code. */
  HSA_CODE_OBJECT_INFO_MACHINE_MODEL = 3,
  /** ::hsa_profile_t of the code. */
  HSA_CODE_OBJECT_INFO_PROFILE = 4,
  /** ::hsa_default_float_rounding_mode_t of the code. */
  HSA_CODE_OBJECT_INFO_DEFAULT_FLOAT_ROUNDING_MODE = 5
} hsa_code_object_info_t;

/**
 * Returns an attribute of a code object.
 *
 * @deprecated Like code objects.
 * @param code_object [in] code object.
 * @param attribute [in] the attribute.
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
 * @retval INCOMPATIBLE_ARGUMENTS instruction set, machine model, profile or rounding mode do not match.
 * @retval FROZEN_EXECUTABLE `executable` is frozen.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_executable_load_code_object(hsa_executable_t executable,
                                                                    hsa_agent_t agent,
                                                                    hsa_code_object_t code_object,
                                                                    const char* options);

/** A symbol of a code object, valid as long as the code object. @deprecated ::hsa_executable_symbol_t. */
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
 * @retval INVALID_SYMBOL_NAME the code object has no symbol of this name.
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
 * @retval INVALID_SYMBOL_NAME the code object has no symbol of this name.
 * @retval INVALID_ARGUMENT NULL `symbol_name` or `symbol`.
 */
hsa_status_t HSA_API HSA_DEPRECATED hsa_code_object_get_symbol_from_name(hsa_code_object_t code_object,
                                                                         const char* module_name,
                                                                         const char* symbol_name,
                                                                         hsa_code_symbol_t* symbol);

/**
 * Attributes for ::hsa_code_symbol_get_info. The value's type comes first. @deprecated
 *
 * Values and meanings are those of ::hsa_executable_symbol_info_t, without the attributes that exist only
 * after loading.
 */
typedef enum {
  /** ::hsa_symbol_kind_t. */
  HSA_CODE_SYMBOL_INFO_TYPE = 0,
  /** uint32_t: length of the name without a NUL. */
  HSA_CODE_SYMBOL_INFO_NAME_LENGTH = 1,
  /** char[]: the name, exactly that many bytes, without a NUL. */
  HSA_CODE_SYMBOL_INFO_NAME = 2,
  /** uint32_t: length of the module's name; 0 for program linkage. */
  HSA_CODE_SYMBOL_INFO_MODULE_NAME_LENGTH = 3,
  /** char[]: the module's name, exactly that many bytes. */
  HSA_CODE_SYMBOL_INFO_MODULE_NAME = 4,
  /** ::hsa_symbol_linkage_t. */
  HSA_CODE_SYMBOL_INFO_LINKAGE = 5,
  /** bool: the symbol is a definition, not only a declaration. */
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
  /** uint32_t: work-items per wavefront of a kernel, 32 or 64. AMD; executables have no such attribute. */
  HSA_CODE_SYMBOL_INFO_KERNEL_WAVEFRONT_SIZE = 19
} hsa_code_symbol_info_t;

/**
 * Returns an attribute of a code object's symbol.
 *
 * @deprecated ::hsa_executable_symbol_get_info.
 * @param code_symbol [in] symbol.
 * @param attribute [in] the attribute.
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
 * @param data [in] argument for the callback. May be NULL.
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
