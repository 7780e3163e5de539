// The sample kernels on this backend and on the OpenCL CPU device of this machine (PoCL, say): the same work
// in work-groups of the same size, side by side, with 1 thread and with all.
//
// Usage: cpu_opencl_bench [repetitions [name]]. Shows the best time of each and how many times as fast this
// backend is.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "backends/cpu/capabilities.hpp"
#include "backends/cpu/features.hpp"
#include "backends/cpu/kernels/args.hpp"
#include "backends/cpu/testing/rig.hpp"
#include "backends/cpu/threads.hpp"

namespace rigel::cpu {
namespace {

using namespace testing;

constexpr const char* kSource = R"(
kernel void empty_kernel() {}

kernel void vector_copy(global const uint* from, global uint* to, ulong count) {
  size_t i = get_global_id(0);
  if (i < count) to[i] = from[i];
}

kernel void saxpy(float a, uint count, global const float* x, global float* y) {
  size_t i = get_global_id(0);
  if (i < count) y[i] += a * x[i];
}

kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void sgemm(global const float* a, global const float* b, global float* c, ulong size) {
  local float tile_a[16][16], tile_b[16][16];
  size_t x = get_local_id(0), y = get_local_id(1);
  float sum = 0;
  for (size_t begin = 0; begin < size; begin += 16) {
    tile_a[y][x] = a[get_global_id(1) * size + begin + x];
    tile_b[y][x] = b[(begin + y) * size + get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < 16; ++k) sum += tile_a[y][k] * tile_b[k][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[get_global_id(1) * size + get_global_id(0)] = sum;
}

kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void reduce(global const uint* values, global ulong* sums, ulong count) {
  local ulong partial[256];
  size_t i = get_local_id(0);
  partial[i] = get_global_id(0) < count ? values[get_global_id(0)] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = 128; half_size > 0; half_size /= 2) {
    if (i < half_size) partial[i] += partial[i + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i == 0) sums[get_group_id(0)] = partial[0];
}

kernel void histogram(global const uchar* values, global uint* bins, ulong count) {
  local uint counts[256];
  for (uint i = get_local_id(0); i < 256; i += get_local_size(0)) counts[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (get_global_id(0) < count) atomic_inc(&counts[values[get_global_id(0)]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = get_local_id(0); i < 256; i += get_local_size(0)) {
    if (counts[i] != 0) atomic_add(&bins[i], counts[i]);
  }
}
)";

[[noreturn]] void fail(const char* what, int status) {
  std::fprintf(stderr, "%s: %d\n", what, status);
  std::exit(1);
}

class OpenCl {
 public:
  OpenCl() {
    cl_platform_id platforms[8];
    cl_uint count = 0;
    if (clGetPlatformIDs(8, platforms, &count) != CL_SUCCESS) return;
    for (cl_uint i = 0; i < count && !device_; ++i) {
      clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device_, nullptr);
    }
    if (!device_) return;
    cl_int status = 0;
    context_ = clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &status);
    queue_ = clCreateCommandQueue(context_, device_, 0, &status);
    if (!queue_) fail("clCreateCommandQueue", status);
    program_ = clCreateProgramWithSource(context_, 1, const_cast<const char**>(&kSource), nullptr, &status);
    if ((status = clBuildProgram(program_, 1, &device_, "", nullptr, nullptr)) != CL_SUCCESS) {
      fail("clBuildProgram", status);
    }
  }

  explicit operator bool() const { return device_ != nullptr; }

  std::string name() const {
    char text[256] = "";
    clGetDeviceInfo(device_, CL_DEVICE_NAME, sizeof text, text, nullptr);
    return text;
  }

  cl_mem buffer(void* memory, size_t size) {
    cl_int status = 0;
    const cl_mem made = clCreateBuffer(context_, CL_MEM_USE_HOST_PTR, size, memory, &status);
    if (!made) fail("clCreateBuffer", status);
    return made;
  }

  template <class... Args>
  cl_kernel kernel(const char* name, const Args&... args) {
    cl_int status = 0;
    const cl_kernel made = clCreateKernel(program_, name, &status);
    if (!made) fail("clCreateKernel", status);
    cl_uint index = 0;
    (clSetKernelArg(made, index++, sizeof args, &args), ...);
    return made;
  }

  void run(cl_kernel kernel, Extent grid, Extent group) {
    const size_t global[] = {grid.x, grid.y, grid.z}, local[] = {group.x, group.y, group.z};
    const cl_int status =
        clEnqueueNDRangeKernel(queue_, kernel, 3, nullptr, global, local, 0, nullptr, nullptr);
    if (status != CL_SUCCESS) fail("clEnqueueNDRangeKernel", status);
    clFinish(queue_);
  }

 private:
  cl_device_id device_ = nullptr;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_program program_ = nullptr;
};

double us_of(const std::function<void()>& body) {
  const uint64_t begin = ticks();
  body();
  return static_cast<double>(ticks() - begin) / ticks_per_ns() / 1000;
}

class Comparison {
 public:
  Comparison(int threads, int repetitions, std::string_view filter)
      : repetitions_(repetitions), filter_(filter), rig_{{"threads", threads}}, queue_((load(), rig_)) {
    done_ = rig_.host.create_signal(0);
    if (opencl_) {
      std::printf("\n%d thread%s; %s\n", threads, threads == 1 ? "" : "s", opencl_.name().c_str());
    } else {
      std::printf("\n%d thread%s; no OpenCL CPU device to compare with\n", threads, threads == 1 ? "" : "s");
    }
    std::printf("%-34s %12s %12s %8s\n", "", "rigel us", "OpenCL us", "ratio");
  }
  ~Comparison() { rig_.host.destroy_signal(done_); }

  void empty() {
    compare("empty", "empty", {}, {}, nullptr, [&] { return opencl_.kernel("empty_kernel"); });
  }

  void streams(uint32_t count, uint32_t group) {
    std::vector<float> x(count, 1), y(count, 2);
    std::string label = std::to_string(count >> 10) + "Ki in " + std::to_string(group);
    alignas(16) samples::VectorCopyArgs copy{reinterpret_cast<uint32_t*>(x.data()),
                                             reinterpret_cast<uint32_t*>(y.data()), count};
    compare("vector_copy", "vector_copy " + label, {count}, {group}, &copy,
            [&] { return opencl_.kernel("vector_copy", buffer(x), buffer(y), cl_ulong{count}); });
    alignas(16) samples::SaxpyArgs args{1e-6f, count, x.data(), y.data()};
    compare("saxpy", "saxpy " + label, {count}, {group}, &args,
            [&] { return opencl_.kernel("saxpy", cl_float{1e-6f}, cl_uint{count}, buffer(x), buffer(y)); });
  }

  void sgemm(uint32_t size) {
    std::vector<float> a(size * size, 1), b(size * size, 2), c(size * size);
    alignas(16) samples::SgemmArgs args{a.data(), b.data(), c.data(), size};
    compare("sgemm", "sgemm tiled " + std::to_string(size), {size, size}, {16, 16}, &args,
            [&] { return opencl_.kernel("sgemm", buffer(a), buffer(b), buffer(c), cl_ulong{size}); });
  }

  void reduce(uint32_t count) {
    std::vector<uint32_t> values(count, 3);
    std::vector<uint64_t> sums(count / 256);
    alignas(16) samples::ReduceArgs args{values.data(), sums.data(), count};
    compare("reduce", "reduce " + std::to_string(count >> 10) + "Ki in 256", {count}, {256}, &args,
            [&] { return opencl_.kernel("reduce", buffer(values), buffer(sums), cl_ulong{count}); });
  }

  void histogram(uint32_t count) {
    std::vector<uint8_t> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
    std::vector<uint32_t> bins(samples::kBins);
    alignas(16) samples::HistogramArgs args{values.data(), bins.data(), count};
    compare("histogram", "histogram " + std::to_string(count >> 10) + "Ki in 1024", {count}, {1024}, &args,
            [&] { return opencl_.kernel("histogram", buffer(values), buffer(bins), cl_ulong{count}); });
  }

 private:
  void load() {
    rig_.load(TEST_KERNELS);
    const bool best = isa_names(host_features()).size() == isa_names(~uint64_t{0}).size();
    rig_.load(best ? SAMPLE_KERNELS_BEST : SAMPLE_KERNELS);
  }

  template <class T>
  cl_mem buffer(std::vector<T>& values) {
    return opencl_.buffer(values.data(), values.size() * sizeof(T));
  }

  void compare(const char* kernel, const std::string& label, Extent grid, Extent group, const void* args,
               const std::function<cl_kernel()>& other) {
    if (label.find(filter_) == std::string::npos) return;
    const Packet packet = kernel_packet(rig_.kernel(kernel), args, grid, group, done_);
    const auto run = [&] {
      rig_.host.store(done_, 1);
      queue_.submit(packet);
      // As clFinish does: long waits leave the processor to others.
      const hsabe_wait_t wait{done_, 0, HSA_SIGNAL_CONDITION_EQ, 0};
      rig_.host.wait_any(&wait, 1, HSABE_WAIT_FOREVER, 5'000);
    };
    const cl_kernel made = opencl_ ? other() : nullptr;
    double own = INFINITY, theirs = INFINITY;
    // In turn, so that whatever else the machine does meets both.
    for (int i = 0; i < repetitions_; ++i) {
      own = std::min(own, us_of(run));
      if (opencl_) theirs = std::min(theirs, us_of([&] { opencl_.run(made, grid, group); }));
    }
    if (opencl_) {
      std::printf("%-34s %12.2f %12.2f %8.2f\n", label.c_str(), own, theirs, theirs / own);
    } else {
      std::printf("%-34s %12.2f\n", label.c_str(), own);
    }
    std::fflush(stdout);
  }

  const int repetitions_;
  const std::string filter_;
  OpenCl opencl_;
  Rig rig_;
  TestQueue queue_;
  uint64_t done_ = 0;
};

int compare(int threads, int repetitions, const char* filter) {
  setenv("POCL_MAX_PTHREAD_COUNT", std::to_string(threads).c_str(), 1);
  Comparison comparison(threads, repetitions, filter);
  comparison.empty();
  comparison.streams(4u << 20, 256);
  comparison.streams(64u << 10, 256);
  comparison.streams(64u << 10, 64);
  comparison.sgemm(512);
  comparison.reduce(4u << 20);
  comparison.histogram(4u << 20);
  return 0;
}

}  // namespace
}  // namespace rigel::cpu

int main(int count, char** arguments) {
  const int repetitions = count > 1 ? std::atoi(arguments[1]) : 200;
  const char* const filter = count > 2 ? arguments[2] : "";
  const cpu_set_t processors = rigel::cpu::processors_of_node(0);
  // OpenCL decides once for a process how many threads it has.
  for (const int threads : {1, CPU_COUNT(&processors)}) {
    const pid_t child = fork();
    if (child == 0) {
      const int status = rigel::cpu::compare(threads, repetitions, filter);
      std::fflush(stdout);
      _exit(status);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  return 0;
}
