// A program to be traced. It prints its actions, so that they can be compared with the trace.
//
//   - program work <agent> <code object> <kernel>: kernels on two queues from two threads, copies, and waits
//   - program calls <threads> <calls>: calls from <threads> threads, of which the first waits for all
//   - program memory: four threads each allocate 1 MiB, then free another thread's memory
//   - program again: starts the runtime three times
//   - program leaves: returns from main while two threads call, without hsa_shut_down
//   - program forks: uses the runtime in a child, then in the parent
//   - program runs: calls until it is killed
//
// <agent> is an index. Printed lines: "pid P", "kernel QUEUE INDEX BEGIN END", "copy BEGIN END", "calls N".
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "plugins/trace/testing/kernels.hpp"

extern "C" {
void roctxMarkA(const char* message);
int roctxRangePushA(const char* message);
int roctxRangePop();
uint64_t roctxRangeStartA(const char* message);
void roctxRangeStop(uint64_t range);
}

namespace {

void check(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK) return;
  std::fprintf(stderr, "%s: %#x\n", what, static_cast<unsigned>(status));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

std::vector<hsa_agent_t> agents() {
  std::vector<hsa_agent_t> all;
  CHECK(hsa_iterate_agents(
      [](hsa_agent_t agent, void* into) {
        uint32_t node = 0;
        CHECK(hsa_agent_get_info(agent, HSA_AGENT_INFO_NODE, &node));  // a nested call
        static_cast<std::vector<hsa_agent_t>*>(into)->push_back(agent);
        return HSA_STATUS_SUCCESS;
      },
      &all));
  return all;
}

// The host's kernarg pool, which all agents can access.
hsa_amd_memory_pool_t host_pool(hsa_agent_t agent) {
  hsa_amd_memory_pool_t found{};
  CHECK(hsa_amd_agent_iterate_memory_pools(
      agent,
      [](hsa_amd_memory_pool_t pool, void* into) {
        uint32_t flags = 0;
        CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
        if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) == 0) return HSA_STATUS_SUCCESS;
        *static_cast<hsa_amd_memory_pool_t*>(into) = pool;
        return HSA_STATUS_INFO_BREAK;
      },
      &found));
  return found;
}

uint64_t load_kernel(hsa_agent_t agent, const char* path, const char* name) {
  std::ifstream file(path, std::ios::binary);
  static std::vector<char> code;
  code.assign(std::istreambuf_iterator<char>(file), {});
  hsa_code_object_reader_t reader{};
  hsa_executable_t executable{};
  hsa_executable_symbol_t symbol{};
  uint64_t kernel = 0;
  CHECK(hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader));
  CHECK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr,
                                  &executable));
  CHECK(hsa_executable_load_agent_code_object(executable, agent, reader, nullptr, nullptr));
  CHECK(hsa_executable_freeze(executable, nullptr));
  CHECK(hsa_executable_get_symbol_by_name(executable, name, &agent, &symbol));
  CHECK(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel));
  return kernel;
}

void wait_for(hsa_signal_t signal) {
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) >=
         1) {
  }
}

constexpr uint32_t kWords = 4096;
constexpr int kKernels = 500;  // per queue
std::atomic<uint64_t> wrong_words{0};

