#include "compare/measurements.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "compare/measured_agent.hpp"

namespace compare {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBudget(150);  // duration of a measurement
double cpu_per_call = -1;

// CPU time of all threads of the process, including a virtual GPU's.
double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Passes the time per call of each batch to `keep`, until the budget is used up.
template <class Body, class Keep>
void measure(Body&& body, int batch, std::chrono::milliseconds budget, Keep&& keep) {
  body();
  long calls = 0;
  const double cpu = cpu_ns();
  const auto end = Clock::now() + budget;
  do {
    calls += batch;
    const auto begin = Clock::now();
    for (int i = 0; i < batch; ++i) body();
    const std::chrono::duration<double, std::nano> elapsed = Clock::now() - begin;
    keep(elapsed.count() / batch);
  } while (Clock::now() < end);
  cpu_per_call = (cpu_ns() - cpu) / static_cast<double>(calls);
}

template <class Body>
double minimum(Body&& body, int batch = 1, std::chrono::milliseconds budget = kBudget) {
  double best = INFINITY;
  measure(body, batch, budget, [&](double ns) { best = std::min(best, ns); });
  return best;
}

// For effects of most calls that the minimum hides, such as a waiter that sleeps.
template <class Body>
double median(Body&& body) {
  std::vector<double> all;
  measure(body, 1, 2 * kBudget, [&](double ns) { all.push_back(ns); });
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::ranges::nth_element(all, middle);
  return *middle;
}

double init_and_shut_down() {
  return minimum(
      [] {
        check(hsa_init(), "hsa_init");
        check(hsa_shut_down(), "hsa_shut_down");
      },
      1, std::chrono::milliseconds(500));
}

double queue_create_and_destroy() {
  const MeasuredAgent agent;
  return minimum([&] { check(hsa_queue_destroy(agent.create_queue(1024)), "hsa_queue_destroy"); });
}

double signal_create_and_destroy() {
  const MeasuredAgent agent;
  return minimum(
      [] {
        hsa_signal_t signal{};
        check(hsa_signal_create(1, 0, nullptr, &signal), "hsa_signal_create");
        check(hsa_signal_destroy(signal), "hsa_signal_destroy");
      },
      1000);
}

double allocate_and_free(hsa_amd_memory_pool_t MeasuredAgent::*pool, size_t bytes) {
  const MeasuredAgent agent;
  return minimum(
      [&] {
        void* memory = nullptr;
        check(hsa_amd_memory_pool_allocate(agent.*pool, bytes, 0, &memory), "allocate");
        check(hsa_amd_memory_pool_free(memory), "free");
      },
      50);
}

std::vector<char> code_for(const MeasuredAgent& agent, const std::string& directory, const char* prefix) {
  return read_file(directory + "/" + prefix + agent.target + ".hsaco");
}

// Time from the submission of one packet until its completion is seen. If `groups` is not 0, the median for a
// kernel of `groups` empty work-groups, during which a waiter may sleep.
double round_trip(const std::string& directory, bool kernel, hsa_wait_state_t wait, uint32_t groups = 0) {
  const MeasuredAgent agent;
  uint64_t object = 0;
  if (kernel) {
    const auto code = code_for(agent, directory, "conformance_");
    if (code.empty()) return -1;
    object = agent.load(code, "empty.kd").object;
  }
  hsa_queue_t* const queue = agent.create_queue(1024);
  hsa_signal_t done{};
  check(hsa_signal_create(0, 0, nullptr, &done), "signal");
  const auto timed = [&](auto body) { return groups == 0 ? minimum(body) : median(body); };
  const double result = timed([&] {
    hsa_signal_store_relaxed(done, 1);
    if (kernel) {
      auto packet = dispatch_packet(object, done);
      if (groups != 0) packet.workgroup_size_x = 64, packet.grid_size_x = 64 * groups;
      submit(queue, &packet);
    } else {
      const auto packet = barrier_packet(done);
      submit(queue, &packet);
    }
    while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, wait) > 0) {
    }
  });
  hsa_queue_destroy(queue);
  hsa_signal_destroy(done);
  return result;
}

