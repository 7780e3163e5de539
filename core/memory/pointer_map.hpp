// Finds the memory that contains an address, and implements the API functions for memory of any kind.
//
// *Order of lookups:* an address is looked up in allocations, then in virtual memory, imported memory and
// locked memory; the first match counts. Only locked memory can overlap with the others: programs may lock
// any memory that the host can access.
//
// Functions with names of the API implement those functions.
//
// *Threads:* any thread. A result is a snapshot: another thread may free the memory.
// *Lifetime:* the agents and the four services outlive it.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "api/support/status.hpp"
#include "core/memory/heaps.hpp"
#include "core/memory/locked_memory.hpp"
#include "core/memory/shared_memory.hpp"
#include "core/memory/virtual_memory.hpp"
#include "core/topology/agent_directory.hpp"

namespace rigel {

/// Location of an address, for code that moves data.
struct Placement {
  hsa_amd_pointer_type_t type = HSA_EXT_POINTER_TYPE_UNKNOWN;
  uintptr_t base = 0;
  size_t size = 0;      ///< in bytes, from `base`
  hsa_agent_t owner{};  ///< 0 if unknown
  bool host_reads = true;
  bool host_writes = true;
  bool in_host = true;  ///< host memory, not device memory
  /// Offset from the address to the host's address; not 0 only if agents address locked memory differently.
  ptrdiff_t to_host = 0;

  /// Whether [ptr, ptr + bytes) is inside; `ptr` must be.
  bool has(const void* ptr, size_t bytes) const noexcept {
    return bytes <= size - (reinterpret_cast<uintptr_t>(ptr) - base);
  }
};

class PointerMap {
 public:
  PointerMap(const AgentDirectory& agents, Heaps& heaps, VirtualMemory& virtual_memory, SharedMemory& shared,
             LockedMemory& locked)
      : agents_(agents), heaps_(heaps), virtual_memory_(virtual_memory), shared_(shared), locked_(locked) {}
  PointerMap(const PointerMap&) = delete;
  PointerMap& operator=(const PointerMap&) = delete;

  /// Frees an allocation; null is ignored. Returns HSA_STATUS_ERROR_INVALID_ALLOCATION for other addresses
  /// than the start of a live allocation, and HSA_STATUS_ERROR_INVALID_ARGUMENT for locked, imported or
  /// reserved memory. Deallocation callbacks run first.
  Status memory_free(void* ptr);
  Status register_deallocation_callback(void* ptr, hsa_amd_deallocation_callback_t callback, void* user_data);
  Status deregister_deallocation_callback(void* ptr, hsa_amd_deallocation_callback_t callback);
  Status agents_allow_access(uint32_t num_agents, const hsa_agent_t* agents, const uint32_t* flags,
                             const void* ptr);
  Status pointer_info(const void* ptr, hsa_amd_pointer_info_t* info, void* (*alloc)(size_t),
                      uint32_t* num_agents_accessible, hsa_agent_t** accessible) const;
  Status pointer_info_set_userdata(const void* ptr, void* user_data);

  /// Returns the location of an address; type UNKNOWN (the application's host memory) if it is not managed
  /// here. In virtual memory, with adjoining mappings, the result applies to all mappings that contain the
  /// `size` bytes.
  [[gnu::always_inline]] Placement locate(const void* ptr, size_t size = 1) const {
    // Called for both sides of every copy, which takes only a few times as long.
    const auto address = reinterpret_cast<uintptr_t>(ptr);
    const Extent* const extent = heaps_.extents().find(address);
    AllocationSpan found;
    if (extent == nullptr || !extent->find(address, found)) [[unlikely]]
      return locate_elsewhere(address, size);
    const HeapFacts& facts = found.heap->facts();
    return {.type = HSA_EXT_POINTER_TYPE_HSA,
            .base = found.base,
            .size = found.size,
            .owner = facts.owner,
            .host_reads = facts.host_accessible,
            .host_writes = facts.host_accessible,
            .in_host = facts.location == HSA_AMD_MEMORY_POOL_LOCATION_CPU};
  }
  /// Returns the host's address of memory at an agent's address; they differ in locked memory only.
  void* host_address(const void* ptr) const;
  /// Returns the address at which a device agent can access [ptr, ptr + size), or nothing if any part is
  /// inaccessible.
  std::optional<AgentAddress> reach(hsa_agent_t agent, const void* ptr, size_t size) const;

 private:
  /// The memory around an address.
  struct Found {
    hsa_amd_pointer_type_t type = HSA_EXT_POINTER_TYPE_UNKNOWN;  ///< as in hsa_amd_pointer_info_t
    uintptr_t base = 0;  ///< start of the memory, in the address space of the looked-up address
    size_t size = 0;     ///< in bytes
    uintptr_t host_base = 0;
    uintptr_t agent_base = 0;
    const Heap* heap = nullptr;   ///< null if unknown or not mapped
    std::optional<size_t> owner;  ///< index of the agent that owns imported memory
    bool host_reads = true;
    bool host_writes = true;
    AgentSet agents;  ///< agents with access; those of allocations are in `allocation`
    void* user_data = nullptr;
    std::optional<AllocationView> allocation;
    std::shared_ptr<const PinnedMemory> pinned;
  };
  /// Looks up an address in the order above. In virtual memory, combines adjoining mappings up to `size`
  /// bytes. With an agent, considers only locks for that agent that contain all bytes.
  Found find(uintptr_t address, size_t size = 1, std::optional<size_t> agent = std::nullopt) const;
  [[gnu::cold]] Placement locate_elsewhere(uintptr_t address, size_t size) const;
  AgentSet agents_with_access(const Found& found) const;

  const AgentDirectory& agents_;
  Heaps& heaps_;
  VirtualMemory& virtual_memory_;
  SharedMemory& shared_;
  LockedMemory& locked_;
};

}  // namespace rigel
