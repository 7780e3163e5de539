// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The Rigel authors
/**
 * @file
 * The AMD extension of the HSA runtime API: memory pools, copies, locking, sharing, virtual memory, SVM, and
 * other functions beyond hsa.h that ROCm programs need.
 *
 * Names, values, layouts and signatures are those of ROCr's interface 1.32 (September 2026), which contains
 * Debian's 5.2.3 (1.0). A test compares them all. The wording and the rules are Rigel's. The rules at the top
 * of hsa.h apply here too (`@retval` omits HSA_STATUS_ERROR_). The following rules apply unless a function
 * states otherwise:
 *
 *  - Statuses. OUT_OF_RESOURCES: memory or a driver object ran out. ERROR: a driver failure without a better
 *    status; the log has the reason. On failure, objects and outputs do not change.
 *  - Arguments. If a pointer is NULL, a reserved argument is not 0 or NULL, or a flag bit is unknown, the
 *    function returns INVALID_ARGUMENT.
 *  - Threads. Any thread may call at any time. Calls on one object take effect one after the other. No thread
 *    may use an object during or after its destruction.
 *  - Ownership. The caller owns arrays and structs that it passes. The function reads them before it returns.
 *
 * "Facts" names the sources of a contract. H: AMD's public header. C: the code of ROCr. T: ROCr's own tests
 * (rocrtst). P: the page "HSA Runtime API for ROCm" of the ROCm documentation. R: a rule that Rigel adds, or
 * that it chooses if the sources contradict each other.
 */
#ifndef HSA_RUNTIME_EXT_AMD_H_
#define HSA_RUNTIME_EXT_AMD_H_

#include "amd_launch_descriptor.h"
#include "hsa.h"
#include "hsa_ext_image.h"
#include "hsa_ven_amd_pc_sampling.h"

/** Version of this interface. The major version changes if programs break, the minor version with each
 * addition:
 *
 *  - 1.0: Debian's 5.2.3
 *  - 1.1: dmabuf export
 *  - 1.2: copy on a chosen engine
 *  - 1.3: extended-scope fine-grained pools
 *  - 1.4: virtual memory
 *  - 1.5: memory properties of an agent
 *  - 1.6: aligned address reservation
 *  - 1.7: wait for all signals
 *  - 1.8: preferred copy engine
 *  - 1.9: dmabuf export with flags
 *  - 1.10: reservation without registration
 *  - 1.11: clock counters
 *  - 1.12: pointers into virtual memory
 *  - 1.13: registration in pointer info
 *  - 1.14: files to and from device memory
 *  - 1.15: an event for shut-down
 *  - 1.16: counted queues
 *  - 1.17: batches of copies
 *  - 1.18: allocation flags in pointer info
 *  - 1.19: preloading
 *  - 1.20: discarding shared virtual memory
 *  - 1.21: event number of a signal
 *  - 1.22: memory faults of a queue
 *  - 1.23: data prefetch regions
 *  - 1.24: external semaphores
 *  - 1.25: fabric handles
 *  - 1.26: queues by descriptors
 *  - 1.27: external semaphores in queues
 *  - 1.28: dmabufs of host memory
 *  - 1.29: images with mipmap levels in vendor layouts, mapping with a size
 *  - 1.30: engine of a queue
 *  - 1.31: addresses of a queue's indices
 *  - 1.32: discarding shared virtual memory and moving it in one call */
#define HSA_AMD_INTERFACE_VERSION_MAJOR 1
#define HSA_AMD_INTERFACE_VERSION_MINOR 32

