#include <hsa_cpu/kernel.hpp>

#include "backends/cpu/kernels/args.hpp"

HSA_CPU_KERNEL(vector_copy, samples::VectorCopyArgs) {
  group.for_each_below(args.count, [&](auto item) {
    const size_t i = item.global_id(0);
    args.to[i] = args.from[i];
  });
}