// A profiler's query of a kernel's times, which converts two device ticks to system time.
double times_of_kernel(const std::string& directory) {
  const MeasuredAgent agent;
  const auto code = code_for(agent, directory, "conformance_");
  if (code.empty()) return -1;
  hsa_queue_t* const queue = agent.create_queue(1024);
  check(hsa_amd_profiling_set_profiler_enabled(queue, 1), "profiling");
  hsa_signal_t done{};
  check(hsa_signal_create(1, 0, nullptr, &done), "signal");
  const auto packet = dispatch_packet(agent.load(code, "empty.kd").object, done);
  submit(queue, &packet);
  while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_ACTIVE) > 0) {
  }
  const double result = minimum(
      [&] {
        hsa_amd_profiling_dispatch_time_t time{};
        check(hsa_amd_profiling_get_dispatch_time(agent.agent, done, &time), "times");
      },
      1000);
  hsa_queue_destroy(queue);
  hsa_signal_destroy(done);
  return result;
}

// Time per empty kernel if the packets are submitted without waiting.
double pipelined(const std::string& directory) {
  const MeasuredAgent agent;
  const auto code = code_for(agent, directory, "conformance_");
  if (code.empty()) return -1;
  const uint64_t object = agent.load(code, "empty.kd").object;
  hsa_queue_t* const queue = agent.create_queue(1024);
  hsa_signal_t done{};
  check(hsa_signal_create(0, 0, nullptr, &done), "signal");
  constexpr int kPackets = 5000;
  const double result = minimum([&] {
    hsa_signal_store_relaxed(done, 1);
    const auto packet = dispatch_packet(object, {0});
    for (int i = 1; i < kPackets; ++i) submit(queue, &packet);
    const auto last = dispatch_packet(object, done);
    submit(queue, &last);
    while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_ACTIVE) >
           0) {
    }
  });
  hsa_queue_destroy(queue);
  hsa_signal_destroy(done);
  return result / kPackets;
}

void wait_for(hsa_signal_t done) {
  while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_ACTIVE) > 0) {
  }
}

// Time to submit a packet, without its execution: a barrier blocks the queue.
double submission() {
  const MeasuredAgent agent;
  hsa_queue_t* const queue = agent.create_queue(4096);
  hsa_signal_t go{}, done{};
  check(hsa_signal_create(0, 0, nullptr, &go), "signal");
  check(hsa_signal_create(0, 0, nullptr, &done), "signal");
  constexpr int kPackets = 4000;
  double best = INFINITY;
  for (const auto end = Clock::now() + kBudget; Clock::now() < end;) {
    hsa_signal_store_relaxed(go, 1);
    hsa_signal_store_relaxed(done, 1);
    auto first = barrier_packet({0});
    first.dep_signal[0] = go;
    submit(queue, &first);
    const auto packet = barrier_packet({0});
    const auto begin = Clock::now();
    for (int i = 0; i < kPackets; ++i) submit(queue, &packet);
    const std::chrono::duration<double, std::nano> elapsed = Clock::now() - begin;
    best = std::min(best, elapsed.count() / kPackets);
    const auto last = barrier_packet(done);
    submit(queue, &last);
    hsa_signal_store_screlease(go, 0);
    wait_for(done);
  }
  hsa_queue_destroy(queue);
  hsa_signal_destroy(go);
  hsa_signal_destroy(done);
  return best;
}

enum class Direction { kToDevice, kToHost, kWithinDevice };

struct CopySides {
  CopySides(const MeasuredAgent& agent, size_t bytes, Direction direction)
      : to_agent(direction == Direction::kToHost ? agent.cpu : agent.agent),
        from_agent(direction == Direction::kToDevice ? agent.cpu : agent.agent),
        to(agent.allocate(direction == Direction::kToHost ? agent.host_pool : agent.device_pool, bytes)),
        from(agent.allocate(direction == Direction::kToDevice ? agent.host_pool : agent.device_pool, bytes)) {
    // Unwritten memory may be one page of zeroes, which is copied from the caches.
    if (direction == Direction::kToDevice) {
      std::memset(from, 0x5a, bytes);
    } else {
      check(hsa_amd_memory_fill(from, 0x5a5a5a5a, bytes / 4), "fill");
    }
  }
  ~CopySides() {
    hsa_amd_memory_pool_free(to);
    hsa_amd_memory_pool_free(from);
  }
  CopySides(const CopySides&) = delete;

