#pragma once

#include <span>

#include "plugins/vgpu/exec/opencl_bench/bench.hpp"

namespace rigel::vgpu::bench {

struct KernelByHand {
  const char* name;
  void (*run)(const Case& work);
};

#define RIGEL_DECLARE_BY_HAND(level)       \
  namespace level {                        \
  std::span<const KernelByHand> kernels(); \
  }
RIGEL_DECLARE_BY_HAND(by_hand_sse)
RIGEL_DECLARE_BY_HAND(by_hand_avx2)
RIGEL_DECLARE_BY_HAND(by_hand_avx512)
#undef RIGEL_DECLARE_BY_HAND

}  // namespace rigel::vgpu::bench
