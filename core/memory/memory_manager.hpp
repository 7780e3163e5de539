// Memory as the HSA API shows it: regions and pools, allocations, who may reach them, and what a pointer is.
//
// Each function is the API function of the same name, without the check that the runtime is open and without
// the catching of exceptions, which the exported function does: std::bad_alloc becomes
// HSA_STATUS_ERROR_OUT_OF_RESOURCES, any other exception HSA_STATUS_ERROR, also one that a callback of the
// application throws. Statuses are those of the manual; where the manual leaves the behaviour undefined, the
// function says what happens here.
//
// The runtime owns one manager. While it starts it adds agents, links and heaps; from then on those never
// change and every function may be called from any thread. Callbacks of the application run on the calling
// thread with no lock held, so they may call back.
//
// Everything that is still allocated is unmapped when the manager ends.
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

/// What memory management knows of an address, for whoever moves data.
struct Placement {
  hsa_amd_pointer_type_t type = HSA_EXT_POINTER_TYPE_UNKNOWN;
  uintptr_t base = 0;
  size_t size = 0;      ///< in bytes, from `base`
  hsa_agent_t owner{};  ///< 0 if unknown
  bool host_reads = true;
  bool host_writes = true;
  bool in_host = true;  ///< the host's memory, not a device's
  /// From the address to where the host has it: elsewhere only if agents address locked memory differently.
  ptrdiff_t to_host = 0;

  /// Whether it has as many bytes from `ptr`, which is in it, on.
  bool has(const void* ptr, size_t bytes) const noexcept {
    return bytes <= size - (reinterpret_cast<uintptr_t>(ptr) - base);
  }
};

class MemoryManager final : private VirtualMemory::HeapSource {
 public:
  MemoryManager() = default;
  MemoryManager(const MemoryManager&) = delete;
  MemoryManager& operator=(const MemoryManager&) = delete;

  // While the runtime starts.

  AgentDirectory& agents() noexcept { return agents_; }
  const AgentDirectory& agents() const noexcept { return agents_; }

  /// A heap without a provider is only described: nothing can be allocated in it.
  const Heap& add_heap(const HeapFacts& facts, std::unique_ptr<MemoryProvider> provider);

  void list_extended_scope() { lists_extended_scope_ = true; }
  /// Adds the heaps that every CPU agent has: fine-grained, extended-scope fine-grained, kernarg and
  /// coarse-grained, in this order, with providers of the caller's, made for global flags and a NUMA node (or
  /// kAnyNode). With one node, the kernel chooses where pages are. The heap of extended scope is not listed, unless
  /// list_extended_scope() said so before: HIP up to 5.x ends the process when it meets one, with GPUs and without.
  using MakeHostProvider = std::function<std::unique_ptr<MemoryProvider>(uint32_t, int)>;
  void add_host_heaps(const std::vector<HostNode>& nodes, const MakeHostProvider& make_provider);
  /// The same, of ordinary memory.
  void add_host_heaps(const std::vector<HostNode>& nodes) {
    add_host_heaps(nodes, [](uint32_t, int numa_node) { return std::make_unique<HostProvider>(numa_node); });
  }

  /// From here on, locked memory is made reachable by `pinner`.
  void set_pinner(std::unique_ptr<HostPinner> pinner) { pinner_ = std::move(pinner); }
  /// From here on, memory of other processes and drivers can be brought in.
  void set_importer(std::unique_ptr<MemoryImporter> importer) { imported_.set_importer(std::move(importer)); }
  /// Processes share memory by the driver's own names for it, if it has such, and not by descriptors.
  void prefer_driver_names(bool prefer) noexcept { prefer_driver_names_ = prefer; }

  // Regions and pools.

