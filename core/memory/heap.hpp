// A heap: the object of both an HSA region and an AMD memory pool; its address is both handles. It has
// properties and answers queries about them; Heaps has its allocator.
//
// *Threads:* immutable after construction; any thread.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <cstdint>

#include "api/support/status.hpp"
#include "core/topology/agent_directory.hpp"

namespace rigel {

struct HeapFacts {
  hsa_amd_segment_t segment = HSA_AMD_SEGMENT_GLOBAL;
  uint32_t global_flags = 0;      ///< hsa_amd_memory_pool_global_flag_t bits
  uint32_t allocation_flags = 0;  ///< hsa_amd_memory_pool_flag_t bits that allocations may request
  hsa_agent_t owner{};
  hsa_amd_memory_pool_location_t location = HSA_AMD_MEMORY_POOL_LOCATION_CPU;
  bool allocatable = true;
  bool host_accessible = true;
  bool host_coherent = false;  ///< whether a device's fine-grained memory is coherent with the host
  bool visible = true;         ///< false: reserved for the runtime, not listed to the application
  size_t size = 0;             ///< in bytes, as are the next three
  size_t allocation_limit = 0;
  size_t granule = 4096;  ///< also the alignment of every allocation
  size_t recommended_granule = 4096;
  uint64_t base_address = 0;  ///< address of the segment in the flat address space; 0 if it has none
  uint32_t bus_width_bits = 0;
  uint32_t max_clock_mhz = 0;
};

class Heap {
 public:
  explicit Heap(const HeapFacts& facts) : facts_(facts) {}
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  const HeapFacts& facts() const noexcept { return facts_; }
  hsa_region_t region() const noexcept { return {reinterpret_cast<uintptr_t>(this)}; }
  hsa_amd_memory_pool_t pool() const noexcept { return {reinterpret_cast<uintptr_t>(this)}; }

  Status region_info(hsa_region_info_t attribute, void* value) const;

  Status pool_info(hsa_amd_memory_pool_info_t attribute, void* value) const;

  Status agent_info(const AgentDirectory& agents, const AgentFacts& agent,
                    hsa_amd_agent_memory_pool_info_t attribute, void* value) const;

  /// Whether `agent` can access memory of this heap: always, on request, or never.
  hsa_amd_memory_pool_access_t access(const AgentDirectory& agents, const AgentFacts& agent) const;

  bool is_system() const noexcept {
    return facts_.segment == HSA_AMD_SEGMENT_GLOBAL && facts_.location == HSA_AMD_MEMORY_POOL_LOCATION_CPU;
  }

 private:
  const HeapFacts facts_;
};

}  // namespace rigel
