// SPDX-License-Identifier: MIT

/**
 * @file
 * Launch options that a command processor reads in addition to a dispatch packet: compute units, number of
 * concurrent work-groups, and memory to prefetch into the L2 cache.
 *
 * A descriptor is part of an ::hsa_amd_metadata_kernel_dispatch_packet_t. Only GPUs with rings for such
 * packets (gfx1250) read it. No agent of Rigel has such a ring:
 * ::HSA_AMD_QUEUE_INFO_PREFETCH_METADATA_RING_BUFFER is 0. All bytes are 0 if
 * the packet has no descriptor. Facts: H.
 */

#ifndef AMD_LAUNCH_DESCRIPTOR_H_
#define AMD_LAUNCH_DESCRIPTOR_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Value of amd_launch_descriptor_s::version without a descriptor. */
#define AMD_LAUNCH_DESCRIPTOR_VERSION_NONE 0
/** Value of amd_launch_descriptor_s::version for gfx1250. */
#define AMD_LAUNCH_DESCRIPTOR_VERSION_GFX1250 1
/** Number of regions that gfx1250 prefetches. */
#define AMD_LAUNCH_DESCRIPTOR_PREFETCH_REGIONS_GFX1250 2
/** Number of regions in a descriptor. */
#define AMD_LAUNCH_DESCRIPTOR_MAX_PREFETCH_REGIONS AMD_LAUNCH_DESCRIPTOR_PREFETCH_REGIONS_GFX1250

/** A region of memory to prefetch into the L2 cache: bursts of equal length at a constant distance.
 * Size: 16 bytes. All bytes are 0 in an unused entry. */
__extension__ typedef struct amd_data_prefetch_s {
  union {
    struct {
      uint32_t cooperative : 1; /**< 1: each chiplet fetches a part; 0: each fetches all. */
      uint32_t temporal : 2;    /**< Lifetime in the cache: 0 normal, 1 none, 2 long, 3 until read. */
      uint32_t scope : 2;       /**< 2 device, 3 system. */
      uint32_t burst_size : 11; /**< Size of a burst in units of 256 bytes, minus 1. */
      uint32_t num_burst : 16;  /**< Number of bursts minus 1. */
    };
    uint32_t dw0; /**< All bits. */
  };
  union {
    struct {
      uint32_t chunk_size : 4;              /**< log2 of the number of consecutive bursts per chiplet. */
      uint32_t translation_permissions : 2; /**< 0 read, 1 write, 2 execute. */
      uint32_t reserved1 : 2;               /**< 0. */
      uint32_t addr_lo : 24;                /**< Bits 8 to 31 of the address, or an offset: see @c mode. */
    };
    uint32_t dw1; /**< All bits. */
  };
  union {
    struct {
      uint32_t addr_hi : 25;  /**< Bits 32 to 56 of the address. */
      uint32_t reserved2 : 7; /**< 0. */
    };
    uint32_t dw2; /**< All bits. */
  };
  union {
    struct {
      uint32_t stride : 24;   /**< Distance of bursts in units of 256 bytes. */
      uint32_t reserved3 : 6; /**< 0. */
      uint32_t mode : 2;      /**< 0 unused; 1 an address; 2 an offset in the arguments to the address. */
    };
    uint32_t dw3; /**< All bits. */
  };
} amd_data_prefetch_t;

/** Launch options of a dispatch. 52 bytes. */
__extension__ typedef struct amd_launch_descriptor_s {
  uint8_t version;   /**< AMD_LAUNCH_DESCRIPTOR_VERSION_*; others are rejected. */
  uint8_t priority;  /**< Priority; 0: that of the queue. */
  uint8_t pm_hint;   /**< Hint for power management firmware; 0: none. */
  uint8_t reserved0; /**< 0. */
  union {
    struct {
      uint32_t cu_start : 4;     /**< First compute unit of each shader engine. */
      uint32_t cu_count : 4;     /**< Number of compute units; 0: all. */
      uint32_t se_en : 2;        /**< Mask of shader engines. */
      uint32_t reserved_cu : 22; /**< 0. */
    };
    uint32_t cu_enable; /**< All bits; 0: all compute units. */
  };
  uint16_t dispatch_granularity_limiter; /**< Maximum concurrent work-groups or clusters; 0: no limit. */
  uint16_t reserved1;                    /**< 0. */
  uint8_t reserved2;                     /**< 0. */
  uint8_t reserved3;                     /**< 0. */
  uint16_t tg_chunk_size;                /**< Consecutive work-groups per chiplet; 0: as for the queue. */
  uint32_t reserved4;                    /**< 0. */
  amd_data_prefetch_t prefetch[AMD_LAUNCH_DESCRIPTOR_MAX_PREFETCH_REGIONS]; /**< Regions to prefetch. */
} amd_launch_descriptor_t;

#ifdef __cplusplus
}
#endif

#endif  // AMD_LAUNCH_DESCRIPTOR_H_
