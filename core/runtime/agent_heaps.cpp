// Adds the heaps of discovered agents.
#include <memory>

#include "api/support/backend_report.hpp"
#include "api/support/environment.hpp"
#include "core/memory/kfd_importer.hpp"
#include "core/runtime/caller_quirks.hpp"
#include "core/runtime/foundation.hpp"

namespace rigel {
namespace {

// Memory of a device, by its backend's memory group.
class BackendMemoryProvider final : public MemoryProvider {
 public:
  BackendMemoryProvider(const Agent& agent, uint32_t heap) : agent_(agent), heap_(heap) {}

  Result<Backing> map(const BlockRequest& request) override {
    uint64_t address = 0;
    const auto status = static_cast<Status>(
        agent_.backend().memory.allocate(agent_.device(), heap_, request.size, request.alignment, &address));
    if (status != HSA_STATUS_SUCCESS) {
      return fail(status, "device memory: {} bytes cannot be allocated: {}", request.size,
                  backend_report::take());
    }
    return Backing{reinterpret_cast<void*>(address), request.size, address};
  }

  void unmap(const Backing& backing) noexcept override {
    agent_.backend().memory.release(agent_.device(), heap_, backing.cookie, backing.size);
  }

  // Only the host has access, if it can access the memory at all, and then always.
  Status set_access(const Backing&, const AgentSet&) override { return HSA_STATUS_SUCCESS; }

 private:
  const Agent& agent_;
  const uint32_t heap_;
};

uint32_t global_flags(uint32_t flags) {
  uint32_t result = 0;
  if (flags & HSABE_HEAP_FINE_GRAINED) result |= HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED;
  if (flags & HSABE_HEAP_COARSE_GRAINED) result |= HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED;
  if (flags & HSABE_HEAP_KERNARG) result |= HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT;
  return result;
}

HeapFacts facts_of(const Agent& agent, const hsabe_heap_t& heap) {
  HeapFacts facts;
  facts.owner = agent.handle();
  facts.location = agent.is_cpu() ? HSA_AMD_MEMORY_POOL_LOCATION_CPU : HSA_AMD_MEMORY_POOL_LOCATION_GPU;
  facts.size = heap.size;
  facts.allocation_limit = heap.size;  // in the group segment: per work-group
  facts.granule = heap.granule == 0 ? 4096 : heap.granule;
  facts.recommended_granule = facts.granule;
  facts.bus_width_bits = agent.caps().memory_width_bits;
  facts.max_clock_mhz = agent.caps().memory_max_clock_mhz;
  if (heap.kind == HSABE_HEAP_GROUP) {
    facts.segment = HSA_AMD_SEGMENT_GROUP;
    facts.allocatable = false;
    facts.host_accessible = false;
  } else {
    facts.global_flags = global_flags(heap.flags);
    facts.host_accessible = (heap.flags & HSABE_HEAP_HOST_VISIBLE) != 0;
    facts.host_coherent = agent.node().bus == HSABE_BUS_OWN;  // the backend defines this for its own devices
  }
  return facts;
}

}  // namespace

// Adds a GPU's memory as ROCr lists it. The pool of extended scope is listed only if callers support it: HIP
// up to 5.x treats any pool that is not fine-grained as the ordinary one.
void Foundation::add_gpu_heaps(const Agent& agent) {
  const KfdNode& node = *gpus->find_node(agent.node().node_id);
  const KfdGpu& gpu = *gpus->kfd().gpu_of_node(node.number);
  HeapFacts facts;
  facts.owner = agent.handle();
  facts.location = HSA_AMD_MEMORY_POOL_LOCATION_GPU;
  facts.allocation_flags = HSA_AMD_MEMORY_POOL_PCIE_FLAG | HSA_AMD_MEMORY_POOL_CONTIGUOUS_FLAG |
                           HSA_AMD_MEMORY_POOL_EXECUTABLE_FLAG | HSA_AMD_MEMORY_POOL_UNCACHED_FLAG;
  facts.host_accessible = gpu.host_sees_all;
  facts.size = facts.allocation_limit = node.local_bytes();
  facts.granule = 4096;
  facts.recommended_granule = 2 << 20;
  facts.bus_width_bits = agent.caps().memory_width_bits;
  facts.max_clock_mhz = agent.caps().memory_max_clock_mhz;
  const char* force = environment("HSA_FORCE_FINE_GRAIN_PCIE");
  const bool fine_listed =
      node.property("hive_id") != 0 || (force != nullptr && std::string_view(force) == "1");
  const struct {
    uint32_t flags;
    bool visible;
  } pools[] = {
      {HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, true},
      {HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED, has_hip_that_knows_extended_scope()},
      {HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED, fine_listed}};
  for (const auto& pool : pools) {
    if (facts.size == 0) break;  // it uses host memory
    facts.global_flags = pool.flags;
    facts.visible = pool.visible;
    memory.heaps.add_heap(
        facts, std::make_unique<KfdLocalProvider>(gpus->agents(), gpu, kfd_attributes_of(pool.flags),
                                                  [&agent] { return agent.trim(); }));
  }
}

void Foundation::add_heaps() {
  if (has_hip_that_knows_extended_scope()) memory.heaps.list_extended_scope();
  std::vector<HostNode> hosts;
  for (const Agent& agent : machine.agents()) {
    if (agent.is_cpu()) {
      const auto size = agent.node().properties.find("memory_bytes");
      hosts.push_back({agent.handle(), agent.node().node_id,
                       size == agent.node().properties.end() ? 0 : static_cast<size_t>(size->second),
                       agent.caps().memory_width_bits, agent.caps().memory_max_clock_mhz});
    }
  }
  if (gpus == nullptr) {
    memory.heaps.add_host_heaps(hosts);
  } else {
    memory.heaps.add_host_heaps(hosts, [this](uint32_t flags, int numa_node) {
      return std::make_unique<KfdHostProvider>(gpus->agents(), kfd_attributes_of(flags), numa_node);
    });
    memory.locked.set_pinner(std::make_unique<KfdPinner>(gpus->agents()));
    memory.shared.set_importer(std::make_unique<KfdImporter>(gpus->agents()));
    Kfd& kfd = gpus->kfd();
    constexpr uint64_t kEverywhere = (uint64_t{1} << 47) - 1;
    if (kfd.address_limit() < kEverywhere) {
      const auto reserve = [](void* from, size_t size, size_t alignment) {
        return static_cast<Kfd*>(from)->reserve(size, alignment);
      };
      memory.virtual_memory.set_address_source({kfd.address_limit(), reserve, &kfd});
    }
    const char* legacy = environment("HSA_ENABLE_IPC_MODE_LEGACY");
    memory.shared.prefer_driver_names(legacy != nullptr && std::string_view(legacy) == "1");
  }
  for (const Agent& agent : machine.agents()) {
    if (agent.node().bus == HSABE_BUS_KFD) add_gpu_heaps(agent);
    for (uint32_t i = 0; i < agent.heaps().size(); ++i) {
      const hsabe_heap_t& heap = agent.heaps()[i];
      if (heap.kind == HSABE_HEAP_HOST) continue;
      std::unique_ptr<MemoryProvider> provider;
      if (heap.kind == HSABE_HEAP_LOCAL) provider = std::make_unique<BackendMemoryProvider>(agent, i);
      memory.heaps.add_heap(facts_of(agent, heap), std::move(provider));
    }
  }
}

}  // namespace rigel
