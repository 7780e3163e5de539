// SPDX-License-Identifier: MIT

/**
 * @file
 * Layout of a signal in memory. `hsa_signal_t::handle` is the address of an ::amd_signal_t.
 *
 * The host, kernels and the command processor read and write it. Kernels use atomics on @c value for signal
 * operations. The command processor handles completion, timestamps and interrupts. Programs use the functions
 * of hsa.h; the layout is for runtimes, compilers and debuggers.
 *
 * Memory order: atomics access @c value in the order that the operation names. The command processor writes
 * the timestamps first, then @c value, then @c event_mailbox_ptr, and then raises the interrupt. A thread
 * that loads the new value with acquire order also sees the timestamps.
 */

#ifndef AMD_HSA_SIGNAL_H
#define AMD_HSA_SIGNAL_H

#include "amd_hsa_common.h"
#include "amd_hsa_queue.h"

/** Fixed-width form of ::amd_signal_kind_t. */
typedef int64_t amd_signal_kind64_t;

/** Kind of a signal, which selects the valid member of the value union. */
enum amd_signal_kind_t {
  /** Not a signal, or a destroyed signal. */
  AMD_SIGNAL_KIND_INVALID = 0,
  /** A signal whose value is in @c value. */
  AMD_SIGNAL_KIND_USER = 1,
  /** A queue doorbell. A store writes a packet index (64 bits) to @c hardware_doorbell_ptr (gfx9 and
   * later). */
  AMD_SIGNAL_KIND_DOORBELL = -1,
  /**
   * A queue doorbell. A store writes 32 bits to @c legacy_hardware_doorbell_ptr, in increasing order and
   * under amd_queue_t::legacy_doorbell_lock (gfx8 and older).
   */
  AMD_SIGNAL_KIND_LEGACY_DOORBELL = -2
};

/** Size and alignment of ::amd_signal_t, in bytes: one cache line, so that no two signals share one. */
#define AMD_SIGNAL_ALIGN_BYTES 64
/** Attribute that gives a type the alignment of a signal. */
#define AMD_SIGNAL_ALIGN __ALIGNED__(AMD_SIGNAL_ALIGN_BYTES)

/** A signal in memory. 64 bytes. The runtime that created it owns it until the signal is destroyed. */
typedef struct AMD_SIGNAL_ALIGN amd_signal_s {
  /** An ::amd_signal_kind_t. Written at creation and destruction only. */
  amd_signal_kind64_t kind;
  AMD_HSA_UNNAMED union {
    /** Current value of an ::AMD_SIGNAL_KIND_USER signal. */
    volatile int64_t value;
    /** Doorbell register of an ::AMD_SIGNAL_KIND_DOORBELL signal, mapped write-only into the process. */
    volatile uint64_t* hardware_doorbell_ptr;
    /**
     * Doorbell register of an ::AMD_SIGNAL_KIND_LEGACY_DOORBELL signal, mapped write-only into the process.
     */
    volatile uint32_t* legacy_hardware_doorbell_ptr;
  };
  /** Address to which the command processor stores @c event_id before it raises an interrupt. 0: no
   * interrupt. */
  uint64_t event_mailbox_ptr;
  /** Number of the kernel-driver event that a host thread waits for while it sleeps on this signal. */
  uint32_t event_id;
  /** Must be 0. */
  uint32_t reserved1;
  /** Start of the dispatch or copy that completes this signal, in ticks of the agent's clock. */
  uint64_t start_ts;
  /** End of the dispatch or copy that completes this signal, in ticks of the agent's clock. */
  uint64_t end_ts;
  AMD_HSA_UNNAMED union {
    /** For a doorbell: its queue. Not owned. */
    amd_queue_v2_t* queue_ptr;
    /** For other kinds: must be 0. */
    uint64_t reserved2;
  };
  /** Padding to a whole cache line. In Rigel, [0] changes when the memory is reused for another signal. */
  uint32_t reserved3[2];
} amd_signal_t;

#endif  // AMD_HSA_SIGNAL_H
