#include "plugins/trace/agents.hpp"

#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace trace {
namespace {

template <class Item>
hsa_status_t collect(Item item, void* into) {
  static_cast<std::vector<Item>*>(into)->push_back(item);
  return HSA_STATUS_SUCCESS;
}

}  // namespace

Agents::Agents(const HsaApiTable& tables, const Patterns& wanted) {
  const CoreApiTable& core = *tables.core_;
  std::vector<hsa_agent_t> all;
  core.hsa_iterate_agents_fn(collect<hsa_agent_t>, &all);
  for (size_t i = 0; i < all.size(); ++i) {
    char name[65] = {};
    hsa_device_type_t type{};
    core.hsa_agent_get_info_fn(all[i], HSA_AGENT_INFO_NAME, name);
    core.hsa_agent_get_info_fn(all[i], HSA_AGENT_INFO_DEVICE, &type);
    const std::string index = std::to_string(i);
    const char* const kind = type == HSA_DEVICE_TYPE_CPU   ? "CPU"
                             : type == HSA_DEVICE_TYPE_GPU ? "GPU"
                                                           : "agent";
    names_.insert(names_.end(), {name, kind, index});
    std::string text = std::string(kind) + " " + index;
    if (type != HSA_DEVICE_TYPE_CPU) text += std::string(" ") + name;
    agents_[all[i].handle] = {std::move(text), wanted.selects({name, kind, index}),
                              type == HSA_DEVICE_TYPE_GPU};

    std::vector<hsa_amd_memory_pool_t> pools;
    tables.amd_ext_->hsa_amd_agent_iterate_memory_pools_fn(all[i], collect<hsa_amd_memory_pool_t>, &pools);
    for (const auto& pool : pools) pools_.emplace(pool.handle, all[i].handle);
    std::vector<hsa_region_t> regions;
    core.hsa_agent_iterate_regions_fn(all[i], collect<hsa_region_t>, &regions);
    for (const auto& region : regions) pools_.emplace(region.handle, all[i].handle);
  }
}

std::string Agents::name(hsa_agent_t agent) const {
  const auto found = agents_.find(agent.handle);
  if (found != agents_.end()) return found->second.name;
  char text[32];
  std::snprintf(text, sizeof text, "agent %#llx", static_cast<unsigned long long>(agent.handle));
  return text;
}

bool Agents::is_wanted(hsa_agent_t agent) const {
  const auto found = agents_.find(agent.handle);
  return found == agents_.end() || found->second.wanted;
}

bool Agents::is_gpu(hsa_agent_t agent) const {
  const auto found = agents_.find(agent.handle);
  return found != agents_.end() && found->second.gpu;
}

hsa_agent_t Agents::of_pool(uint64_t pool) const {
  const auto found = pools_.find(pool);
  return {found == pools_.end() ? 0 : found->second};
}

}  // namespace trace
