// Kernels with one mistake each, for vgpu-run --check. check_mistakes.py compares the findings with the
// comments:
//
//   // mistake: <kernel> <check> [warning] [optimised] ["<pattern>"]
//
// names the kernel and the check that must report a finding on this line, with a text that the pattern matches. `optimised`: not with -O0, which
// accesses LDS by FLAT instructions, or whose code the assembler rejects. Each kernel is a template:
// kernel<false> has the mistake, and kernel<true> is right and must cause no finding.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define HIP_OK(call)                                                          \
  do {                                                                        \
    const hipError_t status = (call);                                         \
    if (status != hipSuccess) {                                               \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorName(status));       \
      std::exit(1);                                                           \
    }                                                                         \
  } while (false)

constexpr int kSize = 1000;  // elements of buffers
constexpr int kGroup = 256;
constexpr int kGroups = 4;

__device__ int global_id() {
  return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

// Bounds
// -----------------------------------------------------------------------------------------------------

template <bool kRight>
__global__ void reads_past_end(const int* in, int* out) {
  const int i = global_id();
  if (i >= kSize) return;
  const int next = kRight && i + 1 == kSize ? i : i + 1;
  out[i] = in[next];  // mistake: reads_past_end memory " 0 bytes past the 4000 bytes at "
}

template <bool kRight>
__global__ void writes_past_end(int* out) {
  const int i = global_id();
  if (kRight ? i < kSize : i <= kSize) {
    out[i] = i;  // mistake: writes_past_end memory " 0 bytes past the 4000 bytes at "
  }
}

template <bool kRight>
__global__ void ignores_size(int* out) {
  const int i = global_id();
  if (kRight && i >= kSize) return;
  out[i] = i;  // mistake: ignores_size memory
}

template <bool kRight>
__global__ void reads_byte_past_end(const unsigned char* in, int* out) {
  const int i = global_id();
  if (i >= kSize) return;
  out[i] = in[i + (kRight ? 0 : 3 * kSize + 1)];  // mistake: reads_byte_past_end memory "read of 1 byte at "
}

template <bool kRight>
__global__ void writes_short_past_end(short* out) {
  const int i = global_id();
  if (i >= kSize) return;
  out[i + (kRight ? 0 : kSize + 1)] = 1;  // mistake: writes_short_past_end memory "write of 2 bytes at "
}

template <bool kRight>
__global__ void writes_half_of_double_past_end(double* out, int count) {
  const int i = global_id();
  if (i >= (kRight ? count : count + 1)) return;
  out[i] = i;  // mistake: writes_half_of_double_past_end memory " the 804 bytes at "
}

template <bool kRight>
__global__ void reads_vector_past_end(const float4* in, float* out, int count) {
  const int i = global_id();
  if (i >= (kRight ? count : count + 1)) return;
  const float4 value = in[i];  // mistake: reads_vector_past_end memory " the 1608 bytes at "
  out[i] = value.x + value.y + value.z + value.w;
}

template <bool kRight>
__global__ void adds_past_end(int* out) {
  const int i = global_id();
  atomicAdd(out + (kRight ? i % kSize : kSize + i % 2), 1);  // mistake: adds_past_end memory
}

template <bool kRight>
__global__ void swaps_dimensions(int* out, int rows, int columns) {
  const int row = static_cast<int>(blockIdx.x), column = static_cast<int>(threadIdx.x);
  if (column >= columns) return;
  const int at = kRight ? row * columns + column : column * columns + row;
  (void)rows;
  out[at] = row;  // mistake: swaps_dimensions memory
}

template <bool kRight>
__global__ void reads_freed(const int* in, int* out) {
  const int i = global_id();
  if (i >= kSize) return;
  out[i] = in[i];  // mistake: reads_freed memory "byte \d+ of the freed 4000 bytes at "
}

template <bool kRight>
__global__ void writes_freed(int* out) {
  const int i = global_id();
  if (i < kSize) out[i] = i;  // mistake: writes_freed memory "\n  freed by     "
}

template <bool kRight>
__global__ void writes_past_host_memory(int* out) {
  const int i = global_id();
  if (kRight ? i < kSize : i <= kSize) {
    out[i] = i;  // mistake: writes_past_host_memory memory
  }
}

template <bool kRight>
__global__ void allocated_too_few_bytes(int* out) {
  const int i = global_id();
  if (i < kSize) {
    out[i] = i;  // mistake: allocated_too_few_bytes memory " \d+ bytes past the 1000 bytes at "
  }
}

template <bool kRight>
__global__ void reads_uniformly_past_end(const int* in, int* out, int index) {
  const int value = in[index];  // mistake: reads_uniformly_past_end memory
  const int i = global_id();
  if (i < kSize) out[i] = value;
}

template <bool kRight>
__global__ void reads_past_lds(int* out) {
  __shared__ int lds[kGroup];
  const unsigned i = threadIdx.x;
  lds[i] = static_cast<int>(i);
  __syncthreads();
  volatile int* const copy = lds;
  out[i] = copy[kRight ? i : i + 1];  // mistake: reads_past_lds memory "read of 4 bytes at byte 1024 of LDS; the work-group has 1024 bytes"
}

template <bool kRight>
__global__ void writes_past_lds(int* out) {
  __shared__ int lds[kGroup];
  const unsigned i = threadIdx.x;
  volatile int* const copy = lds;
  copy[kRight ? i : i + 4] = 1;  // mistake: writes_past_lds memory
  __syncthreads();
  out[i] = copy[i];
}

template <bool kRight>
__global__ void too_little_dynamic_lds(int* out) {
  extern __shared__ int dynamic[];
  const unsigned i = threadIdx.x;
  dynamic[i] = static_cast<int>(i);  // mistake: too_little_dynamic_lds memory "the work-group has 512 bytes"
  __syncthreads();
  out[i] = dynamic[i];
}

template <bool kRight>
__global__ void adds_past_lds(int* out) {
  __shared__ int lds[kGroup];
  const unsigned i = threadIdx.x;
  lds[i] = 0;
  __syncthreads();
  atomicAdd(lds + (kRight ? i : i + 1), 1);  // mistake: adds_past_lds memory
  __syncthreads();
  out[i] = lds[i];
}

struct Particle {
  float position[3];
  float mass;
};

template <bool kRight>
__global__ void writes_member_past_end(Particle* particles, int count) {
  const int i = global_id();
  if (i < count + (kRight ? 0 : 1)) particles[i].mass = 1;  // mistake: writes_member_past_end memory
}

template <bool kRight>
__global__ void skips_padding(int* out) {
  const int i = global_id();
  if (i < kSize) out[i + (kRight ? 0 : 10 * kSize)] = i;  // mistake: skips_padding memory " \d+ bytes past the 4000 bytes at "
}

__device__ __attribute__((noinline)) int value_of(const int* in, int i) {
  return in[i];  // mistake: calls_with_wrong_index memory
}

template <bool kRight>
__global__ void calls_with_wrong_index(const int* in, int* out) {
  const int i = global_id();
  if (i < kSize) out[i] = value_of(in, kRight ? i : kSize - i);
}

template <bool kRight>
__global__ void strides_past_end(int* out) {
  const int stride = static_cast<int>(gridDim.x * blockDim.x);
  for (int i = global_id(); kRight ? i < 2 * kSize : i <= 2 * kSize; i += stride) {
    out[i] = i;  // mistake: strides_past_end memory
  }
}

template <bool kRight>
__global__ void exchanges_past_end(int* out) {
  const int i = global_id();
  if (i < kSize) atomicCAS(out + (kRight ? i : i + 1), 0, i);  // mistake: exchanges_past_end memory
}

template <bool kRight>
__global__ void adds_64_bits_past_end(unsigned long long* out, int count) {
  const int i = global_id();
  if (i < count + (kRight ? 0 : 1)) atomicAdd(out + i, 1ull);  // mistake: adds_64_bits_past_end memory "atomic operation of 8 bytes"
}

template <bool kRight>
__global__ void confuses_bytes_and_elements(const int* in, int* out) {
  const int i = global_id();
  if (i < kSize) out[i] = in[kRight ? i : i * static_cast<int>(sizeof(int))];  // mistake: confuses_bytes_and_elements memory
}

template <bool kRight>
__global__ void reads_row_below_picture(const int* in, int* out, int width, int height) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(blockIdx.x);
  const int below = kRight && y + 1 == height ? y : y + 1;
  out[y * width + x] = in[below * width + x];  // mistake: reads_row_below_picture memory
}

