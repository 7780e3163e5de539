#include "compare/measurements.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "compare/machine.hpp"

namespace compare {
namespace {

using Clock = std::chrono::steady_clock;

// The least time of one call, over batches that last long enough for the clock, within the budget.
template <class Body>
double least(Body&& body, int batch = 1, std::chrono::milliseconds budget = std::chrono::milliseconds(150)) {
  double best = INFINITY;
  body();
  const auto end = Clock::now() + budget;
  do {
    const auto begin = Clock::now();
    for (int i = 0; i < batch; ++i) body();
    const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
    best = std::min(best, took.count() / batch);
  } while (Clock::now() < end);
  return best;
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
  const Machine machine;
  return least([&] { check(hsa_queue_destroy(machine.create_queue(1024)), "hsa_queue_destroy"); });
}

double signal_create_and_destroy() {
  const Machine machine;
  return least(
      [] {
        hsa_signal_t signal{};
        check(hsa_signal_create(1, 0, nullptr, &signal), "hsa_signal_create");
        check(hsa_signal_destroy(signal), "hsa_signal_destroy");
      },
      1000);
}

double allocate_and_free(hsa_amd_memory_pool_t Machine::*pool, size_t bytes) {
  const Machine machine;
  return least(
      [&] {
        void* memory = nullptr;
        check(hsa_amd_memory_pool_allocate(machine.*pool, bytes, 0, &memory), "allocate");
        check(hsa_amd_memory_pool_free(memory), "free");
      },
      50);
}

std::vector<char> code_for(const Machine& machine, const std::string& folder, const char* prefix) {
  return read_file(folder + "/" + prefix + machine.target + ".hsaco");
}

// Packets one at a time: submitted, completed, seen.
double round_trip(const std::string& folder, bool kernel, hsa_wait_state_t wait) {
  const Machine machine;
  uint64_t object = 0;
  if (kernel) {
    const auto code = code_for(machine, folder, "conformance_");
    if (code.empty()) return -1;
    object = machine.load(code, "empty.kd").object;
  }
  hsa_queue_t* const queue = machine.create_queue(1024);
  hsa_signal_t done{};
  check(hsa_signal_create(0, 0, nullptr, &done), "signal");
  const double result = least([&] {
    hsa_signal_store_relaxed(done, 1);
    if (kernel) {
      const auto packet = dispatch_packet(object, done);
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

// Empty kernels without waiting in between: time of one.
double pipelined(const std::string& folder) {
  const Machine machine;
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

double copy(size_t bytes, bool to_device) {
  const Machine machine;
  void* const host = machine.allocate(machine.host_pool, bytes);
  void* const device = machine.allocate(machine.device_pool, bytes);
  hsa_signal_t done{};
  check(hsa_signal_create(0, 0, nullptr, &done), "signal");
  const double result = least([&] {
    hsa_signal_store_relaxed(done, 1);
    check(hsa_amd_memory_async_copy(to_device ? device : host, to_device ? machine.agent : machine.cpu,
                                    to_device ? host : device, to_device ? machine.cpu : machine.agent, bytes,
                                    0, nullptr, done),
          "copy");
    while (hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_ACTIVE) >
           0) {
    }
  });
  hsa_signal_destroy(done);
  hsa_amd_memory_pool_free(host);
  hsa_amd_memory_pool_free(device);
  return result;
}

double fill(size_t bytes) {
  const Machine machine;
  void* const device = machine.allocate(machine.device_pool, bytes);
  const double result = least([&] { check(hsa_amd_memory_fill(device, 0x5a5a5a5a, bytes / 4), "fill"); });
  hsa_amd_memory_pool_free(device);
  return result;
}

double load_code(const std::string& folder, const char* prefix, const char* kernel) {
  const Machine machine;
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
    const Machine machine;
    target = machine.target;
  }
  const auto code = read_file(folder + "/conformance_" + target + ".hsaco");
  if (code.empty()) return -1;
  return least(
      [&] {
        const Machine machine;
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

}  // namespace

std::vector<Measurement> measurements(const std::string& kernels) {
  std::vector<Measurement> all = {
      {"hsa_init+hsa_shut_down", init_and_shut_down},
      {"hsa_init to the end of the first kernel", [=] { return first_kernel(kernels); }},
      {"queue create+destroy", queue_create_and_destroy},
      {"signal create+destroy", signal_create_and_destroy},
      {"host pool alloc+free 4 KiB", [] { return allocate_and_free(&Machine::host_pool, 4096); }},
      {"host pool alloc+free 2 MiB", [] { return allocate_and_free(&Machine::host_pool, 2 << 20); }},
      {"device pool alloc+free 4 KiB", [] { return allocate_and_free(&Machine::device_pool, 4096); }},
      {"device pool alloc+free 2 MiB", [] { return allocate_and_free(&Machine::device_pool, 2 << 20); }},
      {"barrier round trip, spinning", [=] { return round_trip(kernels, false, HSA_WAIT_STATE_ACTIVE); }},
      {"barrier round trip, blocked", [=] { return round_trip(kernels, false, HSA_WAIT_STATE_BLOCKED); }},
      {"empty kernel round trip, spinning", [=] { return round_trip(kernels, true, HSA_WAIT_STATE_ACTIVE); }},
      {"empty kernel round trip, blocked", [=] { return round_trip(kernels, true, HSA_WAIT_STATE_BLOCKED); }},
      {"empty kernel, pipelined", [=] { return pipelined(kernels); }},
      {"load a code object", [=] { return load_code(kernels, "conformance_", "empty.kd"); }},
      {"load a code object of 10 MB", [=] { return load_code(kernels, "big_", "kernel_0.kd"); }},
      {"load a code object of 1,000 kernels", [=] { return load_code(kernels, "many_", "kernel_0.kd"); }},
      {"fill 1 MiB", [] { return fill(1 << 20); }},
  };
  for (const auto& [size, name] : {std::pair<size_t, const char*>{4 << 10, "4 KiB"},
                                   {64 << 10, "64 KiB"},
                                   {1 << 20, "1 MiB"},
                                   {16 << 20, "16 MiB"},
                                   {256 << 20, "256 MiB"}}) {
    const size_t bytes = size;
    all.push_back({std::string("copy to the device ") + name, [bytes] { return copy(bytes, true); }});
    all.push_back({std::string("copy to the host ") + name, [bytes] { return copy(bytes, false); }});
  }
  return all;
}

}  // namespace compare
