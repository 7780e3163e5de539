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

constexpr std::chrono::milliseconds kBudget(150);  // of a measurement
double cpu_per_call = -1;

// What all threads of the process have used: the virtual GPU's, too.
double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Gives `keep` times of one call, each of a batch that lasts long enough for the clock, within the budget.
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
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    keep(took.count() / batch);
  } while (Clock::now() < end);
  cpu_per_call = (cpu_ns() - cpu) / static_cast<double>(calls);
}

template <class Body>
double least(Body&& body, int batch = 1, std::chrono::milliseconds budget = kBudget) {
  double best = INFINITY;
  measure(body, batch, budget, [&](double ns) { best = std::min(best, ns); });
  return best;
}

// For what shows in most calls and not in the luckiest one: whether the waiter was asleep.
template <class Body>
double median(Body&& body) {
  std::vector<double> all;
  measure(body, 1, 2 * kBudget, [&](double ns) { all.push_back(ns); });
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::ranges::nth_element(all, middle);
  return *middle;
}

double init_and_shut_down() {
  return least(
      [] {
        check(hsa_init(), "hsa_init");
        check(hsa_shut_down(), "hsa_shut_down");
      },
      1, std::chrono::milliseconds(500));
}

double queue_create_and_destroy() {
  const MeasuredAgent machine;
  return least([&] { check(hsa_queue_destroy(machine.create_queue(1024)), "hsa_queue_destroy"); });
}

double signal_create_and_destroy() {
  const MeasuredAgent machine;
  return least(
      [] {
        hsa_signal_t signal{};
        check(hsa_signal_create(1, 0, nullptr, &signal), "hsa_signal_create");
        check(hsa_signal_destroy(signal), "hsa_signal_destroy");
      },
      1000);
}

double allocate_and_free(hsa_amd_memory_pool_t MeasuredAgent::*pool, size_t bytes) {
  const MeasuredAgent machine;
  return least(
      [&] {
        void* memory = nullptr;
        check(hsa_amd_memory_pool_allocate(machine.*pool, bytes, 0, &memory), "allocate");
        check(hsa_amd_memory_pool_free(memory), "free");
      },
      50);
}

std::vector<char> code_for(const MeasuredAgent& machine, const std::string& folder, const char* prefix) {
  return read_file(folder + "/" + prefix + machine.target + ".hsaco");
}

// Packets one at a time: submitted, completed, seen. With `groups`, of that many empty work-groups, which takes the
// device so long that a waiter may sleep, in the median.
double round_trip(const std::string& folder, bool kernel, hsa_wait_state_t wait, uint32_t groups = 0) {
  const MeasuredAgent machine;
  uint64_t object = 0;
  if (kernel) {
    const auto code = code_for(machine, folder, "conformance_");
    if (code.empty()) return -1;
    object = machine.load(code, "empty.kd").object;
  }
  hsa_queue_t* const queue = machine.create_queue(1024);
  hsa_signal_t done{};
  check(hsa_signal_create(0, 0, nullptr, &done), "signal");
  const auto timed = [&](auto body) { return groups == 0 ? least(body) : median(body); };
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

// The times of a kernel, as profilers ask for them: two ticks of the device become times of the system.
double times_of_kernel(const std::string& folder) {
  const MeasuredAgent machine;
  const auto code = code_for(machine, folder, "conformance_");
  if (code.empty()) return -1;
  hsa_queue_t* const queue = machine.create_queue(1024);
  check(hsa_amd_profiling_set_profiler_enabled(queue, 1), "profiling");
  hsa_signal_t done{};
  check(hsa_signal_create(1, 0, nullptr, &done), "signal");
  const auto packet = dispatch_packet(machine.load(code, "empty.kd").object, done);
  submit(queue, &packet);
  while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_ACTIVE) > 0) {
  }
  const double result = least(
      [&] {
        hsa_amd_profiling_dispatch_time_t time{};
        check(hsa_amd_profiling_get_dispatch_time(machine.agent, done, &time), "times");
      },
      1000);
  hsa_queue_destroy(queue);
  hsa_signal_destroy(done);
  return result;
}