template <bool kRight>
__global__ void copies_too_many(const int* in, int* out) {
  if (global_id() != 0) return;
  for (int i = 0; i < kSize + (kRight ? 0 : 8); ++i) {
    out[i] = in[i] + 1;  // mistake: copies_too_many memory
  }
}

template <bool kRight>
__global__ void trusts_index_in_memory(const int* indices, int* out) {
  const int i = global_id();
  if (i >= kSize) return;
  const int at = indices[i] + (kRight ? 0 : kSize);
  out[at] = i;  // mistake: trusts_index_in_memory memory " 0 bytes past the 4000 bytes at "
}

template <bool kRight>
__global__ void reads_past_lds_row(int* out) {
  __shared__ int tile[16][16];
  const unsigned x = threadIdx.x % 16, y = threadIdx.x / 16;
  tile[y][x] = static_cast<int>(x);
  __syncthreads();
  volatile int* const from = tile[y];
  out[threadIdx.x] = from[kRight ? x : x + 16];  // mistake: reads_past_lds_row memory
}

// Races in LDS
// -----------------------------------------------------------------------------------------------------

template <bool kRight>
__global__ void reverses_without_barrier(int* data) {
  __shared__ int copy[kGroup];
  const unsigned i = threadIdx.x;
  copy[i] = data[i];  // mistake: reverses_without_barrier races
  if (kRight) __syncthreads();
  data[i] = copy[kGroup - 1 - i];  // mistake: reverses_without_barrier races
}

