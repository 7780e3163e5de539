// Compares the sample kernels on this backend and on this machine's OpenCL CPU device (for example PoCL).
// Both do the same work in work-groups of the same size, with 1 thread and with all. `ratio` is this
// backend's time divided by OpenCL's, each the minimum of many runs in one process. The result is the median
// of five processes.
//
// The two alternate in batches of some dozens of runs, so that other load affects both, and both run with
// awake threads. The empty dispatch "now and then" shows the other case: the two alternate at every run.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <benchmark/benchmark.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "backends/cpu/capabilities.hpp"
#include "backends/cpu/features.hpp"
#include "backends/cpu/kernels/args.hpp"
#include "backends/cpu/testing/application.hpp"
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

struct Extent {
  uint32_t x = 1, y = 1, z = 1;
};

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

// The minimum of each, in microseconds. OpenCL's is 0 if it is not available.
struct Times {
  double own = 0;
  double other = 0;
};

class Comparison {
 public:
  explicit Comparison(int runs_in_a_row) : runs_in_a_row_(runs_in_a_row) {
    const bool best = isa_names(host_features()).size() == isa_names(~uint64_t{0}).size();
    application_.load(TEST_KERNELS);
    application_.load(best ? SAMPLE_KERNELS_BEST : SAMPLE_KERNELS);
  }

  Times empty() {
    return compare("empty", {}, {}, nullptr, [&] { return opencl_.kernel("empty_kernel"); });
  }

  Times vector_copy(uint32_t count, uint32_t group) {
    std::vector<uint32_t> x(count, 1), y(count, 2);
    alignas(16) samples::VectorCopyArgs args{x.data(), y.data(), count};
    return compare("vector_copy", {count}, {group}, &args,
                   [&] { return opencl_.kernel("vector_copy", buffer(x), buffer(y), cl_ulong{count}); });
  }

  Times saxpy(uint32_t count, uint32_t group) {
    std::vector<float> x(count, 1), y(count, 2);
    alignas(16) samples::SaxpyArgs args{1e-6f, count, x.data(), y.data()};
    return compare("saxpy", {count}, {group}, &args, [&] {
      return opencl_.kernel("saxpy", cl_float{1e-6f}, cl_uint{count}, buffer(x), buffer(y));
    });
  }

  Times sgemm(uint32_t size) {
    std::vector<float> a(size * size, 1), b(size * size, 2), c(size * size);
    alignas(16) samples::SgemmArgs args{a.data(), b.data(), c.data(), size};
    return compare("sgemm", {size, size}, {16, 16}, &args,
                   [&] { return opencl_.kernel("sgemm", buffer(a), buffer(b), buffer(c), cl_ulong{size}); });
  }

  Times reduce(uint32_t count) {
    std::vector<uint32_t> values(count, 3);
    std::vector<uint64_t> sums(count / 256);
    alignas(16) samples::ReduceArgs args{values.data(), sums.data(), count};
    return compare("reduce", {count}, {256}, &args,
                   [&] { return opencl_.kernel("reduce", buffer(values), buffer(sums), cl_ulong{count}); });
  }

  Times histogram(uint32_t count) {
    std::vector<uint8_t> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<uint8_t>(i * 2654435761u >> 13);
    std::vector<uint32_t> bins(samples::kBins);
    alignas(16) samples::HistogramArgs args{values.data(), bins.data(), count};
    return compare("histogram", {count}, {1024}, &args, [&] {
      return opencl_.kernel("histogram", buffer(values), buffer(bins), cl_ulong{count});
    });
  }

 private:
  template <class T>
  cl_mem buffer(std::vector<T>& values) {
    return opencl_.buffer(values.data(), values.size() * sizeof(T));
  }

  Times compare(const char* kernel, Extent grid, Extent group, const void* args,
                const std::function<cl_kernel()>& other) {
    hsa_kernel_dispatch_packet_t packet = application_.packet(kernel);
    packet.grid_size_x = grid.x, packet.grid_size_y = grid.y, packet.grid_size_z = grid.z;
    packet.workgroup_size_x = static_cast<uint16_t>(group.x);
    packet.workgroup_size_y = static_cast<uint16_t>(group.y);
    packet.workgroup_size_z = static_cast<uint16_t>(group.z);
    packet.kernarg_address = const_cast<void*>(args);
    // Spins for a short one; otherwise the waiter leaves its CPU to the kernel, as clFinish does.
    const hsa_wait_state_t how = args == nullptr ? HSA_WAIT_STATE_ACTIVE : HSA_WAIT_STATE_BLOCKED;
    const auto run = [&] {
      application_.expect(1);
      application_.submit(packet);
      application_.wait(how);
    };
    const cl_kernel made = opencl_ ? other() : nullptr;
    const auto run_other = [&] { opencl_.run(made, grid, group); };
    const auto turn = [this](const auto& body) {
      double best = INFINITY;
      for (int i = 0; i < runs_in_a_row_; ++i) best = std::min(best, us_of(body));
      return best;
    };
    Times best{turn(run), made ? turn(run_other) : 0};
    constexpr double kSpentUs = 300'000;
    const uint64_t begin = ticks();
    for (int i = 0; i < 5 || static_cast<double>(ticks() - begin) / ticks_per_ns() < kSpentUs * 1000; ++i) {
      best.own = std::min(best.own, turn(run));
      if (made) best.other = std::min(best.other, turn(run_other));
    }
    return best;
  }

