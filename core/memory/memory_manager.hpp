// Memory of the HSA API: regions and pools, allocations, access by agents, and pointer queries.
//
// Each function implements the API function of the same name. The exported function checks that the runtime
// is open.
//
// *Errors:* statuses are those of the manual; if the manual leaves the behaviour undefined, the function's
// comment defines it. The exported function turns std::bad_alloc into HSA_STATUS_ERROR_OUT_OF_RESOURCES and
// any other exception, also one from a callback of the application, into HSA_STATUS_ERROR.
// *Threads:* agents, links and heaps are added while the runtime starts and never change afterwards; then any
// thread may call any function. Callbacks of the application run on the calling thread without a lock, so
// they may call these functions.
// *Lifetime:* owned by the runtime. The destructor unmaps all remaining allocations.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "api/support/mutex.hpp"
#include "core/base/status.hpp"
#include "core/memory/agents.hpp"
#include "core/memory/extent_map.hpp"
#include "core/memory/heap.hpp"
#include "core/memory/host_provider.hpp"
#include "core/memory/imported_memory.hpp"
#include "core/memory/page_allocator.hpp"
#include "core/memory/provider.hpp"
#include "core/memory/range_map.hpp"
#include "core/memory/virtual_memory.hpp"
#include "core/sharing/descriptor_server.hpp"

namespace rigel {

/// A NUMA node's memory and the CPU agent that owns it.
struct HostNode {
  hsa_agent_t agent{};
  uint32_t numa_node = 0;
  size_t size = 0;  ///< in bytes
  uint32_t bus_width_bits = 0;
  uint32_t max_clock_mhz = 0;
};

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

class MemoryManager final : private VirtualMemory::HeapSource {
 public:
  MemoryManager() = default;
  MemoryManager(const MemoryManager&) = delete;
  MemoryManager& operator=(const MemoryManager&) = delete;

  // Called while the runtime starts:

  AgentDirectory& agents() noexcept { return agents_; }
  const AgentDirectory& agents() const noexcept { return agents_; }

  /// Adds a heap. Without a provider it is only described: allocations fail.
  const Heap& add_heap(const HeapFacts& facts, std::unique_ptr<MemoryProvider> provider);

  void list_extended_scope() { lists_extended_scope_ = true; }
  /// Adds the heaps of every CPU agent: fine-grained, extended-scope fine-grained, kernarg and
  /// coarse-grained, in this order. `make_provider` creates their providers from global flags and a NUMA node
  /// (or kAnyNode). With one node, the kernel places the pages. The extended-scope heap is listed only after
  /// list_extended_scope(): HIP up to 5.x ends the process when it finds one, with and without GPUs.
  using MakeHostProvider = std::function<std::unique_ptr<MemoryProvider>(uint32_t, int)>;
  void add_host_heaps(const std::vector<HostNode>& nodes, const MakeHostProvider& make_provider);
  void add_host_heaps(const std::vector<HostNode>& nodes) {
    add_host_heaps(nodes, [](uint32_t, int numa_node) { return std::make_unique<HostProvider>(numa_node); });
  }

  /// Makes `pinner` give devices access to locked memory.
  void set_pinner(std::unique_ptr<HostPinner> pinner) { pinner_ = std::move(pinner); }
  /// Enables imports of memory of other processes and drivers.
  void set_importer(std::unique_ptr<MemoryImporter> importer) { imported_.set_importer(std::move(importer)); }
  /// Makes processes share memory by the driver's names, if supported, instead of descriptors.
  void prefer_driver_names(bool prefer) noexcept { prefer_driver_names_ = prefer; }

  // Regions and pools.

  /// Every agent lists its heaps, and then the system heaps of all CPU agents.
  Status agent_iterate_regions(hsa_agent_t agent, hsa_status_t (*callback)(hsa_region_t, void*), void* data);
  Status agent_iterate_memory_pools(hsa_agent_t agent, hsa_status_t (*callback)(hsa_amd_memory_pool_t, void*),
                                    void* data);
  Status region_get_info(hsa_region_t region, hsa_region_info_t attribute, void* value);
  Status memory_pool_get_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t attribute, void* value);
  Status agent_memory_pool_get_info(hsa_agent_t agent, hsa_amd_memory_pool_t pool,
                                    hsa_amd_agent_memory_pool_info_t attribute, void* value);

  // Allocation.

