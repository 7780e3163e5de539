// The application's memory that agents may access: locks of hsa_amd_memory_lock, and pins of the runtime.
//
// Functions with names of the API implement those functions.
//
// *Threads:* any thread; the pinner is set while the runtime starts. One lock guards the table; the driver is
// never called under it.
// *Lifetime:* the agents and heaps outlive it.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"
#include "core/memory/heaps.hpp"
#include "core/memory/provider.hpp"
#include "core/memory/range_map.hpp"
#include "core/topology/agent_directory.hpp"

namespace rigel {

/// The address of memory for an agent, and an owner of the pin that keeps it valid.
struct AgentAddress {
  void* address = nullptr;
  std::shared_ptr<const PinnedMemory> pinned;  ///< null if it is not locked
};

class LockedMemory {
 public:
  LockedMemory(const AgentDirectory& agents, const Heaps& heaps) : agents_(agents), heaps_(heaps) {}
  LockedMemory(const LockedMemory&) = delete;
  LockedMemory& operator=(const LockedMemory&) = delete;

  /// Makes `pinner` give devices access to locked memory. Called while the runtime starts.
  void set_pinner(std::unique_ptr<HostPinner> pinner) { pinner_ = std::move(pinner); }

  Status memory_lock(void* host_ptr, size_t size, hsa_agent_t* agents, int num_agent, void** agent_ptr);
  Status memory_lock_to_pool(void* host_ptr, size_t size, hsa_agent_t* agents, int num_agent,
                             hsa_amd_memory_pool_t pool, uint32_t flags, void** agent_ptr);
  /// Locks of the same start address are counted together: memory stays locked until unlock was called as
  /// often as lock. Returns HSA_STATUS_ERROR_INVALID_ALLOCATION if it is not locked.
  Status memory_unlock(void* host_ptr);
  /// Hints without effect: every CPU agent can access the application's memory.
  Status memory_register(void* ptr, size_t size);
  Status memory_deregister(void* ptr, size_t size);

  /// Gives a device agent access to the application's memory while the result lives. Unlike a lock, it is not
  /// visible to pointer queries. Returns the statuses of `memory_lock`.
  Result<AgentAddress> pin(hsa_agent_t agent, void* host_ptr, size_t size);
  static bool is_mapped(const void* ptr, size_t size) noexcept;

  /// A lock around an address.
  struct View {
    size_t offset;         ///< offset of the address in the lock, in bytes
    uintptr_t host_start;  ///< the host's address of the first byte
    uintptr_t agent_start;
    size_t size;
    const Heap* heap;
    AgentSet agents;
    void* user_data;
    std::shared_ptr<const PinnedMemory> pinned;  ///< null if no device needs access
  };
  /// Returns the latest lock around an address; looks up the host's address, then agents' addresses.
  /// Considers only locks that contain all bytes and, if given, are for `agent`.
  std::optional<View> view(uintptr_t address, size_t size = 1,
                           std::optional<size_t> agent = std::nullopt) const;
  /// Sets the data of the latest lock that starts at the host's address. Returns false if there is none.
  bool set_user_data(uintptr_t address, void* user_data);

 private:
  struct Range {
    uint64_t serial;  // the lock with the highest number wins if locks overlap
    void* agent_address;
    const Heap* heap;
    AgentSet agents;
    void* user_data;
    std::shared_ptr<const PinnedMemory> pinned;
    size_t locks;  // locks minus unlocks
  };
  using Ranges = RangeMap<Range>;

  Status lock_range(void* host_ptr, size_t size, const hsa_agent_t* agents, int num_agent, const Heap& heap,
                    void** agent_ptr);
  /// Returns null if no agent needs an explicit mapping.
  Result<std::shared_ptr<const PinnedMemory>> pin_range(void* host_ptr, size_t size, const AgentSet& agents,
                                                        const Heap& heap) const;
  /// Removes a range that starts there, if all ranges that do have been unlocked.
  std::optional<Range> take_unlocked(uintptr_t start);

  const AgentDirectory& agents_;
  const Heaps& heaps_;
  std::unique_ptr<HostPinner> pinner_;

  mutable SharedMutex mutex_;
  mutable Ranges ranges_ RIGEL_GUARDED_BY(mutex_);
  /// Entries of `ranges_` with different agents' addresses, by those.
  mutable RangeMap<const Ranges::Entry*> elsewhere_ RIGEL_GUARDED_BY(mutex_);
  uint64_t serial_ RIGEL_GUARDED_BY(mutex_) = 0;
};

}  // namespace rigel
