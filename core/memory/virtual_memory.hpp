// The virtual memory API: reserved addresses, memory without an address, and mappings between them.
//
// Functions implement those of the API with the prefix `hsa_amd_vmem_`, with the statuses in
// <hsa/hsa_ext_amd.h>.
//
// *Threads:* any thread; one lock guards everything, because the calls make system calls anyway.
// *Lifetime:* the agents and heaps outlive it.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"
#include "core/memory/heaps.hpp"
#include "core/memory/provider.hpp"
#include "core/topology/agent_directory.hpp"

namespace rigel {

/// A mapping or a reservation at an address.
struct VirtualView {
  bool mapped() const { return heap != nullptr; }

  uintptr_t base = 0;
  size_t size = 0;             ///< in bytes
  const Heap* heap = nullptr;  ///< heap of the first byte; null if not mapped
  AgentSet agents;             ///< agents with any access
  bool host_reads = false;
  bool host_writes = false;
  void* user_data = nullptr;
};

class VirtualMemory {
 public:
  VirtualMemory(const AgentDirectory& agents, Heaps& heaps) : agents_(agents), heaps_(heaps) {}
  /// Addresses that all agents can use, if they are limited; set while the runtime starts. Returns
  /// inaccessible addresses, or null.
  struct AddressSource {
    uint64_t limit = UINT64_MAX;  ///< the last address
    void* (*reserve)(void* context, size_t size, size_t alignment) = nullptr;
    void* context = nullptr;
  };
  void set_address_source(const AddressSource& source) { addresses_from_ = source; }
  /// Unmaps and releases everything.
  ~VirtualMemory();
  VirtualMemory(const VirtualMemory&) = delete;
  VirtualMemory& operator=(const VirtualMemory&) = delete;

  Status address_reserve(void** va, size_t size, uint64_t address, uint64_t flags) {
    return address_reserve_align(va, size, address, 0, flags);
  }
  Status address_reserve_align(void** va, size_t size, uint64_t address, uint64_t alignment, uint64_t flags);
  Status address_free(void* va, size_t size);

  Status handle_create(hsa_amd_memory_pool_t pool, size_t size, hsa_amd_memory_type_t type, uint64_t flags,
                       hsa_amd_vmem_alloc_handle_t* memory_handle);
  Status handle_release(hsa_amd_vmem_alloc_handle_t memory_handle);
  Status retain_alloc_handle(hsa_amd_vmem_alloc_handle_t* memory_handle, void* addr);
  Status get_alloc_properties_from_handle(hsa_amd_vmem_alloc_handle_t memory_handle,
                                          hsa_amd_memory_pool_t* pool, hsa_amd_memory_type_t* type);
  Status export_shareable_handle(int* dmabuf_fd, hsa_amd_vmem_alloc_handle_t handle, uint64_t flags);
  Status import_shareable_handle(int dmabuf_fd, hsa_amd_vmem_alloc_handle_t* handle);

  Status map(void* va, size_t size, size_t in_offset, hsa_amd_vmem_alloc_handle_t memory_handle,
             uint64_t flags);
  Status unmap(void* va, size_t size);
  Status set_access(void* va, size_t size, const hsa_amd_memory_access_desc_t* desc, size_t desc_cnt);
  Status get_access(void* va, hsa_access_permission_t* perms, hsa_agent_t agent_handle);

  // For PointerMap.

  /// Returns the mapping at the address, combined with adjoining ones up to `size` bytes; the agents are
  /// those with access to all of them. Excludes unmapped parts of plain host-memory reservations, which are
  /// host memory.
  std::optional<VirtualView> view(uintptr_t address, size_t size = 1) const;
  /// Returns the plain host-memory reservation at the address.
  std::optional<VirtualView> plain_reservation(uintptr_t address) const;
  /// Implements hsa_amd_agents_allow_access for a mapped address. Returns nothing if it is not mapped.
  std::optional<Status> allow_access(uintptr_t address, const hsa_agent_t* agents, uint32_t count);
  /// Returns false if no mapping starts at `address`.
  bool set_user_data(uintptr_t address, void* user_data);

 private:
  struct Memory {
    uint64_t id = 0;
    const Heap* heap = nullptr;
    size_t size = 0;
    hsa_amd_memory_type_t type = MEMORY_TYPE_NONE;
    std::unique_ptr<PhysicalMemory> physical;
    uint64_t references = 0;  // 0: the handle is invalid, though mappings may keep the memory
    uint64_t mappings = 0;
    std::optional<std::pair<uint64_t, uint64_t>>
        identity;  // device and inode, once a descriptor was exported or imported
  };
  struct Reservation {
    size_t size = 0;
    bool plain = false;  // usable as host memory while unmapped
  };
  using Permissions = std::map<size_t, hsa_access_permission_t>;  // by agent index; missing: never set
  struct Mapping {
    size_t size = 0;
    Memory* memory = nullptr;
    Permissions permissions;
    void* user_data = nullptr;
  };
  using Mappings = std::map<uintptr_t, Mapping>;
  using Reservations = std::map<uintptr_t, Reservation>;

  Memory* live(hsa_amd_vmem_alloc_handle_t handle) noexcept RIGEL_REQUIRES_SHARED(mutex_);
  Memory& add(const Heap& heap, size_t size, hsa_amd_memory_type_t type,
              std::unique_ptr<PhysicalMemory> physical) RIGEL_REQUIRES(mutex_);
  void drop_if_unused(Memory* memory) noexcept RIGEL_REQUIRES(mutex_);
  void unmap_one(Mappings::iterator mapping) noexcept RIGEL_REQUIRES(mutex_);
  Mappings::iterator mapping_around(uintptr_t address) RIGEL_REQUIRES_SHARED(mutex_);
  Reservations::const_iterator reservation_around(uintptr_t address, size_t size) const
      RIGEL_REQUIRES_SHARED(mutex_);
  VirtualView view_of(uintptr_t start, const Mapping& mapping) const RIGEL_REQUIRES_SHARED(mutex_);
  /// Returns the view of the reservation around the address if it is plain or not, as requested.
  std::optional<VirtualView> view_of_reservation(uintptr_t address, bool plain) const
      RIGEL_REQUIRES_SHARED(mutex_);
  /// Returns the mappings that make up exactly [start, start + size), or an error.
  Result<std::vector<Mappings::iterator>> mappings_of(uintptr_t start, size_t size)
      RIGEL_REQUIRES_SHARED(mutex_);
  Status change_access(const std::vector<Mappings::iterator>& mappings,
                       const std::vector<std::pair<size_t, hsa_access_permission_t>>& changes);
  Status apply(Mappings::iterator mapping, const Permissions& permissions) const;

  const AgentDirectory& agents_;
  Heaps& heaps_;
  AddressSource addresses_from_;

  mutable SharedMutex mutex_;
  uint64_t next_id_ RIGEL_GUARDED_BY(mutex_) = 1;
  std::map<uint64_t, Memory> memories_ RIGEL_GUARDED_BY(mutex_);
  Reservations reservations_ RIGEL_GUARDED_BY(mutex_);
  Mappings mappings_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace rigel