template <bool kRight>
__global__ void overwrites_before_read(int* data) {
  __shared__ int copy[kGroup];
  const unsigned i = threadIdx.x;
  copy[i] = data[i];
  __syncthreads();
  const int left = copy[(i + 64) % kGroup];  // mistake: overwrites_before_read races
  if (kRight) __syncthreads();
  copy[i] = left + 1;  // mistake: overwrites_before_read races
  __syncthreads();
  data[i] = copy[i];
}

template <bool kRight>
__global__ void reduces_without_barrier(int* data) {
  __shared__ int sums[kGroup];
  const unsigned i = threadIdx.x;
  sums[i] = data[i];
  __syncthreads();
  for (unsigned step = kGroup / 2; step != 0; step /= 2) {
    if (i < step) sums[i] += sums[i + step];  // mistake: reduces_without_barrier races
    if (kRight) __syncthreads();
  }
  if (i == 0) data[0] = sums[0];
}

template <bool kRight>
__global__ void waves_write_same_cell(int* data) {
  __shared__ int cell[2];
  const unsigned i = threadIdx.x;
  volatile int* const to = cell;
  if (kRight ? i == 0 : i % 64 == 0) *to = static_cast<int>(i);  // mistake: waves_write_same_cell races
  __syncthreads();
  data[i] = *to;
}

template <bool kRight>
__global__ void waves_write_same_value(int* data) {
  __shared__ int found;
  const unsigned i = threadIdx.x;
  volatile int* const to = &found;
  if (kRight ? i == 0 : i % 64 == 0) *to = 7;  // mistake: waves_write_same_value races warning
  __syncthreads();
  data[i] = *to;
}

template <bool kRight>
__global__ void no_barrier_at_end_of_loop(int* data) {
  __shared__ int tile[kGroup];
  const unsigned i = threadIdx.x;
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    tile[i] = data[i] + round;  // mistake: no_barrier_at_end_of_loop races
    __syncthreads();
    sum += tile[(i + 100) % kGroup];
    if (kRight) __syncthreads();
  }
  data[i] = sum;
}

template <bool kRight>
__global__ void reads_wrong_buffer(int* data) {
  __shared__ int buffers[2][kGroup];
  const unsigned i = threadIdx.x;
  int value = data[i];
  buffers[0][i] = value;
  __syncthreads();
  for (int round = 0; round < 4; ++round) {
    const int from = round % 2, to = kRight ? 1 - from : from;
    const int other = buffers[from][(i + 64) % kGroup];
    value += other;
    buffers[to][i] = value;  // mistake: reads_wrong_buffer races
    __syncthreads();
  }
  data[i] = value;
}

template <bool kRight>
__global__ void mixes_atomic_and_plain_write(int* data) {
  __shared__ int count;
  const unsigned i = threadIdx.x;
  if (i == 0) count = 0;
  if (kRight) __syncthreads();
  if (i >= 64) atomicAdd(&count, 1);  // mistake: mixes_atomic_and_plain_write races optimised
  __syncthreads();
  data[i] = count;
}

template <bool kRight>
__global__ void reads_counter_while_others_count(int* data) {
  __shared__ int count;
  const unsigned i = threadIdx.x;
  if (i == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1);
  if (kRight) __syncthreads();
  data[i] = count;  // mistake: reads_counter_while_others_count races warning optimised "none if the read is atomic"
}

template <bool kRight>
__global__ void scans_without_barrier(int* data) {
  __shared__ int sums[kGroup];
  const unsigned i = threadIdx.x;
  sums[i] = data[i];
  __syncthreads();
  for (unsigned step = 1; step < kGroup; step *= 2) {
    const int add = i >= step ? sums[i - step] : 0;
    if (kRight) __syncthreads();
    sums[i] += add;  // mistake: scans_without_barrier races
    __syncthreads();
  }
  data[i] = sums[i];
}

