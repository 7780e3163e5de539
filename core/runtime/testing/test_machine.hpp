// GPUs in tests that use the public API in the test's process: set-up of the virtual system and of a GPU.
#pragma once

#include <gtest/gtest.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/driver/testing/boards.hpp"

namespace rigel::testing {

class TestMachine {
 public:
  explicit TestMachine(const char* boards) {
    ::setenv("VGPU_GPUS", testing::boards(boards).c_str(), 1);
    status = hsa_init();
    if (status != HSA_STATUS_SUCCESS) return;
    hsa_iterate_agents(
        [](hsa_agent_t agent, void* self) {
          hsa_device_type_t type{};
          hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
          auto& machine = *static_cast<TestMachine*>(self);
          (type == HSA_DEVICE_TYPE_GPU ? machine.gpus : machine.hosts).push_back(agent);
          return HSA_STATUS_SUCCESS;
        },
        this);
  }
  ~TestMachine() {
    if (status == HSA_STATUS_SUCCESS) hsa_shut_down();
  }
  TestMachine(const TestMachine&) = delete;
  TestMachine& operator=(const TestMachine&) = delete;

  hsa_status_t status;
  std::vector<hsa_agent_t> gpus;
  std::vector<hsa_agent_t> hosts;
};

inline hsa_amd_memory_pool_t coarse_pool(hsa_agent_t agent) {
  hsa_amd_memory_pool_t found{};
  hsa_amd_agent_iterate_memory_pools(
      agent,
      [](hsa_amd_memory_pool_t pool, void* out) {
        hsa_amd_segment_t segment{};
        uint32_t flags = 0;
        hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
        if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
        hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
        if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) == 0) return HSA_STATUS_SUCCESS;
        *static_cast<hsa_amd_memory_pool_t*>(out) = pool;
        return HSA_STATUS_INFO_BREAK;
      },
      &found);
  return found;
}

inline std::string isa_name(hsa_agent_t agent) {
  hsa_isa_t isa{};
  char name[64] = {};
  hsa_agent_get_info(agent, HSA_AGENT_INFO_ISA, &isa);
  hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name);
  return name;
}

/// Sets an environment variable, and removes it in the destructor.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
};

inline hsa_queue_t* make_queue(hsa_agent_t agent) {
  hsa_queue_t* queue = nullptr;
  EXPECT_EQ(
      hsa_queue_create(agent, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue),
      HSA_STATUS_SUCCESS);
  return queue;
}

inline void submit_barrier(hsa_queue_t* queue, hsa_signal_t dependency, hsa_signal_t completion) {
  const uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
  auto* packet = static_cast<hsa_barrier_and_packet_t*>(queue->base_address) + (index & (queue->size - 1));
  std::memset(reinterpret_cast<char*>(packet) + 2, 0, sizeof *packet - 2);
  packet->dep_signal[0] = dependency;
  packet->completion_signal = completion;
  __atomic_store_n(&packet->header, HSA_PACKET_TYPE_BARRIER_AND | 1 << HSA_PACKET_HEADER_BARRIER,
                   __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

inline bool runs_a_barrier(hsa_agent_t agent) {
  hsa_queue_t* const queue = make_queue(agent);
  hsa_signal_t done{};
  if (queue == nullptr || hsa_signal_create(1, 0, nullptr, &done) != HSA_STATUS_SUCCESS) return false;
  submit_barrier(queue, {0}, done);
  const auto value =
      hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
  hsa_signal_destroy(done);
  return hsa_queue_destroy(queue) == HSA_STATUS_SUCCESS && value == 0;
}

}  // namespace rigel::testing
