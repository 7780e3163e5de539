// Agent functions of the API that need several parts of the runtime.
#include <hsa/hsa_ext_amd.h>
#include <unistd.h>

#include "api/support/page_size.hpp"
#include "core/driver/board_name.hpp"
#include "core/runtime/runtime.hpp"

namespace rigel {
namespace {

uint64_t available_memory(const Agent& agent, Gpus* gpus, const Heaps& heaps) {
  if (agent.is_cpu()) {
    return static_cast<uint64_t>(::sysconf(_SC_AVPHYS_PAGES)) * host_page_bytes();
  }
  if (agent.node().bus != HSABE_BUS_KFD) return heaps.available(agent.handle());
  const KfdNode* node = gpus->find_node(agent.node().node_id);
  const auto available = gpus->kfd().available_memory(*gpus->kfd().gpu_of_node(node->number));
  return available ? *available : node->local_bytes();  // Older drivers do not report it.
}

/// Fills a block of the agent's memory, so that the agent's queue for copies and fills is ready for use.
Status fill_something(hsa_agent_t agent, Heaps& heaps, CopyEngine& copies) {
  struct Search {
    Heaps& heaps;
    hsa_amd_memory_pool_t pool;
  } search{heaps, {}};
  const auto take = [](hsa_amd_memory_pool_t one, void* data) {
    auto& wanted = *static_cast<Search*>(data);
    bool allocatable = false;
    const Status status =
        wanted.heaps.memory_pool_get_info(one, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allocatable);
    if (status != HSA_STATUS_SUCCESS || !allocatable) return HSA_STATUS_SUCCESS;
    wanted.pool = one;
    return HSA_STATUS_INFO_BREAK;
  };
  if (heaps.agent_iterate_memory_pools(agent, take, &search) != HSA_STATUS_INFO_BREAK)
    return HSA_STATUS_SUCCESS;  // The agent has no memory that programs can fill.
  constexpr size_t kWords = 16;
  void* block = nullptr;
  Status status = heaps.memory_pool_allocate(search.pool, kWords * sizeof(uint32_t), 0, &block);
  if (status != HSA_STATUS_SUCCESS) return status;
  status = copies.memory_fill(block, 0, kWords);
  heaps.free(block);
  return status;
}

}  // namespace

Status Runtime::agent_get_info(hsa_agent_t handle, uint32_t attribute, void* value) {
  const Agent* agent = machine().find_agent(handle);
  if (agent == nullptr) return no_such_agent(handle);
  AgentSurroundings surroundings;
  const AgentDirectory& directory = machine().directory();
  if (const AgentFacts* const host = directory.nearest_host(directory.find(handle)->facts.node))
    surroundings.nearest_cpu = host->handle;
  if (attribute == HSA_AMD_AGENT_INFO_MEMORY_AVAIL)
    surroundings.memory_available = available_memory(*agent, gpus(), memory().heaps);
  std::string product_name;
  if (agent->node().bus == HSABE_BUS_KFD) {
    const KfdNode* node = gpus()->find_node(agent->node().node_id);
    KfdGpu& gpu = *gpus()->kfd().gpu_of_node(node->number);
    if (attribute == HSA_AMD_AGENT_INFO_MEMORY_PROPERTIES) surroundings.is_apu = gpus()->kfd().is_apu(gpu);
    if (attribute == HSA_AMD_AGENT_INFO_PRODUCT_NAME) {
      product_name = board_name(gpus()->kfd().transport(), *node);
      surroundings.product_name = product_name;
    }
    if (attribute == HSA_AMD_AGENT_INFO_HDP_FLUSH)
      surroundings.registers = static_cast<uint32_t*>(gpus()->kfd().registers(gpu));
  }
  return agent->info(attribute, value, surroundings);
}

Status Runtime::agent_preload(hsa_agent_t agent, uint64_t flags) {
  const Agent* found = machine().find_agent(agent);
  if (found == nullptr || found->caps().device_type != HSA_DEVICE_TYPE_GPU)
    return fail(HSA_STATUS_ERROR_INVALID_AGENT, "agent {:#x}: not a GPU", agent.handle);
  if ((flags & HSA_AMD_AGENT_PRELOAD_SKIP_CLOCK_SYNC) == 0) found->calibrate();
  if ((flags & HSA_AMD_AGENT_PRELOAD_SKIP_BLITS) != 0) return HSA_STATUS_SUCCESS;
  return fill_something(agent, memory().heaps, copies_);
}

}  // namespace rigel
