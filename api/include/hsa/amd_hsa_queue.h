// SPDX-License-Identifier: MIT

/**
 * @file
 * Layout of an AQL queue in memory. The `hsa_queue_t` of programs is the first member of an ::amd_queue_v2_t.
 * The other members are for runtimes, command-processor firmware, trap handlers, debuggers, and compiled
 * code, which receives the queue's address.
 *
 * Writers: before the queue becomes active, the host writes every field. Afterwards the packet producers
 * write @c write_dispatch_id and ring the doorbell, and the consumer writes @c read_dispatch_id. Only the
 * runtime changes scratch fields: while the firmware has stopped the queue, or by the reclaim protocol that
 * @c caps announces.
 *
 * Memory order: the release store of a packet's header publishes the packet, and the doorbell follows. @c
 * write_dispatch_id only reserves slots. Load @c read_dispatch_id with acquire order before a slot is used
 * again.
 */

#ifndef AMD_HSA_QUEUE_H
#define AMD_HSA_QUEUE_H

#include "amd_hsa_common.h"
#include "hsa.h"

/** Bit-set of ::amd_queue_properties_t fields. */
typedef uint32_t amd_queue_properties32_t;

/** Fields of amd_queue_t::queue_properties. */
enum amd_queue_properties_t {
  /** A trap handler is installed: waves start with traps enabled. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER, 0, 1),
  /** Addresses in this queue and its packets are 64 bits wide. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_QUEUE_PROPERTIES_IS_PTR64, 1, 1),
  /** Waves start with the SGPRs that a debugger's trap handler needs. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER_DEBUG_SGPRS, 2, 1),
  /** The command processor writes timestamps to completion signals. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_QUEUE_PROPERTIES_ENABLE_PROFILING, 3, 1),
  /**
   * The current scratch is for one dispatch only; firmware then returns it through the inactive signal.
   */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE, 4, 1),
  /** Must be 0. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_QUEUE_PROPERTIES_RESERVED1, 5, 27)
};

/** Alignment of the queue structures, in bytes. */
#define AMD_QUEUE_ALIGN_BYTES 64
/** Attribute that gives a type the alignment of a queue. */
#define AMD_QUEUE_ALIGN __ALIGNED__(AMD_QUEUE_ALIGN_BYTES)

/** Bit-set of ::amd_queue_capabilities_t fields. */
typedef uint32_t amd_queue_capabilities32_t;

/** Fields of amd_queue_t::caps: a handshake between firmware and runtime for scratch memory. */
enum amd_queue_capabilities_t {
  /**
   * Firmware sets it when it maps the queue, if it supports alternate scratch and limits on the use of
   * scratch.
   */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_QUEUE_CAPS_CP_ASYNC_RECLAIM, 0, 1),
  /**
   * A runtime that uses them sets it, in a queue allocated as ::amd_queue_v2_t. If it is not set, firmware
   * must not access version 2 fields.
   */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_QUEUE_CAPS_SW_ASYNC_RECLAIM, 1, 1)
};

/**
 * First version of the queue structure. 256 bytes. New code allocates ::amd_queue_v2_t, which starts with the
 * same members. Older binaries and sources know only this version.
 */
typedef struct AMD_QUEUE_ALIGN amd_queue_s {
  /** The public part: ring, size, doorbell signal, identifier. Constant once the queue is active. */
  hsa_queue_t hsa_queue;
  /** An ::amd_queue_capabilities32_t. */
  uint32_t caps;
  /** Must be 0. */
  uint32_t reserved1[3];
  /** Number of slots that producers have reserved. From gfx9 on, hardware reads its write pointer here. */
  volatile uint64_t write_dispatch_id;
  /**
   * Bits 63:32 of the start of the group (LDS) aperture in the flat address space. Compiled code reads it up
   * to gfx8.
   */
  uint32_t group_segment_aperture_base_hi;
  /** Bits 63:32 of the start of the private (scratch) aperture. Compiled code reads it up to gfx8. */
  uint32_t private_segment_aperture_base_hi;
  /** Highest compute-unit number that can run waves of this queue; bounds the scratch slots. */
  uint32_t max_cu_id;
  /** Highest wave number within a compute unit. */
  uint32_t max_wave_id;
  /**
   * Last packet index that was written to a 32-bit doorbell, plus 1; under @c legacy_doorbell_lock. Up to
   * gfx8, hardware reads its write pointer here.
   */
  volatile uint64_t max_legacy_doorbell_dispatch_id_plus_1;
  /** Spin lock of 32-bit doorbells: 0 free, 1 held. Host threads and kernels acquire it by atomic
   * exchange. */
  volatile uint32_t legacy_doorbell_lock;
  /** Must be 0. Places the two indices in different cache lines. */
  uint32_t reserved2[9];
  /** Number of consumed packets, whose slots are free. Written by the consumer. */
  volatile uint64_t read_dispatch_id;
  /**
   * Offset of @c read_dispatch_id in this structure, bytes. Firmware has the address of @c read_dispatch_id
   * and uses the offset to find the structure.
   */
  uint32_t read_dispatch_id_field_base_byte_offset;
  /** Value for the COMPUTE_TMPRING_SIZE register: number of scratch waves and size of each. */
  uint32_t compute_tmpring_size;
  /**
   * Buffer resource descriptor of the scratch memory. Firmware loads it into the SGPRs that a kernel
   * requests.
   */
  uint32_t scratch_resource_descriptor[4];
  /** Address of the scratch memory; up to gfx8 relative to the base of the scratch pool. */
  uint64_t scratch_backing_memory_location;
  AMD_HSA_UNNAMED union {
    /** Size in bytes of the scratch memory. */
    uint64_t scratch_backing_memory_byte_size;
    /** The same bytes, with the name of later revisions. */
    uint32_t reserved3[2];
  };
  /** Scratch bytes of one lane of a 64-lane wave. */
  uint32_t scratch_wave64_lane_byte_size;
  /** An ::amd_queue_properties32_t. */
  amd_queue_properties32_t queue_properties;
  /** Must be 0. */
  uint32_t reserved4[2];
  /**
   * Reason why firmware or the trap handler has stopped the queue (scratch needed, invalid packet, exception,
   * …). The runtime handles it and sets it to 0.
   */
  hsa_signal_t queue_inactive_signal;
  /** Must be 0. */
  uint32_t reserved5[14];
} amd_queue_t;