  const int runs_in_a_row_;
  OpenCl opencl_;
  Application application_;
};

using Work = std::function<Times(Comparison&)>;

// Returns a configuration file that sets the CPU agent's number of threads.
std::string configuration(int threads) {
  std::string path = fmt::format("{}/cpu_opencl_bench_{}.json", BENCH_FOLDER, threads);
  std::ofstream(path) << fmt::format(
      R"({{"config_version": "1.0", "backends": {{"cpu": {{"threads": {}}}}}}})", threads);
  return path;
}

// OpenCL determines its number of threads once per process, so each comparison has a process.
Times in_a_child(int threads, int runs_in_a_row, const Work& work) {
  int ends[2];
  if (pipe(ends) != 0) fail("pipe", errno);
  const pid_t child = fork();
  if (child < 0) fail("fork", errno);
  if (child == 0) {
    setenv("POCL_MAX_PTHREAD_COUNT", std::to_string(threads).c_str(), 1);
    setenv("HSA_PLUGIN_CONFIG", configuration(threads).c_str(), 1);
    Comparison comparison(runs_in_a_row);
    const Times times = work(comparison);
    _exit(write(ends[1], &times, sizeof times) == sizeof times ? 0 : 1);
  }
  close(ends[1]);
  Times times;
  if (read(ends[0], &times, sizeof times) != sizeof times) fail("a comparison", 0);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return times;
}

// The placement of a process's memory changes the speed of streams by a tenth, differently for each of the
// two.
Times of_median_child(int threads, int runs_in_a_row, const Work& work) {
  constexpr size_t kChildren = 5;
  std::vector<Times> all(kChildren);
  for (Times& times : all) times = in_a_child(threads, runs_in_a_row, work);
  const auto middle = all.begin() + kChildren / 2;
  const auto ratio = [](const Times& times) {
    return times.other == 0 ? times.own : times.own / times.other;
  };
  std::nth_element(all.begin(), middle, all.end(),
                   [&](const Times& a, const Times& b) { return ratio(a) < ratio(b); });
  return *middle;
}

// `at_most`: maximum acceptable ratio, or 0.
void add(const std::string& name, double at_most, const Work& work, int runs_in_a_row = 30) {
  const cpu_set_t processors = processors_of_node(0);
  const int all = CPU_COUNT(&processors);
  for (int threads = 1; threads <= all; threads += std::max(all - 1, 1)) {
    const std::string label = fmt::format("{}/threads:{}", name, threads);
    const auto measure = [=](benchmark::State& state) {
      for (auto _ : state) {
        const Times times = of_median_child(threads, runs_in_a_row, work);
        state.SetIterationTime(times.own * 1e-6);
        if (times.other == 0) continue;
        state.counters["opencl_us"] = times.other;
        state.counters["ratio"] = times.own / times.other;
        if (at_most > 0) state.counters["at_most"] = at_most;
      }
    };
    benchmark::RegisterBenchmark(label.c_str(), measure)
        ->UseManualTime()
        ->Iterations(1)
        ->Unit(benchmark::kMicrosecond);
  }
}

void add_all() {
  add("empty", 0.5, [](Comparison& c) { return c.empty(); });
  add(
      "empty_now_and_then", 0, [](Comparison& c) { return c.empty(); }, 1);
  const auto add_streams = [](uint32_t count, uint32_t group) {
    const std::string label = fmt::format("{}Ki/{}", count >> 10, group);
    add("vector_copy/" + label, 0, [=](Comparison& c) { return c.vector_copy(count, group); });
    add("saxpy/" + label, 1, [=](Comparison& c) { return c.saxpy(count, group); });
  };
  add_streams(4u << 20, 256);
  add_streams(64u << 10, 256);
  add_streams(64u << 10, 64);
  add(
      "sgemm/512", 1, [](Comparison& c) { return c.sgemm(512); }, 3);
  add(
      "reduce/4096Ki", 0, [](Comparison& c) { return c.reduce(4u << 20); }, 3);
  add(
      "histogram/4096Ki", 0, [](Comparison& c) { return c.histogram(4u << 20); }, 3);
}

}  // namespace
}  // namespace rigel::cpu

int main(int count, char** arguments) {
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  rigel::cpu::add_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
