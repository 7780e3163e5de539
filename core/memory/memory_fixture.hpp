// For tests and benchmarks: the services for memory with mock agents. Two CPU agents and two GPUs by default;
// only the CPU agents have heaps.
#pragma once

#include <sys/mman.h>

#include <fstream>
#include <vector>

#include "core/memory/memory_services.hpp"

namespace rigel::testing {

struct MemoryEnvironment {
  AgentDirectory agents;
  DescriptorServer server;
};
/// The services with an empty directory of agents.
struct TestMemory : MemoryEnvironment, Memory {
  TestMemory() : Memory(agents, server) {}
};

constexpr hsa_agent_t kCpu0{0x1000}, kCpu1{0x1100}, kGpu0{0x2000}, kGpu1{0x2100}, kNobody{0x3000};
// larger than any test's request, so that the kernel rejects allocations
constexpr size_t kNodeBytes = size_t{1} << 40;

inline void add_agents(TestMemory& memory, bool devices = true) {
  memory.agents.add({.handle = kCpu0, .type = HSA_DEVICE_TYPE_CPU, .node = 0});
  memory.agents.add({.handle = kCpu1, .type = HSA_DEVICE_TYPE_CPU, .node = 1});
  LinkFacts between_hosts{.hops = 1, .info = {}};
  between_hosts.info.numa_distance = 21;
  memory.agents.add_link(0, 1, between_hosts);
  memory.agents.add_link(1, 0, between_hosts);
  if (!devices) return;
  memory.agents.add({.handle = kGpu0, .type = HSA_DEVICE_TYPE_GPU, .node = 2});
  memory.agents.add({.handle = kGpu1, .type = HSA_DEVICE_TYPE_GPU, .node = 3});
  LinkFacts pcie{.hops = 2, .info = {}};
  pcie.info.link_type = HSA_AMD_LINK_INFO_TYPE_PCIE;
  pcie.info.numa_distance = 20;
  for (const uint32_t host : {0u, 1u}) {
    for (const uint32_t device : {2u, 3u}) {
      memory.agents.add_link(host, device, pcie);
      memory.agents.add_link(device, host, pcie);
    }
  }
  memory.agents.add_link(2, 3, pcie);
  memory.agents.add_link(3, 2, pcie);
}

inline void add_hosts(TestMemory& memory) {
  // Both have one NUMA node number: the machine that runs the test may have only one.
  memory.heaps.add_host_heaps({{.agent = kCpu0, .numa_node = 0, .size = kNodeBytes},
                               {.agent = kCpu1, .numa_node = 0, .size = kNodeBytes}});
}

inline hsa_amd_memory_pool_t pool_of(const Memory& memory, hsa_agent_t agent, uint32_t flags) {
  const Heap* heap = memory.heaps.find_heap_of(agent, flags);
  return heap == nullptr ? hsa_amd_memory_pool_t{0} : heap->pool();
}

inline hsa_amd_memory_pool_t fine_pool(const Memory& memory, hsa_agent_t agent = kCpu0) {
  return pool_of(memory, agent, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
}

inline size_t resident_bytes() {
  size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}

}  // namespace rigel::testing
