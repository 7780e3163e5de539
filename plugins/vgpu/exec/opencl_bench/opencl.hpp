// Runs cases on the system's OpenCL CPU device (PoCL).
//
// Threads: one.
#pragma once

#define CL_TARGET_OPENCL_VERSION 200
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include "plugins/vgpu/exec/opencl_bench/bench.hpp"

namespace rigel::vgpu::bench {

class OpenCl {
 public:
  explicit OpenCl(const std::string& source);

  void prepare(const Case& work);
  void run();
  std::string name() const;

 private:
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
  cl_kernel kernel_ = nullptr;
  std::vector<cl_mem> buffers_;  // and images
  cl_sampler sampler_ = nullptr;
  size_t grid_[3] = {}, group_[3] = {};
};

}  // namespace rigel::vgpu::bench