  hsa_agent_t to_agent, from_agent;
  void* to;
  void* from;
};

void begin(const CopySides& sides, size_t bytes, hsa_signal_t done) {
  hsa_signal_store_relaxed(done, 1);
  check(hsa_amd_memory_async_copy(sides.to, sides.to_agent, sides.from, sides.from_agent, bytes, 0, nullptr,
                                  done),
        "copy");
}

// Copies by copy engines or, if `kernels` is set, by kernels.
double copy(size_t bytes, Direction direction, bool kernels) {
  if (kernels) setenv("HSA_ENABLE_SDMA", "0", 1);
  const MeasuredAgent agent;
  const CopySides sides(agent, bytes, direction);
  hsa_signal_t done{};
  check(hsa_signal_create(0, 0, nullptr, &done), "signal");
  const double result = minimum([&] {
    begin(sides, bytes, done);
    wait_for(done);
  });
  hsa_signal_destroy(done);
  return result;
}

// A copy with a blocked waiter.
double blocked_copy(size_t bytes) {
  const MeasuredAgent agent;
  const CopySides sides(agent, bytes, Direction::kToDevice);
  hsa_signal_t done{};
  check(hsa_signal_create(0, 0, nullptr, &done), "signal");
  const double result = median([&] {
    begin(sides, bytes, done);
    while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) >
           0) {
    }
  });
  hsa_signal_destroy(done);
  return result;
}

// Time of the call that starts a copy.
double copy_submission() {
  constexpr int kCopies = 64;
  const MeasuredAgent agent;
  const CopySides sides(agent, 4096, Direction::kToDevice);
  hsa_signal_t done{};
  check(hsa_signal_create(0, 0, nullptr, &done), "signal");
  double best = INFINITY;
  for (const auto end = Clock::now() + kBudget; Clock::now() < end;) {
    hsa_signal_store_relaxed(done, kCopies);
    const auto begin = Clock::now();
    for (int i = 0; i < kCopies; ++i) {
      check(hsa_amd_memory_async_copy(sides.to, sides.to_agent, sides.from, sides.from_agent, 4096, 0,
                                      nullptr, done),
            "copy");
    }
    const std::chrono::duration<double, std::nano> elapsed = Clock::now() - begin;
    best = std::min(best, elapsed.count() / kCopies);
    wait_for(done);
  }
  hsa_signal_destroy(done);
  return best;
}

// Time per copy of 4 KiB in a chain to the device and back, where each copy depends on the previous one.
double chained_copies() {
  constexpr size_t kLinks = 16;
  const MeasuredAgent agent;
  const CopySides out(agent, 4096, Direction::kToDevice), back(agent, 4096, Direction::kToHost);
  hsa_signal_t done[kLinks];
  for (auto& signal : done) check(hsa_signal_create(0, 0, nullptr, &signal), "signal");
  const double result = minimum([&] {
    for (const auto& signal : done) hsa_signal_store_relaxed(signal, 1);
    for (size_t i = 0; i < kLinks; ++i) {
      const CopySides& sides = i % 2 == 0 ? out : back;
      check(hsa_amd_memory_async_copy(sides.to, sides.to_agent, sides.from, sides.from_agent, 4096,
                                      i == 0 ? 0 : 1, i == 0 ? nullptr : &done[i - 1], done[i]),
            "copy");
    }
    wait_for(done[kLinks - 1]);
  });
  for (const auto& signal : done) hsa_signal_destroy(signal);
  return result / kLinks;
}

