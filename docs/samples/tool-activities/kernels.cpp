// A kernel for the CPU agent: doubles each number.
#include <hsa_cpu/kernel.hpp>

#include <cstdint>

struct TwiceArgs {
  uint32_t* numbers;
  uint64_t count;
};

HSA_CPU_KERNEL(twice, TwiceArgs) {
  group.for_each([&](auto item) {
    if (item.global_id(0) < args.count) args.numbers[item.global_id(0)] *= 2;
  });
}
