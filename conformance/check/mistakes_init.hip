// Kernels that let uninitialized values decide, for vgpu-run --check; see mistakes.hip for the comments.
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

constexpr int kSize = 1024;  // elements of buffers
constexpr int kGroup = 256;
constexpr int kGroups = kSize / kGroup;

__device__ int global_id() {
  return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

// Device memory
// -----------------------------------------------------------------------------------------------------

template <bool kRight>
__global__ void branches_on_memory(const int* in, int* out) {
  const int i = global_id();
  if (in[i] > 0) {  // mistake: branches_on_memory init
    out[i] = in[i] * 3 + atomicAdd(out + kSize, 1);
  }
}

template <bool kRight>
__global__ void branches_on_uniform_value(const int* limit, int* out) {
  if (*limit == 5) {  // mistake: branches_on_uniform_value init
    out[global_id()] = atomicAdd(out + kSize, 1);
  }
}

template <bool kRight>
__global__ void indexes_by_memory(const int* in, const int* table, int* out) {
  const int i = global_id();
  out[i] = table[in[i] & (kSize - 1)];  // mistake: indexes_by_memory init
}

template <bool kRight>
__global__ void adds_to_memory(int* counters) {
  atomicAdd(counters + global_id() % 8, 1);  // mistake: adds_to_memory init
}

template <bool kRight>
__global__ void takes_lock(int* lock, int* out) {
  if (global_id() == 0) {
    out[0] = atomicCAS(lock, 0, 1);  // mistake: takes_lock init
  }
}

template <bool kRight>
__global__ void repeats_by_memory(const int* counts, int* out) {
  const int i = global_id();
  int sum = 0;
  for (int k = 0; k < (counts[i] & 7); ++k) {  // mistake: repeats_by_memory init
    sum += atomicAdd(out + kSize, k);
  }
  out[i] = sum;
}

// Every other byte is written.
template <bool kRight>
__global__ void writes_some_bytes(uint8_t* flags) {
  const int i = global_id();
  if (kRight || i % 2 == 0) flags[i] = 1;
}
template <bool kRight>
__global__ void reads_all_bytes(const uint8_t* flags, int* out) {
  const int i = global_id();
  if (flags[i] != 0) {  // mistake: reads_all_bytes init
    out[i] = atomicAdd(out + kSize, 1);
  }
}

struct Record {
  char kind;  // followed by padding
  int value;
  short weight;
  int limit;
};

// Copies pass on what is uninitialized, and are no mistake themselves.
template <bool kRight>
__global__ void writes_records(Record* records) {
  const int i = global_id();
  records[i].kind = static_cast<char>(i & 3);
  records[i].value = i;
  records[i].weight = static_cast<short>(i);
  if (kRight) records[i].limit = 100;
}
template <bool kRight>
__global__ void copies_records(const Record* from, Record* to) {
  to[global_id()] = from[kSize - 1 - global_id()];
}
template <bool kRight>
__global__ void reads_records(const Record* records, int* out) {
  const Record record = records[global_id()];
  if (record.kind == 1 && record.value > record.weight / 2) out[global_id()] = atomicAdd(out + kSize, 1);
  if (record.limit > 50) {  // mistake: reads_records init
    out[global_id()] = atomicAdd(out + kSize, 2);
  }
}

template <bool kRight>
__global__ void selects_pointer(const int* flags, int* a, int* b) {
  const int i = global_id();
  int* const to = flags[i] != 0 ? a : b;  // mistake: selects_pointer init
  to[i] = i;  // mistake: selects_pointer init
}

template <bool kRight>
__global__ void compares_doubles(const double* in, int* out) {
  const int i = global_id();
  if (in[i] * 2.0 + 1.0 < in[(i + 1) % kSize]) {  // mistake: compares_doubles init
    out[i] = atomicAdd(out + kSize, 1);
  }
}

// The lowest three bits are written, and the others are not tested.
template <bool kRight>
__global__ void tests_bits(unsigned* words, int* out) {
  const int i = global_id();
  words[i] = (words[i] & ~7u) | (i & 7);  // mistake: tests_bits init
  const unsigned tested = kRight ? 4 : 8;
  if ((words[i] & tested) != 0) {  // mistake: tests_bits init
    out[i] = atomicAdd(out + kSize, 1);
  }
}

template <bool kRight>
__global__ void votes(const int* in, int* out) {
  const int i = global_id();
  if (__ballot(in[i] == 3) != 0) {  // mistake: votes init
    out[i] = atomicAdd(out + kSize, 1);
  }
}

template <bool kRight>
__global__ void shuffles(const int* in, int* out) {
  const int i = global_id();
  int sum = in[i];
  for (int distance = 16; distance != 0; distance /= 2) sum += __shfl_xor(sum, distance);
  if (sum > 10) {  // mistake: shuffles init
    out[i] = atomicAdd(out + kSize, 1);
  }
}

// LDS and private memory
// -----------------------------------------------------------------------------------------------------

template <bool kRight>
__global__ void fills_half_of_tile(const int* in, int* out) {
  __shared__ int tile[kGroup];
  const int local = static_cast<int>(threadIdx.x);
  if (kRight || local < kGroup / 2) tile[local] = in[global_id()];
  __syncthreads();
  if (tile[kGroup - 1 - local] > 3) {  // mistake: fills_half_of_tile init
    out[global_id()] = atomicAdd(out + kSize, 1);
  }
}

template <bool kRight>
__global__ void forgets_counter(const int* in, int* out) {
  __shared__ int counter;
  if (kRight && threadIdx.x == 0) counter = 0;
  __syncthreads();
  if (in[global_id()] == 0) atomicAdd(&counter, 1);  // mistake: forgets_counter init
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = counter;
}

template <bool kRight>
__global__ void sums_past_partial_results(const int* in, int* out) {
  extern __shared__ int partial[];
  const int local = static_cast<int>(threadIdx.x), waves = kGroup / warpSize;
  if (local % warpSize == 0) partial[local / warpSize] = in[global_id()];
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < (kRight ? waves : waves + 1); ++i) sum += partial[i];
  if (sum > 7) {  // mistake: sums_past_partial_results init
    out[global_id()] = atomicAdd(out + kSize, 1);
  }
}

