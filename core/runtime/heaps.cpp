// What the memory manager learns of the agents that discovery has opened.
#include <cstring>
#include <memory>

#include "core/runtime/runtime.hpp"

namespace rigel {
namespace {

// A device's own memory, by way of its backend's memory group.
class BackendMemoryProvider final : public MemoryProvider {
 public:
  BackendMemoryProvider(const Agent& agent, uint32_t heap) : agent_(agent), heap_(heap) {}

  Result<Backing> map(const BlockRequest& request) override {
    uint64_t address = 0;
    const auto status = static_cast<Status>(
        agent_.backend().memory.allocate(agent_.device(), heap_, request.size, request.alignment, &address));
    if (status != HSA_STATUS_SUCCESS) {
      return fail(status, "{} bytes of device memory: {}", request.size, HostServices::take_report());
    }
    return Backing{reinterpret_cast<void*>(address), request.size, address};
  }

  void unmap(const Backing& backing) noexcept override {
    agent_.backend().memory.release(agent_.device(), heap_, backing.cookie, backing.size);
  }

  // What is shared with whom is up to the device: its memory is at one address for all who can reach it.
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
  facts.allocation_limit = heap.size;  // in the group segment: of a work-group
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
  }
  return facts;
}

}  // namespace

void Runtime::add_heaps() {
  std::vector<HostNode> hosts;
  for (const Agent& agent : agents_) {
    memory_.agents().add(
        {agent.handle(), static_cast<hsa_device_type_t>(agent.caps().device_type), agent.node().node_id, 0});
    if (agent.is_cpu()) {
      const auto size = agent.node().properties.find("memory_bytes");
      hosts.push_back({agent.handle(), agent.node().node_id,
                       size == agent.node().properties.end() ? 0 : static_cast<size_t>(size->second),
                       agent.caps().memory_width_bits, agent.caps().memory_max_clock_mhz});
    }
  }
  memory_.add_host_heaps(hosts);
  for (const Agent& agent : agents_) {
    for (uint32_t i = 0; i < agent.heaps().size(); ++i) {
      const hsabe_heap_t& heap = agent.heaps()[i];
      if (heap.kind == HSABE_HEAP_HOST) continue;
      std::unique_ptr<MemoryProvider> provider;
      if (heap.kind == HSABE_HEAP_LOCAL) provider = std::make_unique<BackendMemoryProvider>(agent, i);
      memory_.add_heap(facts_of(agent, heap), std::move(provider));
    }
  }
}

Result<void*> Runtime::allocate_system_memory(uint64_t size, uint32_t node) {
  const Heap* heap = nullptr;
  for (const Agent& agent : agents_) {
    if (!agent.is_cpu()) continue;
    const Heap* candidate =
        memory_.find_heap_of(agent.handle(), HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);
    if (candidate != nullptr && (heap == nullptr || agent.node().node_id == node)) heap = candidate;
  }
  if (heap == nullptr) return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "there is no system memory pool");
  void* memory = nullptr;
  const Status status = memory_.memory_pool_allocate(heap->pool(), size, 0, &memory);
  if (status != HSA_STATUS_SUCCESS) return error(status);
  std::memset(memory, 0, size);
  return memory;
}

void Runtime::free_system_memory(void* pointer) {
  memory_.memory_free(pointer);
}

}  // namespace rigel