  Status memory_allocate(hsa_region_t region, size_t size, void** ptr);
  /// Returns HSA_STATUS_ERROR_INVALID_ARGUMENT for a flag that the pool does not support.
  Status memory_pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void** ptr);
  /// Frees memory of both allocation functions; null is ignored. Returns HSA_STATUS_ERROR_INVALID_ALLOCATION
  /// for other addresses than the start of a live allocation, and HSA_STATUS_ERROR_INVALID_ARGUMENT for
  /// locked, imported or reserved memory. Deallocation callbacks run first.
  Status memory_free(void* ptr);
  Status memory_pool_free(void* ptr) { return memory_free(ptr); }

  Status register_deallocation_callback(void* ptr, hsa_amd_deallocation_callback_t callback, void* user_data);
  Status deregister_deallocation_callback(void* ptr, hsa_amd_deallocation_callback_t callback);

  // Access.

  Status agents_allow_access(uint32_t num_agents, const hsa_agent_t* agents, const uint32_t* flags,
                             const void* ptr);
  /// Buffers cannot move to another pool: stores false and returns HSA_STATUS_ERROR_OUT_OF_RESOURCES.
  Status memory_pool_can_migrate(hsa_amd_memory_pool_t from, hsa_amd_memory_pool_t to, bool* result);
  /// Has no effect for the buffer's own pool; returns HSA_STATUS_ERROR_OUT_OF_RESOURCES for another.
  Status memory_migrate(const void* ptr, hsa_amd_memory_pool_t pool, uint32_t flags);
  Status memory_assign_agent(void* ptr, hsa_agent_t agent, hsa_access_permission_t access);
  /// Hints without effect: every CPU agent can access the application's memory.
  Status memory_register(void* ptr, size_t size);
  Status memory_deregister(void* ptr, size_t size);
  Status coherency_get_type(hsa_agent_t agent, hsa_amd_coherency_type_t* type);
  Status coherency_set_type(hsa_agent_t agent, hsa_amd_coherency_type_t type);

  // Locking of the application's memory.

  Status memory_lock(void* host_ptr, size_t size, hsa_agent_t* agents, int num_agent, void** agent_ptr);
  Status memory_lock_to_pool(void* host_ptr, size_t size, hsa_agent_t* agents, int num_agent,
                             hsa_amd_memory_pool_t pool, uint32_t flags, void** agent_ptr);
  /// Locks of the same start address are counted together: memory stays locked until unlock was called as
  /// often as lock. Returns HSA_STATUS_ERROR_INVALID_ALLOCATION if it is not locked.
  Status memory_unlock(void* host_ptr);

  // Pointers.

  Status pointer_info(const void* ptr, hsa_amd_pointer_info_t* info, void* (*alloc)(size_t),
                      uint32_t* num_agents_accessible, hsa_agent_t** accessible);
  Status pointer_info_set_userdata(const void* ptr, void* user_data);

  // Sharing with other processes and drivers.

  /// Exported or named memory is not reused when it is freed, because others may keep it.
  Status portable_export_dmabuf(const void* ptr, size_t size, int* dmabuf, uint64_t* offset, uint64_t flags);
  Status portable_close_dmabuf(int dmabuf);
  Status interop_map_buffer(uint32_t num_agents, const hsa_agent_t* agents, int interop_handle,
                            uint32_t flags, size_t* size, void** ptr, size_t* metadata_size,
                            const void** metadata);
  Status interop_unmap_buffer(void* ptr);
  Status ipc_memory_create(void* ptr, size_t len, hsa_amd_ipc_memory_t* handle);
  Status ipc_memory_attach(const hsa_amd_ipc_memory_t* handle, size_t len, uint32_t num_agents,
                           const hsa_agent_t* mapping_agents, void** mapped_ptr);
  Status ipc_memory_detach(void* mapped_ptr);

  /// The functions hsa_amd_vmem_*.
  VirtualMemory& virtual_memory() noexcept { return virtual_memory_; }

  // For other parts of the runtime.

  /// Passes descriptors of this process's memory and of its signals to other processes.
  DescriptorServer& server() noexcept { return server_; }
  /// Returns the heap of a handle, or null. Handles are not dereferenced before this lookup.
  const Heap* find_heap(uint64_t handle) const noexcept;
  /// Returns the location of an address; type UNKNOWN (the application's host memory) if it is not managed
  /// here. In virtual memory, with adjoining mappings, the result applies to all mappings that contain the
  /// `size` bytes.
  [[gnu::always_inline]] Placement locate(const void* ptr, size_t size = 1) const {
    // Called for both sides of every copy, which takes only a few times as long.
    const auto address = reinterpret_cast<uintptr_t>(ptr);
    const Extent* const extent = extents_.find(address);
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
  /// The address of memory for an agent, and an owner of the pin that keeps it valid.
  struct Reached {
    void* address = nullptr;
    std::shared_ptr<const PinnedMemory> pinned;  ///< null if it is not locked
  };
  /// Returns the address at which a device agent can access [ptr, ptr + size), or nothing if any part is
  /// inaccessible.
  std::optional<Reached> reach(hsa_agent_t agent, const void* ptr, size_t size) const;
  static bool is_mapped(const void* ptr, size_t size) noexcept;
  /// Gives a device agent access to the application's memory while the result lives. Unlike a lock, it is not
  /// visible to pointer queries. Returns the statuses of `memory_lock`.
  Result<Reached> pin(hsa_agent_t agent, void* host_ptr, size_t size);
  /// Returns the first visible heap of `agent` with all of `global_flags`, or null.
  const Heap* find_heap_of(hsa_agent_t agent, uint32_t global_flags) const noexcept;
  /// Returns the unallocated bytes of the agent's heaps.
  size_t available(hsa_agent_t agent) const;
  /// Allocates zeroed host memory that all agents can access, on `node` if it is a CPU agent's; freed by
  /// memory_free.
  Result<void*> allocate_system(size_t size, uint32_t node = 0);
  void trim();

 private:
  struct HeapSlot {
    explicit HeapSlot(const HeapFacts& facts) : heap(facts) {}
    Heap heap;
    std::unique_ptr<PageAllocator> allocator;  // null: only described
  };
  using Callback = ImportedMemory::Callback;
  /// Rarely used data of an allocation, keyed by its first byte; a mark on the allocation refers to it.
  struct AllocationData {
    std::vector<Callback> callbacks;
    std::optional<AgentSet> access;
    std::optional<hsa_amd_ipc_memory_t> name;
  };
  /// An allocation that is about to be shared.
  struct Exposed {
    AllocationView view;
    Backing backing;
    PageAllocator* allocator = nullptr;
    Extent* extent = nullptr;
  };
  struct LockedRange {
    uint64_t serial;  // the lock with the highest number wins if locks overlap
    void* agent_address;
    const Heap* heap;
    AgentSet agents;
    void* user_data;
    std::shared_ptr<const PinnedMemory> pinned;  // null if no device needs access
    size_t locks;                                // locks minus unlocks
  };

  Entry heap(uint64_t handle) noexcept override;
  std::vector<Entry> heaps() override;

  HeapSlot* find_slot(uint64_t handle) noexcept;
  Status allocate(HeapSlot& slot, size_t size, uint32_t flags, void** ptr);
  Status open_to_devices(HeapSlot& slot, void* ptr);
  std::vector<Callback> take_callbacks(uintptr_t address);
  void end_allocation(PageAllocator& allocator, Extent& extent, uintptr_t address);
  /// Returns the heap for locks without a pool: access as in the first host's coarse-grained memory.
  const Heap* heap_of_locks() const noexcept;
  Status lock_range(void* host_ptr, size_t size, const hsa_agent_t* agents, int num_agent, const Heap& heap,
                    void** agent_ptr);
  Result<std::shared_ptr<const PinnedMemory>> pin_range(void* host_ptr, size_t size, const AgentSet& agents,
                                                        const Heap& heap) const;
  /// Removes a range that starts there, if all ranges that do have been unlocked.
  std::optional<LockedRange> take_unlocked(uintptr_t start);
  /// The latest lock around an address, and the address's offset in it.
  struct LockedView : RangeMap<LockedRange>::Entry {
    size_t offset;
  };
  /// Looks up the host's address, then agents' addresses. Considers only locks that contain all bytes and, if
  /// given, are for `agent`.
  std::optional<LockedView> locked_around(uintptr_t address, size_t size = 1,
                                          std::optional<size_t> agent = std::nullopt) const;
  [[gnu::cold]] Placement locate_elsewhere(uintptr_t address, size_t size) const;
  AgentSet accessible_agents(const AllocationView& view) const;
  Result<Exposed> expose(uintptr_t address);
  Result<hsa_amd_ipc_memory_t> name_of(const Exposed& exposed);
  void withdraw_name(const hsa_amd_ipc_memory_t& name) noexcept;
  Result<AgentSet> agents_named(uint32_t count, const hsa_agent_t* agents) const;
  const Heap* heap_of_imported(size_t owner) const noexcept;
  Result<AgentSet> who_may_reach(const ImportedBlock& block, const AgentSet& wanted, bool all) const;

  AgentDirectory agents_;
  ExtentMap extents_;
  std::deque<HeapSlot> heaps_;  // addresses are handles
  bool lists_extended_scope_ = false;
  std::unique_ptr<HostPinner> pinner_;

  mutable Mutex aside_mutex_;
  std::unordered_map<uintptr_t, AllocationData> aside_ RIGEL_GUARDED_BY(aside_mutex_);

  Mutex access_mutex_;  // changes of access do not overlap

  VirtualMemory virtual_memory_{agents_, *this};
  ImportedMemory imported_;
  DescriptorServer server_;
  bool prefer_driver_names_ = false;

  mutable SharedMutex locked_mutex_;
  mutable RangeMap<LockedRange> locked_ RIGEL_GUARDED_BY(locked_mutex_);
  /// Entries of `locked_` with different agents' addresses, by those.
  mutable RangeMap<const RangeMap<LockedRange>::Entry*> locked_elsewhere_ RIGEL_GUARDED_BY(locked_mutex_);
  uint64_t lock_serial_ RIGEL_GUARDED_BY(locked_mutex_) = 0;
};

}  // namespace rigel
