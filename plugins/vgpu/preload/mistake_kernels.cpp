// The erroneous kernels of docs/guide/diagnosing.md, whose reports contain line numbers of this file.
#include "mistakes.hpp"

#define KERNEL __attribute__((amdgpu_kernel, visibility("protected")))

namespace {

inline int work_item() {
  return static_cast<int>(__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x());
}

inline void put(int* data, long index, int value) {
  data[index] = value;
}

}  // namespace

KERNEL void shift(MistakeArguments arguments) {
  const int i = work_item();
  put(arguments.data, i + arguments.index, i);
}

KERNEL void check(MistakeArguments arguments) {
  const int i = work_item();
  if (arguments.data[i] == arguments.index) __builtin_trap();
}

KERNEL void wait_for(MistakeArguments arguments) {
  const volatile int* const flag = arguments.data;
  __atomic_fetch_add(arguments.data + 1, 1, __ATOMIC_RELAXED);  // the host waits for this
  while (*flag != arguments.index) __builtin_amdgcn_s_sleep(1);
}

KERNEL void undefined(MistakeArguments arguments) {
  if (arguments.index != 0) asm volatile(".long 0xbfffffff");
}

namespace {

// Like the assert() of HIP: a called function, which calls others before it traps.
[[gnu::noinline]] void tell(int* data) {
  __atomic_fetch_add(data, 1, __ATOMIC_RELAXED);
}

[[gnu::noinline]] void failed(int* data) {
  tell(data);
  __builtin_trap();
}

inline void require(bool holds, int* data) {
  if (!holds) failed(data);
}

}  // namespace

KERNEL void check_calls(MistakeArguments arguments) {
  const int i = work_item();
  require(arguments.data[i] != arguments.index || i / 2 != 31, arguments.data);
}
