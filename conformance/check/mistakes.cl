// OpenCL C kernels with one mistake each, for vgpu-run --check. mistakes_hsa.cpp runs them with functions of HSA.
// check_mistakes.py compares the findings with the comments, as for mistakes.hip. The file is compiled twice: the kernels
// <name>_wrong have the mistakes, and <name>_right must cause no finding.
//
// Each kernel runs with `n` work-items rounded up to work-groups of GROUP. `a`, `b` and `host` have n elements, `freed`
// had as many.
#if RIGHT
#define KERNEL(name) __kernel void name##_right
#else
#define KERNEL(name) __kernel void name##_wrong
#endif
#define GROUP 256
#define ARGUMENTS __global int *a, __global int *b, __global int *freed, __global int *host, int n

// Bounds
// -----------------------------------------------------------------------------------------------------

KERNEL(cl_reads_past_end)(ARGUMENTS) {
  const int i = get_global_id(0);
  if (i >= n) return;
  const int next = RIGHT && i + 1 == n ? i : i + 1;
  b[i] = a[next];  // mistake: cl_reads_past_end memory
}

KERNEL(cl_writes_past_end)(ARGUMENTS) {
  const int i = get_global_id(0);
  if (RIGHT ? i < n : i <= n) {
    b[i] = i;  // mistake: cl_writes_past_end memory
  }
}

KERNEL(cl_ignores_size)(ARGUMENTS) {
  const int i = get_global_id(0);
  if (RIGHT && i >= n) return;
  b[i] = i;  // mistake: cl_ignores_size memory
}

KERNEL(cl_loads_vector_past_end)(ARGUMENTS) {
  const int i = get_global_id(0);
  if (i >= n / 4) return;
  const int4 value = vload4(0, a + 4 * i + (RIGHT ? 0 : 2));  // mistake: cl_loads_vector_past_end memory "starts 8 bytes before the end of the 4000 bytes at "
  b[i] = value.x + value.y + value.z + value.w;
}

KERNEL(cl_stores_vector_past_end)(ARGUMENTS) {
  const int i = get_global_id(0);
  if (i >= n / 2 + (RIGHT ? 0 : 1)) return;
  vstore2((int2)(i, i), i, b);  // mistake: cl_stores_vector_past_end memory
}

KERNEL(cl_reads_byte_past_end)(ARGUMENTS) {
  const int i = get_global_id(0);
  __global const uchar* const bytes = (__global const uchar*)a;
  if (i < n) b[i] = bytes[(RIGHT ? 0 : 3 * n + 1) + i];  // mistake: cl_reads_byte_past_end memory "read of 1 byte at "
}

KERNEL(cl_counts_past_end)(ARGUMENTS) {
  const int i = get_global_id(0);
  atomic_inc(b + (RIGHT ? i % n : n + i % 2));  // mistake: cl_counts_past_end memory
}

KERNEL(cl_reads_freed)(ARGUMENTS) {
  const int i = get_global_id(0);
  __global int* const from = RIGHT ? a : freed;
  if (i < n) b[i] = from[i];  // mistake: cl_reads_freed memory "byte \d+ of the freed 4000 bytes at "
}

KERNEL(cl_writes_freed)(ARGUMENTS) {
  const int i = get_global_id(0);
  __global int* const to = RIGHT ? b : freed;
  if (i < n) to[i] = i;  // mistake: cl_writes_freed memory
}

KERNEL(cl_writes_past_host_memory)(ARGUMENTS) {
  const int i = get_global_id(0);
  if (i < n + (RIGHT ? 0 : 1)) {
    host[i] = i;  // mistake: cl_writes_past_host_memory memory " 0 bytes past the 4000 bytes at "
  }
}

KERNEL(cl_reads_past_local)(ARGUMENTS) {
  __local int tile[GROUP];
  const int i = get_local_id(0);
  tile[i] = i;
  barrier(CLK_LOCAL_MEM_FENCE);
  __local volatile int* const from = tile;
  if (get_group_id(0) == 0) b[i] = from[i + (RIGHT ? 0 : 1)];  // mistake: cl_reads_past_local memory
}

// Races
// -----------------------------------------------------------------------------------------------------