template <bool kRight>
__global__ void takes_root_while_others_read(float* data) {
  __shared__ float diagonal;
  const unsigned i = threadIdx.x;
  if (i == 0) diagonal = data[0];
  __syncthreads();
  const float root = sqrtf(diagonal);
  if (kRight) __syncthreads();
  if (i == 0) diagonal = root;  // mistake: takes_root_while_others_read races
  __syncthreads();
  data[i] = diagonal + root;
}

template <bool kRight>
__global__ void writes_halves_of_word(int* data) {
  __shared__ short parts[2 * kGroup];
  const unsigned i = threadIdx.x;
  volatile short* const to = parts;
  to[kRight ? i : i % 128] = static_cast<short>(i);  // mistake: writes_halves_of_word races
  __syncthreads();
  data[i] = to[i % 128];
}

template <bool kRight>
__global__ void overlaps_dynamic_arrays(int* data) {
  extern __shared__ int arrays[];
  int* const first = arrays;
  int* const second = arrays + (kRight ? kGroup : kGroup / 2);
  const unsigned i = threadIdx.x;
  first[i] = data[i];  // mistake: overlaps_dynamic_arrays races
  second[i] = data[i + kGroup] + 1;  // mistake: overlaps_dynamic_arrays races
  __syncthreads();
  data[i] = first[i] + second[i];
}

template <bool kRight>
__global__ void broadcasts_without_barrier(int* data) {
  __shared__ int value;
  const unsigned i = threadIdx.x;
  if (i == 0) value = data[0];  // mistake: broadcasts_without_barrier races
  if (kRight) __syncthreads();
  data[i + 1] = value;  // mistake: broadcasts_without_barrier races
}

template <bool kRight>
__global__ void transposes_tile_without_barrier(int* data) {
  __shared__ int tile[16][17];
  const unsigned x = threadIdx.x % 16, y = threadIdx.x / 16;
  tile[y][x] = data[threadIdx.x];  // mistake: transposes_tile_without_barrier races
  if (kRight) __syncthreads();
  data[threadIdx.x] = tile[x][y];  // mistake: transposes_tile_without_barrier races
}

template <bool kRight>
__global__ void counts_in_lds_without_atomics(int* data) {
  __shared__ int bins[8];
  const unsigned i = threadIdx.x;
  if (i < 8) bins[i] = 0;
  __syncthreads();
  if (kRight) {
    atomicAdd(bins + i % 8, 1);
  } else {
    bins[i % 8] += 1;  // mistake: counts_in_lds_without_atomics races
  }
  __syncthreads();
  if (i < 8) data[i] = bins[i];
}

// Races in global memory
// -----------------------------------------------------------------------------------------------------

template <bool kRight>
__global__ void reads_neighbour(int* data, int* out) {
  const unsigned i = threadIdx.x;
  data[i] = static_cast<int>(i);  // mistake: reads_neighbour races
  if (kRight) __syncthreads();
  out[i] = data[kGroup - 1 - i];
}

template <bool kRight>
__global__ void shifts_in_place(int* data) {
  const unsigned i = threadIdx.x;
  const int next = data[(i + 1) % kGroup];
  if (kRight) __syncthreads();
  data[i] = next;  // mistake: shifts_in_place races
}

template <bool kRight>
__global__ void groups_add(int* sum) {
  if (threadIdx.x != 0) return;
  if (kRight) {
    atomicAdd(sum, 1);
  } else {
    *sum += 1;  // mistake: groups_add races
  }
}

template <bool kRight>
__global__ void counts_without_atomics(const int* in, int* counts) {
  const int i = global_id();
  if (i >= kSize) return;
  const int bin = in[i] & 7;
  if (kRight) {
    atomicAdd(counts + bin, 1);
  } else {
    counts[bin] += 1;  // mistake: counts_without_atomics races
  }
}

template <bool kRight>
__global__ void smooths_in_place(const int* in, int* data) {
  const int i = global_id();
  if (i + kGroup >= kSize) return;
  const int* const from = kRight ? in : data;
  data[i] = from[i] + from[i + kGroup];  // mistake: smooths_in_place races
}

template <bool kRight>
__global__ void groups_write_same_element(int* out) {
  if (threadIdx.x == 0) out[kRight ? blockIdx.x : 0] = static_cast<int>(blockIdx.x);  // mistake: groups_write_same_element races
}