// An empty kernel, and a copy that depends on it.
double copy_after_kernel(const std::string& directory) {
  const MeasuredAgent agent;
  const auto code = code_for(agent, directory, "conformance_");
  if (code.empty()) return -1;
  const uint64_t object = agent.load(code, "empty.kd").object;
  hsa_queue_t* const queue = agent.create_queue(1024);
  const CopySides sides(agent, 4096, Direction::kToHost);
  hsa_signal_t kernel{}, done{};
  check(hsa_signal_create(0, 0, nullptr, &kernel), "signal");
  check(hsa_signal_create(0, 0, nullptr, &done), "signal");
  const double result = minimum([&] {
    hsa_signal_store_relaxed(kernel, 1);
    hsa_signal_store_relaxed(done, 1);
    const auto packet = dispatch_packet(object, kernel);
    submit(queue, &packet);
    check(hsa_amd_memory_async_copy(sides.to, sides.to_agent, sides.from, sides.from_agent, 4096, 1, &kernel,
                                    done),
          "copy");
    wait_for(done);
  });
  hsa_queue_destroy(queue);
  hsa_signal_destroy(kernel);
  hsa_signal_destroy(done);
  return result;
}

// Time of hsa_memory_copy with ordinary program memory, which is not registered with any agent.
double plain_copy(size_t bytes, bool to_device) {
  const MeasuredAgent agent;
  void* const device = agent.allocate(agent.device_pool, bytes);
  std::vector<char> host_bytes(bytes, 1);
  const double result = minimum([&] {
    check(hsa_memory_copy(to_device ? device : host_bytes.data(), to_device ? host_bytes.data() : device,
                          bytes),
          "copy");
  });
  hsa_amd_memory_pool_free(device);
  return result;
}

double fill(size_t bytes) {
  const MeasuredAgent agent;
  void* const device = agent.allocate(agent.device_pool, bytes);
  const double result = minimum([&] { check(hsa_amd_memory_fill(device, 0x5a5a5a5a, bytes / 4), "fill"); });
  hsa_amd_memory_pool_free(device);
  return result;
}

double load_code(const std::string& directory, const char* prefix, const char* kernel) {
  const MeasuredAgent agent;
  const auto code = code_for(agent, directory, prefix);
  if (code.empty()) return -1;
  return minimum([&] {
    const LoadedKernel loaded = agent.load(code, kernel);
    check(hsa_executable_destroy(loaded.executable), "destroy");
  });
}

double first_kernel(const std::string& directory) {
  std::string target;
  {
    const MeasuredAgent agent;
    target = agent.target;
  }
  const auto code = read_file(directory + "/conformance_" + target + ".hsaco");
  if (code.empty()) return -1;
  return minimum(
      [&] {
        const MeasuredAgent agent;
        const LoadedKernel loaded = agent.load(code, "empty.kd");
        hsa_queue_t* const queue = agent.create_queue(1024);
        hsa_signal_t done{};
        check(hsa_signal_create(1, 0, nullptr, &done), "signal");
        const auto packet = dispatch_packet(loaded.object, done);
        submit(queue, &packet);
        while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX,
                                         HSA_WAIT_STATE_ACTIVE) > 0) {
        }
        hsa_signal_destroy(done);
        hsa_queue_destroy(queue);
        hsa_executable_destroy(loaded.executable);
      },
      1, std::chrono::milliseconds(500));
}

// A HIP program that prints the time until its first result (conformance/hip/first_kernel.cpp).
double first_hip_kernel(const std::string& directory) {
  const std::string program = directory + "/../conformance/hip/first_kernel";
  execl(program.c_str(), program.c_str(), nullptr);
  return -1;
}

struct Size {
  size_t bytes;
  const char* name;
};
constexpr Size kSizes[] = {{4 << 10, "4 KiB"},     {16 << 10, "16 KiB"}, {64 << 10, "64 KiB"},
                           {256 << 10, "256 KiB"}, {1 << 20, "1 MiB"},   {4 << 20, "4 MiB"},
                           {16 << 20, "16 MiB"},   {64 << 20, "64 MiB"}, {256 << 20, "256 MiB"}};
constexpr Size kBlockedSizes[] = {
    {256 << 10, "256 KiB"}, {1 << 20, "1 MiB"}, {4 << 20, "4 MiB"}, {16 << 20, "16 MiB"}};

}  // namespace

double cpu_time_per_call() {
  return cpu_per_call;
}