KERNEL(cl_reverses_without_barrier)(ARGUMENTS) {
  __local int copy[GROUP];
  const int i = get_local_id(0);
  copy[i] = a[get_group_id(0)] + i;  // mistake: cl_reverses_without_barrier races
  if (RIGHT) barrier(CLK_LOCAL_MEM_FENCE);
  if (get_group_id(0) == 0) b[i] = copy[GROUP - 1 - i];  // mistake: cl_reverses_without_barrier races
}

KERNEL(cl_shares_without_barrier)(ARGUMENTS) {
  __local int shared_value;
  const int i = get_local_id(0);
  if (i == 0) shared_value = a[0];  // mistake: cl_shares_without_barrier races
  if (RIGHT) barrier(CLK_LOCAL_MEM_FENCE);
  if (get_group_id(0) == 0) b[i] = shared_value;  // mistake: cl_shares_without_barrier races
}

KERNEL(cl_reduces_without_barrier)(ARGUMENTS) {
  __local int sums[GROUP];
  const int i = get_local_id(0);
  sums[i] = a[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = GROUP / 2; step != 0; step /= 2) {
    if (i < step) sums[i] += sums[i + step];  // mistake: cl_reduces_without_barrier races
    if (RIGHT) barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i == 0) b[get_group_id(0)] = sums[0];
}

KERNEL(cl_overwrites_tile)(ARGUMENTS) {
  __local int tile[GROUP];
  const int i = get_local_id(0);
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    tile[i] = a[i] + round;  // mistake: cl_overwrites_tile races
    barrier(CLK_LOCAL_MEM_FENCE);
    sum += tile[(i + 100) % GROUP];
    if (RIGHT) barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (get_group_id(0) == 0) b[i] = sum;
}

KERNEL(cl_uses_copy_before_it_ends)(ARGUMENTS) {
  __local int tile[GROUP];
  const int i = get_local_id(0);
  event_t copied = async_work_group_copy(tile, a, GROUP, 0);
  if (RIGHT) wait_group_events(1, &copied);
  const int value = tile[(i + 64) % GROUP];  // mistake: cl_uses_copy_before_it_ends races
  if (!RIGHT) wait_group_events(1, &copied);
  if (get_group_id(0) == 0) b[i] = value;
}

KERNEL(cl_reads_neighbour)(ARGUMENTS) {
  const int i = get_local_id(0);
  if (get_group_id(0) != 0) return;
  a[i] = i;  // mistake: cl_reads_neighbour races
  if (RIGHT) barrier(CLK_GLOBAL_MEM_FENCE);
  b[i] = a[GROUP - 1 - i];  // mistake: cl_reads_neighbour races
}

KERNEL(cl_groups_count)(ARGUMENTS) {
  if (get_local_id(0) != 0) return;
  if (RIGHT) {
    atomic_inc(b);
  } else {
    b[0] += 1;  // mistake: cl_groups_count races
  }
}

KERNEL(cl_smooths_in_place)(ARGUMENTS) {
  const int i = get_global_id(0);
  if (i + GROUP >= n) return;
  __global const int* const from = RIGHT ? b : a;
  a[i] = from[i] + from[i + GROUP];  // mistake: cl_smooths_in_place races
}

// Barriers
// -----------------------------------------------------------------------------------------------------

KERNEL(cl_barrier_for_odd_items)(ARGUMENTS) {
  const int i = get_local_id(0);
  int value = a[i];
  if (RIGHT || i % 2 == 1) {
    value += 1;
    barrier(CLK_LOCAL_MEM_FENCE);  // mistake: cl_barrier_for_odd_items sync
  }
  if (get_group_id(0) == 0) b[i] = value;  // mistake: cl_barrier_for_odd_items sync
}

KERNEL(cl_returns_before_barrier)(ARGUMENTS) {
  __local int tile[GROUP];
  const int i = get_local_id(0);
  if (!RIGHT && i >= GROUP / 2) return;
  tile[i] = a[i];
  barrier(CLK_LOCAL_MEM_FENCE);  // mistake: cl_returns_before_barrier sync warning
  if (get_group_id(0) == 0) b[i] = tile[i ^ 64];
}
