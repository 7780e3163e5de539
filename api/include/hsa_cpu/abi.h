/* The interface between kernels compiled for the CPU and the CPU backend that runs them.
 *
 * A code object is an ELF shared object for the CPU (-shared -fPIC). The runtime loads it without the dynamic
 * linker. It has no thread-local storage, no constructors and no dependencies. Undefined symbols are resolved
 * in the C and mathematics libraries. It contains:
 *
 *  - `<kernel>.kd` for each kernel: a 64-byte kernel descriptor with the layout of HSA loaders. Its address
 *    is the `kernel_object` of a dispatch packet.
 *  - The entry of each kernel: a function of type hsa_cpu_entry_t, found through the descriptor. It is
 *    hidden.
 *  - The note `.note.hsa_cpu`: the version of this ABI and the CPU features that the code uses. The backend
 *    rejects a code object if the CPU lacks a feature.
 *  - `hsa_cpu_agent_function_<type>`: optional functions that agent dispatch packets of that type call.
 *
 * Authors include kernel.hpp (C++) or kernel.h (C), whose macros generate all of these from a function body.
 * This header is shared with the backend.
 *
 *  - Threads: several threads call an entry at a time, with disjoint ranges of work-groups. All work-items of
 *    a work-group run on one thread, so a work-group barrier needs no synchronization of threads. Signals
 *    other than those of faults are blocked.
 *  - Memory order: the acquire fence of the packet is complete before an entry is called. Stores of an entry,
 *    non-temporal stores included, are visible to any thread that observes the completion of the dispatch.
 *  - Ownership: the arguments of an entry belong to the backend and are valid until the entry returns.
 */
#ifndef HSA_CPU_ABI_H_
#define HSA_CPU_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define HSA_CPU_EXTERN_C extern "C"
#define HSA_CPU_STATIC_ASSERT(condition, text) static_assert(condition, text)
extern "C" {
#else
#define HSA_CPU_EXTERN_C
#define HSA_CPU_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#define HSA_CPU_ABI_MAJOR 1
#define HSA_CPU_ABI_MINOR 0

/* One kernel dispatch, the same for all of its work-groups. Only grows, at the end. */
typedef struct hsa_cpu_dispatch {
  uint32_t struct_size;       /* bytes */
  uint32_t dimensions;        /* 1, 2 or 3 */
  uint32_t grid_size[3];      /* work-items; 1 in dimensions that are not used */
  uint32_t workgroup_size[3]; /* work-items; the last work-group of a dimension may be smaller */
  uint32_t workgroup_count[3];
  uint32_t group_segment_size; /* bytes per work-group: the fixed part, followed by the dynamic part */
  const void* kernarg;         /* at least kernarg_size bytes, aligned to 16 */
  const void* packet;          /* a copy of the hsa_kernel_dispatch_packet_t */
  void* queue;                 /* the hsa_queue_t of the packet */
  uint64_t packet_id;          /* the index of the packet in the queue */
} hsa_cpu_dispatch_t;
HSA_CPU_STATIC_ASSERT(sizeof(hsa_cpu_dispatch_t) == 80, "part of the ABI");

/* Memory of the calling thread for the work-groups that it runs, one after the other. Only grows, at the
 * end. */
typedef struct hsa_cpu_worker {
  uint64_t struct_size; /* bytes */
  void* group_segment;  /* group_segment_size bytes, aligned to 64, contents undefined */
  /* The packet's private_segment_size bytes for each work-item of a full work-group, aligned to 64, contents
   * undefined; null when that is 0. */
  void* private_segment;
} hsa_cpu_worker_t;
HSA_CPU_STATIC_ASSERT(sizeof(hsa_cpu_worker_t) == 24, "part of the ABI");

/* Runs the work-groups whose number is in [first_group, first_group + group_count). Work-groups are numbered
 * with x running fastest: x + workgroup_count[0] * (y + workgroup_count[1] * z). */
typedef void (*hsa_cpu_entry_t)(const hsa_cpu_dispatch_t* dispatch, const hsa_cpu_worker_t* worker,
                                uint64_t first_group, uint64_t group_count);

/* A function for agent dispatch packets: the four arguments of the packet, and the address for the result
 * (may be null). It runs on the thread of the queue and delays the following packets. */
typedef void (*hsa_cpu_agent_function_t)(const uint64_t* arg, void* return_address);

#define HSA_CPU_AGENT_FUNCTION_PREFIX "hsa_cpu_agent_function_"

/* The kernel descriptor. Fields without a meaning on a CPU are 0. GPUs do not use the words from offset
 * 24. */
typedef struct hsa_cpu_descriptor {
  uint32_t group_segment_fixed_size;   /* bytes a work-group, a multiple of 16 */
  uint32_t private_segment_fixed_size; /* bytes a work-item */
  uint32_t kernarg_size;               /* bytes */
  uint32_t reserved0;
  int64_t kernel_code_entry_byte_offset; /* from the descriptor to the entry */
  uint32_t magic;                        /* HSA_CPU_DESCRIPTOR_MAGIC */
  uint16_t abi_major;                    /* HSA_CPU_ABI_MAJOR */
  uint16_t required_workgroup_size[3];   /* work-items; all 0: any */
  uint32_t reserved1[7];
} hsa_cpu_descriptor_t;
HSA_CPU_STATIC_ASSERT(sizeof(hsa_cpu_descriptor_t) == 64, "part of the ABI");
HSA_CPU_STATIC_ASSERT(offsetof(hsa_cpu_descriptor_t, kernel_code_entry_byte_offset) == 16, "part of the ABI");
HSA_CPU_STATIC_ASSERT(offsetof(hsa_cpu_descriptor_t, required_workgroup_size) == 30, "part of the ABI");

#define HSA_CPU_DESCRIPTOR_MAGIC 0x55504348 /* "HCPU" */

/* The note: name "HSA-CPU", type 1, and this. One for each translation unit. */
#define HSA_CPU_NOTE_NAME "HSA-CPU"
#define HSA_CPU_NOTE_TYPE 1
typedef struct hsa_cpu_note {
  uint32_t abi_major;
  uint32_t abi_minor;
  uint64_t features; /* bits of features.h that the code was compiled to use */
} hsa_cpu_note_t;
HSA_CPU_STATIC_ASSERT(sizeof(hsa_cpu_note_t) == 16, "part of the ABI");

#ifdef __cplusplus
}
#endif

#endif /* HSA_CPU_ABI_H_ */