template <bool kRight>
__global__ void transposes_in_place(int* data, int side) {
  const int row = static_cast<int>(blockIdx.x), column = static_cast<int>(threadIdx.x);
  if (column >= side || (kRight && column <= row)) return;
  const int a = data[row * side + column], b = data[column * side + row];
  data[row * side + column] = b;  // mistake: transposes_in_place races
  data[column * side + row] = a;
}

template <bool kRight>
__global__ void last_group_sums_without_atomic(int* partial, unsigned* done, int* sum) {
  if (threadIdx.x != 0) return;
  partial[blockIdx.x] = 1;  // mistake: last_group_sums_without_atomic races
  if (kRight) {
    __threadfence();
    if (atomicAdd(done, 1) != gridDim.x - 1) return;
  } else if (blockIdx.x != gridDim.x - 1) {
    return;
  }
  int total = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) total += partial[i];
  *sum = total;
}

template <bool kRight>
__global__ void groups_share_boundary(int* data) {
  const int i = global_id();
  if (i + 1 >= kSize) return;
  const int to = kRight ? i : i + (threadIdx.x == kGroup - 1 ? 1 : 0);
  data[to] = i;  // mistake: groups_share_boundary races
}

template <bool kRight>
__global__ void reads_flag_of_other_group(int* data, int* out) {
  if (threadIdx.x != 0) return;
  data[blockIdx.x] = 1;  // mistake: reads_flag_of_other_group races
  out[blockIdx.x] = data[kRight ? blockIdx.x : (blockIdx.x + 1) % gridDim.x];  // mistake: reads_flag_of_other_group races
}

template <bool kRight>
__global__ void accumulates_in_global_memory(int* data) {
  const unsigned i = threadIdx.x;
  for (unsigned step = kGroup / 2; step != 0; step /= 2) {
    if (i < step) data[i] += data[i + step];  // mistake: accumulates_in_global_memory races
    if (kRight) __syncthreads();
  }
}

// Barriers
// -----------------------------------------------------------------------------------------------------

template <bool kRight>
__global__ void barrier_for_odd_items(int* data) {
  const unsigned i = threadIdx.x;
  if (kRight || i % 2 == 1) {
    data[i] = 1;
    __syncthreads();  // mistake: barrier_for_odd_items sync
  }
  data[i] += 2;  // mistake: barrier_for_odd_items sync
}

template <bool kRight>
__global__ void two_barriers(int* data) {
  const unsigned i = threadIdx.x;
  if (kRight || i < kGroup / 2) {
    data[i] = 1;
    __builtin_amdgcn_s_barrier();  // mistake: two_barriers sync
  } else {
    data[i] = 2;
    __builtin_amdgcn_s_barrier();
    data[i] += 1;
  }
}

template <bool kRight>
__global__ void wave_ends_before_barrier(int* data) {
  const unsigned i = threadIdx.x;
  if (!kRight && i >= kGroup / 2) return;
  data[i] = 1;
  __syncthreads();  // mistake: wave_ends_before_barrier sync warning
  data[i] += 1;
}

template <bool kRight>
__global__ void barrier_in_uneven_loop(int* data) {
  const unsigned i = threadIdx.x;
  const unsigned rounds = kRight ? 3 : i % 3 + 1;
  int sum = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    sum += data[i];
    __syncthreads();  // mistake: barrier_in_uneven_loop sync
  }
  data[i] = sum;  // mistake: barrier_in_uneven_loop sync
}

template <bool kRight>
__global__ void barrier_in_helper(int* data) {
  const unsigned i = threadIdx.x;
  const auto publish = [&] {
    data[i] = 1;
    __syncthreads();  // mistake: barrier_in_helper sync
  };
  if (kRight || i % 64 < 40) publish();
  data[i] += 2;  // mistake: barrier_in_helper sync
}

template <bool kRight>
__global__ void leaves_loop_before_barrier(int* data) {
  const unsigned i = threadIdx.x;
  for (unsigned round = 0; round < 4; ++round) {
    if (!kRight && i >= 128 && round == 2) break;
    data[i] += 1;
    __syncthreads();  // mistake: leaves_loop_before_barrier sync warning
  }
}

// Waits
// -----------------------------------------------------------------------------------------------------

template <bool kRight>
__global__ void lds_load_without_wait(int* data) {
  __shared__ int lds[kGroup];
  const unsigned i = threadIdx.x;
  lds[i] = data[i];
  __syncthreads();
  int value;
  const auto at = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(lds + i));
  if (kRight) {
    asm volatile("s_mov_b32 m0, -1\n\tds_read_b32 %0, %1\n\ts_waitcnt lgkmcnt(0)\n\tv_mov_b32 %0, %0" : "=&v"(value) : "v"(at));
  } else {
    asm volatile("s_mov_b32 m0, -1\n\tds_read_b32 %0, %1\n\tv_mov_b32 %0, %0" : "=&v"(value) : "v"(at));  // mistake: lds_load_without_wait waits
  }
  data[i] = value;
}

