// The third device of the benchmark: native C++ with the CPU's vector instructions, as an upper bound for
// the virtual GPU.
#pragma once

#include "plugins/vgpu/exec/opencl_bench/bench.hpp"

namespace rigel::vgpu::bench {

bool has_by_hand(const Case& work);

/// Native code of a case on one thread, with the widest vectors of the CPU. The algorithm is the kernel's,
/// with loops arranged for a CPU.
class ByHand {
 public:
  /// `work` must have native code, and outlive this object.
  explicit ByHand(const Case& work);
  void run() const { run_(work_); }

 private:
  const Case& work_;
  void (*run_)(const Case& work);
};

}  // namespace rigel::vgpu::bench