  /// Every agent lists its own heaps, and then the system's of all CPU agents.
  Status agent_iterate_regions(hsa_agent_t agent, hsa_status_t (*callback)(hsa_region_t, void*), void* data);
  Status agent_iterate_memory_pools(hsa_agent_t agent, hsa_status_t (*callback)(hsa_amd_memory_pool_t, void*),
                                    void* data);
  Status region_get_info(hsa_region_t region, hsa_region_info_t attribute, void* value);
  Status memory_pool_get_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t attribute, void* value);
  Status agent_memory_pool_get_info(hsa_agent_t agent, hsa_amd_memory_pool_t pool,
                                    hsa_amd_agent_memory_pool_info_t attribute, void* value);

  // Allocation.

  Status memory_allocate(hsa_region_t region, size_t size, void** ptr);
  /// A flag that the pool cannot honour is HSA_STATUS_ERROR_INVALID_ARGUMENT.
  Status memory_pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void** ptr);
  /// Either function frees what either allocated. Null is nothing to do. What is no live allocation's first
  /// byte is HSA_STATUS_ERROR_INVALID_ALLOCATION, and what the runtime knows but did not allocate
  /// (locked, imported, reserved) HSA_STATUS_ERROR_INVALID_ARGUMENT. Deallocation callbacks run first.
  Status memory_free(void* ptr);
  Status memory_pool_free(void* ptr) { return memory_free(ptr); }

  Status register_deallocation_callback(void* ptr, hsa_amd_deallocation_callback_t callback, void* user_data);
  Status deregister_deallocation_callback(void* ptr, hsa_amd_deallocation_callback_t callback);

  // Access.

  Status agents_allow_access(uint32_t num_agents, const hsa_agent_t* agents, const uint32_t* flags,
                             const void* ptr);
  /// No pool's buffers move to another pool: false, and HSA_STATUS_ERROR_OUT_OF_RESOURCES.
  Status memory_pool_can_migrate(hsa_amd_memory_pool_t from, hsa_amd_memory_pool_t to, bool* result);
  /// To the pool where the buffer is: nothing to do. To another: HSA_STATUS_ERROR_OUT_OF_RESOURCES.
  Status memory_migrate(const void* ptr, hsa_amd_memory_pool_t pool, uint32_t flags);
  Status memory_assign_agent(void* ptr, hsa_agent_t agent, hsa_access_permission_t access);
  /// Hints; every CPU agent reaches what the application allocates.
  Status memory_register(void* ptr, size_t size);
  Status memory_deregister(void* ptr, size_t size);
  Status coherency_get_type(hsa_agent_t agent, hsa_amd_coherency_type_t* type);
  Status coherency_set_type(hsa_agent_t agent, hsa_amd_coherency_type_t type);

  // Locking the application's own memory.

  Status memory_lock(void* host_ptr, size_t size, hsa_agent_t* agents, int num_agent, void** agent_ptr);
  Status memory_lock_to_pool(void* host_ptr, size_t size, hsa_agent_t* agents, int num_agent,
                             hsa_amd_memory_pool_t pool, uint32_t flags, void** agent_ptr);
  /// Nobody can say which of several locks that start at `host_ptr` is meant, so these all hold until there have
  /// been as many unlocks as locks. Not locked: HSA_STATUS_ERROR_INVALID_ALLOCATION.
  Status memory_unlock(void* host_ptr);

  // Pointers.

  Status pointer_info(const void* ptr, hsa_amd_pointer_info_t* info, void* (*alloc)(size_t),
                      uint32_t* num_agents_accessible, hsa_agent_t** accessible);
  Status pointer_info_set_userdata(const void* ptr, void* user_data);

  // Memory that other processes and drivers have or get.

  /// Memory that has been exported or named is not used again when it is freed, as others may keep it.
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

  // For the runtime's other parts.

  /// Hands out descriptors of this process's memory, and of what else it shares.
  DescriptorServer& server() noexcept { return server_; }
  /// The heap that a handle names, or null. Handles are never dereferenced before they are found here.
  const Heap* find_heap(uint64_t handle) const noexcept;
  /// What is known of an address; type UNKNOWN (the application's own host memory) if nothing is. In virtual memory,
  /// where mappings may adjoin, it is what holds for all that `size` bytes from there on are in.
  [[gnu::always_inline]] Placement locate(const void* ptr, size_t size = 1) const {
    // Looked up for both sides of every copy, which take no longer than a few of these.
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
  /// Where the host has what `ptr` is to an agent: elsewhere only in locked memory.
  void* host_address(const void* ptr) const;
  /// Memory as an agent addresses it, and what keeps that so.
  struct Reached {
    void* address = nullptr;
    std::shared_ptr<const PinnedMemory> pinned;  ///< null where it is not locked
  };
  /// Where the agent, no host, can access `size` bytes from `ptr` on now; nothing if it cannot access all of them.
  std::optional<Reached> reach(hsa_agent_t agent, const void* ptr, size_t size) const;
  /// Whether the process has memory at all of these addresses.
  static bool is_mapped(const void* ptr, size_t size) noexcept;
  /// Lets an agent, no host, reach the application's memory for as long as the result lives, and unlike a lock
  /// tells nobody else. Statuses are those of `memory_lock`.
  Result<Reached> pin(hsa_agent_t agent, void* host_ptr, size_t size);
  /// The first visible heap of `agent` with all of `global_flags`, or null.
  const Heap* find_heap_of(hsa_agent_t agent, uint32_t global_flags) const noexcept;
  /// Bytes of the agent's heaps that nothing has been allocated of.
  size_t available(hsa_agent_t agent) const;
  /// Zeroed memory of the host that all agents reach, on a CPU agent's node if it is one; for memory_free.
  Result<void*> allocate_system(size_t size, uint32_t node = 0);
  /// Gives unused memory back to the system.
  void trim();

 private:
  struct HeapSlot {
    explicit HeapSlot(const HeapFacts& facts) : heap(facts) {}
    Heap heap;
    std::unique_ptr<PageAllocator> allocator;  // null: only described
  };
  using Callback = ImportedMemory::Callback;
  /// What few allocations have, keyed by their first byte; a mark on the allocation says to look here.
  struct Aside {
    std::vector<Callback> callbacks;
    std::optional<AgentSet> access;
    std::optional<hsa_amd_ipc_memory_t> name;
  };
  /// An allocation whose memory others are about to be given.
  struct Exposed {
    AllocationView view;
    Backing backing;
    PageAllocator* allocator = nullptr;
    Extent* extent = nullptr;
  };
  struct LockedRange {
    uint64_t serial;  // the later lock wins where locks overlap
    void* agent_address;
    const Heap* heap;
    AgentSet agents;
    void* user_data;
    std::shared_ptr<const PinnedMemory> pinned;  // null where no device was asked for
    size_t locks;                                // less the unlocks
  };

  Entry heap(uint64_t handle) noexcept override;
  std::vector<Entry> heaps() override;

  HeapSlot* find_slot(uint64_t handle) noexcept;
  Status allocate(HeapSlot& slot, size_t size, uint32_t flags, void** ptr);
  Status open_to_devices(HeapSlot& slot, void* ptr);
  std::vector<Callback> take_callbacks(uintptr_t address);
  /// Of an allocation that was claimed.
  void end_allocation(PageAllocator& allocator, Extent& extent, uintptr_t address);
  /// Without a pool, accesses are as in the first host's coarse-grained memory.
  const Heap* heap_of_locks() const noexcept;
  Status lock_range(void* host_ptr, size_t size, const hsa_agent_t* agents, int num_agent, const Heap& heap,
                    void** agent_ptr);
  Result<std::shared_ptr<const PinnedMemory>> pin_range(void* host_ptr, size_t size, const AgentSet& agents,
                                                        const Heap& heap) const;
  /// Takes one range out that starts there, if all that do have been unlocked.
  std::optional<LockedRange> take_unlocked(uintptr_t start);
  /// The latest lock around an address, and how far into it the address is.
  struct LockedView : RangeMap<LockedRange>::Entry {
    size_t offset;
  };
  /// By the host's address; what is nobody's there is looked for by agents' addresses. Only locks that have all of
  /// the bytes and, if it is given, are for the agent.
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
  std::unordered_map<uintptr_t, Aside> aside_ RIGEL_GUARDED_BY(aside_mutex_);

  Mutex access_mutex_;  // one change of access at a time

  VirtualMemory virtual_memory_{agents_, *this};
  ImportedMemory imported_;
  DescriptorServer server_;
  bool prefer_driver_names_ = false;

  mutable SharedMutex locked_mutex_;
  mutable RangeMap<LockedRange> locked_ RIGEL_GUARDED_BY(locked_mutex_);
  /// Those of `locked_` whose agents' addresses differ, by these.
  mutable RangeMap<const RangeMap<LockedRange>::Entry*> locked_elsewhere_ RIGEL_GUARDED_BY(locked_mutex_);
  uint64_t lock_serial_ RIGEL_GUARDED_BY(locked_mutex_) = 0;
};

}  // namespace rigel