// Empty kernels without waiting in between: time of one.
double pipelined(const std::string& folder) {
  const MeasuredAgent machine;
  const auto code = code_for(machine, folder, "conformance_");
  if (code.empty()) return -1;
  const uint64_t object = machine.load(code, "empty.kd").object;
  hsa_queue_t* const queue = machine.create_queue(1024);
  hsa_signal_t done{};
  check(hsa_signal_create(0, 0, nullptr, &done), "signal");
  constexpr int kPackets = 5000;
  const double result = least([&] {
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

// What it takes to give a queue a packet, without what the device does with it: the queue waits meanwhile.
double submission() {
  const MeasuredAgent machine;
  hsa_queue_t* const queue = machine.create_queue(4096);
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
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    best = std::min(best, took.count() / kPackets);
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

enum class Way { kToDevice, kToHost, kWithinDevice };

struct CopySides {
  CopySides(const MeasuredAgent& machine, size_t bytes, Way way)
      : to_agent(way == Way::kToHost ? machine.cpu : machine.agent),
        from_agent(way == Way::kToDevice ? machine.cpu : machine.agent),
        to(machine.allocate(way == Way::kToHost ? machine.host_pool : machine.device_pool, bytes)),
        from(machine.allocate(way == Way::kToDevice ? machine.host_pool : machine.device_pool, bytes)) {
    // Memory that nobody has written may be one page of zeroes, which is copied out of the caches.
    if (way == Way::kToDevice) {
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

// By copy engines or, if `kernels`, without.
double copy(size_t bytes, Way way, bool kernels) {
  if (kernels) setenv("HSA_ENABLE_SDMA", "0", 1);
  const MeasuredAgent machine;
  const CopySides sides(machine, bytes, way);
  hsa_signal_t done{};
  check(hsa_signal_create(0, 0, nullptr, &done), "signal");
  const double result = least([&] {
    begin(sides, bytes, done);
    wait_for(done);
  });
  hsa_signal_destroy(done);
  return result;
}

// Waited for by a thread that does not ask for spinning.
double blocked_copy(size_t bytes) {
  const MeasuredAgent machine;
  const CopySides sides(machine, bytes, Way::kToDevice);
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

// What the call takes that begins a copy, without the copy.
double copy_submission() {
  constexpr int kCopies = 64;
  const MeasuredAgent machine;
  const CopySides sides(machine, 4096, Way::kToDevice);
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
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    best = std::min(best, took.count() / kCopies);
    wait_for(done);
  }
  hsa_signal_destroy(done);
  return best;
}

// Copies of 4 KiB to the device and back, each waiting for the one before: time of one.
double chained_copies() {
  constexpr size_t kLinks = 16;
  const MeasuredAgent machine;
  const CopySides out(machine, 4096, Way::kToDevice), back(machine, 4096, Way::kToHost);
  hsa_signal_t done[kLinks];
  for (auto& signal : done) check(hsa_signal_create(0, 0, nullptr, &signal), "signal");
  const double result = least([&] {
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

// An empty kernel, and a copy of its results that waits for it.
double copy_behind_kernel(const std::string& folder) {
  const MeasuredAgent machine;
  const auto code = code_for(machine, folder, "conformance_");
  if (code.empty()) return -1;
  const uint64_t object = machine.load(code, "empty.kd").object;
  hsa_queue_t* const queue = machine.create_queue(1024);
  const CopySides sides(machine, 4096, Way::kToHost);
  hsa_signal_t kernel{}, done{};
  check(hsa_signal_create(0, 0, nullptr, &kernel), "signal");
  check(hsa_signal_create(0, 0, nullptr, &done), "signal");
  const double result = least([&] {
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

// What one call of hsa_memory_copy takes: from memory of the program's own, which no agent knows.
double plain_copy(size_t bytes, bool to_device) {
  const MeasuredAgent machine;
  void* const device = machine.allocate(machine.device_pool, bytes);
  std::vector<char> own(bytes, 1);
  const double result = least([&] {
    check(hsa_memory_copy(to_device ? device : own.data(), to_device ? own.data() : device, bytes), "copy");
  });
  hsa_amd_memory_pool_free(device);
  return result;
}

double fill(size_t bytes) {
  const MeasuredAgent machine;
  void* const device = machine.allocate(machine.device_pool, bytes);
  const double result = least([&] { check(hsa_amd_memory_fill(device, 0x5a5a5a5a, bytes / 4), "fill"); });
  hsa_amd_memory_pool_free(device);
  return result;
}

double load_code(const std::string& folder, const char* prefix, const char* kernel) {
  const MeasuredAgent machine;
  const auto code = code_for(machine, folder, prefix);
  if (code.empty()) return -1;
  return least([&] {
    const LoadedKernel loaded = machine.load(code, kernel);
    check(hsa_executable_destroy(loaded.executable), "destroy");
  });
}

double first_kernel(const std::string& folder) {
  std::string target;
  {
    const MeasuredAgent machine;
    target = machine.target;
  }
  const auto code = read_file(folder + "/conformance_" + target + ".hsaco");
  if (code.empty()) return -1;
  return least(
      [&] {
        const MeasuredAgent machine;
        const LoadedKernel loaded = machine.load(code, "empty.kd");
        hsa_queue_t* const queue = machine.create_queue(1024);
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

// A HIP program that says how long it took to its first result (conformance/hip/first_kernel.cpp).
double first_hip_kernel(const std::string& folder) {
  const std::string program = folder + "/../conformance/hip/first_kernel";
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

double processor_time() {
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
      {"copy after an empty kernel", [=] { return copy_behind_kernel(kernels); }},
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
    for (const auto& [way, where] : {std::pair{Way::kToDevice, "to the device"},
                                     {Way::kToHost, "to the host"},
                                     {Way::kWithinDevice, "within the device"}}) {
      // Within the device there is one way for both.
      if (by_kernel && way == Way::kWithinDevice) continue;
      for (const auto& [bytes, name] : kSizes) {
        all.push_back({std::string(by_kernel ? "copy by kernel " : "copy ") + where + " " + name,
                       [size = bytes, w = way, by_kernel] { return copy(size, w, by_kernel); }});
      }
    }
  }
  return all;
}

}  // namespace compare
