// SPDX-License-Identifier: MIT

/**
 * @file
 * What a signal looks like in memory. `hsa_signal_t::handle` is the address of an ::amd_signal_t.
 *
 * Read and written by the host, by kernels (signal operations compiled to plain atomics on @c value) and
 * by the command processor (completion, timestamps, interrupts). Programs use the functions of hsa.h;
 * the layout is for runtimes, compilers and debuggers.
 *
 * Ordering: @c value is accessed with atomics of the order that the operation names. The command processor
 * writes the timestamps first, then @c value, then @c event_mailbox_ptr and raises the interrupt: whoever
 * observes the new value with acquire order also sees the timestamps.
 */

#ifndef AMD_HSA_SIGNAL_H
#define AMD_HSA_SIGNAL_H

#include "amd_hsa_common.h"
#include "amd_hsa_queue.h"

/** Fixed-width form of ::amd_signal_kind_t. */
typedef int64_t amd_signal_kind64_t;

/** What lies behind a signal handle, and hence which member of the value union is live. */
enum amd_signal_kind_t {
  /** Not, or no longer, a signal. */
  AMD_SIGNAL_KIND_INVALID = 0,
  /** An ordinary signal: @c value holds it. */
  AMD_SIGNAL_KIND_USER = 1,
  /** A queue doorbell. A store is a 64-bit write of a packet index to @c hardware_doorbell_ptr (gfx9 on). */
  AMD_SIGNAL_KIND_DOORBELL = -1,
  /**
   * A queue doorbell. A store is a 32-bit write to @c legacy_hardware_doorbell_ptr, made in increasing order
   * under amd_queue_t::legacy_doorbell_lock (gfx8 and older).
   */
  AMD_SIGNAL_KIND_LEGACY_DOORBELL = -2
};

/** Size and alignment of ::amd_signal_t, in bytes: one cache line, so that signals never share one. */
#define AMD_SIGNAL_ALIGN_BYTES 64
/** Attribute that gives a type the alignment of a signal. */
#define AMD_SIGNAL_ALIGN __ALIGNED__(AMD_SIGNAL_ALIGN_BYTES)

/** A signal in memory. 64 bytes. Owned by the runtime that made it, until the signal is destroyed. */
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
  /** Where the command processor stores @c event_id before it raises an interrupt. 0: no interrupt. */
  uint64_t event_mailbox_ptr;
  /** Kernel-driver event that a host waiting on this signal sleeps on. */
  uint32_t event_id;
  /** Must be 0. */
  uint32_t reserved1;
  /** When the dispatch or copy that completes this signal began, in ticks of the agent's own clock. */
  uint64_t start_ts;
  /** When the dispatch or copy that completes this signal ended, in ticks of the agent's own clock. */
  uint64_t end_ts;
  AMD_HSA_UNNAMED union {
    /** For a doorbell, the queue it belongs to. Not owned. */
    amd_queue_v2_t* queue_ptr;
    /** For other kinds: must be 0. */
    uint64_t reserved2;
  };
  /** Padding to a whole cache line. In Rigel [0] differs when the memory becomes another signal. */
  uint32_t reserved3[2];
} amd_signal_t;

#endif  // AMD_HSA_SIGNAL_H
