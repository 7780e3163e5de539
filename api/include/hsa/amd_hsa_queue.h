// SPDX-License-Identifier: MIT

/**
 * @file
 * What an AQL queue looks like in memory. The `hsa_queue_t` that programs hold is the first member of an
 * ::amd_queue_v2_t; the rest is for runtimes, command-processor firmware, trap handlers, compiled code (which
 * finds the queue through its queue pointer) and debuggers.
 *
 * Who writes what: the host writes every field before the queue becomes active. From then on the packet
 * producers write @c write_dispatch_id and ring the doorbell, the consumer writes @c read_dispatch_id, and
 * the runtime alone changes scratch fields, either while the firmware is stopped on this queue or by the
 * reclaim protocol that @c caps announces.
 *
 * Ordering: a packet is published by the release store of its own header and then the doorbell, not by
 * @c write_dispatch_id, which only reserves slots. @c read_dispatch_id is read with acquire order before a
 * slot is used again.
 */

#ifndef AMD_HSA_QUEUE_H
#define AMD_HSA_QUEUE_H

#include "amd_hsa_common.h"
#include "hsa.h"

/** Bit-set of ::amd_queue_properties_t fields. */
typedef uint32_t amd_queue_properties32_t;

/** Fields of amd_queue_t::queue_properties. */
enum amd_queue_properties_t {
  /** A trap handler is installed: waves are started with traps enabled. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER, 0, 1),
  /** Addresses in this queue and its packets are 64 bits wide. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_QUEUE_PROPERTIES_IS_PTR64, 1, 1),
  /** Waves are started with the SGPRs that a debugger's trap handler needs. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER_DEBUG_SGPRS, 2, 1),
  /** Timestamps are written to completion signals. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_QUEUE_PROPERTIES_ENABLE_PROFILING, 3, 1),
  /**
   * The scratch now assigned serves one dispatch only; firmware then gives it back through the inactive
   * signal.
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

/** Fields of amd_queue_t::caps: a handshake between firmware and runtime about scratch. */
enum amd_queue_capabilities_t {
  /**
   * Set by firmware, when it maps the queue, if it knows alternate scratch and bounds on the use of scratch.
   */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_QUEUE_CAPS_CP_ASYNC_RECLAIM, 0, 1),
  /**
   * Set by a runtime that uses them, in a queue allocated as ::amd_queue_v2_t. Without it firmware
   * must not touch version 2 fields.
   */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_QUEUE_CAPS_SW_ASYNC_RECLAIM, 1, 1)
};

/**
 * First version of the queue structure. 256 bytes. New code allocates ::amd_queue_v2_t, of which this is
 * a prefix; it is kept for binaries and sources that know only this one.
 */
typedef struct AMD_QUEUE_ALIGN amd_queue_s {
  /** The public part: ring, size, doorbell signal, identifier. Constant once the queue is active. */
  hsa_queue_t hsa_queue;
  /** An ::amd_queue_capabilities32_t. */
  uint32_t caps;
  /** Must be 0. */
  uint32_t reserved1[3];
  /** Number of slots ever reserved by producers. From gfx9 on, hardware reads its write pointer here. */
  volatile uint64_t write_dispatch_id;
  /**
   * Bits 63:32 of the flat address where the group (LDS) aperture begins. Compiled code reads it up to gfx8.
   */
  uint32_t group_segment_aperture_base_hi;
  /** Bits 63:32 of the flat address where the private (scratch) aperture begins. Same readers. */
  uint32_t private_segment_aperture_base_hi;
  /** Highest compute-unit number that can run waves of this queue; bounds the scratch slots. */
  uint32_t max_cu_id;
  /** Highest wave number within a compute unit. */
  uint32_t max_wave_id;
  /**
   * One more than the packet index last written to a 32-bit doorbell; under @c legacy_doorbell_lock.
   * Up to gfx8, hardware reads its write pointer here.
   */
  volatile uint64_t max_legacy_doorbell_dispatch_id_plus_1;
  /** Spin lock of 32-bit doorbells: 0 free, 1 held. Host threads and kernels take it by atomic exchange. */
  volatile uint32_t legacy_doorbell_lock;
  /** Must be 0. Keeps both indices in cache lines of their own. */
  uint32_t reserved2[9];
  /** Number of packets consumed; their slots are free. Written by the consumer. */
  volatile uint64_t read_dispatch_id;
  /**
   * Offset in bytes of @c read_dispatch_id in this structure: firmware knows that address and finds the rest
   * by this.
   */
  uint32_t read_dispatch_id_field_base_byte_offset;
  /** Value for the COMPUTE_TMPRING_SIZE register: scratch waves and size of each. */
  uint32_t compute_tmpring_size;
  /**
   * Buffer resource descriptor of the scratch memory; firmware loads it to the SGPRs that a kernel asks for.
   */
  uint32_t scratch_resource_descriptor[4];
  /** Address of the scratch memory; relative to the scratch pool's base up to gfx8. */
  uint64_t scratch_backing_memory_location;
  AMD_HSA_UNNAMED union {
    /** Size in bytes of the scratch memory. */
    uint64_t scratch_backing_memory_byte_size;
    /** The same bytes under the name that later revisions gave them here. */
    uint32_t reserved3[2];
  };
  /** Scratch bytes of one lane of a 64-lane wave. */
  uint32_t scratch_wave64_lane_byte_size;
  /** An ::amd_queue_properties32_t. */
  amd_queue_properties32_t queue_properties;
  /** Must be 0. */
  uint32_t reserved4[2];
  /**
   * Set by firmware or the trap handler when the queue stops by itself: the value says why (scratch needed,
   * illegal packet, exception, …). The runtime serves the request and sets it back to 0.
   */
  hsa_signal_t queue_inactive_signal;
  /** Must be 0. */
  uint32_t reserved5[14];
} amd_queue_t;

