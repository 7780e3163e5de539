// A kernel for the CPU agent. It becomes an ELF code object with a kernel descriptor, as a kernel for a GPU
// does.
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