template <bool kRight>
__global__ void flat_load_without_wait(int* data) {
  int value;
  int* const at = data + threadIdx.x;
  if (kRight) {
    asm volatile("flat_load_dword %0, %1\n\ts_waitcnt vmcnt(0) lgkmcnt(0)\n\tv_mov_b32 %0, %0" : "=&v"(value) : "v"(at));
  } else {
    asm volatile("flat_load_dword %0, %1\n\tv_mov_b32 %0, %0" : "=&v"(value) : "v"(at));  // mistake: flat_load_without_wait waits
  }
  data[threadIdx.x] = value;
}

template <bool kRight>
__global__ void scalar_load_without_wait(int* data) {
  int value;
#ifdef __OPTIMIZE__  // The assembler rejects the operand without optimisation.
  if (kRight) {
    asm volatile("s_load_dword %0, %1, 0x0\n\ts_waitcnt lgkmcnt(0)\n\ts_mov_b32 %0, %0" : "=&s"(value) : "s"(data));
  } else {
    asm volatile("s_load_dword %0, %1, 0x0\n\ts_mov_b32 %0, %0" : "=&s"(value) : "s"(data));  // mistake: scalar_load_without_wait waits optimised
  }
#else
  value = data[0];
#endif
  data[threadIdx.x + 1] = value;
}

template <bool kRight>
__global__ void waits_for_too_few(int* data) {
  int first, second;
  int* const at = data + threadIdx.x;
  if (kRight) {
    asm volatile("flat_load_dword %0, %2\n\tflat_load_dword %1, %2\n\ts_waitcnt vmcnt(0) lgkmcnt(0)\n\tv_mov_b32 %1, %1"
                 : "=&v"(first), "=&v"(second) : "v"(at));
  } else {
    asm volatile("flat_load_dword %0, %2\n\tflat_load_dword %1, %2\n\ts_waitcnt vmcnt(1)\n\tv_mov_b32 %1, %1"  // mistake: waits_for_too_few waits
                 : "=&v"(first), "=&v"(second) : "v"(at));
  }
  data[threadIdx.x] = first + second;
}

template <bool kRight>
__global__ void overwrites_pending_register(int* data) {
  int value;
  int* const at = data + threadIdx.x;
  if (kRight) {
    asm volatile("flat_load_dword %0, %1\n\ts_waitcnt vmcnt(0) lgkmcnt(0)\n\tv_mov_b32 %0, 0" : "=&v"(value) : "v"(at));
  } else {
    asm volatile("flat_load_dword %0, %1\n\tv_mov_b32 %0, 0" : "=&v"(value) : "v"(at));  // mistake: overwrites_pending_register waits
  }
  data[threadIdx.x] = value;
}

template <bool kRight>
__global__ void waits_for_other_counter(int* data) {
  __shared__ int lds[kGroup];
  const unsigned i = threadIdx.x;
  lds[i] = data[i];
  __syncthreads();
  int value;
  const auto at = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(lds + i));
  if (kRight) {
    asm volatile("s_mov_b32 m0, -1\n\tds_read_b32 %0, %1\n\ts_waitcnt lgkmcnt(0)\n\tv_mov_b32 %0, %0" : "=&v"(value) : "v"(at));
  } else {
    asm volatile("s_mov_b32 m0, -1\n\tds_read_b32 %0, %1\n\ts_waitcnt vmcnt(0)\n\tv_mov_b32 %0, %0" : "=&v"(value) : "v"(at));  // mistake: waits_for_other_counter waits
  }
  data[i] = value;
}

template <bool kRight>
__global__ void uses_result_of_atomic_without_wait(int* data) {
  int value = 1;
  int* const at = data + threadIdx.x;
  if (kRight) {
    asm volatile("flat_atomic_add %0, %1, %2 glc\n\ts_waitcnt vmcnt(0) lgkmcnt(0)\n\tv_mov_b32 %0, %0" : "=&v"(value) : "v"(at), "v"(1));
  } else {
    asm volatile("flat_atomic_add %0, %1, %2 glc\n\tv_mov_b32 %0, %0" : "=&v"(value) : "v"(at), "v"(1));  // mistake: uses_result_of_atomic_without_wait waits
  }
  data[threadIdx.x] = value;
}

