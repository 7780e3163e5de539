#include <hsa_cpu/kernel.hpp>

#include <cstddef>

#include "plugins/trace/testing/kernels.hpp"

HSA_CPU_KERNEL(triple, TripleArgs) {
  group.for_each([&](auto item) {
    const size_t i = item.global_id(0);
    if (i < args.count) args.to[i] = 3 * args.from[i];
  });
}
