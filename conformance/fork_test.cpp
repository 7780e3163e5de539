// A program that forks while its threads call the runtime. Whatever the threads were doing, the child can
// initialize a separate runtime and use every function.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "support/agents.hpp"
#include "support/kernels.hpp"
#include "support/memory.hpp"
#include "support/queues.hpp"
#include "support/sanitized.hpp"
#include "support/session.hpp"
#include "support/signals.hpp"

namespace conformance {
namespace {

// One operation of each kind. Returns false if a call fails.
class Operations {
 public:
  explicit Operations(hsa_agent_t agent) : agent_(agent), code_(find_code_object(agent, reason_)) {}

  const std::string& reason() const { return reason_; }
  bool has_code() const { return !code_.empty(); }

  bool load() const {
    hsa_code_object_reader_t reader{};
    hsa_executable_t executable{};
    bool good =
        hsa_code_object_reader_create_from_memory(code_.data(), code_.size(), &reader) == HSA_STATUS_SUCCESS;
    good = good && hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                             nullptr, &executable) == HSA_STATUS_SUCCESS;
    good = good && hsa_executable_load_agent_code_object(executable, agent_, reader, nullptr, nullptr) ==
                       HSA_STATUS_SUCCESS;
    good = good && hsa_executable_freeze(executable, nullptr) == HSA_STATUS_SUCCESS;
    good = hsa_executable_destroy(executable) == HSA_STATUS_SUCCESS && good;
    return hsa_code_object_reader_destroy(reader) == HSA_STATUS_SUCCESS && good;
  }

  bool read() const {
    hsa_code_object_reader_t reader{};
    return hsa_code_object_reader_create_from_memory(code_.data(), code_.size(), &reader) ==
               HSA_STATUS_SUCCESS &&
           hsa_code_object_reader_destroy(reader) == HSA_STATUS_SUCCESS;
  }

  bool handle() const {
    std::atomic<bool> called = false;
    const auto handler = [](hsa_signal_value_t, void* data) {
      *static_cast<std::atomic<bool>*>(data) = true;
      return false;
    };
    hsa_signal_t signal{};
    bool good = hsa_signal_create(1, 0, nullptr, &signal) == HSA_STATUS_SUCCESS;
    good = good && hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_EQ, 0, handler, &called) ==
                       HSA_STATUS_SUCCESS;
    hsa_signal_store_screlease(signal, 0);
    while (good && !called) std::this_thread::yield();
    return hsa_signal_destroy(signal) == HSA_STATUS_SUCCESS && good;
  }

  bool submit_a_barrier() const {
    hsa_queue_t* queue = nullptr;
    hsa_signal_t done{};
    bool good = hsa_queue_create(agent_, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX,
                                 &queue) == HSA_STATUS_SUCCESS;
    good = good && hsa_signal_create(1, 0, nullptr, &done) == HSA_STATUS_SUCCESS;
    if (!good) return false;
    submit(queue, barrier_packet(HSA_PACKET_TYPE_BARRIER_AND, done));
    hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
    good = hsa_signal_destroy(done) == HSA_STATUS_SUCCESS;
    return hsa_queue_destroy(queue) == HSA_STATUS_SUCCESS && good;
  }

  bool allocate() const {
    const auto pool = find_pool(agent_, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
    void* memory = nullptr;
    return pool && hsa_amd_memory_pool_allocate(*pool, 100'000, 0, &memory) == HSA_STATUS_SUCCESS &&
           hsa_amd_memory_pool_free(memory) == HSA_STATUS_SUCCESS;
  }

  bool run_all() const { return load() && read() && handle() && submit_a_barrier() && allocate(); }

 private:
  hsa_agent_t agent_;
  std::string reason_;
  std::vector<char> code_;
};

TEST(Fork, ChildWorksWhileParentThreadsAreBusy) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own locks may be held when the process forks";
  const Session session;
  ASSERT_HSA(session.status());
  const Operations operations(all_agents().at(0));
  if (!operations.has_code()) GTEST_SKIP() << operations.reason();
  std::atomic<bool> stop = false;
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (const auto kind : {&Operations::load, &Operations::read, &Operations::read, &Operations::handle,
                          &Operations::submit_a_barrier, &Operations::allocate}) {
    threads.emplace_back([&, kind] {
      while (!stop) failures += !(operations.*kind)();
    });
  }
  constexpr int kForks = 60;
  int failed = 0;
  for (int i = 0; i < kForks && failed == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      if (hsa_init() != HSA_STATUS_SUCCESS) _exit(1);
      const bool good = Operations(all_agents().at(0)).run_all();
      _exit(hsa_shut_down() == HSA_STATUS_SUCCESS && good ? 0 : 1);
    }
    int state = 0;
    EXPECT_EQ(waitpid(child, &state, 0), child);
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0) continue;
    ++failed;
    ADD_FAILURE() << "child " << i
                  << (WIFSIGNALED(state) ? " ended with signal " : " was refused something: ")
                  << (WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0) << "in the parent";
}

// Whether `address` is mapped in this process. The kernel reads it, so an unmapped address does not crash.
bool is_mapped(const void* address) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  const bool mapped = write(ends[1], address, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return mapped;
}

// If the child inherited the mapping, it would keep the memory from being freed, and each page that the
// parent writes would be copied and unmapped from the GPUs.
TEST(Fork, ChildHasNoGpuMemory) {
  const Session session;
  ASSERT_HSA(session.status());
  std::vector<PoolMemory> gpu_memory;
  for (const hsa_agent_t agent : all_agents()) {
    if (agent_info<hsa_device_type_t>(agent, HSA_AGENT_INFO_DEVICE) != HSA_DEVICE_TYPE_GPU) continue;
    for (const uint32_t flag :
         {HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED}) {
      const auto pool = find_pool(agent, flag);
      if (!pool || !host_reaches(*pool)) continue;
      gpu_memory.push_back(allocate(*pool, size_t{4} << 20, agent));
      ASSERT_NE(gpu_memory.back(), nullptr);
      std::memset(gpu_memory.back().get(), 1, 1);
      ASSERT_TRUE(is_mapped(gpu_memory.back().get()));
    }
  }
  if (gpu_memory.empty()) GTEST_SKIP() << "there is no GPU";
  std::vector<char> program_memory(1, 1);
  const pid_t child = fork();
  if (child == 0) {
    const auto inherited = std::count_if(gpu_memory.begin(), gpu_memory.end(),
                                         [](const auto& memory) { return is_mapped(memory.get()); });
    _exit(static_cast<int>(inherited) + (is_mapped(program_memory.data()) ? 0 : 100));
  }
  int state = 0;
  EXPECT_EQ(waitpid(child, &state, 0), child);
  ASSERT_TRUE(WIFEXITED(state));
  EXPECT_EQ(WEXITSTATUS(state), 0) << "pieces of memory are in the child";
  for (const auto& memory : gpu_memory) EXPECT_TRUE(is_mapped(memory.get()));
}

}  // namespace
}  // namespace conformance
