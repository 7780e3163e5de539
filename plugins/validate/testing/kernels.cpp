#include "plugins/validate/testing/kernels.hpp"

#include <hsa_cpu/kernel.hpp>

using validate::testing::AddUpArgs;
using validate::testing::HoldArgs;
using validate::testing::kWords;

struct Shared {
  uint32_t words[kWords];
};

HSA_CPU_KERNEL(add_up, AddUpArgs, hsa_cpu::Size<kWords>, hsa_cpu::Shared<Shared>) {
  Shared& shared = group.shared();
  group.for_each([&](auto item) { shared.words[item.local_id(0)] = args.words[item.local_id(0)]; });
  uint32_t sum = 0;
  for (const uint32_t word : shared.words) sum += word;
  *args.sum = sum;
}

HSA_CPU_KERNEL(hold, HoldArgs) {
  __atomic_store_n(args.begun, 1, __ATOMIC_RELEASE);
  while (__atomic_load_n(args.go_on, __ATOMIC_ACQUIRE) == 0) {
  }
}
