/* The contract between kernels compiled for the host's processor and the CPU backend that runs them.
 *
 * A code object is an ELF shared object of the host (-shared -fPIC), loaded by the runtime's own loader and
 * not by the dynamic linker: it has no thread-local storage, no constructors and no dependencies, except that
 * symbols which it leaves undefined are looked up in the C and mathematics libraries. It contains
 *
 *   <kernel>.kd   for each kernel: a 64-byte kernel descriptor of the layout that every HSA loader knows. Its
 *                 address is the `kernel_object` of a dispatch packet.
 *   entry         a function of type hsa_cpu_entry_t, found through the descriptor. It is hidden.
 *   note          .note.hsa_cpu: this ABI's version and the processor features that the code uses. The
 *                 backend refuses a code object whose features the processor does not have.
 *   hsa_cpu_agent_function_<type>
 *                 optionally: functions that agent dispatch packets of that type call.
 *
 * Authors include kernel.hpp (C++) or kernel.h (C), which make all of these from a function's body; this
 * header is what both sides share.
 *
 * Threads: an entry is called by several threads at once, with disjoint runs of work-groups. All work-items
 * of a work-group run on the thread that was given the group, so a work-group barrier is a point in the
 * program and not a meeting of threads. Signals other than those of faults are blocked.
 * Memory order: whatever the packet's acquire scope promises has been acquired before an entry is called.
 * What an entry wrote is visible to whoever sees the dispatch complete, non-temporal stores included.
 * Ownership: everything that an entry is given belongs to the backend and is valid until it returns.
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
  uint32_t group_segment_size; /* bytes a work-group: the kernel's own and the dynamic part behind it */
  const void* kernarg;         /* at least kernarg_size bytes, aligned to 16 */
  const void* packet;          /* a copy of the hsa_kernel_dispatch_packet_t */
  void* queue;                 /* the hsa_queue_t that it came from */
  uint64_t packet_id;          /* its index in that queue */
} hsa_cpu_dispatch_t;
HSA_CPU_STATIC_ASSERT(sizeof(hsa_cpu_dispatch_t) == 80, "part of the ABI");

/* What the calling thread lends to the work-groups it runs, one after the other. Only grows, at the end. */
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

/* What an agent dispatch packet calls: its four arguments, and where it wants the result (may be null). It
 * runs on the queue's thread: packets behind it wait. */
typedef void (*hsa_cpu_agent_function_t)(const uint64_t* arg, void* return_address);

#define HSA_CPU_AGENT_FUNCTION_PREFIX "hsa_cpu_agent_function_"

/* The kernel descriptor. What has no meaning on a CPU is zero; the words at 24 are unused on GPUs. */
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