/** Most accelerator complex dies (XCC) that can share one queue. */
/** Says that amd_queue_v2_t is declared. */
#define AMD_QUEUE_HAS_V2 1
#define MAX_NUM_XCC 128

/**
 * For one XCC, index of the last dispatch packet that used each kind of scratch. Written by firmware, at the
 * latest when it lets go of the queue.
 */
typedef struct scratch_last_used_index_xcc_s {
  /** For the main scratch. */
  volatile uint64_t main;
  /** For the alternate scratch. */
  volatile uint64_t alt;
} scratch_last_used_index_xcc_t;

/**
 * Second version of the queue structure. 2304 bytes. Adds, in place of reserved fields and past the end of
 * ::amd_queue_t, what lets a runtime take scratch back without being asked, and a second, "alternate"
 * scratch: more bytes for each lane, but only for dispatches with small grids. Firmware that lacks
 * ::AMD_QUEUE_CAPS_CP_ASYNC_RECLAIM ignores the additions; firmware that has it leaves them alone until
 * ::AMD_QUEUE_CAPS_SW_ASYNC_RECLAIM is set. It reads them when the queue is mapped: a runtime that changes
 * them unmaps and maps the queue. Fields without a comment here mean what they mean in ::amd_queue_t.
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
   * V2. Last packet index that may use the main scratch; UINT64_MAX: no bound. Lowered to take scratch back.
   */
  volatile uint64_t scratch_max_use_index;
  hsa_signal_t queue_inactive_signal;
  /** V2. The same bound for the alternate scratch. */
  volatile uint64_t alt_scratch_max_use_index;
  /** V2. Buffer resource descriptor of the alternate scratch. */
  uint32_t alt_scratch_resource_descriptor[4];
  /** V2. Address of the alternate scratch. */
  uint64_t alt_scratch_backing_memory_location;
  /** V2. Largest grid that may use alternate scratch: work-items in X. */
  uint32_t alt_scratch_dispatch_limit_x;
  /** V2. Work-items in Y. */
  uint32_t alt_scratch_dispatch_limit_y;
  /** V2. Work-items in Z. */
  uint32_t alt_scratch_dispatch_limit_z;
  /** V2. Alternate scratch bytes of one lane of a 64-lane wave. */
  uint32_t alt_scratch_wave64_lane_byte_size;
  /** V2. COMPUTE_TMPRING_SIZE for the alternate scratch. */
  uint32_t alt_compute_tmpring_size;
  /** Must be 0. */
  uint32_t reserved5;

  /** V2. By XCC: which dispatch used scratch last. Scratch is idle once @c read_dispatch_id is past it. */
  scratch_last_used_index_xcc_t scratch_last_used_index[MAX_NUM_XCC];
} amd_queue_v2_t;

#endif  // AMD_HSA_QUEUE_H
