#include "plugins/vgpu/exec/opencl_bench/by_hand.hpp"

#include <algorithm>

#include "plugins/vgpu/exec/opencl_bench/by_hand_kernels.hpp"

namespace rigel::vgpu::bench {
namespace {

std::span<const KernelByHand> kernels_for_this_machine() {
  if (__builtin_cpu_supports("x86-64-v4")) return by_hand_avx512::kernels();
  if (__builtin_cpu_supports("x86-64-v3")) return by_hand_avx2::kernels();
  return by_hand_sse::kernels();
}

const KernelByHand* find(const Case& work) {
  const auto kernels = kernels_for_this_machine();
  const auto match = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const KernelByHand& kernel) { return work.name == kernel.name; });
  return match == kernels.end() ? nullptr : &*match;
}

}  // namespace

bool has_by_hand(const Case& work) {
  return find(work) != nullptr;
}

ByHand::ByHand(const Case& work) : work_(work), run_(find(work)->run) {}

}  // namespace rigel::vgpu::bench
