// A pool allocator that describes its suballocations with hsa_rigel/check.h. check_mistakes.py compares the findings with
// the comments, as for mistakes.hip.
#include <hip/hip_runtime.h>
#include <hsa_rigel/check.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#define HIP_OK(call)                                                          \
  do {                                                                        \
    const hipError_t status = (call);                                         \
    if (status != hipSuccess) {                                               \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorName(status));       \
      std::exit(1);                                                           \
    }                                                                         \
  } while (false)

constexpr int kSize = 100;
constexpr int kGroup = 128;

// Never reuses memory before reset().
class Pool {
 public:
  explicit Pool(size_t bytes) : bytes_(bytes) {
    HIP_OK(hipMalloc(&chunk_, bytes));
    hsa_rigel_check_name(chunk_, "pool");
    reset();
  }
  ~Pool() { HIP_OK(hipFree(chunk_)); }

  int* allocate(int count, const char* name) {
    const size_t bytes = count * sizeof(int), gap = hsa_rigel_check_is_active() ? 64 : 0;
    char* const part = chunk_ + used_;
    used_ += (bytes + gap + 63) / 64 * 64;
    if (used_ > bytes_) std::abort();
    hsa_rigel_check_allocate(part, bytes, name);
    return reinterpret_cast<int*>(part);
  }
  void free(int* part) { hsa_rigel_check_free(part); }
  void reset() {
    hsa_rigel_check_poison(chunk_, bytes_);
    used_ = 0;
  }
  int* unused() const { return reinterpret_cast<int*>(chunk_ + used_); }
  void use_directly() { hsa_rigel_check_unpoison(chunk_, bytes_); }

 private:
  char* chunk_ = nullptr;
  size_t bytes_, used_ = 0;
};

template <bool kRight>
__global__ void writes_past_suballocation(int* out) {
  const int i = static_cast<int>(threadIdx.x);
  if (kRight ? i < kSize : i <= kSize) out[i] = i;  // mistake: writes_past_suballocation memory " 0 bytes past the 400 bytes at 0x[0-9a-f]+ \('particles'\)"
}

template <bool kRight>
__global__ void reads_before_suballocation(const int* in, int* out) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < kSize) out[i] = in[kRight ? i : i - 1];  // mistake: reads_before_suballocation memory " 4 bytes before the 400 bytes at 0x[0-9a-f]+ \('cells'\)"
}

template <bool kRight>
__global__ void reads_freed_suballocation(const int* in, int* out) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < kSize) out[i] = in[i];  // mistake: reads_freed_suballocation memory "byte \d+ of the freed 400 bytes at 0x[0-9a-f]+ \('cells'\)"
}

template <bool kRight>
__global__ void writes_unused_part_of_pool(int* out) {
  out[threadIdx.x] = 1;  // mistake: writes_unused_part_of_pool memory "which the program has made inaccessible"
}

template <bool kRight>
__global__ void decides_by_unwritten_suballocation(const int* in, int* out) {
  if (in[threadIdx.x] > 0) out[threadIdx.x] = 1;  // mistake: decides_by_unwritten_suballocation init
}

template <bool kRight>
void run(Pool& pool) {
  pool.reset();
  int* const unwritten = pool.allocate(kGroup, "unwritten");
  if (kRight) hsa_rigel_check_initialize(unwritten, kGroup * sizeof(int));
  decides_by_unwritten_suballocation<kRight><<<1, kGroup>>>(unwritten, pool.allocate(kGroup, "decisions"));
  int* const first = pool.allocate(kSize, "particles");
  int* const second = pool.allocate(kSize, nullptr);
  hsa_rigel_check_name(second, "cells");
  writes_past_suballocation<kRight><<<1, kGroup>>>(first);
  reads_before_suballocation<kRight><<<1, kGroup>>>(second, first);
  HIP_OK(hipDeviceSynchronize());
  if (!kRight) pool.free(second);
  reads_freed_suballocation<kRight><<<1, kGroup>>>(second, first);
  if (kRight) pool.use_directly();
  writes_unused_part_of_pool<kRight><<<1, kGroup>>>(pool.unused());
  HIP_OK(hipDeviceSynchronize());
}

int main() {
  Pool pool(1 << 16);
  run<true>(pool);
  Pool other_pool(1 << 16);
  run<false>(other_pool);
  std::printf("pool: done, %s\n", hsa_rigel_check_is_active() != 0 ? "checked" : "not checked");
}