void use_queue(hsa_agent_t agent, hsa_amd_memory_pool_t pool, uint64_t kernel) {
  hsa_queue_t* queue = nullptr;
  CHECK(hsa_queue_create(agent, 64, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue));
  CHECK(hsa_amd_profiling_set_profiler_enabled(queue, 1));
  void* memory = nullptr;
  CHECK(hsa_amd_memory_pool_allocate(pool, 2 * kWords * sizeof(uint32_t) + sizeof(TripleArgs), 0, &memory));
  CHECK(hsa_amd_agents_allow_access(1, &agent, nullptr, memory));
  auto* const from = static_cast<uint32_t*>(memory);
  uint32_t* const to = from + kWords;
  auto* const args = reinterpret_cast<TripleArgs*>(to + kWords);
  for (uint32_t i = 0; i < kWords; ++i) from[i] = i;
  *args = {from, to, kWords, 0};
  std::string lines;
  hsa_signal_t done{};
  CHECK(hsa_signal_create(1, 0, nullptr, &done));
  for (int i = 0; i < kKernels; ++i) {
    const bool is_last = i % 10 == 9;  // last of a group with a common wait
    hsa_signal_store_relaxed(done, 1);
    const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) std::this_thread::yield();
    auto& packet = static_cast<hsa_kernel_dispatch_packet_t*>(queue->base_address)[index % queue->size];
    packet.workgroup_size_x = 64;
    packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_x = kWords;
    packet.grid_size_y = packet.grid_size_z = 1;
    packet.private_segment_size = packet.group_segment_size = 0;
    packet.kernel_object = kernel;
    packet.kernarg_address = args;
    packet.completion_signal = is_last ? done : hsa_signal_t{0};
    constexpr uint32_t kHeader = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                                 1 << HSA_PACKET_HEADER_BARRIER |
                                 HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                                 HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
    constexpr uint32_t kSetup = 1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
    std::atomic_ref(packet.full_header).store(kHeader | kSetup << 16, std::memory_order_release);
    hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
    if (!is_last) continue;
    wait_for(done);
    hsa_amd_profiling_dispatch_time_t time{};
    CHECK(hsa_amd_profiling_get_dispatch_time(agent, done, &time));
    lines += "kernel " + std::to_string(queue->id) + " " + std::to_string(index) + " " +
             std::to_string(time.start) + " " + std::to_string(time.end) + "\n";
  }
  for (uint32_t i = 0; i < kWords; ++i) wrong_words += to[i] != 3 * i;
  // A barrier packet.
  hsa_signal_store_relaxed(done, 1);
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  auto& barrier = static_cast<hsa_barrier_and_packet_t*>(queue->base_address)[index % queue->size];
  std::memset(reinterpret_cast<char*>(&barrier) + 4, 0, sizeof barrier - 4);
  barrier.completion_signal = done;
  std::atomic_ref(*reinterpret_cast<uint32_t*>(&barrier))
      .store(HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE, std::memory_order_release);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  wait_for(done);
  CHECK(hsa_signal_destroy(done));
  CHECK(hsa_queue_destroy(queue));
  CHECK(hsa_amd_memory_pool_free(memory));
  std::fputs(lines.c_str(), stdout);
}

void copy(hsa_agent_t agent, hsa_agent_t host, hsa_amd_memory_pool_t pool) {
  constexpr size_t kBytes = 1 << 20;
  void *from = nullptr, *to = nullptr;
  CHECK(hsa_amd_memory_pool_allocate(pool, kBytes, 0, &from));
  CHECK(hsa_amd_memory_pool_allocate(pool, kBytes, 0, &to));
  CHECK(hsa_amd_agents_allow_access(1, &agent, nullptr, from));
  CHECK(hsa_amd_agents_allow_access(1, &agent, nullptr, to));
  CHECK(hsa_amd_profiling_async_copy_enable(true));
  hsa_signal_t done{};
  CHECK(hsa_signal_create(1, 0, nullptr, &done));
  for (int i = 0; i < 5; ++i) {
    hsa_signal_store_relaxed(done, 1);
    CHECK(hsa_amd_memory_async_copy(to, agent, from, host, kBytes, 0, nullptr, done));
    wait_for(done);
    hsa_amd_profiling_async_copy_time_t time{};
    CHECK(hsa_amd_profiling_get_async_copy_time(done, &time));
    std::printf("copy %llu %llu\n", static_cast<unsigned long long>(time.start),
                static_cast<unsigned long long>(time.end));
  }
  CHECK(hsa_signal_destroy(done));
  CHECK(hsa_amd_memory_pool_free(from));
  CHECK(hsa_amd_memory_pool_free(to));
}

int work(int argc, char** argv) {
  if (argc < 5) return 2;
  CHECK(hsa_init());
  const auto all = agents();
  const hsa_agent_t agent = all.at(std::strtoul(argv[2], nullptr, 10)), host = all.at(0);
  const hsa_amd_memory_pool_t pool = host_pool(host);
  const uint64_t kernel = load_kernel(agent, argv[3], argv[4]);
  roctxMarkA("begin");
  const uint64_t range = roctxRangeStartA("all of it");
  roctxRangePushA("kernels");
  std::thread other(use_queue, agent, pool, kernel);
  use_queue(agent, pool, kernel);
  other.join();
  roctxRangePop();
  roctxRangePushA("copies");
  copy(agent, host, pool);
  roctxRangePop();
  roctxRangeStop(range);
  hsa_queue_t* const none = nullptr;
  if (hsa_queue_destroy(none) == HSA_STATUS_SUCCESS) return 1;  // a call that returns an error
  CHECK(hsa_shut_down());
  return wrong_words == 0 ? 0 : 1;
}