template <bool kRight>
__global__ void skips_element_of_array(const int* in, int* out) {
  volatile int values[8];
  const int i = global_id();
  for (int k = 0; k < (kRight ? 8 : 7); ++k) values[k] = in[i] + k;
  if (values[(in[i] + i) & 7] > 4) {  // mistake: skips_element_of_array init
    out[i] = atomicAdd(out + kSize, 1);
  }
}

// The program
// -----------------------------------------------------------------------------------------------------

template <class T>
T* fresh(size_t count = kSize) {
  T* buffer = nullptr;
  HIP_OK(hipMalloc(reinterpret_cast<void**>(&buffer), count * sizeof(T)));
  return buffer;
}

template <class T>
T* cleared(size_t count = kSize) {
  T* const buffer = fresh<T>(count);
  HIP_OK(hipMemset(buffer, 0, count * sizeof(T)));
  return buffer;
}

template <bool kRight, class T>
T* input(size_t count = kSize) {
  return kRight ? cleared<T>(count) : fresh<T>(count);
}

// Memory that the host has written.
int* copied() {
  static int zeros[kSize] = {};
  int* const buffer = fresh<int>();
  HIP_OK(hipMemcpy(buffer, zeros, sizeof zeros, hipMemcpyHostToDevice));
  return buffer;
}

#define LAUNCH(kernel, ...)                                                                   \
  do {                                                                                        \
    hipLaunchKernelGGL(kernel<kRight>, dim3(kGroups), dim3(kGroup), 64 * sizeof(int), nullptr, \
                       __VA_ARGS__);                                                          \
    HIP_OK(hipDeviceSynchronize());                                                           \
  } while (false)

template <bool kRight>
void run_all() {
  int* const out = cleared<int>(2 * kSize);
  int* const zeros = copied();
  LAUNCH(branches_on_memory, (input<kRight, int>()), out);
  LAUNCH(branches_on_uniform_value, (input<kRight, int>(1)), out);
  LAUNCH(indexes_by_memory, (input<kRight, int>()), zeros, out);
  LAUNCH(adds_to_memory, (input<kRight, int>(8)));
  LAUNCH(takes_lock, (input<kRight, int>(1)), out);
  LAUNCH(repeats_by_memory, (input<kRight, int>()), out);
  uint8_t* const flags = fresh<uint8_t>();
  LAUNCH(writes_some_bytes, flags);
  LAUNCH(reads_all_bytes, flags, out);
  Record *const records = fresh<Record>(), *const copies = fresh<Record>();
  LAUNCH(writes_records, records);
  LAUNCH(copies_records, records, copies);
  LAUNCH(reads_records, copies, out);
  LAUNCH(selects_pointer, (input<kRight, int>()), out, out + kSize);
  LAUNCH(compares_doubles, (input<kRight, double>()), out);
  LAUNCH(tests_bits, fresh<unsigned>(), out);
  LAUNCH(votes, (input<kRight, int>()), out);
  LAUNCH(shuffles, (input<kRight, int>()), out);
  LAUNCH(fills_half_of_tile, zeros, out);
  LAUNCH(forgets_counter, zeros, out);
  LAUNCH(sums_past_partial_results, zeros, out);
  LAUNCH(skips_element_of_array, zeros, out);
  // Memory that a copy on the device has written.
  int* const moved = fresh<int>();
  HIP_OK(hipMemcpy(moved, zeros, kSize * sizeof(int), hipMemcpyDeviceToDevice));
  hipLaunchKernelGGL(branches_on_memory<true>, dim3(kGroups), dim3(kGroup), 0, nullptr, moved, out);
  HIP_OK(hipDeviceSynchronize());
}

int main() {
  run_all<true>();
  run_all<false>();
  std::puts("done");
  return 0;
}