/** Maximum number of accelerator complex dies (XCC) that can share one queue. */
/** Defined if amd_queue_v2_t is declared. */
#define AMD_QUEUE_HAS_V2 1
#define MAX_NUM_XCC 128

/**
 * Index of the last dispatch packet that used each kind of scratch, for one XCC. Firmware writes it, at the
 * latest when it unmaps the queue.
 */
typedef struct scratch_last_used_index_xcc_s {
  /** Index for the main scratch. */
  volatile uint64_t main;
  /** Index for the alternate scratch. */
  volatile uint64_t alt;
} scratch_last_used_index_xcc_t;

/**
 * Second version of the queue structure. 2304 bytes. New members replace reserved fields and follow the end
 * of ::amd_queue_t. With them a runtime can reclaim scratch at any time. They also describe an "alternate"
 * scratch: more bytes for each lane, but only for dispatches with small grids.
 *
 * Firmware without ::AMD_QUEUE_CAPS_CP_ASYNC_RECLAIM ignores the new members. Other firmware ignores them
 * until ::AMD_QUEUE_CAPS_SW_ASYNC_RECLAIM is set. Firmware reads them when it maps the queue: to change them,
 * a runtime unmaps and maps the queue. Fields without a comment have the meaning that they have in
 * ::amd_queue_t.
 */
typedef struct AMD_QUEUE_ALIGN amd_queue_v2_s {
  hsa_queue_t hsa_queue;
  uint32_t caps;
  uint32_t reserved1[3];
  volatile uint64_t write_dispatch_id;
  uint32_t group_segment_aperture_base_hi;
  uint32_t private_segment_aperture_base_hi;
  uint32_t max_cu_id;
  uint32_t max_wave_id;
  volatile uint64_t max_legacy_doorbell_dispatch_id_plus_1;
  volatile uint32_t legacy_doorbell_lock;
  uint32_t reserved2[9];
  volatile uint64_t read_dispatch_id;
  uint32_t read_dispatch_id_field_base_byte_offset;
  uint32_t compute_tmpring_size;
  uint32_t scratch_resource_descriptor[4];
  uint64_t scratch_backing_memory_location;
  /** Size in bytes of the scratch memory. */
  uint64_t scratch_backing_memory_byte_size;
  uint32_t scratch_wave64_lane_byte_size;
  amd_queue_properties32_t queue_properties;
  /**
   * V2. Last packet index that may use the main scratch; UINT64_MAX: no limit. A runtime lowers it to reclaim
   * scratch.
   */
  volatile uint64_t scratch_max_use_index;
  hsa_signal_t queue_inactive_signal;
  /** V2. The same limit for the alternate scratch. */
  volatile uint64_t alt_scratch_max_use_index;
  /** V2. Buffer resource descriptor of the alternate scratch. */
  uint32_t alt_scratch_resource_descriptor[4];
  /** V2. Address of the alternate scratch. */
  uint64_t alt_scratch_backing_memory_location;
  /** V2. Maximum grid that may use alternate scratch: work-items in X. */
  uint32_t alt_scratch_dispatch_limit_x;
  /** V2. Maximum grid that may use alternate scratch: work-items in Y. */
  uint32_t alt_scratch_dispatch_limit_y;
  /** V2. Maximum grid that may use alternate scratch: work-items in Z. */
  uint32_t alt_scratch_dispatch_limit_z;
  /** V2. Alternate scratch bytes of one lane of a 64-lane wave. */
  uint32_t alt_scratch_wave64_lane_byte_size;
  /** V2. Value for COMPUTE_TMPRING_SIZE with the alternate scratch. */
  uint32_t alt_compute_tmpring_size;
  /** Must be 0. */
  uint32_t reserved5;

  /** V2. Last use of scratch, for each XCC. Scratch is idle if @c read_dispatch_id is greater. */
  scratch_last_used_index_xcc_t scratch_last_used_index[MAX_NUM_XCC];
} amd_queue_v2_t;

#endif  // AMD_HSA_QUEUE_H
