// The kernels of kernels.hpp for CPU agents.
#include "kernels/kernels.hpp"

#include <hsa_cpu/kernel.hpp>

using conformance::CopyArgs;
using conformance::CountArgs;
using conformance::DynamicSumArgs;
using conformance::EmptyArgs;
using conformance::IdentifyArgs;
using conformance::kReverseGroup;
using conformance::ReverseArgs;
using conformance::ScaleArgs;
using conformance::WaitArgs;
using conformance::WorkItemIdentity;

extern "C" __attribute__((visibility("default"))) uint32_t factor;
uint32_t factor = 3;

HSA_CPU_KERNEL(copy, CopyArgs) {
  group.for_each([&](auto item) {
    const size_t i = item.global_id(0);
    if (i < args.count) args.to[i] = args.from[i];
  });
}

HSA_CPU_KERNEL(identify, IdentifyArgs) {
  group.for_each([&](auto item) {
    const size_t flat =
        item.global_id(0) + group.grid_size(0) * (item.global_id(1) + group.grid_size(1) * item.global_id(2));
    WorkItemIdentity& identity = args.items[flat];
    for (unsigned d = 0; d < 3; ++d) {
      identity.global[d] = static_cast<uint32_t>(item.global_id(d));
      identity.local[d] = static_cast<uint32_t>(item.local_id(d));
      identity.group[d] = static_cast<uint32_t>(group.id(d));
      identity.group_size[d] = static_cast<uint32_t>(group.size(d));
    }
    ++identity.visits;
  });
}

struct ReverseShared {
  uint32_t words[kReverseGroup];
};

HSA_CPU_KERNEL(reverse, ReverseArgs, hsa_cpu::Size<kReverseGroup>, hsa_cpu::Shared<ReverseShared>) {
  ReverseShared& shared = group.shared();
  group.for_each([&](auto item) { shared.words[item.local_id(0)] = args.words[item.global_id(0)]; });
  group.for_each(
      [&](auto item) { args.words[item.global_id(0)] = shared.words[kReverseGroup - 1 - item.local_id(0)]; });
}

HSA_CPU_KERNEL(dynamic_sum, DynamicSumArgs) {
  auto* const shared = group.dynamic_shared<uint32_t>();
  group.for_each([&](auto item) { shared[item.local_id(0)] = args.words[item.global_id(0)]; });
  uint32_t sum = 0;
  for (size_t i = 0; i < group.size(0); ++i) sum += shared[i];
  args.sums[group.id(0)] = sum;
}

HSA_CPU_KERNEL(count, CountArgs) {
  group.for_each([&](auto) { hsa_cpu::atomic_add(*args.counter, 1u); });
}

HSA_CPU_KERNEL(wait_for, WaitArgs) {
  uint32_t value = 0;
  while ((value = __atomic_load_n(args.flag, __ATOMIC_ACQUIRE)) == 0) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  __atomic_store_n(args.seen, value, __ATOMIC_RELEASE);
}

HSA_CPU_KERNEL(scale, ScaleArgs) {
  const uint32_t scale = factor;
  group.for_each([&](auto item) {
    const size_t i = item.global_id(0);
    if (i < args.count) args.out[i] = args.in[i] * scale;
  });
}

HSA_CPU_KERNEL(empty, EmptyArgs) {}
