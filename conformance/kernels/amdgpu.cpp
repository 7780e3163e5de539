// The kernels of kernels.hpp for AMD GPUs of every generation. Free-standing C++ with compiler builtins,
// which needs neither a device library nor hidden arguments.
#include "kernels/kernels.hpp"

#define KERNEL extern "C" __attribute__((amdgpu_kernel, visibility("protected")))
#define GROUP_MEMORY __attribute__((address_space(3), loader_uninitialized))

using namespace conformance;

extern "C" __attribute__((visibility("protected"))) uint32_t factor;
uint32_t factor = 3;

namespace {

struct Position {
  uint32_t local[3], group[3], group_size[3], grid[3];  // group_size: of a full work-group

  __attribute__((always_inline)) Position() {
    // hsa_kernel_dispatch_packet_t: workgroup_size_x at 4, grid_size_x at 12.
    const auto* const packet =
        static_cast<const __attribute__((address_space(4))) char*>(__builtin_amdgcn_dispatch_ptr());
    const auto* const sizes = reinterpret_cast<const __attribute__((address_space(4))) uint16_t*>(packet + 4);
    const auto* const grids =
        reinterpret_cast<const __attribute__((address_space(4))) uint32_t*>(packet + 12);
    local[0] = __builtin_amdgcn_workitem_id_x();
    local[1] = __builtin_amdgcn_workitem_id_y();
    local[2] = __builtin_amdgcn_workitem_id_z();
    group[0] = __builtin_amdgcn_workgroup_id_x();
    group[1] = __builtin_amdgcn_workgroup_id_y();
    group[2] = __builtin_amdgcn_workgroup_id_z();
    for (int d = 0; d < 3; ++d) {
      group_size[d] = sizes[d];
      grid[d] = grids[d];
    }
  }
  __attribute__((always_inline)) uint32_t global(int d) const { return group[d] * group_size[d] + local[d]; }
  __attribute__((always_inline)) uint32_t own_group_size(int d) const {
    const uint32_t left = grid[d] - group[d] * group_size[d];
    return left < group_size[d] ? left : group_size[d];
  }
};

__attribute__((always_inline)) void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

}  // namespace

KERNEL void copy(CopyArgs args) {
  const uint32_t i = Position().global(0);
  if (i < args.count) args.to[i] = args.from[i];
}

KERNEL void identify(IdentifyArgs args) {
  const Position at;
  WorkItemIdentity& identity =
      args.items[at.global(0) + uint64_t{at.grid[0]} * (at.global(1) + uint64_t{at.grid[1]} * at.global(2))];
  for (int d = 0; d < 3; ++d) {
    identity.global[d] = at.global(d);
    identity.local[d] = at.local[d];
    identity.group[d] = at.group[d];
    identity.group_size[d] = at.own_group_size(d);
  }
  ++identity.visits;
}

namespace {
GROUP_MEMORY uint32_t reversed[kReverseGroup];
}

KERNEL void reverse(ReverseArgs args) {
  const Position at;
  reversed[at.local[0]] = args.words[at.global(0)];
  barrier();
  args.words[at.global(0)] = reversed[kReverseGroup - 1 - at.local[0]];
}

extern __attribute__((address_space(3))) uint32_t added_by_packet[];

KERNEL void dynamic_sum(DynamicSumArgs args) {
  const Position at;
  added_by_packet[at.local[0]] = args.words[at.global(0)];
  barrier();
  if (at.local[0] != 0) return;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < at.own_group_size(0); ++i) sum += added_by_packet[i];
  args.sums[at.group[0]] = sum;
}

KERNEL void count(CountArgs args) {
  __atomic_fetch_add(args.counter, 1u, __ATOMIC_RELAXED);
}

KERNEL void wait_for(WaitArgs args) {
  uint32_t value = 0;
  while ((value = __atomic_load_n(args.flag, __ATOMIC_ACQUIRE)) == 0) __builtin_amdgcn_s_sleep(1);
  __atomic_store_n(args.seen, value, __ATOMIC_RELEASE);
}

KERNEL void scale(ScaleArgs args) {
  const uint32_t i = Position().global(0);
  if (i < args.count) args.out[i] = args.in[i] * factor;
}

KERNEL void empty(EmptyArgs) {}

KERNEL void aligned(AlignedArgs) {}

KERNEL void illegal(EmptyArgs) {
  asm volatile(".long 0xbfff0000");  // an SOPP opcode that no generation has
}

KERNEL void trap(EmptyArgs) {
  __builtin_trap();
}

KERNEL void store(StoreArgs args) {
  *reinterpret_cast<volatile uint32_t*>(args.address) = 1;
}

#ifndef __GFX12__  // has no instructions for it
KERNEL void gws_begin(GwsBeginArgs args) {
  __builtin_amdgcn_ds_gws_init(args.waves - 1, 0);
}

KERNEL void gws_meet(GwsMeetArgs args) {
  const Position at;
  for (uint32_t round = 0; round < args.rounds; ++round) {
    if (at.local[0] == 0) __atomic_fetch_add(args.counter, 1u, __ATOMIC_ACQ_REL);
    __builtin_amdgcn_ds_gws_barrier(args.groups - 1, 0);
    if (at.local[0] == 0) {
      args.seen[round * args.groups + at.group[0]] = __atomic_load_n(args.counter, __ATOMIC_ACQUIRE);
    }
    __builtin_amdgcn_ds_gws_barrier(args.groups - 1, 0);
  }
}

#endif

KERNEL void keep(KeepArgs args) {
  const uint32_t i = Position().global(0);
  volatile uint32_t words[kPrivateWords];
  for (uint32_t n = 0; n < kPrivateWords; ++n) words[n] = i + n;
  uint32_t sum = 0;
  for (uint32_t n = 0; n < kPrivateWords; ++n) sum += words[kPrivateWords - 1 - n];
  if (i < args.count) args.sums[i] = sum;
}
