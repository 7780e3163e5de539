// SPDX-License-Identifier: MIT

/**
 * @file
 * What a dispatch can ask of a command processor beyond its packet: which compute units, how much at a time,
 * what to have in the L2 cache when it begins.
 *
 * A descriptor is part of an ::hsa_amd_metadata_kernel_dispatch_packet_t. Only GPUs with rings for such
 * packets (gfx1250) read it; no agent of Rigel has one (::HSA_AMD_QUEUE_INFO_PREFETCH_METADATA_RING_BUFFER is
 * 0). All zero means that there is none. Facts: H.
 */

#ifndef AMD_LAUNCH_DESCRIPTOR_H_
#define AMD_LAUNCH_DESCRIPTOR_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** amd_launch_descriptor_s::version of one that says nothing. */
#define AMD_LAUNCH_DESCRIPTOR_VERSION_NONE 0
/** amd_launch_descriptor_s::version of gfx1250's. */
#define AMD_LAUNCH_DESCRIPTOR_VERSION_GFX1250 1
/** Regions that gfx1250 fetches. */
#define AMD_LAUNCH_DESCRIPTOR_PREFETCH_REGIONS_GFX1250 2
/** Regions that a descriptor has room for. */
#define AMD_LAUNCH_DESCRIPTOR_MAX_PREFETCH_REGIONS AMD_LAUNCH_DESCRIPTOR_PREFETCH_REGIONS_GFX1250

/** A region of memory to be in the L2 cache: bursts of one length, at one distance. 16 bytes; all zero: none.
 */
__extension__ typedef struct amd_data_prefetch_s {
  union {
    struct {
      uint32_t cooperative : 1; /**< 1: each chiplet fetches a part; 0: each fetches all. */
      uint32_t temporal : 2;    /**< How long to keep it: 0 as usual, 1 not, 2 long, 3 until it is read. */
      uint32_t scope : 2;       /**< 2 device, 3 system. */
      uint32_t burst_size : 11; /**< Of 256 bytes, less 1. */
      uint32_t num_burst : 16;  /**< Bursts, less 1. */
    };
    uint32_t dw0; /**< All of it. */
  };
  union {
    struct {
      uint32_t chunk_size : 4;              /**< log2 of the bursts that a chiplet fetches in a row. */
      uint32_t translation_permissions : 2; /**< 0 read, 1 write, 2 execute. */
      uint32_t reserved1 : 2;               /**< 0. */
      uint32_t addr_lo : 24;                /**< Bits 8 to 31 of the address, or an offset: see @c mode. */
    };
    uint32_t dw1; /**< All of it. */
  };
  union {
    struct {
      uint32_t addr_hi : 25;  /**< Bits 32 to 56 of the address. */
      uint32_t reserved2 : 7; /**< 0. */
    };
    uint32_t dw2; /**< All of it. */
  };
  union {
    struct {
      uint32_t stride : 24;   /**< From burst to burst, of 256 bytes. */
      uint32_t reserved3 : 6; /**< 0. */
      uint32_t mode : 2; /**< 0 unused; 1 the address is given; 2 it is at this offset of the arguments. */
    };
    uint32_t dw3; /**< All of it. */
  };
} amd_data_prefetch_t;

/** Wishes of a dispatch. 52 bytes. */
__extension__ typedef struct amd_launch_descriptor_s {
  uint8_t version;   /**< AMD_LAUNCH_DESCRIPTOR_VERSION_*; others are refused. */
  uint8_t priority;  /**< 0: the queue's. */
  uint8_t pm_hint;   /**< For the firmware that manages power; 0: none. */
  uint8_t reserved0; /**< 0. */
  union {
    struct {
      uint32_t cu_start : 4;     /**< First compute unit of each shader engine that is used. */
      uint32_t cu_count : 4;     /**< How many; 0: all. */
      uint32_t se_en : 2;        /**< Shader engines, a bit each. */
      uint32_t reserved_cu : 22; /**< 0. */
    };
    uint32_t cu_enable; /**< All of it; 0: all compute units. */
  };
  uint16_t dispatch_granularity_limiter; /**< Work-groups, or clusters of them, at a time; 0: no limit. */
  uint16_t reserved1;                    /**< 0. */
  uint8_t reserved2;                     /**< 0. */
  uint8_t reserved3;                     /**< 0. */
  uint16_t tg_chunk_size;                /**< Work-groups in a row for one chiplet; 0: as the queue has it. */
  uint32_t reserved4;                    /**< 0. */
  amd_data_prefetch_t prefetch[AMD_LAUNCH_DESCRIPTOR_MAX_PREFETCH_REGIONS]; /**< What to fetch. */
} amd_launch_descriptor_t;

#ifdef __cplusplus
}
#endif

#endif  // AMD_LAUNCH_DESCRIPTOR_H_
