#include <hsa_cpu/kernel.hpp>

#include "backends/cpu/kernels/args.hpp"

HSA_CPU_KERNEL(saxpy, samples::SaxpyArgs) {
  group.for_each_below(args.count, [&](auto item) {
    const size_t i = item.global_id(0);
    args.y[i] += args.a * args.x[i];
  });
}