template <bool kRight>
__global__ void uses_second_lds_load_too_early(int* data) {
  __shared__ int lds[2 * kGroup];
  const unsigned i = threadIdx.x;
  lds[i] = lds[i + kGroup] = data[i];
  __syncthreads();
  int first, second;
  const auto at = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(lds + i));
  if (kRight) {
    asm volatile("s_mov_b32 m0, -1\n\tds_read_b32 %0, %2\n\tds_read_b32 %1, %2 offset:4\n\ts_waitcnt lgkmcnt(0)\n\tv_mov_b32 %1, %1"
                 : "=&v"(first), "=&v"(second) : "v"(at));
  } else {
    asm volatile("s_mov_b32 m0, -1\n\tds_read_b32 %0, %2\n\tds_read_b32 %1, %2 offset:4\n\ts_waitcnt lgkmcnt(1)\n\tv_mov_b32 %1, %1"  // mistake: uses_second_lds_load_too_early waits
                 : "=&v"(first), "=&v"(second) : "v"(at));
  }
  data[i] = first + second;
}

// -----------------------------------------------------------------------------------------------------

template <class T = int>
struct Buffer {
  explicit Buffer(size_t count) {
    HIP_OK(hipMalloc(&data, count * sizeof(T)));
    HIP_OK(hipMemset(data, 0, count * sizeof(T)));
  }
  ~Buffer() {
    HIP_OK(hipDeviceSynchronize());
    HIP_OK(hipFree(data));
  }
  operator T*() const { return data; }
  T* data = nullptr;
};

