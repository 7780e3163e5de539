// Runs cases on the first GPU agent of the HSA runtime that the program loads.
//
// Threads: one.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_image.h>

#include "compare/measured_agent.hpp"
#include "plugins/vgpu/exec/opencl_bench/bench.hpp"

namespace rigel::vgpu::bench {

class Gpu {
 public:
  /// Loads `<folder>/kernels_<target>.co` for the agent's target.
  explicit Gpu(const std::string& folder);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// Returns zeroed host memory that the GPU accesses at the same address. It lives as long as this object.
  void* allocate(size_t bytes);

  /// Prepares `run` for this case. The argument block is valid until the next prepare().
  void prepare(const Case& work);
  /// Runs the case once and waits in the kernel; only the runtime's own spinning precedes the wait.
  void run();

  const std::string& target() const { return machine_.target; }

 private:
  uint64_t create_image(const Picture& picture);
  uint64_t linear_sampler();
  void destroy_images();

  compare::MeasuredAgent machine_;
  hsa_executable_t executable_{};
  hsa_queue_t* queue_ = nullptr;
  hsa_signal_t done_{};
  hsa_kernel_dispatch_packet_t packet_{};
  std::byte* kernarg_ = nullptr;

  // Of the prepared case.
  struct Image {
    hsa_ext_image_t handle{};
    void* memory = nullptr;
  };
  std::vector<Image> images_;
  hsa_ext_sampler_t sampler_{};
};

}  // namespace rigel::vgpu::bench
