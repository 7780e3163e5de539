// A sum by halves, with a barrier after each: what a GPU does, and what tests barriers here.
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
  // Items beyond the count add nothing. The last work-group may have fewer items than the sum has terms: what
  // is left of it is 0 already, so leaving out those who would add it is right.
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