std::vector<Measurement> measurements(const std::string& kernels) {
  std::vector<Measurement> all = {
      {"hsa_init+hsa_shut_down", init_and_shut_down},
      {"hsa_init to the end of the first kernel", [=] { return first_kernel(kernels); }},
      {"queue create+destroy", queue_create_and_destroy},
      {"signal create+destroy", signal_create_and_destroy},
      {"host pool alloc+free 4 KiB", [] { return allocate_and_free(&MeasuredAgent::host_pool, 4096); }},
      {"host pool alloc+free 2 MiB", [] { return allocate_and_free(&MeasuredAgent::host_pool, 2 << 20); }},
      {"device pool alloc+free 4 KiB", [] { return allocate_and_free(&MeasuredAgent::device_pool, 4096); }},
      {"device pool alloc+free 2 MiB",
       [] { return allocate_and_free(&MeasuredAgent::device_pool, 2 << 20); }},
      {"barrier round trip, spinning", [=] { return round_trip(kernels, false, HSA_WAIT_STATE_ACTIVE); }},
      {"barrier round trip, blocked", [=] { return round_trip(kernels, false, HSA_WAIT_STATE_BLOCKED); }},
      {"empty kernel round trip, spinning", [=] { return round_trip(kernels, true, HSA_WAIT_STATE_ACTIVE); }},
      {"empty kernel round trip, blocked", [=] { return round_trip(kernels, true, HSA_WAIT_STATE_BLOCKED); }},
      {"kernel of 2,000 work-groups, blocked (median)",
       [=] { return round_trip(kernels, true, HSA_WAIT_STATE_BLOCKED, 2'000); }},
      {"kernel of 2,000 work-groups, spinning (median)",
       [=] { return round_trip(kernels, true, HSA_WAIT_STATE_ACTIVE, 2'000); }},
      {"kernel of 90,000 work-groups, spinning (median)",
       [=] { return round_trip(kernels, true, HSA_WAIT_STATE_ACTIVE, 90'000); }},
      {"packet submission to a waiting queue", submission},
      {"empty kernel, pipelined", [=] { return pipelined(kernels); }},
      {"dispatch times of a kernel", [=] { return times_of_kernel(kernels); }},
      {"load a code object", [=] { return load_code(kernels, "conformance_", "empty.kd"); }},
      {"load a code object of 10 MB", [=] { return load_code(kernels, "big_", "kernel_0.kd"); }},
      {"load a code object of 1,000 kernels", [=] { return load_code(kernels, "many_", "kernel_0.kd"); }},
      {"first HIP kernel", [=] { return first_hip_kernel(kernels); }},
      {"copy after an empty kernel", [=] { return copy_after_kernel(kernels); }},
      {"copy submitted", copy_submission},
      {"copies in a chain, 1 of 16", chained_copies},
      {"program memory to device 4 KiB", [] { return plain_copy(4 << 10, true); }},
      {"program memory to device 1 MiB", [] { return plain_copy(1 << 20, true); }},
      {"device to program memory 4 KiB", [] { return plain_copy(4 << 10, false); }},
      {"device to program memory 1 MiB", [] { return plain_copy(1 << 20, false); }},
  };
  for (const auto& [bytes, name] : kSizes)
    all.push_back({std::string("fill ") + name, [size = bytes] { return fill(size); }});
  for (const auto& [bytes, name] : kBlockedSizes)
    all.push_back(
        {std::string("copy, blocked, ") + name + " (median)", [size = bytes] { return blocked_copy(size); }});
  for (const bool by_kernel : {false, true}) {
    for (const auto& [direction, where] : {std::pair{Direction::kToDevice, "to the device"},
                                           {Direction::kToHost, "to the host"},
                                           {Direction::kWithinDevice, "within the device"}}) {
      // Copies within the device use the same path in both cases.
      if (by_kernel && direction == Direction::kWithinDevice) continue;
      for (const auto& [bytes, name] : kSizes) {
        all.push_back({std::string(by_kernel ? "copy by kernel " : "copy ") + where + " " + name,
                       [size = bytes, w = direction, by_kernel] { return copy(size, w, by_kernel); }});
      }
    }
  }
  return all;
}

}  // namespace compare
