// The third device of the benchmark: this machine's vectors, used from C++ by hand. It says how far an executor could get.
#pragma once

#include "plugins/vgpu/exec/opencl_bench/bench.hpp"

namespace rigel::vgpu::bench {

/// Whether somebody has written this case by hand.
bool has_by_hand(const Case& work);

/// A case on one thread, with the widest vectors of the machine that this runs on. The algorithm is the kernel's, with
/// its loops as a programmer would arrange them.
class ByHand {
 public:
  /// `work`: one for which has_by_hand() is true; it outlives this.
  explicit ByHand(const Case& work);
  void run() const { run_(work_); }

 private:
  const Case& work_;
  void (*run_)(const Case& work);
};

}  // namespace rigel::vgpu::bench
