// A sum by halves, with a barrier after each step, as on GPUs; tests barriers.
#include <hsa_cpu/kernel.hpp>

#include "backends/cpu/kernels/args.hpp"

namespace {

constexpr uint32_t kItems = 256;

struct Partial {
  uint64_t sums[kItems];
};

}  // namespace

HSA_CPU_KERNEL(reduce, samples::ReduceArgs, hsa_cpu::Size<kItems>, hsa_cpu::Shared<Partial>) {
  Partial& partial = group.shared();
  // Items beyond the count add nothing. The last work-group may have fewer items than the sum has terms; the
  // missing terms are already 0.
  for (uint64_t& sum : partial.sums) sum = 0;
  group.for_each_below(args.count,
                       [&](auto item) { partial.sums[item.local_id(0)] = args.values[item.global_id(0)]; });
  for (uint32_t half = kItems / 2; half > 0; half /= 2) {
    group.for_each_first(half, [&](auto item) {
      const size_t i = item.local_id(0);
      partial.sums[i] += partial.sums[i + half];
    });
  }
  args.sums[group.id(0)] = partial.sums[0];
}