int calls(unsigned long threads, unsigned long count) {
  CHECK(hsa_init());
  hsa_signal_t signal{};
  CHECK(hsa_signal_create(0, 0, nullptr, &signal));
  std::vector<std::thread> all;
  for (unsigned long t = 0; t < threads; ++t) {
    all.emplace_back([signal, count] {
      for (unsigned long i = 0; i < count; ++i) hsa_signal_add_relaxed(signal, 1);
    });
  }
  const auto sum = static_cast<hsa_signal_value_t>(threads * count);
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_GTE, sum, UINT64_MAX,
                                   HSA_WAIT_STATE_BLOCKED) < sum) {
  }
  for (std::thread& thread : all) thread.join();
  std::printf("calls %lu\n", threads * count);
  CHECK(hsa_signal_destroy(signal));
  CHECK(hsa_shut_down());
  return 0;
}

int memory() {
  constexpr size_t kThreads = 4;
  CHECK(hsa_init());
  const hsa_amd_memory_pool_t pool = host_pool(agents().front());
  void* held[kThreads] = {};
  std::barrier all_hold(kThreads);
  std::atomic<size_t> turn{0};
  std::vector<std::thread> all;
  for (size_t t = 0; t < kThreads; ++t) {
    all.emplace_back([&, t] {
      CHECK(hsa_amd_memory_pool_allocate(pool, 1 << 20, 0, &held[t]));
      all_hold.arrive_and_wait();
      while (turn != t) std::this_thread::yield();
      CHECK(hsa_amd_memory_pool_free(held[(t + 1) % kThreads]));
      ++turn;
    });
  }
  for (std::thread& thread : all) thread.join();
  CHECK(hsa_shut_down());
  return 0;
}

int again() {
  for (int life = 0; life < 3; ++life) {
    CHECK(hsa_init());
    hsa_signal_t signal{};
    CHECK(hsa_signal_create(life, 0, nullptr, &signal));
    CHECK(hsa_signal_destroy(signal));
    CHECK(hsa_shut_down());
  }
  return 0;
}

std::atomic<bool> calling{false};

void call_for_ever() {
  hsa_signal_t signal{};
  hsa_signal_create(0, 0, nullptr, &signal);
  calling = true;
  for (;;) {
    hsa_signal_add_relaxed(signal, 1);
    hsa_signal_wait_relaxed(signal, HSA_SIGNAL_CONDITION_EQ, 0, 0, HSA_WAIT_STATE_ACTIVE);
  }
}

int leaves() {
  CHECK(hsa_init());
  hsa_signal_t signal{};
  CHECK(hsa_signal_create(0, 0, nullptr, &signal));
  std::thread(call_for_ever).detach();
  std::thread([signal] {
    hsa_signal_add_relaxed(signal, 1);
    hsa_signal_wait_relaxed(signal, HSA_SIGNAL_CONDITION_EQ, 7, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  }).detach();
  while (hsa_signal_load_relaxed(signal) == 0) std::this_thread::yield();
  return 0;
}

int forks() {
  CHECK(hsa_init());
  // AddressSanitizer's allocator does not support forks: wait for the first allocations of the tool's thread.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const pid_t child = ::fork();
  if (child == 0) {
    CHECK(hsa_init());
    hsa_signal_t signal{};
    CHECK(hsa_signal_create(1, 0, nullptr, &signal));
    CHECK(hsa_signal_destroy(signal));
    CHECK(hsa_shut_down());
    return 0;
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0) return 1;
  uint64_t time = 0;
  CHECK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &time));
  CHECK(hsa_shut_down());
  return 0;
}

int runs() {
  CHECK(hsa_init());
  std::thread(call_for_ever).detach();
  while (!calling) std::this_thread::yield();
  std::puts("runs");
  std::fflush(stdout);
  call_for_ever();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  std::printf("pid %d\n", static_cast<int>(::getpid()));
  std::fflush(stdout);
  if (what == "work") return work(argc, argv);
  if (what == "calls" && argc > 3)
    return calls(std::strtoul(argv[2], nullptr, 10), std::strtoul(argv[3], nullptr, 10));
  if (what == "memory") return memory();
  if (what == "again") return again();
  if (what == "leaves") return leaves();
  if (what == "forks") return forks();
  if (what == "runs") return runs();
  std::fputs("what?\n", stderr);
  return 2;
}
