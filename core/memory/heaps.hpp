// The heaps and the allocations from them: regions and pools of the HSA API.
//
// Functions with names of the API implement those functions. The exported function checks that the runtime is
// open.
//
// *Errors:* statuses are those of the manual; if the manual leaves the behaviour undefined, the function's
// comment defines it. The exported function turns std::bad_alloc into HSA_STATUS_ERROR_OUT_OF_RESOURCES and
// any other exception, also one from a callback of the application, into HSA_STATUS_ERROR.
// *Threads:* heaps are added while the runtime starts and never change afterwards; then any thread may call
// any function. Callbacks of the application run on the calling thread without a lock, so they may call these
// functions.
// *Lifetime:* the agents outlive the heaps. The destructor unmaps all remaining allocations.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"
#include "core/memory/extent_map.hpp"
#include "core/memory/heap.hpp"
#include "core/memory/host_provider.hpp"
#include "core/memory/page_allocator.hpp"
#include "core/memory/provider.hpp"
#include "core/topology/agent_directory.hpp"

namespace rigel {

/// A NUMA node's memory and the CPU agent that owns it.
struct HostNode {
  hsa_agent_t agent{};
  uint32_t numa_node = 0;
  size_t size = 0;  ///< in bytes
  uint32_t bus_width_bits = 0;
  uint32_t max_clock_mhz = 0;
};

/// A deallocation callback and the address it is for.
struct DeallocationCallback {
  void* ptr;
  hsa_amd_deallocation_callback_t function;
  void* user_data;
};

class Heaps {
 public:
  explicit Heaps(const AgentDirectory& agents) : agents_(agents) {}
  Heaps(const Heaps&) = delete;
  Heaps& operator=(const Heaps&) = delete;

  // Called while the runtime starts:

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

  // Functions of the API:

  /// Every agent lists its heaps, and then the system heaps of all CPU agents.
  Status agent_iterate_regions(hsa_agent_t agent, hsa_status_t (*callback)(hsa_region_t, void*),
                               void* data) const;
  Status agent_iterate_memory_pools(hsa_agent_t agent, hsa_status_t (*callback)(hsa_amd_memory_pool_t, void*),
                                    void* data) const;
  Status region_get_info(hsa_region_t region, hsa_region_info_t attribute, void* value) const;
  Status memory_pool_get_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t attribute,
                              void* value) const;
  Status agent_memory_pool_get_info(hsa_agent_t agent, hsa_amd_memory_pool_t pool,
                                    hsa_amd_agent_memory_pool_info_t attribute, void* value) const;

  Status memory_allocate(hsa_region_t region, size_t size, void** ptr);
  /// Returns HSA_STATUS_ERROR_INVALID_ARGUMENT for a flag that the pool does not support.
  Status memory_pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void** ptr);
  Status memory_assign_agent(void* ptr, hsa_agent_t agent, hsa_access_permission_t access) const;
  /// Buffers cannot move to another pool: stores false and returns HSA_STATUS_ERROR_OUT_OF_RESOURCES.
  Status memory_pool_can_migrate(hsa_amd_memory_pool_t from, hsa_amd_memory_pool_t to, bool* result) const;
  /// Has no effect for the buffer's own pool; returns HSA_STATUS_ERROR_OUT_OF_RESOURCES for another.
  Status memory_migrate(const void* ptr, hsa_amd_memory_pool_t pool, uint32_t flags) const;

  // Lookup of heaps:

  /// Returns the heap of a handle, or null. Handles are not dereferenced before this lookup.
  const Heap* find_heap(uint64_t handle) const noexcept;
  /// Returns the first visible heap of `agent` with all of `global_flags`, or null.
  const Heap* find_heap_of(hsa_agent_t agent, uint32_t global_flags) const noexcept;
  /// Returns the heap for locks without a pool: access as in the first host's coarse-grained memory. Null
  /// without hosts.
  const Heap* heap_of_locks() const noexcept;
  struct Entry {
    const Heap* heap = nullptr;
    MemoryProvider* provider = nullptr;  ///< null: allocations fail
  };
  Entry find_entry(uint64_t handle) noexcept;
  std::vector<Entry> entries();

  // Allocations:

  /// Frees the allocation that starts at `ptr`; null is ignored. Deallocation callbacks run first. Returns
  /// false if no live allocation starts there.
  bool free(void* ptr);
  /// Allocates zeroed host memory that all agents can access, on `node` if it is a CPU agent's.
  Result<void*> allocate_system(size_t size, uint32_t node = 0);
  /// Returns the unallocated bytes of the agent's heaps.
  size_t available(hsa_agent_t agent) const;
  void trim();

  const ExtentMap& extents() const noexcept { return extents_; }
  std::optional<AllocationView> view(uintptr_t address) const noexcept { return extents_.view(address); }
  AgentSet agents_with_access(const AllocationView& view) const;

  // Functions of the API for any kind of memory (PointerMap). Each returns nothing if `address` is in no
  // allocation.

  std::optional<Status> allow_access(uintptr_t address, const hsa_agent_t* agents, uint32_t count);
  std::optional<Status> add_callback(const DeallocationCallback& callback);
  std::optional<Status> remove_callbacks(const void* ptr, hsa_amd_deallocation_callback_t function);
  /// Returns false if no allocation starts at `address`.
  bool set_user_data(uintptr_t address, void* user_data);

  // Sharing:

  /// The name of an allocation for other processes. Its deleter withdraws the name.
  using Name = std::shared_ptr<const hsa_amd_ipc_memory_t>;
  /// An allocation that is about to be shared.
  struct Exposed {
    AllocationView view;
    Backing backing;
    PageAllocator* allocator = nullptr;
    Extent* extent = nullptr;
  };
  /// Prevents the reuse of an allocation's memory: others may keep it. Returns INVALID_ALLOCATION outside
  /// allocations, and INVALID_AGENT if its device cannot share memory.
  Result<Exposed> expose(uintptr_t address);
  /// Returns the name of the allocation that starts at `base`, or null.
  Name name_of(uintptr_t base) const;
  /// Keeps a name until the allocation ends. Returns the allocation's name, which is another thread's if that
  /// was faster, or null if the allocation has ended.
  Name keep_name(const Exposed& exposed, Name name);

 private:
  struct Slot {
    explicit Slot(const HeapFacts& facts) : heap(facts) {}
    Heap heap;
    std::unique_ptr<PageAllocator> allocator;  // null: only described
  };
  /// Rarely used data of an allocation, keyed by its first byte; a mark on the allocation refers to it.
  struct AllocationData {
    std::vector<DeallocationCallback> callbacks;
    std::optional<AgentSet> access;
    Name name;
  };

  Slot* find_slot(uint64_t handle) noexcept;
  Status allocate(Slot& slot, size_t size, uint32_t flags, void** ptr);
  Status open_to_devices(Slot& slot, void* ptr);
  std::vector<DeallocationCallback> take_callbacks(uintptr_t address);
  void end_allocation(PageAllocator& allocator, Extent& extent, uintptr_t address);

  const AgentDirectory& agents_;
  ExtentMap extents_;
  std::deque<Slot> heaps_;  // addresses of heaps are handles
  bool lists_extended_scope_ = false;

  mutable Mutex aside_mutex_;
  std::unordered_map<uintptr_t, AllocationData> aside_ RIGEL_GUARDED_BY(aside_mutex_);

  Mutex access_mutex_;  // changes of access do not overlap
};

}  // namespace rigel
