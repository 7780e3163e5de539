#include "plugins/vgpu/exec/opencl_bench/opencl.hpp"

namespace rigel::vgpu::bench {
namespace {

void check(cl_int status, const char* what) {
  if (status != CL_SUCCESS) fail(std::string(what) + ": OpenCL status " + std::to_string(status));
}

}  // namespace

OpenCl::OpenCl(const std::string& source) {
  cl_platform_id platforms[8];
  cl_uint count = 0;
  check(clGetPlatformIDs(8, platforms, &count), "clGetPlatformIDs");
  for (cl_uint i = 0; i < count && device_ == nullptr; ++i) {
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device_, nullptr) != CL_SUCCESS)
      device_ = nullptr;
  }
  if (device_ == nullptr) fail("OpenCL: no CPU device; install pocl-opencl-icd");
  cl_int status = 0;
  context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status);
  check(status, "clCreateContext");
  queue_ = clCreateCommandQueue(context_, device_, 0, &status);
  check(status, "clCreateCommandQueue");
  const char* text = source.c_str();
  program_ = clCreateProgramWithSource(context_, 1, &text, nullptr, &status);
  check(status, "clCreateProgramWithSource");
  check(clBuildProgram(program_, 1, &device_, "-cl-std=CL1.2", nullptr, nullptr), "clBuildProgram");
}

void OpenCl::prepare(const Case& work) {
  if (kernel_ != nullptr) clReleaseKernel(kernel_);
  for (const cl_mem buffer : buffers_) clReleaseMemObject(buffer);
  buffers_.clear();
  cl_int status = 0;
  kernel_ = clCreateKernel(program_, work.name.c_str(), &status);
  check(status, work.name.c_str());
  cl_uint index = 0;
  for (const Argument& argument : work.arguments) {
    if (const auto* buffer = std::get_if<Buffer>(&argument)) {
      buffers_.push_back(
          clCreateBuffer(context_, CL_MEM_USE_HOST_PTR, buffer->bytes, buffer->memory, &status));
      check(status, "clCreateBuffer");
      check(clSetKernelArg(kernel_, index++, sizeof(cl_mem), &buffers_.back()), "clSetKernelArg");
    } else if (const auto* picture = std::get_if<Picture>(&argument)) {
      const cl_image_format format{CL_RGBA, CL_UNORM_INT8};
      cl_image_desc description{};
      description.image_type = CL_MEM_OBJECT_IMAGE2D;
      description.image_width = picture->width;
      description.image_height = picture->height;
      buffers_.push_back(clCreateImage(context_, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, &format,
                                       &description, picture->pixels.memory, &status));
      check(status, "clCreateImage");
      check(clSetKernelArg(kernel_, index++, sizeof(cl_mem), &buffers_.back()), "clSetKernelArg");
    } else if (std::holds_alternative<LinearSampler>(argument)) {
      if (sampler_ == nullptr)
        sampler_ = clCreateSampler(context_, CL_TRUE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_LINEAR, &status);
      check(status, "clCreateSampler");
      check(clSetKernelArg(kernel_, index++, sizeof sampler_, &sampler_), "clSetKernelArg");
    } else {
      std::visit(
          [&](const auto& value) { check(clSetKernelArg(kernel_, index++, 4, &value), "clSetKernelArg"); },
          argument);
    }
  }
  for (int i = 0; i < 3; ++i) grid_[i] = work.grid[i], group_[i] = work.group[i];
}

void OpenCl::run() {
  check(clEnqueueNDRangeKernel(queue_, kernel_, 3, nullptr, grid_, group_, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
  check(clFinish(queue_), "clFinish");
}

std::string OpenCl::name() const {
  char text[256] = "";
  clGetDeviceInfo(device_, CL_DEVICE_NAME, sizeof text, text, nullptr);
  return text;
}

}  // namespace rigel::vgpu::bench