template <bool kRight>
void run_all() {
  {
    Buffer<> in(kSize), out(kSize);
    Buffer<> few(kRight ? kSize : kSize / 4);
    reads_past_end<kRight><<<kGroups, kGroup>>>(in, out);
    writes_past_end<kRight><<<kGroups, kGroup>>>(out);
    ignores_size<kRight><<<kGroups, kGroup>>>(out);
    reads_byte_past_end<kRight><<<kGroups, kGroup>>>(reinterpret_cast<const unsigned char*>(in.data), out);
    adds_past_end<kRight><<<kGroups, kGroup>>>(out);
    swaps_dimensions<kRight><<<10, 128>>>(out, 10, 100);
    allocated_too_few_bytes<kRight><<<kGroups, kGroup>>>(few);
    reads_uniformly_past_end<kRight><<<kGroups, kGroup>>>(in, out, kRight ? 0 : kSize);
  }
  {
    Buffer<> in(kSize), out(kSize), twice(2 * kSize), picture(10 * 64), filtered(10 * 64);
    Buffer<Particle> particles(100);
    Buffer<unsigned long long> sums(100);
    writes_member_past_end<kRight><<<1, kGroup>>>(particles, 100);
    skips_padding<kRight><<<kGroups, kGroup>>>(out);
    calls_with_wrong_index<kRight><<<kGroups, kGroup>>>(in, out);
    strides_past_end<kRight><<<1, kGroup>>>(twice);
    exchanges_past_end<kRight><<<kGroups, kGroup>>>(out);
    adds_64_bits_past_end<kRight><<<1, kGroup>>>(sums, 100);
    confuses_bytes_and_elements<kRight><<<kGroups, kGroup>>>(in, out);
    reads_row_below_picture<kRight><<<10, 64>>>(picture, filtered, 64, 10);
    copies_too_many<kRight><<<1, 64>>>(in, out);
    trusts_index_in_memory<kRight><<<1, 1>>>(in, out);
  }
  {
    Buffer<short> out(2 * kSize);
    writes_short_past_end<kRight><<<kGroups, kGroup>>>(out);
  }
  {
    // 4 bytes of an element are outside.
    Buffer<int> halves(2 * 100 + 1), vectors(4 * 100 + 2);
    Buffer<float> out(kSize);
    writes_half_of_double_past_end<kRight><<<1, kGroup>>>(reinterpret_cast<double*>(halves.data), 100);
    reads_vector_past_end<kRight><<<1, kGroup>>>(reinterpret_cast<const float4*>(vectors.data), out, 100);
  }
  {
    Buffer<> out(kSize);
    int *in = nullptr, *freed = nullptr;
    HIP_OK(hipMalloc(&in, kSize * sizeof(int)));
    HIP_OK(hipMalloc(&freed, kSize * sizeof(int)));
    HIP_OK(hipMemset(in, 0, kSize * sizeof(int)));
    if (!kRight) HIP_OK(hipFree(in));
    if (!kRight) HIP_OK(hipFree(freed));
    reads_freed<kRight><<<kGroups, kGroup>>>(in, out);
    writes_freed<kRight><<<kGroups, kGroup>>>(freed);
    HIP_OK(hipDeviceSynchronize());
    if (kRight) HIP_OK(hipFree(in));
    if (kRight) HIP_OK(hipFree(freed));
    int* host = nullptr;
    HIP_OK(hipHostMalloc(&host, kSize * sizeof(int)));
    writes_past_host_memory<kRight><<<kGroups, kGroup>>>(host);
    HIP_OK(hipDeviceSynchronize());
    HIP_OK(hipHostFree(host));
  }
  {
    Buffer<> data(kSize), out(kSize);
    reads_past_lds<kRight><<<1, kGroup>>>(out);
    writes_past_lds<kRight><<<1, kGroup>>>(out);
    too_little_dynamic_lds<kRight><<<1, kGroup, kRight ? kGroup * 4 : kGroup * 2>>>(out);
    adds_past_lds<kRight><<<1, kGroup>>>(out);
    reads_past_lds_row<kRight><<<1, kGroup>>>(out);
    overlaps_dynamic_arrays<kRight><<<1, kGroup, 2 * kGroup * sizeof(int)>>>(data);
    broadcasts_without_barrier<kRight><<<1, kGroup>>>(data);
    transposes_tile_without_barrier<kRight><<<1, kGroup>>>(data);
    counts_in_lds_without_atomics<kRight><<<1, kGroup>>>(data);
    reverses_without_barrier<kRight><<<1, kGroup>>>(data);
    overwrites_before_read<kRight><<<1, kGroup>>>(data);
    reduces_without_barrier<kRight><<<1, kGroup>>>(data);
    waves_write_same_cell<kRight><<<1, kGroup>>>(data);
    waves_write_same_value<kRight><<<1, kGroup>>>(data);
    no_barrier_at_end_of_loop<kRight><<<1, kGroup>>>(data);
    reads_wrong_buffer<kRight><<<1, kGroup>>>(data);
    mixes_atomic_and_plain_write<kRight><<<1, kGroup>>>(data);
    reads_counter_while_others_count<kRight><<<1, kGroup>>>(data);
    scans_without_barrier<kRight><<<1, kGroup>>>(data);
    takes_root_while_others_read<kRight><<<1, kGroup>>>(reinterpret_cast<float*>(data.data));
    writes_halves_of_word<kRight><<<1, kGroup>>>(data);
    reads_neighbour<kRight><<<1, kGroup>>>(data, out);
    shifts_in_place<kRight><<<1, kGroup>>>(data);
    groups_add<kRight><<<kGroups, kGroup>>>(out);
    counts_without_atomics<kRight><<<kGroups, kGroup>>>(data, out);
    smooths_in_place<kRight><<<kGroups, kGroup>>>(out, data);
    groups_write_same_element<kRight><<<kGroups, kGroup>>>(out);
    transposes_in_place<kRight><<<20, 64>>>(data, 20);
    HIP_OK(hipMemset(data, 0, kSize * sizeof(int)));
    last_group_sums_without_atomic<kRight><<<kGroups, kGroup>>>(out, reinterpret_cast<unsigned*>(data.data), data + 1);
    groups_share_boundary<kRight><<<kGroups, kGroup>>>(data);
    reads_flag_of_other_group<kRight><<<kGroups, kGroup>>>(data, out);
    accumulates_in_global_memory<kRight><<<1, kGroup>>>(data);
    barrier_for_odd_items<kRight><<<1, kGroup>>>(data);
    barrier_in_helper<kRight><<<1, kGroup>>>(data);
    leaves_loop_before_barrier<kRight><<<1, kGroup>>>(data);
    two_barriers<kRight><<<1, kGroup>>>(data);
    wave_ends_before_barrier<kRight><<<1, kGroup>>>(data);
    barrier_in_uneven_loop<kRight><<<1, kGroup>>>(data);
    lds_load_without_wait<kRight><<<1, kGroup>>>(data);
    waits_for_other_counter<kRight><<<1, kGroup>>>(data);
    uses_result_of_atomic_without_wait<kRight><<<1, kGroup>>>(data);
    uses_second_lds_load_too_early<kRight><<<1, kGroup>>>(data);
    flat_load_without_wait<kRight><<<1, kGroup>>>(data);
    scalar_load_without_wait<kRight><<<1, kGroup>>>(data);
    waits_for_too_few<kRight><<<1, kGroup>>>(data);
    overwrites_pending_register<kRight><<<1, kGroup>>>(data);
  }
}

int main() {
  run_all<true>();
  run_all<false>();
  std::printf("mistakes: done\n");
}
