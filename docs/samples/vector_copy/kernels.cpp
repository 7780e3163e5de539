// A kernel for the CPU agent. Like a kernel for a GPU, it is compiled to an ELF code object with a kernel
// descriptor.
#include <hsa_cpu/kernel.hpp>

#include <cstddef>
#include <cstdint>

struct CopyArgs {
  const uint32_t* from;
  uint32_t* to;
  uint32_t count;
  uint32_t reserved;
};

HSA_CPU_KERNEL(vector_copy, CopyArgs) {
  group.for_each([&](auto item) {
    const size_t i = item.global_id(0);
    if (i < args.count) args.to[i] = args.from[i];
  });
}
