#include "plugins/validate/kernels.hpp"

#include <algorithm>
#include <functional>

#include "api/support/mutex.hpp"

namespace validate {
namespace {

// Iteration callback that calls the std::function at `visit` with each handle.
template <class Handle>
hsa_status_t each(Handle handle, void* visit) {
  (*static_cast<std::function<void(Handle)>*>(visit))(handle);
  return HSA_STATUS_SUCCESS;
}

template <class Handle>
hsa_status_t each_symbol(hsa_executable_t, hsa_agent_t, Handle handle, void* visit) {
  return each(handle, visit);
}

}  // namespace

Topology::Topology(const hsatool::Host& host, Registry& registry) {
  const CoreApiTable& core = *host.tables().core_;
  const AmdExtTable& amd = *host.tables().amd_ext_;
  std::function<void(hsa_agent_t)> add_agent = [&](hsa_agent_t agent) {
    auto info = std::make_unique<Agent>();
    info->handle = agent;
    char name[64] = {};
    core.hsa_agent_get_info_fn(agent, HSA_AGENT_INFO_NAME, name);
    info->name = name;
    hsa_device_type_t device = HSA_DEVICE_TYPE_CPU;
    core.hsa_agent_get_info_fn(agent, HSA_AGENT_INFO_DEVICE, &device);
    info->is_cpu = device == HSA_DEVICE_TYPE_CPU;
    hsa_agent_feature_t features{};
    core.hsa_agent_get_info_fn(agent, HSA_AGENT_INFO_FEATURE, &features);
    info->dispatches = (features & HSA_AGENT_FEATURE_KERNEL_DISPATCH) != 0;
    if (info->dispatches) {
      hsa_dim3_t grid{};
      core.hsa_agent_get_info_fn(agent, HSA_AGENT_INFO_WORKGROUP_MAX_DIM, info->workgroup_dim);
      core.hsa_agent_get_info_fn(agent, HSA_AGENT_INFO_WORKGROUP_MAX_SIZE, &info->workgroup_size);
      core.hsa_agent_get_info_fn(agent, HSA_AGENT_INFO_GRID_MAX_DIM, &grid);
      info->grid_dim[0] = grid.x;
      info->grid_dim[1] = grid.y;
      info->grid_dim[2] = grid.z;
    }
    registry.add(Kind::kAgent, agent.handle, {});
    agents_.push_back(std::move(info));
  };
  core.hsa_iterate_agents_fn(each<hsa_agent_t>, &add_agent);

  for (const auto& owner : agents_) {
    Agent& agent = *owner;
    std::function<void(hsa_region_t)> add_region = [&](hsa_region_t region) {
      uint32_t flags = 0;
      core.hsa_region_get_info_fn(region, HSA_REGION_INFO_GLOBAL_FLAGS, &flags);
      registry.add(Kind::kRegion, region.handle, {});
      pools_.try_emplace(region.handle, Pool{agent.handle.handle, agent.is_cpu,
                                             (flags & HSA_REGION_GLOBAL_FLAG_COARSE_GRAINED) != 0, false});
    };
    std::function<void(hsa_amd_memory_pool_t)> add_pool = [&](hsa_amd_memory_pool_t pool) {
      uint32_t flags = 0;
      hsa_amd_segment_t segment = HSA_AMD_SEGMENT_GLOBAL;
      amd.hsa_amd_memory_pool_get_info_fn(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
      if (segment == HSA_AMD_SEGMENT_GROUP)
        amd.hsa_amd_memory_pool_get_info_fn(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &agent.group_bytes);
      if (segment == HSA_AMD_SEGMENT_GLOBAL)
        amd.hsa_amd_memory_pool_get_info_fn(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
      registry.add(Kind::kPool, pool.handle, {});
      pools_.insert_or_assign(pool.handle,
                              Pool{agent.handle.handle, agent.is_cpu,
                                   (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) != 0, true});
    };
    std::function<void(hsa_cache_t)> add_cache = [&](hsa_cache_t cache) {
      registry.add(Kind::kCache, cache.handle, {});
    };
    std::function<void(hsa_wavefront_t)> add_wavefront = [&](hsa_wavefront_t wavefront) {
      registry.add(Kind::kWavefront, wavefront.handle, {});
    };
    std::function<void(hsa_isa_t)> add_isa = [&](hsa_isa_t isa) {
      registry.add(Kind::kIsa, isa.handle, {});
      core.hsa_isa_iterate_wavefronts_fn(isa, each<hsa_wavefront_t>, &add_wavefront);
    };
    core.hsa_agent_iterate_regions_fn(agent.handle, each<hsa_region_t>, &add_region);
    amd.hsa_amd_agent_iterate_memory_pools_fn(agent.handle, each<hsa_amd_memory_pool_t>, &add_pool);
    core.hsa_agent_iterate_caches_fn(agent.handle, each<hsa_cache_t>, &add_cache);
    core.hsa_agent_iterate_isas_fn(agent.handle, each<hsa_isa_t>, &add_isa);
  }

  for (const auto& agent : agents_) {
    for (const auto& [handle, pool] : pools_) {
      hsa_amd_memory_pool_access_t access = HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED;
      if (pool.is_pool &&
          amd.hsa_amd_agent_memory_pool_get_info_fn(agent->handle, {handle},
                                                    HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS,
                                                    &access) == HSA_STATUS_SUCCESS &&
          access == HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT)
        agent->pools_with_access.push_back(handle);
    }
  }
}

const Agent* Topology::agent(uint64_t handle) const {
  const auto found =
      std::find_if(agents_.begin(), agents_.end(), [&](const auto& a) { return a->handle.handle == handle; });
  return found == agents_.end() ? nullptr : found->get();
}

const Pool* Topology::pool(uint64_t handle) const {
  const auto found = pools_.find(handle);
  return found == pools_.end() ? nullptr : &found->second;
}

bool Topology::may_access(const Agent& agent, const Block& block) const {
  if (block.pool == nullptr || !block.pool->is_pool || block.pool->agent == agent.handle.handle) return true;
  const auto is_pool_of_block = [&](uint64_t handle) { return pool(handle) == block.pool; };
  return std::any_of(agent.pools_with_access.begin(), agent.pools_with_access.end(), is_pool_of_block) ||
         std::find(block.allowed.begin(), block.allowed.end(), agent.handle.handle) != block.allowed.end();
}

void Kernels::add(const hsatool::Host& host, const Topology& topology, Registry& registry,
                  hsa_executable_t executable, const Event& frozen) {
  const CoreApiTable& core = *host.tables().core_;
  for (const auto& agent : topology.agents()) {
    std::function<void(hsa_executable_symbol_t)> add_symbol = [&](hsa_executable_symbol_t symbol) {
      const auto get = [&](hsa_executable_symbol_info_t attribute, void* value) {
        core.hsa_executable_symbol_get_info_fn(symbol, attribute, value);
      };
      if (registry.state(Kind::kSymbol, symbol.handle) != State::kLive)
        registry.add(Kind::kSymbol, symbol.handle, frozen, executable.handle);
      hsa_symbol_kind_t kind = HSA_SYMBOL_KIND_VARIABLE;
      get(HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind);
      if (kind != HSA_SYMBOL_KIND_KERNEL) return;
      auto kernel = std::make_shared<Kernel>();
      kernel->agent = agent->handle.handle;
      kernel->executable = executable.handle;
      uint32_t length = 0;
      get(HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length);
      kernel->name.resize(length);
      get(HSA_EXECUTABLE_SYMBOL_INFO_NAME, kernel->name.data());
      uint64_t object = 0;
      get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object);
      get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE, &kernel->kernarg_size);
      get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT, &kernel->kernarg_alignment);
      get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &kernel->group_size);
      get(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &kernel->private_size);
      const rigel::WriterLock lock(mutex_);
      kernels_[object] = std::move(kernel);
    };
    core.hsa_executable_iterate_agent_symbols_fn(executable, agent->handle,
                                                 each_symbol<hsa_executable_symbol_t>, &add_symbol);
  }
}

void Kernels::remove(uint64_t executable, const Event& destroyed) {
  const rigel::WriterLock lock(mutex_);
  for (auto& [object, kernel] : kernels_) {
    if (kernel->executable != executable || kernel->destroyed.function != nullptr) continue;
    kernel = std::make_shared<Kernel>(*kernel);  // another thread may still read the old one
    kernel->destroyed = destroyed;
  }
}

void Kernels::restore(uint64_t executable) {
  const rigel::WriterLock lock(mutex_);
  for (auto& [object, kernel] : kernels_) {
    if (kernel->executable != executable) continue;
    kernel = std::make_shared<Kernel>(*kernel);
    kernel->destroyed = {};
  }
}

std::shared_ptr<const Kernel> Kernels::find(uint64_t object) const {
  const rigel::ReaderLock lock(mutex_);
  const auto found = kernels_.find(object);
  return found == kernels_.end() ? nullptr : found->second;
}

}  // namespace validate