#ifdef __cplusplus
extern "C" {
#endif

/** @addtogroup aql
 * @{ */

/** Sets bit @p bit (0..63) of the uint8_t[8] bit set at @p value. Not atomic. */
static inline void hsa_flag_set64(uint8_t* value, uint32_t bit) {
  value[bit >> 3] = (uint8_t)(value[bit >> 3] | (1u << (bit & 7u)));
}

/** Returns whether bit @p bit (0..63) of the uint8_t[8] bit set at @p value is set. */
static inline bool hsa_flag_isset64(uint8_t* value, uint32_t bit) {
  return ((value[bit >> 3] >> (bit & 7u)) & 1u) != 0;
}

/** An ::hsa_signal_condition_t in a 32-bit field of a packet. */
typedef uint32_t hsa_signal_condition32_t;

/** Kinds of vendor packet, in hsa_amd_packet_header_s::AmdFormat. */
typedef enum {
  /** ::hsa_amd_barrier_value_packet_t, for kernel-dispatch queues of GPUs only. */
  HSA_AMD_PACKET_TYPE_BARRIER_VALUE = 2,
  /** ::hsa_amd_aie_ert_packet_t, for queues of AIE (NPU) agents only. ROCr's headers defined it until
   * 2025. */
  HSA_AMD_PACKET_TYPE_AIE_ERT = 3,
  /** ::hsa_amd_ext_kernel_dispatch_packet_t, for queues with the property
   * ::HSA_AMD_AQL_PROPERTY_EXT_DISPATCH. */
  HSA_AMD_PACKET_TYPE_EXT_KERNEL_DISPATCH = 3,
  /** Reserved; not for programs. */
  HSA_AMD_PACKET_TYPE_RESERVED200 = 200
} hsa_amd_packet_type_t;

/** An ::hsa_amd_packet_type_t in an 8-bit field of a packet. */
typedef uint8_t hsa_amd_packet_type8_t;

/** First four bytes of a vendor packet. As for any AQL packet, store the 16-bit @ref header last, with
 * release, after the rest of the packet. Facts: H. */
typedef struct hsa_amd_packet_header_s {
  /** Type HSA_PACKET_TYPE_VENDOR_SPECIFIC, barrier bit, fence scopes: see ::hsa_packet_header_t. */
  uint16_t header;
  /** Kind of the vendor packet. */
  hsa_amd_packet_type8_t AmdFormat;
  /** 0. */
  uint8_t reserved;
} hsa_amd_vendor_packet_header_t;

/** 64-byte packet that blocks its queue until (value of @ref signal & @ref mask) @ref cond @ref value is
 * true. Facts: H. */
typedef struct hsa_amd_barrier_value_packet_s {
  hsa_amd_vendor_packet_header_t header; /**< AmdFormat is ::HSA_AMD_PACKET_TYPE_BARRIER_VALUE. */
  uint32_t reserved0;                    /**< 0. */
  hsa_signal_t signal;                   /**< Signal to watch. Handle 0 counts as satisfied. */
  hsa_signal_value_t value;              /**< Right-hand side of the comparison. */
  hsa_signal_value_t mask;               /**< Bits of the signal that are compared. */
  hsa_signal_condition32_t cond;         /**< An ::hsa_signal_condition_t. */
  uint32_t reserved1;                    /**< 0. */
  uint64_t reserved2;                    /**< 0. */
  uint64_t reserved3;                    /**< 0. */
  hsa_signal_t completion_signal;        /**< Decremented when the packet is done; handle 0 for none. */
} hsa_amd_barrier_value_packet_t;

/** Hints of a dispatch: number of the first bit in ::hsa_amd_ext_perf_hint_t. Facts: H. */
typedef enum {
  HSA_AMD_EXT_PERF_HINT_GROUP_MEM_CARVEOUT = 0,     /**< Share of a CU's storage for group memory. */
  HSA_AMD_EXT_PERF_HINT_REVERSE_DISPATCH_ORDER = 7, /**< Start the last work-groups first. */
} hsa_amd_ext_perf_hint_subfield_t;

/** Number of bits of each hint. Facts: H. */
typedef enum {
  HSA_AMD_EXT_PERF_HINT_WIDTH_GROUP_MEM_CARVEOUT = 7,     /**< Width of GROUP_MEM_CARVEOUT. */
  HSA_AMD_EXT_PERF_HINT_WIDTH_REVERSE_DISPATCH_ORDER = 1, /**< Width of REVERSE_DISPATCH_ORDER. */
} hsa_amd_ext_perf_hint_subfield_width_t;

/** Hints of a dispatch. Agents may ignore them. Facts: H. */
typedef union {
  __extension__ struct {
    uint8_t group_mem_carveout : 7;     /**< 0: the agent chooses; 1 to 127: none to all. */
    uint8_t reverse_dispatch_order : 1; /**< 1: last work-groups first, progress not guaranteed. */
  };
  uint8_t hint_val; /**< All bits. */
} hsa_amd_ext_perf_hint_t;

/** Kernel dispatch packet, 64 bytes. Its grid consists of clusters of work-groups, and it can wait for one
 * signal. Facts: H. */
typedef struct hsa_amd_ext_kernel_dispatch_packet_s {
  uint16_t header;                   /**< Type HSA_PACKET_TYPE_VENDOR_SPECIFIC: see ::hsa_packet_header_t. */
  hsa_amd_packet_type8_t amd_format; /**< ::HSA_AMD_PACKET_TYPE_EXT_KERNEL_DISPATCH. */
  uint8_t setup;                     /**< See ::hsa_kernel_dispatch_packet_setup_t. */
  uint16_t workgroup_size_x;         /**< Work-items of a work-group along x. */
  uint16_t workgroup_size_y;         /**< Work-items of a work-group along y. */
  uint16_t workgroup_size_z;         /**< Work-items of a work-group along z. */
  uint16_t reserved0;                /**< 0. */
  uint32_t cluster_count_x;          /**< Clusters of the grid along x. */
  uint16_t cluster_count_y;          /**< Clusters of the grid along y. */
  uint16_t cluster_count_z;          /**< Clusters of the grid along z. */
  uint8_t cluster_size_x;            /**< Work-groups of a cluster along x. */
  uint8_t cluster_size_y;            /**< Work-groups of a cluster along y. */
  uint8_t cluster_size_z;            /**< Work-groups of a cluster along z. */
  hsa_amd_ext_perf_hint_t perf_hint; /**< Hints. */
  uint32_t private_segment_size;     /**< Bytes of scratch per work-item. */
  uint32_t group_segment_size;       /**< Bytes of group memory per work-group. */
  uint64_t kernel_object;            /**< Kernel object: address of the kernel descriptor. */
  void* kernarg_address;             /**< Kernel arguments; may be NULL. */
  hsa_signal_t dep_signal;        /**< Signal that must be 0 before the dispatch starts; handle 0 for none. */
  hsa_signal_t completion_signal; /**< Decremented when the dispatch is done; handle 0 for none. */
} hsa_amd_ext_kernel_dispatch_packet_t;

/** States of a command of the embedded runtime (ERT) of an AIE agent. The host writes NEW; the ERT writes
 * the others. Facts: H. */
typedef enum {
  HSA_AMD_AIE_ERT_STATE_NEW = 1,        /**< Written by the host before it submits. */
  HSA_AMD_AIE_ERT_STATE_QUEUED = 2,     /**< Scheduler: waiting. */
  HSA_AMD_AIE_ERT_STATE_RUNNING = 3,    /**< Scheduler: executing. */
  HSA_AMD_AIE_ERT_STATE_COMPLETED = 4,  /**< Ended well. */
  HSA_AMD_AIE_ERT_STATE_ERROR = 5,      /**< Ended with a failure. */
  HSA_AMD_AIE_ERT_STATE_ABORT = 6,      /**< Was cancelled. */
  HSA_AMD_AIE_ERT_STATE_SUBMITTED = 7,  /**< Scheduler: handed to the hardware. */
  HSA_AMD_AIE_ERT_STATE_TIMEOUT = 8,    /**< Took too long; the reset succeeded. */
  HSA_AMD_AIE_ERT_STATE_NORESPONSE = 9, /**< Took too long; the reset failed too. */
  HSA_AMD_AIE_ERT_STATE_SKERROR = 10,   /**< Soft kernel reported an error. */
  HSA_AMD_AIE_ERT_STATE_SKCRASHED = 11, /**< Soft kernel crashed. */
  HSA_AMD_AIE_ERT_STATE_MAX             /**< One past the last. */
} hsa_amd_aie_ert_state;

/** Operations of the AIE embedded runtime. Facts: H. */
typedef enum {
  HSA_AMD_AIE_ERT_START_CU = 0,          /**< Run a work-group on a compute unit. */
  HSA_AMD_AIE_ERT_START_KERNEL = 0,      /**< Another name of START_CU. */
  HSA_AMD_AIE_ERT_CONFIGURE = 2,         /**< Set up the scheduler. */
  HSA_AMD_AIE_ERT_EXIT = 3,              /**< Leave the runtime. */
  HSA_AMD_AIE_ERT_ABORT = 4,             /**< Cancel a command. */
  HSA_AMD_AIE_ERT_EXEC_WRITE = 5,        /**< Write registers, then run the named unit. */
  HSA_AMD_AIE_ERT_CU_STAT = 6,           /**< Read a unit's statistics. */
  HSA_AMD_AIE_ERT_START_COPYBO = 7,      /**< Copy between buffers, by DMA unit or peer to peer. */
  HSA_AMD_AIE_ERT_SK_CONFIG = 8,         /**< Load a soft kernel. */
  HSA_AMD_AIE_ERT_SK_START = 9,          /**< Run a soft kernel. */
  HSA_AMD_AIE_ERT_SK_UNCONFIG = 10,      /**< Unload a soft kernel. */
  HSA_AMD_AIE_ERT_INIT_CU = 11,          /**< Prepare a unit. */
  HSA_AMD_AIE_ERT_START_FA = 12,         /**< Run in "fast adapter" format. */
  HSA_AMD_AIE_ERT_CLK_CALIB = 13,        /**< Calibrate the clock. */
  HSA_AMD_AIE_ERT_MB_VALIDATE = 14,      /**< Check the mailbox. */
  HSA_AMD_AIE_ERT_START_KEY_VAL = 15,    /**< START_CU, with a key and a value. */
  HSA_AMD_AIE_ERT_ACCESS_TEST_C = 16,    /**< Access test, variant C. */
  HSA_AMD_AIE_ERT_ACCESS_TEST = 17,      /**< Access test. */
  HSA_AMD_AIE_ERT_START_DPU = 18,        /**< Run an instruction buffer. */
  HSA_AMD_AIE_ERT_CMD_CHAIN = 19,        /**< Run a list of commands. */
  HSA_AMD_AIE_ERT_START_NPU = 20,        /**< Run an instruction buffer on the NPU. */
  HSA_AMD_AIE_ERT_START_NPU_PREEMPT = 21 /**< START_NPU that can be preempted. */
} hsa_amd_aie_ert_cmd_opcode_t;

/** Payload of ::HSA_AMD_AIE_ERT_START_KERNEL; variable length, see hsa_amd_aie_ert_packet_s::count.
 * Facts: H. */
__extension__ typedef struct hsa_amd_aie_ert_start_kernel_data_s {
  void* pdi_addr;  /**< The device image (PDI) to run. */
  uint32_t data[]; /**< Operation, instructions and kernel arguments. */
} hsa_amd_aie_ert_start_kernel_data_t;

/** 64-byte packet that passes a command to the embedded runtime of an AIE agent. Facts: H. */
typedef struct hsa_amd_aie_ert_packet_s {
  hsa_amd_vendor_packet_header_t header; /**< AmdFormat is ::HSA_AMD_PACKET_TYPE_AIE_ERT. */
  __extension__ struct {
    uint32_t state : 4;  /**< An ::hsa_amd_aie_ert_state. */
    uint32_t custom : 8; /**< Defined by the operation. */
    uint32_t count : 11; /**< Payload length in 32-bit words. */
    uint32_t opcode : 5; /**< An ::hsa_amd_aie_ert_cmd_opcode_t. */
    uint32_t type : 4;   /**< 0. */
  };
  uint64_t reserved0;    /**< 0. */
  uint64_t reserved1;    /**< 0. */
  uint64_t reserved2;    /**< 0. */
  uint64_t reserved3;    /**< 0. */
  uint64_t reserved4;    /**< 0. */
  uint64_t reserved5;    /**< 0. */
  uint64_t payload_data; /**< Address of the payload, which the writer owns and keeps until the command is
                            complete. */
} hsa_amd_aie_ert_packet_t;

/** @} */

/** @addtogroup status
 * @{ */

/** First bit of each field in the headers of a metadata packet. Facts: H. */
typedef enum {
  HSA_AMD_METADATA_PACKET_HEADER_TYPE = 0,           /**< An ::hsa_packet_type_t. */
  HSA_AMD_METADATA_PACKET_HEADER_RESERVED = 8,       /**< 0. */
  HSA_AMD_METADATA_PACKET_HEADER_VERSION_MAJOR = 24, /**< HSA_AMD_QUEUE_INFO_PREFETCH_METADATA_*_MAJOR. */
  HSA_AMD_METADATA_PACKET_HEADER_VERSION_MINOR = 27, /**< HSA_AMD_QUEUE_INFO_PREFETCH_METADATA_*_MINOR. */
} hsa_amd_metadata_packet_header_t;

/** Number of bits of each field. Facts: H. */
typedef enum hsa_amd_metadata_packet_header_width_s {
  HSA_AMD_METADATA_PACKET_HEADER_WIDTH_TYPE = 8,          /**< Width of TYPE. */
  HSA_AMD_METADATA_PACKET_HEADER_WIDTH_RESERVED = 16,     /**< Width of RESERVED. */
  HSA_AMD_METADATA_PACKET_HEADER_WIDTH_VERSION_MAJOR = 3, /**< Width of VERSION_MAJOR. */
  HSA_AMD_METADATA_PACKET_HEADER_WIDTH_VERSION_MINOR = 5, /**< Width of VERSION_MINOR. */
} hsa_amd_metadata_packet_header_width_t;

/** Kernel arguments that the command processor loads into registers before a kernel starts. Facts: H. */
typedef struct hsa_amd_metadata_preload_s {
  uint16_t length : 7; /**< Number of dwords. */
  uint16_t offset : 9; /**< Index of the first dword. */
} hsa_amd_metadata_preload_t;

/** Data of a kernel that a command processor needs before it reads the dispatch packet. Facts: H. */
typedef struct hsa_amd_metadata_kernel_descriptor_s {
  int64_t kernel_code_entry_byte_offset;      /**< As in the kernel descriptor; so are the next four. */
  uint8_t reserved1[20];                      /**< 0. */
  uint32_t compute_pgm_rsrc3;                 /**< Register settings. */
  uint32_t compute_pgm_rsrc1;                 /**< Register settings. */
  uint32_t compute_pgm_rsrc2;                 /**< Register settings. */
  uint16_t kernel_code_properties;            /**< Property bits. */
  hsa_amd_metadata_preload_t kernarg_preload; /**< Arguments to load into registers. */
  uint8_t reserved2[4];                       /**< 0. */
} hsa_amd_metadata_kernel_descriptor_t;

/** Entry for one dispatch packet in the ring of metadata packets that some queues have. The entry of the
 * packet with index i starts at 4 * i. It has 256 bytes in four parts; the four headers are equal. No
 * queue of Rigel has such a ring. Facts: H. */
typedef struct hsa_amd_metadata_kernel_dispatch_packet_s {
  uint32_t header0;                                       /**< See ::hsa_amd_metadata_packet_header_t. */
  uint32_t event_id;                                      /**< Event number of the completion signal. */
  hsa_amd_metadata_kernel_descriptor_t kernel_descriptor; /**< The kernel. */
  uint8_t reserved0[8];                                   /**< 0. */
  uint32_t header1;                                       /**< As header0. */
  uint32_t kernarg_preload_0_14[15];                      /**< First 15 dwords of kernel arguments. */
  uint32_t header2;                                       /**< As header0. */
  uint32_t kernarg_preload_15_29[15];                     /**< Next 15 dwords of kernel arguments. */
  uint32_t header3;                                       /**< As header0. */
  uint32_t kernarg_preload_30_31[2];                      /**< Last 2 dwords of kernel arguments. */
  __extension__ union {
    uint8_t reserved1[52];                     /**< 0 without a launch descriptor. */
    amd_launch_descriptor_t launch_descriptor; /**< Launch options. */
  };
} hsa_amd_metadata_kernel_dispatch_packet_t;

/** Entry for one barrier packet in the ring of metadata packets. Facts: H. */
typedef struct hsa_amd_metadata_barrier_packet_s {
  uint32_t header0;      /**< See ::hsa_amd_metadata_packet_header_t. */
  uint32_t event_id;     /**< Event number of the completion signal. */
  uint8_t reserved0[56]; /**< 0. */
  uint32_t header1;      /**< As header0. */
  uint8_t reserved1[60]; /**< 0. */
  uint32_t header2;      /**< As header0. */
  uint8_t reserved2[60]; /**< 0. */
  uint32_t header3;      /**< As header0. */
  uint8_t reserved3[60]; /**< 0. */
} hsa_amd_metadata_barrier_packet_t;

/** Statuses of this extension, in the number space of ::hsa_status_t. A queue's error callback receives
 * APERTURE_VIOLATION, ILLEGAL_INSTRUCTION, MEMORY_FAULT and OUT_OF_REGISTERS. Facts: H. */
enum {
  /** The pool handle is invalid, or the pool has the wrong kind for the call. */
  HSA_STATUS_ERROR_INVALID_MEMORY_POOL = 40,
  /** A wave used an address outside every aperture. */
  HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION = 41,
  /** A wave executed an instruction that the ISA does not have. */
  HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION = 42,
  /** A device accessed memory without permission; see ::hsa_amd_register_system_event_handler. */
  HSA_STATUS_ERROR_MEMORY_FAULT = 43,
  /** Success: the mask is in force, without the CUs that HSA_CU_MASK takes from the process. */
  HSA_STATUS_CU_MASK_REDUCED = 44,
  /** A kernel needs more VGPRs than the agent has. */
  HSA_STATUS_ERROR_OUT_OF_REGISTERS = 45,
  /** Another user holds the resource; try again later. */
  HSA_STATUS_ERROR_RESOURCE_BUSY = 46,
  /** This system does not support the operation. */
  HSA_STATUS_ERROR_NOT_SUPPORTED = 47,
  /** The operation needs XNACK (retried page faults), which is off in this process. */
  HSA_STATUS_ERROR_XNACK_DISABLED = 48,
  /** A dispatch needs more registers or larger work-group dimensions than the agent has. */
  HSA_STATUS_ERROR_INVALID_DISPATCH_PARAMETERS = 49,
  /** The resource exists but cannot be used yet. */
  HSA_STATUS_ERROR_RESOURCE_NOT_READY = 50,
};

/** A count for each of three dimensions. Facts: H. */
typedef struct hsa_amd_dim3_s {
  uint64_t x; /**< Along x. */
  uint64_t y; /**< Along y. */
  uint64_t z; /**< Along z. */
} hsa_amd_dim3_t;

/** @} */

/** @addtogroup memory
 * @{ */

/** Values of ::HSA_AMD_AGENT_INFO_IOMMU_SUPPORT. IOMMU version 1 has no use for programs and is reported
 * as NONE. */
typedef enum {
  HSA_IOMMU_SUPPORT_NONE = 0, /**< No shared page tables. */
  HSA_IOMMU_SUPPORT_V2 = 1,   /**< The agent walks the process's page tables. */
} hsa_amd_iommu_version_t;

/** Clocks that the driver reads at one moment, so that they can be correlated. See
 * ::HSA_AMD_AGENT_INFO_CLOCK_COUNTERS. Facts: H. */
typedef struct hsa_amd_clock_counters_s {
  /** Ticks of the agent's clock; ::HSA_AMD_AGENT_INFO_TIMESTAMP_FREQUENCY has their frequency. */
  uint64_t gpu_clock_counter;
  /** Ticks of the host's raw monotonic clock; nanoseconds on Linux. */
  uint64_t cpu_clock_counter;
  /** Ticks of the HSA system clock. */
  uint64_t system_clock_counter;
  /** Ticks per second of the HSA system clock. */
  uint64_t system_clock_frequency;
} hsa_amd_clock_counters_t;

/** Attributes for ::hsa_agent_get_info, cast to ::hsa_agent_info_t. The type written is in parentheses. If
 * an attribute does not apply to an agent, the value is 0, empty or false. Facts: H C. */
typedef enum hsa_amd_agent_info_s {
  /** PCI device id (uint32_t). */
  HSA_AMD_AGENT_INFO_CHIP_ID = 0xA000,
  /** Size of a cache line, bytes (uint32_t). */
  HSA_AMD_AGENT_INFO_CACHELINE_SIZE = 0xA001,
  /** Number of compute units, or of cores of a CPU (uint32_t). */
  HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT = 0xA002,
  /** Maximum engine clock, MHz (uint32_t). */
  HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY = 0xA003,
  /** Node number in the KFD's topology (uint32_t). */
  HSA_AMD_AGENT_INFO_DRIVER_NODE_ID = 0xA004,
  /** Number of address watch points (uint32_t). */
  HSA_AMD_AGENT_INFO_MAX_ADDRESS_WATCH_POINTS = 0xA005,
  /** PCI bus << 8 | device << 3 | function (uint32_t). */
  HSA_AMD_AGENT_INFO_BDFID = 0xA006,
  /** Deprecated. Width of the memory bus, bits (uint32_t). */
  HSA_AMD_AGENT_INFO_MEMORY_WIDTH = 0xA007,
  /** Maximum memory clock, MHz (uint32_t). */
  HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY = 0xA008,
  /** Marketing name, NUL-terminated (char[64]). */
  HSA_AMD_AGENT_INFO_PRODUCT_NAME = 0xA009,
  /** Maximum number of resident waves per CU (uint32_t). */
  HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU = 0xA00A,
  /** Number of SIMDs per CU (uint32_t). */
  HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU = 0xA00B,
  /** Number of shader engines (uint32_t). */
  HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES = 0xA00C,
  /** Number of shader arrays per shader engine (uint32_t). */
  HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE = 0xA00D,
  /** Host-visible HDP flush registers (::hsa_amd_hdp_flush_t). They act outside the HSA memory model. */
  HSA_AMD_AGENT_INFO_HDP_FLUSH = 0xA00E,
  /** PCI domain; BDFID has the rest of the address (uint32_t). */
  HSA_AMD_AGENT_INFO_DOMAIN = 0xA00F,
  /** The agent supports queues of HSA_QUEUE_TYPE_COOPERATIVE (bool). */
  HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES = 0xA010,
  /** "GPU-" (CPU-, DSP-) and 16 hex digits, or "GPU-XX" if the agent has no serial number. At most 20
   * characters and NUL (char[21]). */
  HSA_AMD_AGENT_INFO_UUID = 0xA011,
  /** Stepping (revision) of the chip (uint32_t). */
  HSA_AMD_AGENT_INFO_ASIC_REVISION = 0xA012,
  /** The host can access SVM pages in the agent's memory without migrating them (bool). */
  HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS = 0xA013,
  /** Number of CUs for a cooperative dispatch; at most COMPUTE_UNIT_COUNT (uint32_t). */
  HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT = 0xA014,
  /** Bytes of the agent's global pools that are free at the time of the call (uint64_t). */
  HSA_AMD_AGENT_INFO_MEMORY_AVAIL = 0xA015,
  /** Frequency of the agent's clock, Hz; 1 to 400 MHz (uint64_t). */
  HSA_AMD_AGENT_INFO_TIMESTAMP_FREQUENCY = 0xA016,
  /** Family number of the chip in the kernel driver (uint32_t). */
  HSA_AMD_AGENT_INFO_ASIC_FAMILY_ID = 0xA107,
  /** Firmware version of the command processor (uint32_t). */
  HSA_AMD_AGENT_INFO_UCODE_VERSION = 0xA108,
  /** Firmware version of the SDMA engines (uint32_t). */
  HSA_AMD_AGENT_INFO_SDMA_UCODE_VERSION = 0xA109,
  /** Number of SDMA engines. If NUM_SDMA_XGMI_ENG is not 0, only those for host traffic count (uint32_t). */
  HSA_AMD_AGENT_INFO_NUM_SDMA_ENG = 0xA10A,
  /** Number of additional SDMA engines, for xGMI peers (uint32_t). */
  HSA_AMD_AGENT_INFO_NUM_SDMA_XGMI_ENG = 0xA10B,
  /** Kind of page tables shared with the process (::hsa_amd_iommu_version_t). */
  HSA_AMD_AGENT_INFO_IOMMU_SUPPORT = 0xA110,
  /** Number of compute dies (XCCs) that work as this agent (uint32_t). */
  HSA_AMD_AGENT_INFO_NUM_XCC = 0xA111,
  /** Id that the driver gives the GPU (uint32_t). */
  HSA_AMD_AGENT_INFO_DRIVER_UID = 0xA112,
  /** Closest host agent (::hsa_agent_t). */
  HSA_AMD_AGENT_INFO_NEAREST_CPU = 0xA113,
  /** Bit set of ::hsa_amd_agent_memory_properties_t, for ::hsa_flag_isset64 (uint8_t[8]). Since 1.5. */
  HSA_AMD_AGENT_INFO_MEMORY_PROPERTIES = 0xA114,
  /** Bit set of extensions to AQL (uint8_t[8]): ::hsa_amd_agent_aql_properties_t. No agent of Rigel sets a
   * bit. */
  HSA_AMD_AGENT_INFO_AQL_EXTENSIONS = 0xA115,
  /** Maximum threshold for ::hsa_amd_agent_set_async_scratch_limit, bytes (uint64_t). */
  HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_MAX = 0xA116,
  /** Current threshold of ::hsa_amd_agent_set_async_scratch_limit, bytes (uint64_t). After a dispatch that
   * needs at most this much, the queue keeps the scratch. After a larger one, the queue releases it. */
  HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT = 0xA117,
  /** Clocks, read at one moment (::hsa_amd_clock_counters_t). Since 1.11. */
  HSA_AMD_AGENT_INFO_CLOCK_COUNTERS = 0xA118,
  /** The runtime translates AQL packets to PM4 for this agent (bool). */
  HSA_AMD_AGENT_INFO_PM4_EMULATION = 0xA119,
  /** Windows' name of the adapter (::hsa_luid_t); 0 on other systems. */
  HSA_AMD_AGENT_INFO_LUID = 0xA11A,
  /** Kernels may check their dependencies in place of the hardware scheduler (bool). */
  HSA_AMD_AGENT_INFO_HAS_EXPERT_SCHED_MODE = 0xA11B,
  /** Second unique id, a UUID of version 8 (uint8_t[16]); 0 if the driver has none. */
  HSA_AMD_AGENT_INFO_CUID = 0xA11C,
  /** Maximum number of work-groups of a grid without clusters (uint64_t). */
  HSA_AMD_AGENT_INFO_KERNEL_WG_MAX_SIZE = 0xA11D,
  /** Maximum number of clusters of a grid in each dimension (::hsa_amd_dim3_t); 0 if clusters are not
   * supported. */
  HSA_AMD_AGENT_INFO_KERNEL_CLUSTER_MAX_DIM = 0xA11E,
  /** Maximum number of clusters of a grid (uint64_t); 0 if clusters are not supported. */
  HSA_AMD_AGENT_INFO_KERNEL_CLUSTER_MAX_SIZE = 0xA11F,
  /** Maximum number of work-groups of a cluster in each dimension (::hsa_amd_dim3_t); 0 if clusters are
   * not supported. */
  HSA_AMD_AGENT_INFO_CLUSTER_MAX_DIM = 0xA120,
  /** Maximum number of work-groups of a cluster (uint64_t); 0 if clusters are not supported. */
  HSA_AMD_AGENT_INFO_CLUSTER_MAX_SIZE = 0xA121,
  /** Maximum number of work-groups of a grid without clusters in each dimension (::hsa_amd_dim3_t). */
  HSA_AMD_AGENT_INFO_KERNEL_WG_MAX_DIM = 0xA122,
  /** Maximum number of regions that one dispatch can prefetch into L2 (uint32_t); 0 if not supported.
   * Since 1.23. */
  HSA_AMD_AGENT_INFO_MAX_DATA_PREFETCH_REGIONS = 0xA123,
  /** Host memory of the virtual memory functions can be exported as a dmabuf, and the GPU can use such an
   * import (bool). Since 1.28. */
  HSA_AMD_AGENT_INFO_HOST_ALLOC_DMABUF_SUPPORTED = 0xA124
} hsa_amd_agent_info_t;

/** Properties in ::HSA_AMD_AGENT_INFO_AQL_EXTENSIONS and ::HSA_AMD_QUEUE_INFO_PROPERTIES. Each value is a
 * bit number for ::hsa_flag_isset64, although AMD's header writes it as a mask: value 1 is bit 1. Facts: H
 * C. */
typedef enum hsa_amd_agent_aql_properties_s {
  HSA_AMD_AQL_PROPERTY_EXT_DISPATCH = (1 << 0), /**< Executes ::hsa_amd_ext_kernel_dispatch_packet_t. */
} hsa_amd_agent_aql_properties_t;

/** Properties in ::HSA_AMD_AGENT_INFO_MEMORY_PROPERTIES. Each value is a bit number for
 * ::hsa_flag_isset64, although AMD's header writes it as a mask: value 1 is bit 1. Facts: H C. */
typedef enum hsa_amd_agent_memory_properties_s {
  HSA_AMD_MEMORY_PROPERTY_AGENT_IS_APU = (1 << 0), /**< The agent shares its memory with the host. */
} hsa_amd_agent_memory_properties_t;

/** SDMA engines of an agent. Each value is one bit of a mask. Facts: H. */
typedef enum hsa_amd_sdma_engine_id {
  HSA_AMD_SDMA_ENGINE_0 = 0x1,     /**< Engine 0. */
  HSA_AMD_SDMA_ENGINE_1 = 0x2,     /**< Engine 1. */
  HSA_AMD_SDMA_ENGINE_2 = 0x4,     /**< Engine 2. */
  HSA_AMD_SDMA_ENGINE_3 = 0x8,     /**< Engine 3. */
  HSA_AMD_SDMA_ENGINE_4 = 0x10,    /**< Engine 4. */
  HSA_AMD_SDMA_ENGINE_5 = 0x20,    /**< Engine 5. */
  HSA_AMD_SDMA_ENGINE_6 = 0x40,    /**< Engine 6. */
  HSA_AMD_SDMA_ENGINE_7 = 0x80,    /**< Engine 7. */
  HSA_AMD_SDMA_ENGINE_8 = 0x100,   /**< Engine 8. */
  HSA_AMD_SDMA_ENGINE_9 = 0x200,   /**< Engine 9. */
  HSA_AMD_SDMA_ENGINE_10 = 0x400,  /**< Engine 10. */
  HSA_AMD_SDMA_ENGINE_11 = 0x800,  /**< Engine 11. */
  HSA_AMD_SDMA_ENGINE_12 = 0x1000, /**< Engine 12. */
  HSA_AMD_SDMA_ENGINE_13 = 0x2000, /**< Engine 13. */
  HSA_AMD_SDMA_ENGINE_14 = 0x4000, /**< Engine 14. */
  HSA_AMD_SDMA_ENGINE_15 = 0x8000  /**< Engine 15. */
} hsa_amd_sdma_engine_id_t;

/** Registers that flush the host data path, mapped for the host. A pointer is NULL if the agent has no
 * such register. Facts: H. */
typedef struct hsa_amd_hdp_flush_s {
  /** Store 1 to make earlier host writes to the agent's memory visible to the agent. */
  uint32_t* HDP_MEM_FLUSH_CNTL;
  /** Store 1 to make earlier host writes to registers visible to the agent. */
  uint32_t* HDP_REG_FLUSH_CNTL;
} hsa_amd_hdp_flush_t;

/** Attributes for ::hsa_region_get_info, cast to ::hsa_region_info_t; the type written is in parentheses.
 * Facts: H. */
#ifdef __cplusplus
typedef enum hsa_amd_region_info_s : int {
#else
typedef enum hsa_amd_region_info_s {
#endif
  /** The host can read and write the region (bool). */
  HSA_AMD_REGION_INFO_HOST_ACCESSIBLE = 0xA000,
  /** First address of the region in the flat address space (void*). */
  HSA_AMD_REGION_INFO_BASE = 0xA001,
  /** Deprecated: ::HSA_AMD_AGENT_INFO_MEMORY_WIDTH (uint32_t). */
  HSA_AMD_REGION_INFO_BUS_WIDTH = 0xA002,
  /** Deprecated: ::HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY (uint32_t). */
  HSA_AMD_REGION_INFO_MAX_CLOCK_FREQUENCY = 0xA003,
} hsa_amd_region_info_t;

/** Coherency of an agent's fine-grained region. Only the APU Kaveri has a choice. Facts: H. */
typedef enum hsa_amd_coherency_type_s {
  HSA_AMD_COHERENCY_TYPE_COHERENT = 0,   /**< Hardware keeps the region coherent. */
  HSA_AMD_COHERENCY_TYPE_NONCOHERENT = 1 /**< Hardware does not keep the region coherent. */
} hsa_amd_coherency_type_t;

/** Flags of ::hsa_amd_portable_export_dmabuf_v2. Facts: H C. */
#ifdef __cplusplus
typedef enum hsa_amd_dma_buf_mapping_type_s : int {
#else
typedef enum hsa_amd_dma_buf_mapping_type_s {
#endif
  HSA_AMD_DMABUF_MAPPING_TYPE_NONE = 0, /**< The driver chooses the path of the importer. */
  HSA_AMD_DMABUF_MAPPING_TYPE_PCIE = 1  /**< The importer must access the memory over PCIe. */
} hsa_amd_dma_buf_mapping_type_t;

/** Returns the coherency of an agent's fine-grained region.
 *
 * @param[in] agent A GPU agent.
 * @param[out] type Receives the coherency.
 * @retval INVALID_AGENT @p agent is not a GPU.
 * @retval INVALID_ARGUMENT @p type is NULL.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_coherency_get_type(hsa_agent_t agent, hsa_amd_coherency_type_t* type);

/** Deprecated. Chooses the coherency of an agent's fine-grained region. On chips after Kaveri, the runtime
 * only stores the value for ::hsa_amd_coherency_get_type.
 *
 * @param[in] agent A GPU agent.
 * @param[in] type The coherency.
 * @retval INVALID_AGENT @p agent is not a GPU.
 * @retval INVALID_ARGUMENT @p type is unknown.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_coherency_set_type(hsa_agent_t agent, hsa_amd_coherency_type_t type);

/** @} */

/** @defgroup profiling Profiling
 * @{ */

/** Start and end of a dispatch, in ticks of the HSA system clock (HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY).
 * Facts: H. */
typedef struct hsa_amd_profiling_dispatch_time_s {
  uint64_t start; /**< When the packet processor started the dispatch. */
  uint64_t end;   /**< When the dispatch was complete. */
} hsa_amd_profiling_dispatch_time_t;

/** Start and end of a copy, in ticks of the HSA system clock. Facts: H. */
typedef struct hsa_amd_profiling_async_copy_time_s {
  uint64_t start; /**< When the engine started the copy. */
  uint64_t end;   /**< When the last byte was written. */
} hsa_amd_profiling_async_copy_time_t;

/** Enables or disables time stamps for dispatches that are submitted to a queue after the call.
 *
 * @param[in] queue The queue.
 * @param[in] enable 0 disables, any other value enables.
 * @retval INVALID_QUEUE @p queue is NULL or not valid.
 * @retval ERROR The agent does not support time stamps.
 * @remark Facts: H C (C returns INVALID_QUEUE for NULL). */
hsa_status_t HSA_API hsa_amd_profiling_set_profiler_enabled(hsa_queue_t* queue, int enable);

/** Enables or disables time stamps for asynchronous copies that the process submits after the call. The
 * completion signal of a copy keeps the times until its next use. Read them with
 * ::hsa_amd_profiling_get_async_copy_time.
 *
 * @param[in] enable true to enable.
 * @retval OUT_OF_RESOURCES An agent could not prepare for it.
 * @remark Facts: H. */
hsa_status_t HSA_API hsa_amd_profiling_async_copy_enable(bool enable);

/** Steps that ::hsa_amd_agent_preload skips. Facts: H. */
typedef enum hsa_amd_agent_preload_flag_s {
  HSA_AMD_AGENT_PRELOAD_SKIP_CLOCK_SYNC = (1 << 0), /**< No comparison of the clocks. */
  HSA_AMD_AGENT_PRELOAD_SKIP_BLITS = (1 << 1)       /**< No resources for copies and fills. */
} hsa_amd_agent_preload_flag_t;

/** Prepares an agent for its first copy and its first profiled dispatch, which would otherwise wait for the
 * preparation. Blocks until the preparation is complete. Repeated calls are allowed at any time.
 *
 * @param[in] agent A GPU.
 * @param[in] flags ::hsa_amd_agent_preload_flag_t, combined with bitwise OR. Unknown bits are ignored.
 * @retval INVALID_AGENT @p agent is not a GPU.
 * @retval OUT_OF_RESOURCES Memory or a queue cannot be allocated.
 * @since 1.19. Facts: H. */
hsa_status_t HSA_API hsa_amd_agent_preload(hsa_agent_t agent, uint64_t flags);

/** Returns the start and end of a completed dispatch.
 *
 * @param[in] agent The agent of the queue that executed the packet.
 * @param[in] signal The completion signal of the dispatch, not reused since. The queue must have had
 *   profiling enabled. Before the call, the caller must see the completion in a load of the signal with
 *   acquire.
 * @param[out] time Receives the times. Both are 0 if none were recorded.
 * @retval INVALID_AGENT @p agent is invalid or does not execute dispatches.
 * @retval INVALID_SIGNAL @p signal is not valid.
 * @retval INVALID_ARGUMENT @p time is NULL.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_profiling_get_dispatch_time(hsa_agent_t agent, hsa_signal_t signal,
                                                         hsa_amd_profiling_dispatch_time_t* time);

/** Returns the start and end of a completed asynchronous copy.
 *
 * @param[in] signal The completion signal of the copy, not reused since. Before the call, the caller must see
 *   the completion in a load of the signal with acquire.
 * @param[out] time Receives the times.
 * @retval INVALID_SIGNAL @p signal is not valid.
 * @retval INVALID_ARGUMENT @p time is NULL.
 * @retval ERROR The signal is not the completion signal of a profiled copy.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_profiling_get_async_copy_time(hsa_signal_t signal,
                                                           hsa_amd_profiling_async_copy_time_t* time);

/** Converts a tick of an agent's clock, as a kernel reads it, to the HSA system clock.
 *
 * @param[in] agent The agent whose clock was read. Another agent gives a wrong time.
 * @param[in] agent_tick The tick.
 * @param[out] system_tick Receives the same moment in ticks of the system clock.
 * @retval INVALID_AGENT @p agent is invalid or has no clock.
 * @retval INVALID_ARGUMENT @p system_tick is NULL.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_profiling_convert_tick_to_system_domain(hsa_agent_t agent, uint64_t agent_tick,
                                                                     uint64_t* system_tick);

/** @} */

/** @addtogroup signals
 * @{ */

/** Flags of ::hsa_amd_signal_create. Facts: H. */
typedef enum {
  /** Only AMD GPUs wait on the signal: it needs no interrupt. Implied if @p consumers names no CPU agent. */
  HSA_AMD_SIGNAL_AMD_GPU_ONLY = 1,
  /** Other processes may attach the signal, read it, write it and wait on it. Only one process at a time
   * may use it for profiling. */
  HSA_AMD_SIGNAL_IPC = 2,
} hsa_amd_signal_attribute_t;

/** Creates a signal with attributes. The caller owns the signal and destroys it with hsa_signal_destroy.
 *
 * @param[in] initial_value The initial value.
 * @param[in] num_consumers Length of @p consumers. If 0, any agent may wait.
 * @param[in] consumers The only agents that may wait on the signal; a hint. Ignored, and may be NULL, if @p
 *   num_consumers is 0.
 * @param[in] attributes ::hsa_amd_signal_attribute_t, combined with bitwise OR. 0 creates a signal like
 *   hsa_signal_create.
 * @param[out] signal Receives the handle.
 * @retval INVALID_ARGUMENT @p signal is NULL, @p consumers is missing, or it names an agent twice.
 * @retval OUT_OF_RESOURCES Memory for the signal cannot be allocated.
 * @remark Facts: H. */
hsa_status_t HSA_API hsa_amd_signal_create(hsa_signal_value_t initial_value, uint32_t num_consumers,
                                           const hsa_agent_t* consumers, uint64_t attributes,
                                           hsa_signal_t* signal);

/** Returns the address of a signal's value, for devices without HSA. The address is valid until the signal is
 * destroyed. Access the value with platform atomics. A store through the address wakes no
 * sleeping thread: use it only for signals that are polled.
 *
 * @param[in] signal A signal created with ::HSA_AMD_SIGNAL_AMD_GPU_ONLY or ::HSA_AMD_SIGNAL_IPC.
 * @param[out] value_ptr Receives the address.
 * @retval INVALID_SIGNAL @p signal is not valid.
 * @retval INVALID_ARGUMENT @p value_ptr is NULL, or the signal has neither of these attributes.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_signal_value_pointer(hsa_signal_t signal,
                                                  volatile hsa_signal_value_t** value_ptr);

/** Handler for ::hsa_amd_signal_async_handler. A thread of the runtime calls it.
 *
 * @param[in] value The value that satisfied the condition.
 * @param[in] arg The argument of ::hsa_amd_signal_async_handler.
 * @return true to keep the handler registered, false to remove it.
 * @remark Facts: H. */
typedef bool (*hsa_amd_signal_handler)(hsa_signal_value_t value, void* arg);

/** Registers a handler, which the runtime calls when a signal meets a condition.
 *
 * Threads: the runtime's event thread calls all handlers, one at a time, in no particular order. A slow
 * handler delays the others. A handler that waits for another handler deadlocks. Memory order: the handler
 * sees all stores that the signaller released before its store to the signal. If a handler is registered
 * twice, it is called twice. The signal may be destroyed after its handler has returned false.
 *
 * @param[in] signal The signal to watch. A host thread must be able to wait on it.
 * @param[in] cond The condition that compares the signal's value with @p value.
 * @param[in] value The value to compare with.
 * @param[in] handler The handler.
 * @param[in] arg Argument for @p handler; may be NULL.
 * @retval INVALID_SIGNAL @p signal is not valid, or the host cannot wait on it
 *   (::HSA_AMD_SIGNAL_AMD_GPU_ONLY).
 * @retval INVALID_ARGUMENT @p handler is NULL, or @p cond is unknown.
 * @retval OUT_OF_RESOURCES The driver has no free event.
 * @remark Facts: H C; memory order: R. */
hsa_status_t HSA_API hsa_amd_signal_async_handler(hsa_signal_t signal, hsa_signal_condition_t cond,
                                                  hsa_signal_value_t value, hsa_amd_signal_handler handler,
                                                  void* arg);

/** Waits until each signal has met its condition. The conditions need not hold at the same moment: the
 * function records each one when it sees it. Loads are relaxed: if data depend on the signals, follow with an
 * acquire fence. A handle that is 0 or of a destroyed signal counts as satisfied, with value 0.
 *
 * @param[in] signal_count Length of the arrays.
 * @param[in] signals The signals.
 * @param[in] conds Entry i is the condition for signal i.
 * @param[in] values Entry i is the value to compare signal i with.
 * @param[in] timeout_hint Maximum wait, in ticks of the HSA system clock; UINT64_MAX for no limit.
 * @param[in] wait_hint Whether the thread sleeps or spins.
 * @param[out] satisfying_values Entry i receives the value that satisfied signal i. May be NULL.
 * @return 0 if all are satisfied. UINT32_MAX after the timeout, if an argument is invalid, or if the runtime
 *   is not initialized.
 * @since 1.7. Facts: H; not initialized: R (ROCr ends the process). */
uint32_t HSA_API hsa_amd_signal_wait_all(uint32_t signal_count, hsa_signal_t* signals,
                                         hsa_signal_condition_t* conds, hsa_signal_value_t* values,
                                         uint64_t timeout_hint, hsa_wait_state_t wait_hint,
                                         hsa_signal_value_t* satisfying_values);

/** Waits until a signal has met its condition. Loads are relaxed, as for ::hsa_amd_signal_wait_all. The
 * function skips a handle that is 0 or of a destroyed signal; the other entries keep their index in @p conds
 * and @p values.
 *
 * @param[in] signal_count Length of the arrays.
 * @param[in] signals The signals.
 * @param[in] conds Entry i is the condition for signal i.
 * @param[in] values Entry i is the value to compare signal i with.
 * @param[in] timeout_hint Maximum wait, in ticks of the HSA system clock; UINT64_MAX for no limit.
 * @param[in] wait_hint Whether the thread sleeps or spins.
 * @param[out] satisfying_value Receives the value that satisfied the condition. May be NULL.
 * @return Index of a satisfied signal. UINT32_MAX after the timeout, if no handle is of a live signal, if an
 *   argument is invalid, or if the runtime is not initialized.
 * @remark Facts: H; indices, timeout and not initialized: R. */
uint32_t HSA_API hsa_amd_signal_wait_any(uint32_t signal_count, hsa_signal_t* signals,
                                         hsa_signal_condition_t* conds, hsa_signal_value_t* values,
                                         uint64_t timeout_hint, hsa_wait_state_t wait_hint,
                                         hsa_signal_value_t* satisfying_value);

/** Returns the number of the driver event with which devices wake the waiters of a signal.
 *
 * @param[in] signal The signal.
 * @param[out] event_id Receives the number of the event; 0 if devices raise no event for the signal.
 * @retval INVALID_ARGUMENT @p signal is not valid, or @p event_id is NULL.
 * @since 1.21. Facts: H. */
hsa_status_t HSA_API hsa_amd_signal_get_event_id(hsa_signal_t signal, uint32_t* event_id);

/** @} */

/** Calls a function once on the thread that calls the handlers of ::hsa_amd_signal_async_handler. The rules
 * for those handlers apply.
 *
 * @param[in] callback The function.
 * @param[in] arg Argument for @p callback; may be NULL.
 * @retval INVALID_ARGUMENT @p callback is NULL.
 * @retval OUT_OF_RESOURCES The driver has no free event.
 * @remark Facts: H. */
hsa_status_t HSA_API hsa_amd_async_function(void (*callback)(void* arg), void* arg);

/** @addtogroup images
 * @{ */

/** An image layout in a format of the vendor. The structure is longer than its declaration, by an amount
 * that the format defines. Pass it by pointer and do not copy it. Facts: H. */
typedef struct hsa_amd_image_descriptor_s {
  uint32_t version;  /**< Version of the format. */
  uint32_t deviceID; /**< PCI vendor id << 16 | PCI device id. */
  uint32_t data[1];  /**< First word of the layout; more words follow. */
} hsa_amd_image_descriptor_t;

/** hsa_amd_image_descriptor_s::version of a surface that Windows describes. Facts: H. */
#define HSA_AMD_IMAGE_DESC_VERSION_WDDM_SURFACE_METADATA 0x574D4453u

/** Creates an image over memory whose layout has a vendor format, for images shared with a graphics API. Does
 * not change the data. The caller destroys the image with hsa_ext_image_destroy and keeps the memory until
 * then.
 *
 * @param[in] agent The agent that will use the image.
 * @param[in] image_descriptor Geometry and format.
 * @param[in] image_layout The vendor's layout.
 * @param[in] image_data The memory of the image.
 * @param[in] access_permission How kernels may access the image.
 * @param[out] image Receives the handle.
 * @retval INVALID_AGENT @p agent is not valid.
 * @retval INVALID_ARGUMENT A pointer is NULL, or layout, geometry and permission do not match.
 * @retval OUT_OF_RESOURCES Memory for the image object cannot be allocated.
 * @remark Facts: H. */
hsa_status_t HSA_API hsa_amd_image_create(hsa_agent_t agent,
                                          const hsa_ext_image_descriptor_t* image_descriptor,
                                          const hsa_amd_image_descriptor_t* image_layout,
                                          const void* image_data, hsa_access_permission_t access_permission,
                                          hsa_ext_image_t* image);

/** Creates an image like ::hsa_amd_image_create, from a descriptor with mipmap levels.
 *
 * @param[in] agent The agent that will use the image.
 * @param[in] image_descriptor Geometry, format and levels.
 * @param[in] image_layout The vendor's layout.
 * @param[in] image_data The memory of the image.
 * @param[in] access_permission How kernels may access the image.
 * @param[out] image Receives the handle.
 * @retval HSA_EXT_STATUS_ERROR_IMAGE_SIZE_UNSUPPORTED The agent does not support this number of levels.
 * @retval INVALID_AGENT, INVALID_ARGUMENT, OUT_OF_RESOURCES As for ::hsa_amd_image_create.
 * @since 1.29. Facts: H. */
hsa_status_t HSA_API hsa_amd_image_create_v2(hsa_agent_t agent,
                                             const hsa_ext_image_descriptor_v2_t* image_descriptor,
                                             const hsa_amd_image_descriptor_t* image_layout,
                                             const void* image_data,
                                             hsa_access_permission_t access_permission,
                                             hsa_ext_image_t* image);

/** Returns a size limit of an agent's images.
 *
 * @param[in] agent The agent.
 * @param[in] attribute One of HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS to
 *   HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS.
 * @param[out] value Receives the limit, with the attribute's type.
 * @retval INVALID_AGENT @p agent is not valid.
 * @retval INVALID_ARGUMENT @p value is NULL, or @p attribute is not one of these.
 * @remark Facts: C (H names INVALID_QUEUE here, which is an error in H). */
hsa_status_t HSA_API hsa_amd_image_get_info_max_dim(hsa_agent_t agent, hsa_agent_info_t attribute,
                                                    void* value);

/** @} */

/** @addtogroup queue
 * @{ */

/** Restricts a queue to a set of compute units, for dispatches after the call. CUs that HSA_CU_MASK takes
 * from the process stay disabled.
 *
 * @param[in] queue The queue.
 * @param[in] num_cu_mask_count Length of @p cu_mask in bits, a multiple of 32. 0 requests all CUs. CUs past
 *   the end of the mask are disabled.
 * @param[in] cu_mask The mask: bit i of word i / 32 is CU i. May be NULL only if the length is 0. If the chip
 *   pairs its CUs (work-group processors, gfx10 and later), set both bits of a pair or neither.
 * @retval HSA_STATUS_CU_MASK_REDUCED Success, without CUs that HSA_CU_MASK takes from the process. Bits of
 *   CUs that the agent does not have do not cause this status.
 * @retval INVALID_QUEUE @p queue is NULL, not valid, or has no choice of CUs.
 * @retval INVALID_ARGUMENT The length is invalid, the mask is missing, has half a pair, or leaves no CU. The
 *   queue's mask does not change.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_queue_cu_set_mask(const hsa_queue_t* queue, uint32_t num_cu_mask_count,
                                               const uint32_t* cu_mask);

/** Returns the compute units that a queue uses: the mask in force, not the requested one.
 *
 * @param[in] queue The queue.
 * @param[in] num_cu_mask_count Length of @p cu_mask in bits, a multiple of 32 and not 0. For all CUs, round
 *   ::HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT up.
 * @param[out] cu_mask Receives the first bits of the mask. Bits past the last CU are 0.
 * @retval INVALID_QUEUE @p queue is NULL, not valid, or has no choice of CUs.
 * @retval INVALID_ARGUMENT The length is invalid, or @p cu_mask is NULL.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_queue_cu_get_mask(const hsa_queue_t* queue, uint32_t num_cu_mask_count,
                                               uint32_t* cu_mask);

/** @} */

/** @addtogroup memory
 * @{ */

/** Segment of a pool's memory. Facts: H. */
typedef enum {
  HSA_AMD_SEGMENT_GLOBAL = 0,   /**< Memory that all agents share. */
  HSA_AMD_SEGMENT_READONLY = 1, /**< Constant while a kernel runs. */
  HSA_AMD_SEGMENT_PRIVATE = 2,  /**< Memory of one work-item. */
  HSA_AMD_SEGMENT_GROUP = 3,    /**< Memory of one work-group. */
} hsa_amd_segment_t;

/** A memory pool: a part of an agent's physical memory with one kind of access. Memory with two kinds of
 * access is two pools; two NUMA nodes are two pools too. Memory of a pool is placed at the pool's location
 * if the operating system permits it, and may move later. A handle is valid from hsa_init to the last
 * hsa_shut_down. Facts: H. */
typedef struct hsa_amd_memory_pool_s {
  uint64_t handle; /**< Opaque. */
} hsa_amd_memory_pool_t;

/** Flags of a global pool. At most one of the three grain flags is set. Facts: H. */
typedef enum hsa_amd_memory_pool_global_flag_s {
  /** Suitable for kernel arguments. */
  HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT = 1,
  /** Memory follows the HSA memory model at each access. */
  HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED = 2,
  /** One agent at a time writes; its stores become visible to other agents when it releases them. */
  HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED = 4,
  /** Fine-grained, and atomics at device scope act at system scope. If the platform does not support this,
   * the agent needs additional measures. Since 1.3. */
  HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED = 8,
} hsa_amd_memory_pool_global_flag_t;

/** Location of a pool's memory. Facts: H. */
typedef enum hsa_amd_memory_pool_location_s {
  HSA_AMD_MEMORY_POOL_LOCATION_CPU = 0, /**< Memory of the host. */
  HSA_AMD_MEMORY_POOL_LOCATION_GPU = 1  /**< Memory of a GPU. */
} hsa_amd_memory_pool_location_t;

/** Attributes for ::hsa_amd_memory_pool_get_info; the type written is in parentheses. Facts: H. */
typedef enum {
  /** Segment of the pool (::hsa_amd_segment_t). */
  HSA_AMD_MEMORY_POOL_INFO_SEGMENT = 0,
  /** ::hsa_amd_memory_pool_global_flag_t, combined with bitwise OR (uint32_t). Defined for the global
   * segment only. */
  HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS = 1,
  /** Size of the pool, bytes (size_t). */
  HSA_AMD_MEMORY_POOL_INFO_SIZE = 2,
  /** ::hsa_amd_memory_pool_allocate can allocate from the pool (bool). False for group and private
   * segments. If false, the next two attributes and REC_GRANULE are undefined. */
  HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED = 5,
  /** Granule of allocation sizes, which are rounded up to it, bytes (size_t). */
  HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE = 6,
  /** Alignment of allocations, bytes; a power of two (size_t). */
  HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT = 7,
  /** Every agent can access the pool (bool). Rigel reports true for pools of host memory only. */
  HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL = 15,
  /** Maximum size of one allocation, bytes (size_t). */
  HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE = 16,
  /** Location of the memory (::hsa_amd_memory_pool_location_t). */
  HSA_AMD_MEMORY_POOL_INFO_LOCATION = 17,
  /** Recommended granule of allocation sizes, bytes (size_t). Multiples of it waste no memory. */
  HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_REC_GRANULE = 18,
} hsa_amd_memory_pool_info_t;

/** Flags of ::hsa_amd_memory_pool_allocate, combined with bitwise OR. Facts: H. */
typedef enum hsa_amd_memory_pool_flag_s {
  /** Properties of the pool. */
  HSA_AMD_MEMORY_POOL_STANDARD_FLAG = 0,
  /** Fine-grained memory whose accesses are ordered per link only: atomics need not be visible at system
   * scope. */
  HSA_AMD_MEMORY_POOL_PCIE_FLAG = (1 << 0),
  /** Physically contiguous memory. */
  HSA_AMD_MEMORY_POOL_CONTIGUOUS_FLAG = (1 << 1),
  /** Memory from which code may run. */
  HSA_AMD_MEMORY_POOL_EXECUTABLE_FLAG = (1 << 2),
  /** Memory that no GPU caches. It is fine-grained, even if the pool is not. */
  HSA_AMD_MEMORY_POOL_UNCACHED_FLAG = (1 << 3),
} hsa_amd_memory_pool_flag_t;

/** Returns an attribute of a pool.
 *
 * @param[in] memory_pool The pool.
 * @param[in] attribute The attribute.
 * @param[out] value Receives the attribute. It must have room for the attribute's type.
 * @retval INVALID_MEMORY_POOL @p memory_pool is not valid.
 * @retval INVALID_ARGUMENT @p value is NULL, or the attribute does not exist for pools.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t memory_pool,
                                                  hsa_amd_memory_pool_info_t attribute, void* value);

/** Calls a function for each pool of an agent. The agent may also be able to use pools of other agents; see
 * ::hsa_amd_agent_memory_pool_get_info.
 *
 * @param[in] agent The agent.
 * @param[in] callback Called with each pool and @p data, in the same order in every call. A status other than
 *   HSA_STATUS_SUCCESS ends the iteration.
 * @param[in] data Argument for @p callback; may be NULL.
 * @return The last status of @p callback, or:
 * @retval INVALID_AGENT @p agent is not valid.
 * @retval INVALID_ARGUMENT @p callback is NULL.
 * @remark Facts: H. */
hsa_status_t HSA_API hsa_amd_agent_iterate_memory_pools(
    hsa_agent_t agent, hsa_status_t (*callback)(hsa_amd_memory_pool_t memory_pool, void* data), void* data);

/** Allocates memory from a pool. The pool's agent and agents whose access is ALLOWED_BY_DEFAULT can use the
 * memory. Other agents need ::hsa_amd_agents_allow_access. The caller owns the memory until
 * ::hsa_amd_memory_pool_free. The contents are undefined.
 *
 * @param[in] memory_pool A pool with RUNTIME_ALLOC_ALLOWED.
 * @param[in] size Bytes, not 0; rounded up to RUNTIME_ALLOC_GRANULE.
 * @param[in] flags ::hsa_amd_memory_pool_flag_t, combined with bitwise OR. CONTIGUOUS is valid for pools of
 *   GPUs only.
 * @param[out] ptr Receives the address, aligned to RUNTIME_ALLOC_ALIGNMENT.
 * @retval INVALID_MEMORY_POOL @p memory_pool is not valid.
 * @retval INVALID_ALLOCATION The pool does not allocate, or @p size is above ALLOC_MAX_SIZE.
 * @retval INVALID_ARGUMENT @p size is 0, @p ptr is NULL, or @p flags has a bit that the pool does not
 *   support.
 * @retval OUT_OF_RESOURCES The pool has no memory left.
 * @remark Facts: H C (H still requires flags of 0); rejected bits: R (C ignores them). */
hsa_status_t HSA_API hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t memory_pool, size_t size,
                                                  uint32_t flags, void** ptr);

/** Frees memory from ::hsa_amd_memory_pool_allocate. First, its deallocation callbacks run. No agent may be
 * using the memory: the runtime does not wait for packets or copies.
 *
 * @param[in] ptr The start of an allocation. NULL does nothing.
 * @retval INVALID_ALLOCATION @p ptr is not the start of an allocation, or the allocation was freed before.
 * @retval INVALID_ARGUMENT @p ptr is in memory that is locked, reserved, mapped or attached, not allocated.
 * @remark Facts: H C (H leaves the last status undefined). */
hsa_status_t HSA_API hsa_amd_memory_pool_free(void* ptr);

/** Copies memory asynchronously. The copy starts after the runtime has seen each dependency at 0. At its end
 * it decrements @p completion_signal by 1. If the copy fails, the signal is set to a negative value. Only
 * signals order copies; the order of submission does not.
 *
 * Memory order: copy engines may be outside the agents' coherence. The writer of @p src must release it to
 * system scope before the copy. The reader of @p dst must acquire at system scope after it sees the
 * completion.
 *
 * @param[out] dst Destination.
 * @param[in] dst_agent Agent of @p dst. This agent or @p src_agent must be able to access both buffers. If
 *   the handle is 0, the runtime looks the agent up, which takes time.
 * @param[in] src Source; must not overlap @p dst.
 * @param[in] src_agent Agent of @p src, with the rules of @p dst_agent.
 * @param[in] size Bytes. 0 does nothing and does not decrement the signal.
 * @param[in] num_dep_signals Length of @p dep_signals.
 * @param[in] dep_signals Signals to wait for. They must live until the copy has started. Ignored if the
 *   length is 0. No dependency may itself depend on this copy.
 * @param[in] completion_signal The signal to decrement. It must live until the decrement.
 * @retval INVALID_AGENT An agent is not valid, or no agent can access both buffers.
 * @retval INVALID_SIGNAL A signal is not valid.
 * @retval INVALID_ARGUMENT @p dst or @p src is NULL, the list is missing, or a range exceeds its allocation.
 * @remark Facts: H C. C rejects a list of length 0. For a completion signal of 0, H has INVALID_ARGUMENT;
 *   C and Rigel return INVALID_SIGNAL. */
hsa_status_t HSA_API hsa_amd_memory_async_copy(void* dst, hsa_agent_t dst_agent, const void* src,
                                               hsa_agent_t src_agent, size_t size, uint32_t num_dep_signals,
                                               const hsa_signal_t* dep_signals,
                                               hsa_signal_t completion_signal);

/** Copies like ::hsa_amd_memory_async_copy, on an SDMA engine that the caller chooses.
 * ::hsa_amd_memory_async_copy chooses engines independently, so both functions can use one engine at the same
 * time.
 *
 * @param[out] dst Destination.
 * @param[in] dst_agent Agent of @p dst.
 * @param[in] src Source.
 * @param[in] src_agent Agent of @p src.
 * @param[in] size Bytes.
 * @param[in] num_dep_signals Length of @p dep_signals.
 * @param[in] dep_signals Signals to wait for.
 * @param[in] completion_signal The signal to decrement.
 * @param[in] engine_id One engine that is free according to ::hsa_amd_memory_copy_engine_status.
 * @param[in] force_copy_on_sdma Use SDMA even for a copy within one agent, which a kernel would otherwise do.
 * @retval INVALID_ARGUMENT As for ::hsa_amd_memory_async_copy, or @p engine_id is not exactly one engine of
 *   the agent.
 * @retval INVALID_AGENT, INVALID_SIGNAL As for ::hsa_amd_memory_async_copy.
 * @since 1.2. Facts: H C. */
hsa_status_t HSA_API hsa_amd_memory_async_copy_on_engine(
    void* dst, hsa_agent_t dst_agent, const void* src, hsa_agent_t src_agent, size_t size,
    uint32_t num_dep_signals, const hsa_signal_t* dep_signals, hsa_signal_t completion_signal,
    hsa_amd_sdma_engine_id_t engine_id, bool force_copy_on_sdma);

/** Kinds of operation in a batch of copies. An indirect operation reads an address from memory when it
 * starts. Facts: H. */
typedef enum {
  HSA_AMD_MEMORY_COPY_OP_LINEAR = 0,                 /**< Copies one source to one destination. */
  HSA_AMD_MEMORY_COPY_OP_LINEAR_BROADCAST = 1,       /**< Copies one source to several destinations. */
  HSA_AMD_MEMORY_COPY_OP_LINEAR_SWAP = 2,            /**< Exchanges two ranges of memory. */
  HSA_AMD_MEMORY_COPY_OP_LINEAR_INDIRECT_SRC = 3,    /**< Copies; source address in memory. */
  HSA_AMD_MEMORY_COPY_OP_LINEAR_INDIRECT_DST = 4,    /**< Copies; destination address in memory. */
  HSA_AMD_MEMORY_COPY_OP_LINEAR_INDIRECT_SRCDST = 5, /**< Copies; both addresses in memory. */
} hsa_amd_memory_copy_op_type_t;

/** Comparison that must be true before an operation starts. Facts: H. */
typedef enum {
  HSA_AMD_MEMORY_COPY_WAIT_ALWAYS = 0, /**< True: the operation starts at once. */
  HSA_AMD_MEMORY_COPY_WAIT_LT = 1,     /**< Less. */
  HSA_AMD_MEMORY_COPY_WAIT_LE = 2,     /**< Less or equal. */
  HSA_AMD_MEMORY_COPY_WAIT_EQ = 3,     /**< Equal. */
  HSA_AMD_MEMORY_COPY_WAIT_NE = 4,     /**< Not equal. */
  HSA_AMD_MEMORY_COPY_WAIT_GE = 5,     /**< Greater or equal. */
  HSA_AMD_MEMORY_COPY_WAIT_GT = 6,     /**< Greater. */
} hsa_amd_memory_copy_wait_function_t;

/** Change that an operation makes to memory at its end. Facts: H. */
typedef enum {
  HSA_AMD_MEMORY_COPY_SIGNAL_NONE = 0,  /**< No change. */
  HSA_AMD_MEMORY_COPY_SIGNAL_WRITE = 1, /**< Writes the value. */
  HSA_AMD_MEMORY_COPY_SIGNAL_ADD = 2,   /**< Adds the value. */
  HSA_AMD_MEMORY_COPY_SIGNAL_SUB = 3,   /**< Subtracts the value. */
} hsa_amd_memory_copy_signal_op_t;

/** Value of hsa_amd_memory_copy_op_s::version. */
#define HSA_AMD_MEMORY_COPY_OP_VERSION 1

/** One operation of ::hsa_amd_memory_async_batch_copy. If @ref num_entries is 0, it is one copy from @ref
 * src to @ref dst. Otherwise each list has @ref num_entries entries, all with sources of @ref src_agent. A
 * broadcast always has entries, and all have one size. The runtime reads the lists only during the call.
 * Facts: H. */
typedef struct hsa_amd_memory_copy_op_s {
  uint16_t version;               /**< ::HSA_AMD_MEMORY_COPY_OP_VERSION. */
  uint16_t type;                  /**< An ::hsa_amd_memory_copy_op_type_t. */
  uint16_t num_entries;           /**< Length of the lists; 0 if there are no lists. */
  uint16_t traffic_class;         /**< Traffic class; 0 for none. */
  hsa_signal_t completion_signal; /**< Signal that is decremented by 1 when all entries are done. */
  __extension__ union {
    void* src;       /**< Source. */
    void** src_list; /**< With entries: sources. */
  };
  __extension__ union {
    hsa_agent_t src_agent;       /**< Agent of the source. */
    hsa_agent_t* src_agent_list; /**< Unused. */
  };
  __extension__ union {
    hsa_agent_t dst_agent;       /**< Agent of the destination. */
    hsa_agent_t* dst_agent_list; /**< With entries: agents of the destinations. */
  };
  __extension__ union {
    void* dst;       /**< Destination. */
    void** dst_list; /**< With entries: destinations. */
  };
  __extension__ union {
    __extension__ struct {
      size_t size;        /**< Bytes. */
      size_t unused_size; /**< 0. */
    };
    __extension__ struct {
      size_t src_size; /**< Exchange: bytes of the first range. */
      size_t dst_size; /**< Exchange: bytes of the second range. */
    };
    __extension__ struct {
      size_t* size_list; /**< With entries, except a broadcast: bytes of each entry. */
      size_t reserved0;  /**< 0. */
    };
  };
  /** Condition for the start: ((64 bits at addr) & mask) compared with value. All 0 starts at once. */
  struct {
    uint16_t function; /**< An ::hsa_amd_memory_copy_wait_function_t. */
    uint16_t scope;    /**< An ::hsa_fence_scope_t. */
    uint32_t reserved; /**< 0. */
    void* addr;        /**< Address of the watched memory. */
    uint64_t value;    /**< Value to compare with. */
    uint64_t mask;     /**< Bits that are compared. */
  } wait;
  /** Change that the device makes to memory at the end. All 0 changes nothing. */
  struct {
    uint16_t operation; /**< An ::hsa_amd_memory_copy_signal_op_t. */
    uint16_t scope;     /**< An ::hsa_fence_scope_t. */
    uint32_t reserved;  /**< 0. */
    void* addr;         /**< Address to change. */
    uint64_t data;      /**< Operand of the change. */
  } signal;
  uint64_t reserved1[1]; /**< 0. */
} hsa_amd_memory_copy_op_t;

/** Submits several asynchronous copies. All wait for the dependencies like ::hsa_amd_memory_async_copy. The
 * copies have no order among themselves. The function checks all descriptors before any copy starts.
 *
 * @param[in] copy_ops The operations. All must have the same completion signal, which the caller has set to
 *   their number. A failure sets it to a negative value.
 * @param[in] num_copy_ops Length of @p copy_ops, at least 1.
 * @param[in] num_dep_signals Length of @p dep_signals.
 * @param[in] dep_signals Signals to wait for. Ignored if the length is 0.
 * @retval INVALID_ARGUMENT A pointer is NULL, there are no operations or no bytes, a version or type is
 *   unknown, the completion signals differ, or a reserved field is not 0.
 * @retval INVALID_SIGNAL A signal is not valid.
 * @retval INVALID_AGENT An agent is not valid.
 * @retval NOT_SUPPORTED No device here can exchange memory, read addresses when it copies, or watch memory.
 * @since 1.17. Facts: H; NOT_SUPPORTED: R. */
hsa_status_t HSA_API hsa_amd_memory_async_batch_copy(const hsa_amd_memory_copy_op_t* copy_ops,
                                                     uint32_t num_copy_ops, uint32_t num_dep_signals,
                                                     const hsa_signal_t* dep_signals);

/** Reports which SDMA engines are free for copies from one agent to another. The result is a snapshot, which
 * may be outdated when the function returns.
 *
 * @param[in] dst_agent Agent of the destination.
 * @param[in] src_agent Agent of the source. It must differ from @p dst_agent, and one of the two must be a
 *   GPU.
 * @param[out] engine_ids_mask Receives ::hsa_amd_sdma_engine_id_t, combined with bitwise OR; 0 if no engine
 *   is free.
 * @retval OUT_OF_RESOURCES No engine is free (the mask is written).
 * @retval INVALID_AGENT An agent is not valid, both are the same, or neither is a GPU.
 * @retval INVALID_ARGUMENT @p engine_ids_mask is NULL.
 * @since 1.2. Facts: H C; two host agents and NULL: R. */
hsa_status_t HSA_API hsa_amd_memory_copy_engine_status(hsa_agent_t dst_agent, hsa_agent_t src_agent,
                                                       uint32_t* engine_ids_mask);

/** Reports which SDMA engines have the best bandwidth for copies from one agent to another, whether free or
 * not.
 *
 * @param[in] dst_agent Agent of the destination.
 * @param[in] src_agent Agent of the source. It must differ from @p dst_agent, and one of the two must be a
 *   GPU.
 * @param[out] recommended_ids_mask Receives ::hsa_amd_sdma_engine_id_t, combined with bitwise OR; 0 if all
 *   engines are equal.
 * @retval INVALID_AGENT An agent is not valid, both are the same, or neither is a GPU.
 * @retval INVALID_ARGUMENT @p recommended_ids_mask is NULL.
 * @since 1.8. Facts: H C; two host agents and NULL: R. */
hsa_status_t HSA_API hsa_amd_memory_get_preferred_copy_engine(hsa_agent_t dst_agent, hsa_agent_t src_agent,
                                                              uint32_t* recommended_ids_mask);

/** A box of memory for ::hsa_amd_memory_async_copy_rect. Each member is a multiple of 4. Provisional.
 * Facts: H. */
typedef struct hsa_pitched_ptr_s {
  void* base;   /**< Address of (0, 0, 0). */
  size_t pitch; /**< Bytes between two rows. */
  size_t slice; /**< Bytes between two layers. */
} hsa_pitched_ptr_t;

/** Direction of ::hsa_amd_memory_async_copy_rect. Provisional. Facts: H. */
typedef enum {
  hsaHostToHost = 0,    /**< Within host memory; for CPU agents only. */
  hsaHostToDevice = 1,  /**< Host to GPU. */
  hsaDeviceToHost = 2,  /**< GPU to host. */
  hsaDeviceToDevice = 3 /**< GPU to GPU, or within one GPU. */
} hsa_amd_copy_direction_t;

/** Copies a box of memory asynchronously, by SDMA or by the host. Provisional. The rules of
 * ::hsa_amd_memory_async_copy for signals and visibility apply.
 *
 * @param[in] dst Destination.
 * @param[in] dst_offset Corner of the box in @p dst: x in bytes, y in rows, z in layers.
 * @param[in] src Source. The boxes must not overlap.
 * @param[in] src_offset Corner of the box in @p src.
 * @param[in] range Extent: bytes, rows, layers. If one of them is 0, nothing is copied and the signal does
 *   not change.
 * @param[in] copy_agent The agent that copies. It must be able to access both boxes. If it is a CPU agent,
 *   the host copies.
 * @param[in] dir Direction. A CPU agent accepts any direction.
 * @param[in] num_dep_signals Length of @p dep_signals.
 * @param[in] dep_signals Signals to wait for. Ignored if the length is 0.
 * @param[in] completion_signal The signal to decrement.
 * @retval INVALID_AGENT @p copy_agent is invalid, or cannot access a box. (ROCr also rejects CPU agents, and
 *   GPUs whose SDMA cannot copy boxes (gfx8).)
 * @retval INVALID_SIGNAL A signal is not valid.
 * @retval INVALID_ARGUMENT A pointer is NULL, a member is not a multiple of 4, @p dir is unknown, or it is
 *   ::hsaHostToHost for a GPU.
 * @retval OUT_OF_RESOURCES SDMA is switched off.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_memory_async_copy_rect(const hsa_pitched_ptr_t* dst,
                                                    const hsa_dim3_t* dst_offset,
                                                    const hsa_pitched_ptr_t* src,
                                                    const hsa_dim3_t* src_offset, const hsa_dim3_t* range,
                                                    hsa_agent_t copy_agent, hsa_amd_copy_direction_t dir,
                                                    uint32_t num_dep_signals, const hsa_signal_t* dep_signals,
                                                    hsa_signal_t completion_signal);

/** Access of an agent to the memory of a pool. Facts: H. */
typedef enum {
  HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED = 0,        /**< Never usable. */
  HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT = 1,   /**< Usable without a request. */
  HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT = 2 /**< Usable after ::hsa_amd_agents_allow_access. */
} hsa_amd_memory_pool_access_t;

/** Kind of a link. Facts: H. */
typedef enum {
  HSA_AMD_LINK_INFO_TYPE_HYPERTRANSPORT = 0, /**< HyperTransport, Infinity Fabric between CPUs. */
  HSA_AMD_LINK_INFO_TYPE_QPI = 1,            /**< QPI, UPI. */
  HSA_AMD_LINK_INFO_TYPE_PCIE = 2,           /**< PCI Express. */
  HSA_AMD_LINK_INFO_TYPE_INFINBAND = 3,      /**< InfiniBand. */
  HSA_AMD_LINK_INFO_TYPE_XGMI = 4            /**< xGMI. */
} hsa_amd_link_info_type_t;

/** One hop between an agent and a pool. A number is 0 if the platform does not report it. Facts: H. */
typedef struct hsa_amd_memory_pool_link_info_s {
  uint32_t min_latency;               /**< Minimum latency, ns. */
  uint32_t max_latency;               /**< Maximum latency, ns. */
  uint32_t min_bandwidth;             /**< Minimum bandwidth, MB/s. */
  uint32_t max_bandwidth;             /**< Maximum bandwidth, MB/s. */
  bool atomic_support_32bit;          /**< Carries 32-bit atomics. */
  bool atomic_support_64bit;          /**< Carries 64-bit atomics. */
  bool coherent_support;              /**< Carries coherent traffic. */
  hsa_amd_link_info_type_t link_type; /**< Kind of the link. */
  uint32_t numa_distance;             /**< NUMA distance of the pool (10 is local). */
} hsa_amd_memory_pool_link_info_t;

/** Attributes for ::hsa_amd_agent_memory_pool_get_info; the type written is in parentheses. Facts: H C. */
typedef enum {
  /** Access of the agent to the pool (::hsa_amd_memory_pool_access_t). Never NEVER_ALLOWED for the agent's
   * own pools. Always NEVER_ALLOWED for other agents' pools outside the global segment. */
  HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS = 0,
  /** Number of hops to the pool (uint32_t). 0 for the agent's own pools, and if access is NEVER_ALLOWED. */
  HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS = 1,
  /** The hops, starting at the agent (NUM_LINK_HOPS entries of ::hsa_amd_memory_pool_link_info_t). With 0
   * hops Rigel writes nothing, but the caller needs room for one entry: ROCr clears one. */
  HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO = 2
} hsa_amd_agent_memory_pool_info_t;

/** Returns an attribute of a pair of an agent and a pool.
 *
 * @param[in] agent The agent.
 * @param[in] memory_pool The pool, of any agent.
 * @param[in] attribute The attribute.
 * @param[out] value Receives the attribute. It must have room for it.
 * @retval INVALID_AGENT @p agent is not valid.
 * @retval INVALID_MEMORY_POOL @p memory_pool is not valid.
 * @retval INVALID_ARGUMENT @p value is NULL, or @p attribute is unknown.
 * @remark Facts: C (H lists no errors). */
hsa_status_t HSA_API hsa_amd_agent_memory_pool_get_info(hsa_agent_t agent, hsa_amd_memory_pool_t memory_pool,
                                                        hsa_amd_agent_memory_pool_info_t attribute,
                                                        void* value);

/** Sets the agents that can use an allocation: the agents in the list and the agent of the pool. Other agents
 * lose access. An agent that keeps its access can use the memory during the call. Small allocations share
 * pages: an agent with access to one allocation of a page keeps access to the whole page.
 *
 * @param[in] num_agents Length of @p agents, not 0.
 * @param[in] agents The agents.
 * @param[in] flags Reserved; NULL.
 * @param[in] ptr Memory from ::hsa_amd_memory_pool_allocate, ::hsa_amd_ipc_memory_attach or
 *   ::hsa_amd_vmem_map. For a mapping, the function adds read and write access. It changes the mapping around
 *   @p ptr and those that follow without a gap.
 * @retval INVALID_AGENT An entry is not valid.
 * @retval INVALID_ARGUMENT @p num_agents is 0, @p agents or @p ptr is NULL, @p flags is not NULL, or the pool
 *   of @p ptr is NEVER_ALLOWED for an agent of the list.
 * @retval INVALID_ALLOCATION @p ptr is not in such memory.
 * @retval OUT_OF_RESOURCES An agent could not map the memory.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_agents_allow_access(uint32_t num_agents, const hsa_agent_t* agents,
                                                 const uint32_t* flags, const void* ptr);

/** Reports whether ::hsa_amd_memory_migrate can move memory of one pool to another.
 *
 * @param[in] src_memory_pool Pool of the memory.
 * @param[in] dst_memory_pool Pool to move to.
 * @param[out] result Receives the answer.
 * @retval INVALID_MEMORY_POOL A pool is not valid.
 * @retval INVALID_ARGUMENT @p result is NULL.
 * @retval OUT_OF_RESOURCES This system cannot migrate memory (@p result is false).
 * @remark Facts: H C (ROCr always returns the last status). */
hsa_status_t HSA_API hsa_amd_memory_pool_can_migrate(hsa_amd_memory_pool_t src_memory_pool,
                                                     hsa_amd_memory_pool_t dst_memory_pool, bool* result);

/** Moves an allocation to another pool. The address stays the same. After the call, only the agent of that
 * pool can use the memory. No agent or thread may access the memory during the call. The last writer must
 * release it to system scope before; the function releases it to system scope after the move.
 *
 * @param[in] ptr Start of an allocation.
 * @param[in] memory_pool Pool to move to.
 * @param[in] flags Reserved; 0.
 * @retval INVALID_MEMORY_POOL @p memory_pool is not valid.
 * @retval INVALID_ARGUMENT @p ptr is NULL, or @p flags is not 0.
 * @retval OUT_OF_RESOURCES The memory cannot move to that pool, or the pool has no room.
 * @remark Facts: H C (ROCr always returns the last status). */
hsa_status_t HSA_API hsa_amd_memory_migrate(const void* ptr, hsa_amd_memory_pool_t memory_pool,
                                            uint32_t flags);

/** Pins host memory and makes it accessible to agents as coarse-grained memory. Locks of the same memory
 * nest. They may return different addresses; accesses through two of these addresses are not coherent.
 *
 * @param[in] host_ptr Memory from malloc, mmap and the like. It must stay mapped until it is unlocked.
 * @param[in] size Bytes, not 0.
 * @param[in] agents The agents; NULL for all agents.
 * @param[in] num_agent Length of @p agents; 0 if and only if @p agents is NULL.
 * @param[out] agent_ptr Receives the address for the agents; NULL on failure.
 * @retval INVALID_AGENT An entry is not valid.
 * @retval INVALID_ARGUMENT @p size is 0, a pointer is NULL, or @p num_agent does not match @p agents.
 * @retval OUT_OF_RESOURCES The memory could not be pinned or mapped.
 * @retval ERROR The driver rejects this memory. (Memory of HSA allocations can be locked too.)
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_memory_lock(void* host_ptr, size_t size, hsa_agent_t* agents, int num_agent,
                                         void** agent_ptr);

/** Pins host memory like ::hsa_amd_memory_lock. The memory has the access properties (grain, atomics, links)
 * of a host pool instead of coarse-grained ones. Placement and page size do not change.
 *
 * @param[in] host_ptr Memory from malloc, mmap and the like. It must stay mapped until it is unlocked.
 * @param[in] size Bytes, not 0.
 * @param[in] agents The agents; NULL for all agents.
 * @param[in] num_agent Length of @p agents; 0 if and only if @p agents is NULL.
 * @param[in] pool A global pool of a host agent.
 * @param[in] flags Reserved; 0.
 * @param[out] agent_ptr Receives the address for the agents; NULL on failure.
 * @retval INVALID_AGENT An entry is not valid, or the agent cannot access @p pool.
 * @retval INVALID_MEMORY_POOL @p pool is not valid, or is not a pool of a host agent.
 * @retval INVALID_ARGUMENT As for ::hsa_amd_memory_lock, or @p flags is not 0.
 * @retval OUT_OF_RESOURCES The memory could not be pinned or mapped.
 * @retval ERROR The driver rejects this memory.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_memory_lock_to_pool(void* host_ptr, size_t size, hsa_agent_t* agents,
                                                 int num_agent, hsa_amd_memory_pool_t pool, uint32_t flags,
                                                 void** agent_ptr);

/** Undoes one ::hsa_amd_memory_lock or ::hsa_amd_memory_lock_to_pool. No agent may still be using it.
 *
 * @param[in] host_ptr The host address that was locked.
 * @retval INVALID_ALLOCATION The address is not locked.
 * @remark Facts: H; the error: R (H and C leave it undefined). */
hsa_status_t HSA_API hsa_amd_memory_unlock(void* host_ptr);

/** Fills memory with a 32-bit value. Returns when the memory is filled and visible to the host.
 *
 * @param[out] ptr Memory from ::hsa_amd_memory_pool_allocate, locked memory, or a mapping; a multiple of 4.
 * @param[in] value The value.
 * @param[in] count Number of uint32_t; 0 does nothing.
 * @retval INVALID_ARGUMENT @p ptr is NULL or misaligned.
 * @retval INVALID_ALLOCATION The range does not lie within one allocation.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_memory_fill(void* ptr, uint32_t value, size_t count);

/** Maps a buffer of a graphics API for agents. The buffer is a dmabuf. A second call for the same buffer
 * creates a second mapping, possibly at another address. The two are not coherent: use system-scope fences
 * between them, and between a mapping and the other API. ::hsa_amd_interop_unmap_buffer removes the mapping.
 * The caller keeps the file descriptor and may close it after the call.
 *
 * @param[in] num_agents Length of @p agents, not 0.
 * @param[in] agents The agents.
 * @param[in] interop_handle The dmabuf's file descriptor.
 * @param[in] flags Reserved; 0.
 * @param[out] size Receives the size, bytes.
 * @param[out] ptr Receives the address.
 * @param[out] metadata_size Receives the length of the metadata, bytes; may be NULL.
 * @param[out] metadata Receives the exporter's metadata, valid as long as the mapping; may be NULL.
 * @retval INVALID_AGENT An entry is not valid.
 * @retval INVALID_ARGUMENT A pointer is NULL, there are no agents, @p flags is not 0, or the handle is not a
 *   dmabuf.
 * @retval OUT_OF_RESOURCES An agent could not map the buffer.
 * @remark Facts: H C (for an invalid handle, C returns HSA_STATUS_ERROR). */
hsa_status_t HSA_API hsa_amd_interop_map_buffer(uint32_t num_agents, hsa_agent_t* agents,
                                                hsa_handle_t interop_handle, uint32_t flags, size_t* size,
                                                void** ptr, size_t* metadata_size, const void** metadata);

/** Maps a buffer like ::hsa_amd_interop_map_buffer, if the buffer does not report its size. A dmabuf reports
 * its size, so Rigel ignores @p size_hint.
 *
 * @param[in] num_agents Length of @p agents, not 0.
 * @param[in] agents The agents.
 * @param[in] interop_handle The dmabuf's file descriptor.
 * @param[in] flags Reserved; 0.
 * @param[in] size_hint Size of the buffer, bytes; 0 if unknown.
 * @param[out] size Receives the size, bytes.
 * @param[out] ptr Receives the address.
 * @param[out] metadata_size Receives the length of the metadata, bytes; may be NULL.
 * @param[out] metadata Receives the exporter's metadata; may be NULL.
 * @retval INVALID_AGENT, INVALID_ARGUMENT, OUT_OF_RESOURCES As for ::hsa_amd_interop_map_buffer.
 * @since 1.29. Facts: H. */
hsa_status_t HSA_API hsa_amd_interop_map_buffer_with_size(uint32_t num_agents, hsa_agent_t* agents,
                                                          hsa_handle_t interop_handle, uint32_t flags,
                                                          size_t size_hint, size_t* size, void** ptr,
                                                          size_t* metadata_size, const void** metadata);

/** Removes a mapping of ::hsa_amd_interop_map_buffer and its metadata.
 *
 * @param[in] ptr Address of the mapping. NULL does nothing.
 * @retval INVALID_ALLOCATION No such mapping exists.
 * @remark Facts: H C; the status: R. */
hsa_status_t HSA_API hsa_amd_interop_unmap_buffer(void* ptr);

/** Kind of memory that a pointer points to. Facts: H. */
typedef enum {
  /** Memory that the runtime does not know: host memory, or no memory. */
  HSA_EXT_POINTER_TYPE_UNKNOWN = 0,
  /** Memory that the runtime allocated. */
  HSA_EXT_POINTER_TYPE_HSA = 1,
  /** Locked host memory. The host can always use it, even if it is not in the list of agents. */
  HSA_EXT_POINTER_TYPE_LOCKED = 2,
  /** Memory mapped from a graphics API. */
  HSA_EXT_POINTER_TYPE_GRAPHICS = 3,
  /** Memory attached from another process. */
  HSA_EXT_POINTER_TYPE_IPC = 4,
  /** A reserved address without a mapping. */
  HSA_EXT_POINTER_TYPE_RESERVED_ADDR = 5,
  /** Memory mapped by the virtual memory functions. */
  HSA_EXT_POINTER_TYPE_HSA_VMEM = 6
} hsa_amd_pointer_type_t;

/** Bits of hsa_amd_pointer_info_s::alloc_flags. Facts: H. */
typedef enum hsa_amd_pointer_info_alloc_flag_s {
  HSA_AMD_POINTER_INFO_ALLOC_FLAG_EXECUTABLE = (1 << 0),     /**< Code may run from it. */
  HSA_AMD_POINTER_INFO_ALLOC_FLAG_CONTIGUOUS = (1 << 1),     /**< Physically contiguous. */
  HSA_AMD_POINTER_INFO_ALLOC_FLAG_NONPAGED = (1 << 2),       /**< The driver does not move it. */
  HSA_AMD_POINTER_INFO_ALLOC_FLAG_READONLY = (1 << 3),       /**< Read-only. */
  HSA_AMD_POINTER_INFO_ALLOC_FLAG_HOST_ACCESS = (1 << 4),    /**< The host can access it. */
  HSA_AMD_POINTER_INFO_ALLOC_FLAG_ATOMIC_FULL = (1 << 5),    /**< All atomics work at system scope. */
  HSA_AMD_POINTER_INFO_ALLOC_FLAG_ATOMIC_PARTIAL = (1 << 6), /**< PCIe's atomics work at system scope. */
} hsa_amd_pointer_info_alloc_flag_t;

/** Description of an allocation by ::hsa_amd_pointer_info. If @ref type is UNKNOWN, only @ref size and
 * @ref type are defined. Later versions may add members at the end; @ref size protects older callers.
 * Facts: H. */
typedef struct hsa_amd_pointer_info_s {
  /** In: sizeof of the caller's struct. Out: bytes written, at most that. */
  uint32_t size;
  /** Kind of memory. */
  hsa_amd_pointer_type_t type;
  /** Start of the allocation, for agents other than the host. */
  void* agentBaseAddress;
  /** Start of the allocation, for the host. */
  void* hostBaseAddress;
  /** Length of the allocation as requested, bytes. */
  size_t sizeInBytes;
  /** Value of ::hsa_amd_pointer_info_set_userdata; NULL if it was not set. */
  void* userData;
  /** Agent of the pool. If several agents share the pool equally, one of them. 0 if this process cannot
   * see the agent. */
  hsa_agent_t agentOwner;
  /** ::hsa_amd_memory_pool_global_flag_t of the allocation. */
  uint32_t global_flags;
  /** The driver has a record of the memory. Since 1.13. */
  bool registered;
  /** ::hsa_amd_pointer_info_alloc_flag_t, combined with bitwise OR. Since 1.18. */
  uint32_t alloc_flags;
} hsa_amd_pointer_info_t;

/** Describes the allocation that contains an address, and optionally lists the agents that can use it. For an
 * unknown address, the function succeeds and the type is ::HSA_EXT_POINTER_TYPE_UNKNOWN.
 *
 * @param[in] ptr Any address in the allocation.
 * @param[in,out] info Receives the description. The caller sets its size before the call.
 * @param[in] alloc Allocates the array for @p accessible: receives a number of bytes and returns memory that
 *   the caller owns. The function calls it once, on this thread, without locks. May be NULL. If one of the
 *   last three arguments is NULL, the function returns no list.
 * @param[out] num_agents_accessible Receives the length of the list. May be NULL.
 * @param[out] accessible Receives the list, which the caller frees. May be NULL.
 * @retval INVALID_ARGUMENT @p ptr or @p info is NULL, or the size is 0.
 * @retval OUT_OF_RESOURCES @p alloc returned NULL.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_pointer_info(const void* ptr, hsa_amd_pointer_info_t* info,
                                          void* (*alloc)(size_t), uint32_t* num_agents_accessible,
                                          hsa_agent_t** accessible);

/** Attaches a value to an allocation; ::hsa_amd_pointer_info returns it.
 *
 * @param[in] ptr Start of the allocation.
 * @param[in] userdata The value; NULL removes it.
 * @retval INVALID_ARGUMENT @p ptr is not the start of known memory.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_pointer_info_set_userdata(const void* ptr, void* userdata);

/** Name of an allocation for other processes. Programs may copy it by any means. Facts: H. */
typedef struct hsa_amd_ipc_memory_s {
  uint32_t handle[8]; /**< Opaque. */
} hsa_amd_ipc_memory_t;

/** Makes an allocation available to other processes. The name is valid while a process has the memory: keep
 * the allocation until the other process has attached it. Two calls may return equal or different names.
 *
 * @param[in] ptr Start of an allocation in device memory of a GPU.
 * @param[in] len Full length of the allocation as requested, bytes.
 * @param[out] handle Receives the name.
 * @retval INVALID_ARGUMENT @p ptr is not the start of such an allocation, @p len is not its length, or @p
 *   handle is NULL.
 * @retval OUT_OF_RESOURCES The driver could not export the memory.
 * @remark Facts: H. */
hsa_status_t HSA_API hsa_amd_ipc_memory_create(void* ptr, size_t len, hsa_amd_ipc_memory_t* handle);

/** Maps memory of another process. A second call may return another address. Each call needs one
 * ::hsa_amd_ipc_memory_detach.
 *
 * @param[in] handle Name of the memory, from ::hsa_amd_ipc_memory_create.
 * @param[in] len Full length of the memory, bytes.
 * @param[in] num_agents Length of @p mapping_agents; 0 for all agents.
 * @param[in] mapping_agents The agents that receive access. Ignored if the length is 0.
 * @param[out] mapped_ptr Receives the address.
 * @retval INVALID_AGENT An entry is not valid.
 * @retval INVALID_ARGUMENT The name is stale or malformed, @p len is wrong, a pointer is NULL, or an agent
 *   cannot access the memory.
 * @retval OUT_OF_RESOURCES An agent could not map the memory.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_ipc_memory_attach(const hsa_amd_ipc_memory_t* handle, size_t len,
                                               uint32_t num_agents, const hsa_agent_t* mapping_agents,
                                               void** mapped_ptr);

/** Removes one mapping of ::hsa_amd_ipc_memory_attach.
 *
 * @param[in] mapped_ptr The address that ::hsa_amd_ipc_memory_attach returned.
 * @retval INVALID_ARGUMENT ::hsa_amd_ipc_memory_attach did not return this address.
 * @remark Facts: H. */
hsa_status_t HSA_API hsa_amd_ipc_memory_detach(void* mapped_ptr);

/** @} */

/** @addtogroup signals
 * @{ */

/** Name of a signal for other processes. Facts: H. */
typedef hsa_amd_ipc_memory_t hsa_amd_ipc_signal_t;

/** Makes a signal available to other processes. Keep the signal until the other process has attached it.
 *
 * @param[in] signal A signal created with ::HSA_AMD_SIGNAL_IPC.
 * @param[out] handle Receives the name.
 * @retval INVALID_SIGNAL @p signal is not valid.
 * @retval INVALID_ARGUMENT The signal does not have that attribute, or @p handle is NULL.
 * @retval OUT_OF_RESOURCES The signal could not be exported.
 * @remark Facts: H C. Other processes poll the signal while they wait, at least once per millisecond. */
hsa_status_t HSA_API hsa_amd_ipc_signal_create(hsa_signal_t signal, hsa_amd_ipc_signal_t* handle);

/** Attaches a signal of another process. A second call may return another handle. Destroy each handle with
 * hsa_signal_destroy.
 *
 * @param[in] handle Name of the signal, from ::hsa_amd_ipc_signal_create.
 * @param[out] signal Receives the handle.
 * @retval INVALID_ARGUMENT The name is stale or malformed, or a pointer is NULL.
 * @retval OUT_OF_RESOURCES The signal could not be mapped.
 * @remark Facts: H. */
hsa_status_t HSA_API hsa_amd_ipc_signal_attach(const hsa_amd_ipc_signal_t* handle, hsa_signal_t* signal);

/** Events of a GPU. Facts: H. */
typedef enum hsa_amd_event_type_s {
  HSA_AMD_GPU_MEMORY_FAULT_EVENT = 0, /**< The GPU accessed memory without permission. */
  HSA_AMD_GPU_HW_EXCEPTION_EVENT,     /**< The GPU hung or failed, and was reset. */
  HSA_AMD_GPU_MEMORY_ERROR_EVENT,     /**< The GPU's memory has an error. */
  HSA_AMD_SYSTEM_SHUTDOWN_EVENT,      /**< The runtime shuts down. Rigel does not raise it. */
} hsa_amd_event_type_t;

/** Bits of hsa_amd_gpu_memory_fault_info_s::fault_reason_mask. Facts: H. */
__extension__ typedef enum {
  /** The page is not present or is privileged. */
  HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT = 1 << 0,
  /** A write to a read-only page. */
  HSA_AMD_MEMORY_FAULT_READ_ONLY = 1 << 1,
  /** An instruction fetch from a page that is not executable. */
  HSA_AMD_MEMORY_FAULT_NX = 1 << 2,
  /** Only the host may access the page. */
  HSA_AMD_MEMORY_FAULT_HOST_ONLY = 1 << 3,
  /** Uncorrectable DRAM error. */
  HSA_AMD_MEMORY_FAULT_DRAMECC = 1 << 4,
  /** The reported address is only near the faulting one. */
  HSA_AMD_MEMORY_FAULT_IMPRECISE = 1 << 5,
  /** Uncorrectable error in registers or caches, without an address. */
  HSA_AMD_MEMORY_FAULT_SRAMECC = 1 << 6,
  /** Reset after a hang of unknown cause. */
  HSA_AMD_MEMORY_FAULT_HANG = 1U << 31
} hsa_amd_memory_fault_reason_t;

/** Data of ::HSA_AMD_GPU_MEMORY_FAULT_EVENT. Facts: H. */
typedef struct hsa_amd_gpu_memory_fault_info_s {
  hsa_agent_t agent;          /**< The agent that caused the fault. */
  uint64_t virtual_address;   /**< Address of the fault; usually of its page. */
  uint32_t fault_reason_mask; /**< Causes: ::hsa_amd_memory_fault_reason_t, combined with bitwise OR. */
} hsa_amd_gpu_memory_fault_info_t;

/** Bits of hsa_amd_gpu_memory_error_info_s::error_reason_mask. Facts: H. */
typedef enum {
  HSA_AMD_MEMORY_ERROR_MEMORY_IN_USE = (1 << 0), /**< Hardware still uses the memory. */
} hsa_amd_memory_error_reason_t;

/** Data of ::HSA_AMD_GPU_MEMORY_ERROR_EVENT. Facts: H. */
typedef struct hsa_amd_gpu_memory_error_info_s {
  hsa_agent_t agent;          /**< The agent of the memory. */
  uint64_t virtual_address;   /**< Address of the error. */
  uint32_t error_reason_mask; /**< Causes: ::hsa_amd_memory_error_reason_t, combined with bitwise OR. */
} hsa_amd_gpu_memory_error_info_t;

/** Kinds of reset of a GPU. Facts: H. */
typedef enum {
  HSA_AMD_HW_EXCEPTION_RESET_TYPE_OTHER = 1 << 0, /**< Not specified. */
} hsa_amd_hw_exception_reset_type_t;

/** Causes of a reset of a GPU. Facts: H. */
typedef enum {
  HSA_AMD_HW_EXCEPTION_CAUSE_GPU_HANG = 1 << 0, /**< The GPU hung. */
  HSA_AMD_HW_EXCEPTION_CAUSE_ECC = 1 << 1,      /**< Uncorrectable SRAM error. */
} hsa_amd_hw_exception_reset_cause_t;

/** Data of ::HSA_AMD_GPU_HW_EXCEPTION_EVENT. Facts: H. */
typedef struct hsa_amd_gpu_hw_exception_info_s {
  hsa_agent_t agent;                              /**< The GPU. */
  hsa_amd_hw_exception_reset_type_t reset_type;   /**< Kind of the reset. */
  hsa_amd_hw_exception_reset_cause_t reset_cause; /**< Cause of the reset. */
} hsa_amd_gpu_hw_exception_info_t;

/** An event. Its type selects the valid member. Facts: H. */
typedef struct hsa_amd_event_s {
  hsa_amd_event_type_t event_type; /**< Kind of the event. */
  __extension__ union {
    hsa_amd_gpu_memory_fault_info_t memory_fault; /**< For ::HSA_AMD_GPU_MEMORY_FAULT_EVENT. */
    hsa_amd_gpu_hw_exception_info_t hw_exception; /**< For ::HSA_AMD_GPU_HW_EXCEPTION_EVENT. */
    hsa_amd_gpu_memory_error_info_t memory_error; /**< For ::HSA_AMD_GPU_MEMORY_ERROR_EVENT. */
  };
} hsa_amd_event_t;

/** Handler for ::hsa_amd_register_system_event_handler. A thread of the runtime calls it.
 *
 * @param[in] event The event; valid during the call.
 * @param[in] data The argument of ::hsa_amd_register_system_event_handler.
 * @return HSA_STATUS_SUCCESS if the handler has handled the event. Any other status leaves the event to the
 *   default.
 * @remark Facts: H C. */
typedef hsa_status_t (*hsa_amd_system_event_callback_t)(const hsa_amd_event_t* event, void* data);

/** Registers a handler for failures of GPUs, until the last hsa_shut_down. The runtime calls all handlers, in
 * the order of their registration. If no handler returns HSA_STATUS_SUCCESS, the runtime prints the event and
 * ends the process, because the results of waves are invalid.
 *
 * @param[in] callback The handler.
 * @param[in] data Argument for @p callback; may be NULL.
 * @retval INVALID_ARGUMENT @p callback is NULL.
 * @remark Facts: C (H specifies HSA_STATUS_ERROR for a second handler; ROCr accepts it). */
hsa_status_t HSA_API hsa_amd_register_system_event_handler(hsa_amd_system_event_callback_t callback,
                                                           void* data);

/** @} */

/** @addtogroup queue
 * @{ */

/** Priority of a queue's dispatches and waves. Facts: H. */
typedef enum hsa_amd_queue_priority_s {
  HSA_AMD_QUEUE_PRIORITY_LOW = 0,    /**< Below other compute queues and below graphics. */
  HSA_AMD_QUEUE_PRIORITY_NORMAL = 1, /**< The default: between LOW and HIGH, below graphics. */
  HSA_AMD_QUEUE_PRIORITY_HIGH = 2,   /**< Above other compute queues and above graphics. */
} hsa_amd_queue_priority_t;

/** Changes the priority of a queue, for dispatches after the call.
 *
 * @param[in] queue The queue.
 * @param[in] priority The priority.
 * @retval INVALID_QUEUE @p queue is not valid, is not a compute queue, is a counted queue, or is inactive
 *   after an error.
 * @retval INVALID_ARGUMENT @p queue is NULL, or @p priority is unknown.
 * @retval OUT_OF_RESOURCES The driver rejected the change.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_queue_set_priority(hsa_queue_t* queue, hsa_amd_queue_priority_t priority);

/** Placement of a queue's memory, combined with bitwise OR. Facts: H. */
typedef enum {
  /** Ring and descriptor in host memory (default). */
  HSA_AMD_QUEUE_CREATE_SYSTEM_MEM = 0,
  /** Ring in the agent's fine-grained memory. */
  HSA_AMD_QUEUE_CREATE_DEVICE_MEM_RING_BUF = (1 << 0),
  /** Queue descriptor in the agent's fine-grained memory too. Not across PCIe, which does not carry the
   * host's atomic read-modify-write operations. */
  HSA_AMD_QUEUE_CREATE_DEVICE_MEM_QUEUE_DESCRIPTOR = (1 << 1),
} hsa_amd_queue_create_flag_t;

/** Engine of an agent that executes a queue's packets. Facts: H. */
typedef enum {
  HSA_AMD_QUEUE_ENGINE_COMPUTE = 0, /**< Executes kernels, from AQL packets. */
  HSA_AMD_QUEUE_ENGINE_SDMA = 1,    /**< Executes SDMA packets, which copy memory. */
  HSA_AMD_QUEUE_ENGINE_AIE = 2,     /**< An NPU. */
} hsa_amd_queue_engine_t;

/** Value of hsa_amd_sdma_queue_params_s::sdma_engine_id for any engine. */
#define HSA_AMD_SDMA_ENGINE_ID_ANY UINT32_MAX
/** Value of hsa_amd_queue_create_desc_s::version. */
#define HSA_AMD_QUEUE_CREATE_DESC_VERSION 1
/** Value of hsa_amd_compute_queue_params_s::private_segment_size that leaves the size to the runtime. */
#define HSA_AMD_PRIVATE_SEGMENT_SIZE_DEFAULT UINT32_MAX

/** Parameters of a compute queue. Facts: H. */
typedef struct hsa_amd_compute_queue_params_s {
  const uint32_t* cu_mask;       /**< CU mask as for ::hsa_amd_queue_cu_set_mask; NULL for none. */
  hsa_queue_type32_t type;       /**< An ::hsa_queue_type_t. */
  uint32_t private_segment_size; /**< Bytes of scratch per work-item, as for hsa_queue_create. */
  uint32_t cu_mask_count;        /**< Length of @ref cu_mask in bits, a multiple of 32; 0 for none. */
  uint32_t reserved[3];          /**< 0. */
} hsa_amd_compute_queue_params_t;

/** Parameters of an SDMA queue. Facts: H. */
typedef struct hsa_amd_sdma_queue_params_s {
  uint32_t sdma_engine_id; /**< Number of the engine, or ::HSA_AMD_SDMA_ENGINE_ID_ANY. */
  uint32_t reserved[7];    /**< 0. */
} hsa_amd_sdma_queue_params_t;

/** Parameters of an NPU queue. Facts: H. */
typedef struct hsa_amd_aie_queue_params_s {
  uint32_t reserved[8]; /**< 0. */
} hsa_amd_aie_queue_params_t;

/** Description of a queue that ::hsa_amd_queue_create creates. If all fields except the version and the
 * size are 0, it describes a compute queue of low priority. Facts: H. */
typedef struct hsa_amd_queue_create_desc_s {
  uint16_t version;           /**< ::HSA_AMD_QUEUE_CREATE_DESC_VERSION. */
  uint16_t flags;             /**< ::hsa_amd_queue_create_flag_t, combined with bitwise OR. */
  uint8_t engine_type;        /**< An ::hsa_amd_queue_engine_t; selects the member of @ref engine. */
  uint8_t reserved_header[3]; /**< 0. */
  uint32_t queue_size_bytes;  /**< Size of the ring in bytes: a power of two and at least one packet. */
  hsa_amd_queue_priority_t priority; /**< Priority of the queue. */
  /** Receives errors, like the callback of hsa_queue_create. May be NULL. */
  void (*callback)(hsa_status_t status, hsa_queue_t* source, void* data);
  void* callback_data; /**< Passed to @ref callback. May be NULL. */
  hsa_queue_t* queue;  /**< Out: the queue, owned by the caller (hsa_queue_destroy); NULL after a failure. */
  union {
    hsa_amd_compute_queue_params_t compute; /**< ::HSA_AMD_QUEUE_ENGINE_COMPUTE. */
    hsa_amd_sdma_queue_params_t sdma;       /**< ::HSA_AMD_QUEUE_ENGINE_SDMA. */
    hsa_amd_aie_queue_params_t aie;         /**< ::HSA_AMD_QUEUE_ENGINE_AIE. */
    uint8_t reserved[32];                   /**< All bytes. */
  } engine;                                 /**< Parameters for @ref engine_type. */
  uint32_t traffic_class;                   /**< 0. */
  uint8_t reserved[20];                     /**< 0. */
} hsa_amd_queue_create_desc_t;

/** Creates queues. The priority and the CU mask of each queue are in force before its first packet. If some
 * queues cannot be created, the others exist, and the function returns the first error.
 *
 * @param[in] agent The agent of all queues.
 * @param[in,out] descs The queues.
 * @param[in] num_descs Length of @p descs, at least 1.
 * @retval INVALID_AGENT @p agent is not valid.
 * @retval INVALID_ARGUMENT @p descs is NULL, @p num_descs is 0, or a field of a descriptor is invalid.
 * @retval INVALID_QUEUE_CREATION The agent does not support such a queue. Rigel supports only compute queues
 *   in host memory.
 * @retval OUT_OF_RESOURCES The agent has no free queue.
 * @since 1.26. Facts: H. */
hsa_status_t HSA_API hsa_amd_queue_create(hsa_agent_t agent, hsa_amd_queue_create_desc_t* descs,
                                          uint32_t num_descs);

/** Creates a counted queue: a kernel queue of default size. In ROCr, counted queues of one priority share
 * hardware queues if there are more than GPU_MAX_HW_QUEUES. In Rigel, each has a dedicated hardware queue;
 * see docs/reference/differences.md. Release it with ::hsa_amd_counted_queue_release.
 * ::hsa_amd_queue_set_priority and ::hsa_amd_queue_cu_set_mask reject it with INVALID_QUEUE.
 *
 * @param[in] agent A GPU.
 * @param[in] type ::HSA_QUEUE_TYPE_MULTI.
 * @param[in] priority Priority of the queue.
 * @param[in] callback Receives errors, like the callback of hsa_queue_create. May be NULL.
 * @param[in] data Argument for @p callback. May be NULL.
 * @param[in] flags Ignored.
 * @param[out] queue Receives the queue.
 * @retval INVALID_AGENT @p agent is not a GPU.
 * @retval INVALID_QUEUE_CREATION @p type is not ::HSA_QUEUE_TYPE_MULTI.
 * @retval INVALID_ARGUMENT @p queue is NULL, or @p priority is unknown.
 * @retval OUT_OF_RESOURCES The agent has no free queue.
 * @since 1.16. Facts: H. */
hsa_status_t HSA_API hsa_amd_counted_queue_acquire(hsa_agent_t agent, hsa_queue_type_t type,
                                                   hsa_amd_queue_priority_t priority,
                                                   void (*callback)(hsa_status_t status, hsa_queue_t* source,
                                                                    void* data),
                                                   void* data, uint64_t flags, hsa_queue_t** queue);

/** Releases a queue of ::hsa_amd_counted_queue_acquire.
 *
 * @param[in] queue The queue.
 * @retval INVALID_ARGUMENT @p queue is NULL.
 * @retval HSA_STATUS_ERROR @p queue is not a counted queue, or was released before.
 * @since 1.16. Facts: H. */
hsa_status_t HSA_API hsa_amd_counted_queue_release(hsa_queue_t* queue);

/** @} */

/** @addtogroup memory
 * @{ */

/** Handler for ::hsa_amd_register_deallocation_callback. The thread that frees the memory calls it.
 *
 * @param[in] ptr The address of the registration.
 * @param[in] user_data The argument of the registration.
 * @remark Facts: H. */
typedef void (*hsa_amd_deallocation_callback_t)(void* ptr, void* user_data);

/** Registers a handler, which the runtime calls once when ::hsa_amd_memory_pool_free is about to free memory.
 * The call removes the registration.
 *
 * @param[in] ptr Any address in an allocation.
 * @param[in] callback The handler. The memory exists until it returns. It may call this API.
 * @param[in] user_data Argument for @p callback; may be NULL.
 * @retval INVALID_ALLOCATION @p ptr is not in an allocation, or the handlers of the allocation are already
 *   running.
 * @retval INVALID_ARGUMENT @p ptr or @p callback is NULL.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_register_deallocation_callback(void* ptr,
                                                            hsa_amd_deallocation_callback_t callback,
                                                            void* user_data);

/** Removes all registrations of ::hsa_amd_register_deallocation_callback with this address and handler.
 *
 * @param[in] ptr The address of the registration.
 * @param[in] callback The handler of the registration.
 * @retval INVALID_ARGUMENT An argument is NULL, or @p callback is not registered for @p ptr.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_deregister_deallocation_callback(void* ptr,
                                                              hsa_amd_deallocation_callback_t callback);

/** Memory model of an SVM range. Facts: H. */
typedef enum hsa_amd_svm_model_s {
  HSA_AMD_SVM_GLOBAL_FLAG_FINE_GRAINED = 0,   /**< Memory follows the HSA memory model at each access. */
  HSA_AMD_SVM_GLOBAL_FLAG_COARSE_GRAINED = 1, /**< One agent at a time writes, then releases. */
  HSA_AMD_SVM_GLOBAL_FLAG_INDETERMINATE = 2   /**< Both models occur in the range. Returned only. */
} hsa_amd_svm_model_t;

/** Attributes of SVM ranges: host memory that agents access by page faults or mappings. The type of the
 * value is in parentheses. "Set only" and "get only" mark attributes that support one of the two
 * functions; the others support both. Facts: H C. */
typedef enum hsa_amd_svm_attribute_s {
  /** Memory model (::hsa_amd_svm_model_t). */
  HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG = 0,
  /** GPUs only read the range, so each may have a copy (bool). */
  HSA_AMD_SVM_ATTRIB_READ_ONLY = 1,
  /** Pages migrate within the xGMI hive if possible (bool). */
  HSA_AMD_SVM_ATTRIB_HIVE_LOCAL = 2,
  /** log2 of the number of pages that migrate together; at most 18 (uint64_t). */
  HSA_AMD_SVM_ATTRIB_MIGRATION_GRANULARITY = 3,
  /** Preferred target of migration; 0 for any (::hsa_agent_t). */
  HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION = 4,
  /** Get only. Target of the latest ::hsa_amd_svm_prefetch_async on the range (::hsa_agent_t). 0 if there
   * is none, or if parts of the range have different targets. */
  HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION = 5,
  /** Reads are much more frequent than writes (bool). */
  HSA_AMD_SVM_ATTRIB_READ_MOSTLY = 6,
  /** GPUs may run code from it (bool). Set only: R, as C. */
  HSA_AMD_SVM_ATTRIB_GPU_EXEC = 7,
  /** Set only. The agent may access the range; an access may fault and migrate pages (::hsa_agent_t). */
  HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE = 0x200,
  /** Set only. The agent may access the range without faults or migration (::hsa_agent_t). */
  HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE = 0x201,
  /** Set only. The agent may not access the range; an access is a fatal fault (::hsa_agent_t). */
  HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS = 0x202,
  /** Get only. Input: the agent (::hsa_agent_t). Output: one of the three preceding values, in place of
   * the attribute. */
  HSA_AMD_SVM_ATTRIB_ACCESS_QUERY = 0x203,
} hsa_amd_svm_attribute_t;

/** One attribute and its value. Facts: H. */
typedef struct hsa_amd_svm_attribute_pair_s {
  uint64_t attribute; /**< An ::hsa_amd_svm_attribute_t. */
  uint64_t value;     /**< Value: an integer, 0 or 1, or the handle of an agent. */
} hsa_amd_svm_attribute_pair_t;

/** Sets attributes of a range of host memory. If HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT is false, an
 * agent may use the range only after ACCESSIBLE or ACCESSIBLE_IN_PLACE is set for it.
 *
 * @param[in] ptr Start, rounded down to a page.
 * @param[in] size Bytes; the end is rounded up to a page.
 * @param[in] attribute_list Attributes and values to set. Each attribute and each agent may occur once.
 * @param[in] attribute_count Length of the list.
 * @retval INVALID_AGENT A value is not a valid agent.
 * @retval INVALID_ARGUMENT An attribute or value is unknown or cannot be set, or a pointer is NULL.
 * @retval INCOMPATIBLE_ARGUMENTS An attribute or agent occurs twice.
 * @retval ERROR The driver rejected the call, for example because it does not support SVM.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_svm_attributes_set(void* ptr, size_t size,
                                                hsa_amd_svm_attribute_pair_t* attribute_list,
                                                size_t attribute_count);

/** Returns attributes of a range of host memory.
 *
 * @param[in] ptr Start, rounded down to a page.
 * @param[in] size Bytes; the end is rounded up to a page.
 * @param[in,out] attribute_list Attributes to read; receives their values. For ACCESS_QUERY, the value is the
 *   agent, and the function overwrites the attribute.
 * @param[in] attribute_count Length of the list.
 * @retval INVALID_AGENT A value is not a valid agent.
 * @retval INVALID_ARGUMENT An attribute is unknown or cannot be read, or a pointer is NULL.
 * @retval ERROR The driver rejected the call, for example because it does not support SVM.
 * @remark Facts: C. (A sentence of H forbids PREFETCH_LOCATION, but H's enumerator and ROCr support it.) */
hsa_status_t HSA_API hsa_amd_svm_attributes_get(void* ptr, size_t size,
                                                hsa_amd_svm_attribute_pair_t* attribute_list,
                                                size_t attribute_count);

/** Moves a range of host memory to an agent asynchronously. The move starts after the runtime has seen each
 * dependency at 0. At its end it decrements @p completion_signal by 1. If the move fails, the signal is set
 * to a negative value.
 *
 * @param[in] ptr Start, rounded down to a page.
 * @param[in] size Bytes; the end is rounded up to a page.
 * @param[in] agent Agent to move to.
 * @param[in] num_dep_signals Length of @p dep_signals.
 * @param[in] dep_signals Signals to wait for. Ignored, and may be NULL, if the length is 0.
 * @param[in] completion_signal The signal to decrement; handle 0 for none.
 * @retval INVALID_AGENT @p agent is not valid.
 * @retval INVALID_SIGNAL A signal is not valid.
 * @retval INVALID_ARGUMENT The range is empty or invalid, or the list is missing.
 * @remark Facts: H; statuses: R (C checks nothing). */
hsa_status_t HSA_API hsa_amd_svm_prefetch_async(void* ptr, size_t size, hsa_agent_t agent,
                                                uint32_t num_dep_signals, const hsa_signal_t* dep_signals,
                                                hsa_signal_t completion_signal);

/** Discards the contents of ranges asynchronously, so that the system may reclaim their pages. The contents
 * are undefined until the next write.
 *
 * @param[in] ptrs Starts of the ranges, in memory of ::hsa_amd_vmem_address_reserve.
 * @param[in] sizes Bytes of each range.
 * @param[in] count Number of ranges, not 0.
 * @param[in] num_dep_signals Length of @p dep_signals.
 * @param[in] dep_signals Signals to wait for; NULL if and only if the length is 0.
 * @param[in] completion_signal The signal to decrement; handle 0 for none.
 * @retval INVALID_ARGUMENT @p ptrs or @p sizes is NULL, @p count is 0, or the dependencies are inconsistent.
 * @retval HSA_STATUS_ERROR_XNACK_DISABLED The agents do not retry page faults. Rigel always returns this
 *   status and does not change the ranges.
 * @since 1.20. Facts: H. */
hsa_status_t HSA_API hsa_amd_svm_discard_batch_async(void** ptrs, size_t* sizes, uint32_t count,
                                                     uint32_t num_dep_signals,
                                                     const hsa_signal_t* dep_signals,
                                                     hsa_signal_t completion_signal);

/** Discards ranges like ::hsa_amd_svm_discard_batch_async and moves them like ::hsa_amd_svm_prefetch_async,
 * as one operation.
 *
 * @param[in] ptrs Starts of the ranges, in memory of ::hsa_amd_vmem_address_reserve.
 * @param[in] sizes Bytes of each range.
 * @param[in] count Number of ranges, not 0.
 * @param[in] dst_agents GPUs to move to.
 * @param[in] num_dst_agents Length of @p dst_agents, not 0.
 * @param[in] num_dep_signals Length of @p dep_signals.
 * @param[in] dep_signals Signals to wait for; NULL if and only if the length is 0.
 * @param[in] completion_signal The signal to decrement; handle 0 for none.
 * @retval INVALID_ARGUMENT @p ptrs, @p sizes or @p dst_agents is NULL, a length is 0, or the dependencies are
 *   inconsistent.
 * @retval INVALID_AGENT An entry of @p dst_agents is not a GPU.
 * @retval HSA_STATUS_ERROR_XNACK_DISABLED The agents do not retry page faults. Rigel always returns this
 *   status and neither changes nor moves the ranges.
 * @since 1.32. Facts: H. */
hsa_status_t HSA_API hsa_amd_svm_discard_and_prefetch_batch_async(
    void** ptrs, size_t* sizes, uint32_t count, const hsa_agent_t* dst_agents, uint32_t num_dst_agents,
    uint32_t num_dep_signals, const hsa_signal_t* dep_signals, hsa_signal_t completion_signal);

/** @} */

/** @addtogroup profiling
 * @{ */

/** Acquires the streaming performance monitor (SPM) of a GPU for this process only. Recording starts with
 * ::hsa_amd_spm_set_dest_buffer.
 *
 * @param[in] preferred_agent The GPU.
 * @retval INVALID_AGENT @p preferred_agent is not a GPU.
 * @retval ERROR The driver rejected the call: the SPM is in use or not available.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_spm_acquire(hsa_agent_t preferred_agent);

/** Stops recording and releases the SPM of a GPU. When the function returns, the data is in the last buffer.
 *
 * @param[in] preferred_agent The GPU.
 * @retval INVALID_AGENT @p preferred_agent is not a GPU.
 * @retval ERROR The driver rejected the call, for example because the SPM was not acquired.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_spm_release(hsa_agent_t preferred_agent);

/** Passes the SPM a buffer to record into, and returns the previous buffer to the caller. The driver writes
 * to the buffer until the next call or ::hsa_amd_spm_release. The caller must not use it before that.
 *
 * @param[in] preferred_agent The GPU, acquired before.
 * @param[in] size_in_bytes Size of @p dest, bytes.
 * @param[in,out] timeout Input: maximum wait for the previous buffer to fill, ms; 0 to not wait. Output: the
 *   remaining time. After a timeout the function succeeds, and the buffer is partly filled.
 * @param[out] size_copied Receives the number of bytes in the previous buffer.
 * @param[out] dest Memory that the host can access, from malloc or HSA. NULL stops recording.
 * @param[out] is_data_loss Receives whether the previous buffer was too small.
 * @retval INVALID_AGENT @p preferred_agent is not a GPU.
 * @retval ERROR The driver rejected the call, for example because the SPM was not acquired.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_spm_set_dest_buffer(hsa_agent_t preferred_agent, size_t size_in_bytes,
                                                 uint32_t* timeout, uint32_t* size_copied, void* dest,
                                                 bool* is_data_loss);

/** @} */

/** @addtogroup memory
 * @{ */

/** Exports memory like ::hsa_amd_portable_export_dmabuf_v2 with ::HSA_AMD_DMABUF_MAPPING_TYPE_NONE; an older
 * form.
 *
 * @param[in] ptr Start of the range.
 * @param[in] size Bytes, not 0; within one allocation.
 * @param[out] dmabuf Receives a file descriptor, which the caller closes.
 * @param[out] offset Receives the offset of @p ptr in the buffer, bytes.
 * @retval INVALID_ARGUMENT A pointer is NULL, or @p size is 0.
 * @retval INVALID_ALLOCATION The range does not lie in one allocation.
 * @retval INVALID_AGENT The agent of the memory cannot export it. Host memory cannot be exported.
 * @retval OUT_OF_RESOURCES No file descriptor is free.
 * @since 1.1. Facts: H C. */
hsa_status_t HSA_API hsa_amd_portable_export_dmabuf(const void* ptr, size_t size, int* dmabuf,
                                                    uint64_t* offset);

/** Exports memory of a GPU as a dmabuf, for other APIs and devices. The memory exists while a descriptor or a
 * mapping of it exists, even after this process frees it. Sharing is at most as coherent as the pool and as
 * the importer's mapping.
 *
 * @param[in] ptr Start of the range.
 * @param[in] size Bytes, not 0; within one allocation from a pool.
 * @param[out] dmabuf Receives a file descriptor, which the caller closes.
 * @param[out] offset Receives the offset of @p ptr in the buffer, bytes.
 * @param[in] flags ::hsa_amd_dma_buf_mapping_type_t, combined with bitwise OR.
 * @retval INVALID_ARGUMENT A pointer is NULL, @p size is 0, or @p flags has an unknown bit.
 * @retval INVALID_ALLOCATION The range does not lie in one allocation.
 * @retval INVALID_AGENT The agent of the memory cannot export it. Host memory cannot be exported.
 * @retval NOT_SUPPORTED @p flags requests PCIe, but the host cannot see all of the GPU's memory. Or the
 *   driver does not export dmabufs (HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED).
 * @retval OUT_OF_RESOURCES No file descriptor is free.
 * @since 1.9. Facts: H C; unknown bits: R. */
hsa_status_t HSA_API hsa_amd_portable_export_dmabuf_v2(const void* ptr, size_t size, int* dmabuf,
                                                       uint64_t* offset, uint64_t flags);

/** Closes a descriptor of an exported dmabuf. Close it after the importer has imported it: mappings keep the
 * memory alive.
 *
 * @param[in] dmabuf The descriptor.
 * @retval RESOURCE_FREE The descriptor could not be closed, because it was closed before.
 * @since 1.1. Facts: H C. */
hsa_status_t HSA_API hsa_amd_portable_close_dmabuf(int dmabuf);

/** Flags of ::hsa_amd_vmem_address_reserve and ::hsa_amd_vmem_address_reserve_align. Facts: H C. */
typedef enum hsa_amd_vmem_address_reserve_flag_s {
  /** Reserves host addresses only, without the driver. The range can be used as host memory that the
   * kernel fills at the first access. Since 1.10. */
  HSA_AMD_VMEM_ADDRESS_NO_REGISTER = (1UL << 0),
} hsa_amd_vmem_address_reserve_flag_t;

/** Reserves virtual addresses. HSA_AMD_SYSTEM_INFO_VIRTUAL_MEM_API_SUPPORTED reports whether the system
 * supports virtual memory management. Order of use:
 *
 *  1. Reserve addresses.
 *  2. Create a handle for physical memory.
 *  3. Map the handle.
 *  4. Grant access.
 *  5. Unmap, release the handle and free the addresses.
 *
 * AMD plans to replace this function by ::hsa_amd_vmem_address_reserve_align, which is the same with
 * alignment 0.
 *
 * @param[out] va Receives the start: @p address if it is free, otherwise an address that the runtime chooses.
 * @param[in] size Bytes, a multiple of the page size and not 0.
 * @param[in] address Requested start, page aligned; 0 for none.
 * @param[in] flags ::hsa_amd_vmem_address_reserve_flag_t, combined with bitwise OR.
 * @retval INVALID_ARGUMENT @p va is NULL, @p size is 0 or not a multiple, or @p flags has an unknown bit.
 * @retval NOT_SUPPORTED The system has no virtual memory management (ROCr: INVALID_ARGUMENT). NO_REGISTER
 *   works without it.
 * @retval OUT_OF_RESOURCES No free range is large enough.
 * @since 1.4. Facts: H P C; argument checks: R (C checks only for size 0). */
hsa_status_t HSA_API hsa_amd_vmem_address_reserve(void** va, size_t size, uint64_t address, uint64_t flags);

/** Reserves virtual addresses like ::hsa_amd_vmem_address_reserve, with an alignment.
 *
 * @param[out] va Receives the aligned start: @p address if it is free and aligned, otherwise another address.
 * @param[in] size Bytes, a multiple of the page size and not 0.
 * @param[in] address Requested start; 0 for none.
 * @param[in] alignment Bytes, a power of two and at least a page; 0 for a page.
 * @param[in] flags ::hsa_amd_vmem_address_reserve_flag_t, combined with bitwise OR.
 * @retval INVALID_ARGUMENT As for ::hsa_amd_vmem_address_reserve, or @p alignment is invalid.
 * @retval NOT_SUPPORTED, OUT_OF_RESOURCES As for ::hsa_amd_vmem_address_reserve.
 * @since 1.6. Facts: H C; argument checks, and NO_REGISTER without virtual memory management: R. */
hsa_status_t HSA_API hsa_amd_vmem_address_reserve_align(void** va, size_t size, uint64_t address,
                                                        uint64_t alignment, uint64_t flags);

/** Frees a complete reservation of addresses.
 *
 * @param[in] va Start of the reservation.
 * @param[in] size Size of the reservation, bytes.
 * @retval INVALID_ALLOCATION No reservation starts at @p va.
 * @retval INVALID_ARGUMENT @p va is NULL, or @p size is not the size of the reservation.
 * @retval RESOURCE_FREE The reservation contains a mapping; it remains.
 * @since 1.4. Facts: H P C. */
hsa_status_t HSA_API hsa_amd_vmem_address_free(void* va, size_t size);

/** Physical memory without an address. Equal handles refer to the same memory. The memory exists while one
 * of these is true: the handle has a reference (from create, retain or import), a mapping exists, or a
 * process has an exported descriptor open. Facts: H C. */
typedef struct hsa_amd_vmem_alloc_handle_s {
  uint64_t handle; /**< Opaque. */
} hsa_amd_vmem_alloc_handle_t;

/** Kinds of memory for ::hsa_amd_vmem_handle_create. Facts: H C. */
typedef enum {
  MEMORY_TYPE_NONE,   /**< The driver may move it. */
  MEMORY_TYPE_PINNED, /**< The driver does not move it. */
} hsa_amd_memory_type_t;

/** Allocates physical memory. The caller owns one reference, which ::hsa_amd_vmem_handle_release releases.
 *
 * @param[in] pool A pool with RUNTIME_ALLOC_ALLOWED.
 * @param[in] size Bytes, a multiple of RUNTIME_ALLOC_GRANULE and not 0. Multiples of
 *   RUNTIME_ALLOC_REC_GRANULE waste no memory.
 * @param[in] type Kind of memory.
 * @param[in] flags ::HSA_AMD_MEMORY_POOL_UNCACHED_FLAG, or 0.
 * @param[out] memory_handle Receives the handle.
 * @retval INVALID_ARGUMENT @p pool is not valid, @p size is 0 or not a multiple, @p type is unknown, @p flags
 *   has another bit, or @p memory_handle is NULL.
 * @retval INVALID_ALLOCATION The pool does not allocate.
 * @retval NOT_SUPPORTED The system has no virtual memory management (ROCr: INVALID_ARGUMENT).
 * @retval OUT_OF_RESOURCES The pool has not enough memory left.
 * @since 1.4. Facts: H P C (C accepts any flags and checks no NULL). */
hsa_status_t HSA_API hsa_amd_vmem_handle_create(hsa_amd_memory_pool_t pool, size_t size,
                                                hsa_amd_memory_type_t type, uint64_t flags,
                                                hsa_amd_vmem_alloc_handle_t* memory_handle);

/** Releases one reference to a handle. The memory may be mapped: the mapping keeps it alive.
 *
 * @param[in] memory_handle The handle.
 * @retval INVALID_ALLOCATION The handle is not valid, or has no reference left.
 * @since 1.4. Facts: H P C T. */
hsa_status_t HSA_API hsa_amd_vmem_handle_release(hsa_amd_vmem_alloc_handle_t memory_handle);

/** Maps memory at a reserved address. No agent or thread can access the mapping before
 * ::hsa_amd_vmem_set_access. A handle may be mapped several times: the same memory is then accessible at
 * several addresses.
 *
 * @param[in] va Start, page aligned. The range lies in one reservation and contains no mapping.
 * @param[in] size Bytes, a multiple of the page size, not 0, and at most the size of the handle. The start of
 *   the handle's memory is mapped. (H and P require exactly the handle's size. ROCr's tests map less, and
 *   ROCr checks nothing. Rigel rejects more.)
 * @param[in] in_offset Reserved; 0. (C ignores it.)
 * @param[in] memory_handle The memory.
 * @param[in] flags Reserved; 0.
 * @retval INVALID_ARGUMENT The range, the handle, @p in_offset or @p flags is invalid.
 * @retval INVALID_AGENT The driver of the memory's agent cannot map it. (In ROCr with the KFD, this includes
 *   host memory; Rigel maps host memory.)
 * @retval OUT_OF_RESOURCES The driver has no room for it.
 * @since 1.4. Facts: H P C T; sizes and reserved arguments: R. */
hsa_status_t HSA_API hsa_amd_vmem_map(void* va, size_t size, size_t in_offset,
                                      hsa_amd_vmem_alloc_handle_t memory_handle, uint64_t flags);

/** Removes mappings and all access to them. The function checks the range before it changes anything.
 *
 * @param[in] va Start of a mapping.
 * @param[in] size Bytes of one or more whole mappings without a gap.
 * @retval INVALID_ALLOCATION No mapping starts at @p va.
 * @retval INVALID_ARGUMENT @p va is NULL, or @p size is 0, ends inside a mapping, or spans a gap. (As H and
 *   P; ROCr returns INVALID_ALLOCATION.)
 * @since 1.4. Facts: H P C T. */
hsa_status_t HSA_API hsa_amd_vmem_unmap(void* va, size_t size);

/** Permission of one agent, for ::hsa_amd_vmem_set_access. Facts: H. */
typedef struct hsa_amd_memory_access_desc_s {
  hsa_access_permission_t permissions; /**< NONE, RO, WO or RW; NONE revokes. */
  hsa_agent_t agent_handle;            /**< The agent; host agents are valid too. */
} hsa_amd_memory_access_desc_t;

/** Sets permissions of agents for mapped memory. Agents in @p desc receive the given permission; other agents
 * keep theirs. To revoke a permission, set HSA_ACCESS_PERMISSION_NONE. If the call fails, no permission
 * changes.
 *
 * (P says that a call overwrites the permissions of all agents. H says that it does not change those of other
 * agents. ROCr and its tests follow H, and callers such as HIP, which grants access agent by agent, depend on
 * it.)
 *
 * @param[in] va Start of a mapping.
 * @param[in] size Bytes of one or more whole mappings without a gap.
 * @param[in] desc The permissions. If an agent occurs twice, the last entry applies.
 * @param[in] desc_cnt Length of @p desc, not 0.
 * @retval INVALID_AGENT An entry has an invalid agent, or an agent that cannot access the memory.
 * @retval INVALID_ARGUMENT The range is not in a reservation. @p va is inside a mapping, or @p size is 0 or
 *   ends inside a mapping. @p desc is NULL or empty, or a permission is unknown.
 * @retval INVALID_ALLOCATION A part of the range is not mapped.
 * @retval OUT_OF_RESOURCES An agent could not map the memory.
 * @since 1.4. Facts: H P C T; all or nothing, and the end: R. */
hsa_status_t HSA_API hsa_amd_vmem_set_access(void* va, size_t size, const hsa_amd_memory_access_desc_t* desc,
                                             size_t desc_cnt);

/** Returns the permission of an agent for mapped memory.
 *
 * @param[in] va Any address in a mapping.
 * @param[out] perms Receives the permission. NONE if the agent never received one, or if the call fails.
 * @param[in] agent_handle The agent; host agents are valid too (ROCr: GPUs only).
 * @retval INVALID_AGENT @p agent_handle is not valid.
 * @retval INVALID_ALLOCATION No mapping exists at @p va. (In H and P, this status also applies to an agent
 *   that never received a permission. ROCr returns SUCCESS with NONE, and its tests check that.)
 * @retval INVALID_ARGUMENT A pointer is NULL.
 * @since 1.4. Facts: C T, against H P. */
hsa_status_t HSA_API hsa_amd_vmem_get_access(void* va, hsa_access_permission_t* perms,
                                             hsa_agent_t agent_handle);

/** Exports memory as a dmabuf, which any process can import. Send the descriptor over a Unix socket. Each
 * open descriptor keeps the memory alive. Closing a descriptor does not release a reference of the handle. (H
 * and P say that closing the last descriptor releases the handle.)
 *
 * @param[out] dmabuf_fd Receives the descriptor, which the caller closes; -1 on failure.
 * @param[in] handle The memory.
 * @param[in] flags Reserved; 0.
 * @retval INVALID_ALLOCATION @p handle is not valid.
 * @retval INVALID_ARGUMENT @p dmabuf_fd is NULL, or @p flags is not 0.
 * @retval OUT_OF_RESOURCES No file descriptor is free.
 * @since 1.4. Facts: H P C; lifetime and flags: R. */
hsa_status_t HSA_API hsa_amd_vmem_export_shareable_handle(int* dmabuf_fd, hsa_amd_vmem_alloc_handle_t handle,
                                                          uint64_t flags);

/** Creates a handle from a dmabuf of ::hsa_amd_vmem_export_shareable_handle. The caller keeps the descriptor
 * and may close it after the call. A second import of the same memory returns the same handle and adds a
 * reference.
 *
 * @param[in] dmabuf_fd The descriptor.
 * @param[out] handle Receives the handle; release it with ::hsa_amd_vmem_handle_release.
 * @retval INVALID_ARGUMENT @p handle is NULL, or @p dmabuf_fd is negative.
 * @retval INVALID_ALLOCATION The descriptor is closed, is not a dmabuf, or is of memory that no visible GPU
 *   can use. (As H and P; ROCr returns INCOMPATIBLE_ARGUMENTS in part.)
 * @retval OUT_OF_RESOURCES The driver has no room for it.
 * @since 1.4. Facts: H P C T. */
hsa_status_t HSA_API hsa_amd_vmem_import_shareable_handle(int dmabuf_fd, hsa_amd_vmem_alloc_handle_t* handle);

/** Returns the handle of a mapped address and adds a reference, which ::hsa_amd_vmem_handle_release releases.
 * If the handle was released since it was mapped, this makes it valid again.
 *
 * @param[out] memory_handle Receives the handle.
 * @param[in] addr Any address in the mapping (ROCr: its start).
 * @retval INVALID_ALLOCATION No mapping exists at @p addr.
 * @retval INVALID_ARGUMENT A pointer is NULL.
 * @since 1.4. Facts: H P C. */
hsa_status_t HSA_API hsa_amd_vmem_retain_alloc_handle(hsa_amd_vmem_alloc_handle_t* memory_handle, void* addr);

/** Returns the pool and the kind of a handle's memory.
 *
 * @param[in] memory_handle The handle.
 * @param[out] pool Receives the pool. For imported memory, a pool of the GPU that has the memory.
 * @param[out] type Receives the kind.
 * @retval INVALID_ALLOCATION @p memory_handle is not valid.
 * @retval INVALID_ARGUMENT A pointer is NULL.
 * @since 1.4. Facts: H P C. */
hsa_status_t HSA_API hsa_amd_vmem_get_alloc_properties_from_handle(hsa_amd_vmem_alloc_handle_t memory_handle,
                                                                   hsa_amd_memory_pool_t* pool,
                                                                   hsa_amd_memory_type_t* type);

/** Name of a handle's memory on all nodes of a fabric. Facts: H. */
typedef struct hsa_fabric_handle_s {
  uint8_t handle[16]; /**< Opaque. */
} hsa_fabric_handle_t;

/** Returns a name for a handle's memory, for other nodes. HSA_AMD_SYSTEM_INFO_FABRIC_HANDLES_SUPPORTED
 * reports whether the system supports it.
 *
 * @param[out] fabric_handle Receives the name.
 * @param[in] handle The handle, of a GPU's memory.
 * @param[in] flags Reserved; 0.
 * @retval INVALID_ALLOCATION @p handle is not valid.
 * @retval NOT_SUPPORTED The system has no fabric.
 * @since 1.25. Facts: H; NOT_SUPPORTED: R. */
hsa_status_t HSA_API hsa_amd_vmem_export_fabric_handle(hsa_fabric_handle_t* fabric_handle,
                                                       hsa_amd_vmem_alloc_handle_t handle, uint64_t flags);

/** Creates a handle from a name of ::hsa_amd_vmem_export_fabric_handle, on any node.
 *
 * @param[in] fabric_handle The name.
 * @param[out] handle Receives the handle.
 * @retval INVALID_ALLOCATION The name is not valid.
 * @retval NOT_SUPPORTED The system has no fabric.
 * @since 1.25. Facts: H; NOT_SUPPORTED: R. */
hsa_status_t HSA_API hsa_amd_vmem_import_fabric_handle(hsa_fabric_handle_t fabric_handle,
                                                       hsa_amd_vmem_alloc_handle_t* handle);

/** @} */

/** @addtogroup queue
 * @{ */

/** Sets the maximum scratch that a queue keeps after a dispatch. After a dispatch with a larger need, the
 * queue releases its scratch. Raising the limit allocates nothing. Lowering it reclaims scratch from queues
 * that hold more, and blocks until dispatches that use it are complete.
 *
 * @param[in] agent A GPU.
 * @param[in] threshold Bytes that each queue may keep, at most ::HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_MAX.
 *   (In H, all queues of the agent share the limit. Rigel compares it with the scratch of one queue.)
 * @retval INVALID_AGENT @p agent is not a GPU.
 * @retval INVALID_ARGUMENT @p threshold is above the maximum, or the GPU cannot release scratch while it
 *   runs.
 * @remark Facts: H C. */
hsa_status_t HSA_API hsa_amd_agent_set_async_scratch_limit(hsa_agent_t agent, size_t threshold);

/** Attributes for ::hsa_amd_queue_get_info; the type written is in parentheses. Facts: H C. */
typedef enum {
  /** The agent that the queue runs on (::hsa_agent_t). */
  HSA_AMD_QUEUE_INFO_AGENT,
  /** Address of the hardware doorbell, which identifies the queue (uint64_t). */
  HSA_AMD_QUEUE_INFO_DOORBELL_ID,
  /** Number of counted queues that share the hardware queue (uint32_t). UINT32_MAX if the queue is not of
   * ::hsa_amd_counted_queue_acquire. */
  HSA_QUEUE_INFO_USE_COUNT,
  /** Number of the hardware queue (uint32_t). */
  HSA_QUEUE_INFO_HW_ID,
  /** Major version of metadata packets for dispatches (uint8_t); 0xFF if not supported. */
  HSA_AMD_QUEUE_INFO_PREFETCH_METADATA_DISPATCH_PKT_VERSION_MAJOR,
  /** Minor version of metadata packets for dispatches (uint8_t); 0xFF if not supported. */
  HSA_AMD_QUEUE_INFO_PREFETCH_METADATA_DISPATCH_PKT_VERSION_MINOR,
  /** Major version of metadata packets for barriers (uint8_t); 0xFF if not supported. */
  HSA_AMD_QUEUE_INFO_PREFETCH_METADATA_BARRIER_PKT_VERSION_MAJOR,
  /** Minor version of metadata packets for barriers (uint8_t); 0xFF if not supported. */
  HSA_AMD_QUEUE_INFO_PREFETCH_METADATA_BARRIER_PKT_VERSION_MINOR,
  /** Address of the ring of metadata packets (uint64_t); 0 if the queue has none. */
  HSA_AMD_QUEUE_INFO_PREFETCH_METADATA_RING_BUFFER,
  /** Bit set of ::hsa_amd_agent_aql_properties_t (uint8_t[8]). */
  HSA_AMD_QUEUE_INFO_PROPERTIES,
  /** The queue accessed memory without permission (bool). Since 1.22. */
  HSA_AMD_QUEUE_INFO_VM_FAULT_STATUS,
  /** Address of that access (uint64_t). Not supported by Rigel: INVALID_ARGUMENT. */
  HSA_AMD_QUEUE_INFO_VM_FAULT_ADDRESS,
  /** Cause of that fault, HSA_AMD_MEMORY_FAULT_* (uint32_t). Not supported by Rigel: INVALID_ARGUMENT. */
  HSA_AMD_QUEUE_INFO_VM_FAULT_REASON,
  /** Engine of the queue (::hsa_amd_queue_engine_t). Since 1.30. */
  HSA_AMD_QUEUE_INFO_ENGINE_TYPE,
  /** Number of the SDMA engine, for SDMA queues only (uint32_t). Since 1.30. */
  HSA_AMD_QUEUE_INFO_SDMA_ENGINE_ID,
  /** Address of the queue's read index (uint64_t). Since 1.31. */
  HSA_AMD_QUEUE_INFO_READ_POINTER,
  /** Address of the queue's write index (uint64_t). Since 1.31. */
  HSA_AMD_QUEUE_INFO_WRITE_POINTER,
} hsa_queue_info_attribute_t;

/** Returns an attribute of a queue.
 *
 * @param[in] queue The queue.
 * @param[in] attribute The attribute.
 * @param[out] value Receives the attribute. It must have room for the attribute's type.
 * @retval INVALID_QUEUE @p queue is NULL, not valid, or has no such attribute. Soft queues have none.
 * @retval INVALID_ARGUMENT @p value is NULL, or @p attribute is unknown.
 * @remark Facts: C; NULL: R. */
hsa_status_t HSA_API hsa_amd_queue_get_info(hsa_queue_t* queue, hsa_queue_info_attribute_t attribute,
                                            void* value);

/** Topics of ::hsa_amd_enable_logging: bit numbers for ::hsa_flag_set64. Facts: H. */
typedef enum hsa_amd_log_flag_s {
  /** AQL packets that the runtime submits for copies and fills. */
  HSA_AMD_LOG_FLAG_BLIT_KERNEL_PKTS = 0,
  /** Another name of BLIT_KERNEL_PKTS. */
  HSA_AMD_LOG_FLAG_AQL = 0,
  /** Packets for SDMA engines. */
  HSA_AMD_LOG_FLAG_SDMA = 1,
  /** Progress of the runtime. */
  HSA_AMD_LOG_FLAG_INFO = 2,
} hsa_amd_log_flag_t;

/** Selects the topics and the target of logging, for the whole process. Each call replaces the previous
 * selection.
 *
 * @param[in] flags Bit set of ::hsa_amd_log_flag_t, uint8_t[8]. All 0 logs nothing.
 * @param[in] file A FILE*, which must stay open until another call replaces it. NULL for stderr.
 * @retval INVALID_ARGUMENT @p flags is NULL.
 * @remark Facts: H C; NULL: R. */
hsa_status_t HSA_API hsa_amd_enable_logging(uint8_t* flags, void* file);

/** @} */

/** @addtogroup memory
 * @{ */

/** An open file. Facts: H. */
__extension__ typedef struct hsa_amd_ais_file_handle_s {
  __extension__ union {
    void* handle;   /**< File handle of Windows. */
    int fd;         /**< File descriptor of Linux. */
    uint8_t pad[8]; /**< All bytes. */
  };
} hsa_amd_ais_file_handle_t;

/** Writes device memory to a file. Blocks until the system call that writes returns.
 *
 * @param[in] handle The file, open for writing.
 * @param[in] devicePtr The memory, of a pool or region.
 * @param[in] size Bytes, not 0.
 * @param[in] file_offset Offset in the file, bytes.
 * @param[out] size_copied Receives the number of bytes written, even if it is less than @p size. May be NULL.
 * @param[out] status Receives the system's error number, or 0. May be NULL.
 * @retval INVALID_ARGUMENT The file descriptor is invalid, @p devicePtr is NULL, @p size is 0, or the offset
 *   is negative.
 * @retval INVALID_ALLOCATION @p devicePtr and @p size do not lie in one allocation.
 * @retval HSA_STATUS_ERROR The system call failed.
 * @since 1.14. Facts: H. */
hsa_status_t HSA_API hsa_amd_ais_file_write(hsa_amd_ais_file_handle_t handle, void* devicePtr, uint64_t size,
                                            int64_t file_offset, uint64_t* size_copied, int32_t* status);

/** Reads from a file to device memory. Blocks until the data is in memory. Reading less than @p size at the
 * end of the file is a success.
 *
 * @param[in] handle The file, open for reading.
 * @param[in] devicePtr The memory, of a pool or region.
 * @param[in] size Bytes, not 0.
 * @param[in] file_offset Offset in the file, bytes.
 * @param[out] size_copied Receives the number of bytes read, even if it is less than @p size. May be NULL.
 * @param[out] status Receives the system's error number, or 0. May be NULL.
 * @retval INVALID_ARGUMENT The file descriptor is invalid, @p devicePtr is NULL, @p size is 0, or the offset
 *   is negative.
 * @retval INVALID_ALLOCATION @p devicePtr and @p size do not lie in one allocation.
 * @retval HSA_STATUS_ERROR The system call failed.
 * @since 1.14. Facts: H. */
hsa_status_t HSA_API hsa_amd_ais_file_read(hsa_amd_ais_file_handle_t handle, void* devicePtr, uint64_t size,
                                           int64_t file_offset, uint64_t* size_copied, int32_t* status);

/** @} */

/** @addtogroup queue
 * @{ */

/** Kinds of exported semaphores of graphics APIs. Facts: H. */
typedef enum {
  HSA_AMD_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32 = 0,     /**< Handle of Windows. */
  HSA_AMD_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_KMT = 1, /**< Global handle of Windows. */
  HSA_AMD_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD = 2,        /**< File descriptor. */
} hsa_amd_external_semaphore_handle_type_t;

/** A semaphore of a graphics API. Facts: H. */
typedef struct hsa_amd_external_semaphore_s {
  uint64_t handle; /**< Opaque. */
} hsa_amd_external_semaphore_t;

/** Description of a semaphore that ::hsa_amd_external_semaphore_handle_open imports. Facts: H. */
typedef struct {
  hsa_amd_external_semaphore_handle_type_t type; /**< Kind of the handle. */
  union {
    void* win32_handle; /**< For the kinds of Windows. */
    int fd;             /**< For the file descriptor. */
  } handle;             /**< Handle of kind @ref type. */
} hsa_amd_external_semaphore_handle_descriptor_t;

/** Imports a semaphore of a graphics API. Linux drivers do not support it, so ROCr and Rigel return
 * NOT_SUPPORTED.
 *
 * @param[in] agent A GPU.
 * @param[in] desc The semaphore.
 * @param[out] out_sem Receives the semaphore.
 * @retval NOT_SUPPORTED Always.
 * @since 1.24. Facts: H. */
hsa_status_t HSA_API hsa_amd_external_semaphore_handle_open(
    hsa_agent_t agent, const hsa_amd_external_semaphore_handle_descriptor_t* desc,
    hsa_amd_external_semaphore_t* out_sem);

/** Releases a semaphore of ::hsa_amd_external_semaphore_handle_open.
 *
 * @param[in] sem The semaphore.
 * @retval NOT_SUPPORTED Always.
 * @since 1.24. Facts: H. */
hsa_status_t HSA_API hsa_amd_external_semaphore_handle_close(hsa_amd_external_semaphore_t sem);

/** Sets a semaphore after all packets that are in a queue at the time of the call are complete.
 *
 * @param[in] queue The queue.
 * @param[in] sem The semaphore.
 * @param[in] value The value to set.
 * @retval NOT_SUPPORTED Always.
 * @since 1.27. Facts: H. */
hsa_status_t HSA_API hsa_amd_queue_signal_external_semaphore(hsa_queue_t* queue,
                                                             hsa_amd_external_semaphore_t sem,
                                                             uint64_t value);

/** Blocks later packets of a queue until a semaphore has a value.
 *
 * @param[in] queue The queue.
 * @param[in] sem The semaphore.
 * @param[in] value The value to wait for.
 * @retval NOT_SUPPORTED Always.
 * @since 1.27. Facts: H. */
hsa_status_t HSA_API hsa_amd_queue_wait_external_semaphore(hsa_queue_t* queue,
                                                           hsa_amd_external_semaphore_t sem, uint64_t value);

/** @} */

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // HSA_RUNTIME_EXT_AMD_H_
