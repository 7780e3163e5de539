// Kernels that record how the backend runs them.
#include "backends/cpu/testing/kernels.hpp"

#include <math.h>
#include <hsa_cpu/kernel.hpp>

using namespace rigel::cpu::testing;

HSA_CPU_KERNEL(empty, hsa_cpu::NoArgs) {}

// Minimal work of a work-group that is not optimised away with its loop.
HSA_CPU_KERNEL(nearly_empty, hsa_cpu::NoArgs) {
  asm volatile("" : : "r"(group.base(0)));
}

HSA_CPU_KERNEL(record_ids, RecordIdsArgs) {
  group.for_each([&](auto item) {
    const size_t index =
        item.global_id(0) + group.grid_size(0) * (item.global_id(1) + group.grid_size(1) * item.global_id(2));
    ItemRecord& record = args.records[index];
    ++record.visits;
    for (unsigned d = 0; d < 3; ++d) {
      record.local[d] = static_cast<uint32_t>(item.local_id(d));
      record.group[d] = static_cast<uint32_t>(group.id(d));
      record.size[d] = static_cast<uint32_t>(group.size(d));
    }
    record.flat = static_cast<uint32_t>(item.flat_id());
  });
}

HSA_CPU_KERNEL(record_ids_4x3x2, RecordIdsArgs, hsa_cpu::Size<4, 3, 2>) {
  group.for_each([&](auto item) {
    const size_t index =
        item.global_id(0) + group.grid_size(0) * (item.global_id(1) + group.grid_size(1) * item.global_id(2));
    ItemRecord& record = args.records[index];
    ++record.visits;
    for (unsigned d = 0; d < 3; ++d) {
      record.local[d] = static_cast<uint32_t>(item.local_id(d));
      record.group[d] = static_cast<uint32_t>(group.id(d));
      record.size[d] = static_cast<uint32_t>(group.size(d));
    }
    record.flat = static_cast<uint32_t>(item.flat_id());
  });
}

HSA_CPU_KERNEL(count, CountArgs) {
  uint64_t items = 0;
  group.for_each([&](auto) { ++items; });
  hsa_cpu::atomic_add(*args.items, items);
  hsa_cpu::atomic_add(*args.groups, 1);
}

HSA_CPU_KERNEL(wait_for_flag, WaitForFlagArgs) {
  hsa_cpu::atomic_add(*args.entered, 1);
  while (__atomic_load_n(args.flag, __ATOMIC_ACQUIRE) == 0) {
  }
}

HSA_CPU_KERNEL(append, AppendArgs) {
  args.order[hsa_cpu::atomic_add(*args.next, 1)] = args.id;
}

HSA_CPU_KERNEL(reverse, ReverseArgs) {
  auto* const copy = group.dynamic_shared<uint32_t>();
  auto own = group.per_item<uint32_t>();
  group.for_each([&](auto item) {
    own[item] = args.values[item.global_id(0)];
    copy[item.local_id(0)] = own[item];
  });
  group.for_each([&](auto item) {
    const size_t mirrored = group.size(0) - 1 - item.local_id(0);
    // The work-item's values must survive the barrier.
    args.values[item.global_id(0)] = own[item] == copy[item.local_id(0)] ? copy[mirrored] : UINT32_MAX;
  });
  *args.dynamic_size = group.dynamic_shared_size();
}

HSA_CPU_KERNEL(exponential, ExponentialArgs) {
  group.for_each([&](auto item) { args.values[item.global_id(0)] = exp(args.values[item.global_id(0)]); });
}

HSA_CPU_KERNEL(overrun_group_memory, OverrunArgs) {
  static_cast<volatile char*>(group.dynamic_shared<char>())[args.bytes] = 1;
}

HSA_CPU_AGENT_FUNCTION(0x8001, add) {
  if (return_address) *static_cast<uint64_t*>(return_address) = arg[0] + arg[1] + arg[2] + arg[3];
}
