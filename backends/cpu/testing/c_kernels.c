/* Kernels in C, with the entry written by hand. */
#include <hsa_cpu/kernel.h>
#include <stddef.h>

typedef struct {
  uint32_t* values;
  uint32_t value;
  uint32_t reserved;
} fill_args_t;

HSA_CPU_DESCRIBE(fill_c, sizeof(fill_args_t), 0, 0, 64, 1, 1);

HSA_CPU_ENTRY(fill_c) {
  (void)worker;
  const fill_args_t* const args = (const fill_args_t*)dispatch->kernarg;
  for (uint64_t group = first_group; group < first_group + group_count; ++group) {
    const uint64_t begin = group * 64;
    const uint64_t left = dispatch->grid_size[0] - begin;
    for (uint64_t i = 0; i < (left < 64 ? left : 64); ++i) args->values[begin + i] = args->value;
  }
}

/* As DispatchRecord in kernels.hpp. */
typedef struct {
  uint64_t packet_id;
  uint32_t dimensions;
  uint32_t group_segment_size;
  uint64_t completion_signal;
  const void* queue;
  uint64_t private_segment;
  uint64_t group_segment;
} dispatch_record_t;

typedef struct {
  dispatch_record_t* record;
} record_dispatch_args_t;

HSA_CPU_DESCRIBE(record_dispatch, sizeof(record_dispatch_args_t), 32, 48, 0, 0, 0);

HSA_CPU_ENTRY(record_dispatch) {
  dispatch_record_t* const record = ((const record_dispatch_args_t*)dispatch->kernarg)->record;
  (void)first_group;
  (void)group_count;
  record->packet_id = dispatch->packet_id;
  record->dimensions = dispatch->dimensions;
  record->group_segment_size = dispatch->group_segment_size;
  record->completion_signal = *(const uint64_t*)((const char*)dispatch->packet + 56);
  record->queue = dispatch->queue;
  record->private_segment = (uint64_t)worker->private_segment;
  record->group_segment = (uint64_t)worker->group_segment;
  /* All of both segments can be written. */
  for (uint32_t i = 0; i < dispatch->group_segment_size; ++i) ((char*)worker->group_segment)[i] = 1;
  for (uint32_t i = 0; i < 48 * dispatch->workgroup_size[0]; ++i) ((char*)worker->private_segment)[i] = 1;
}
