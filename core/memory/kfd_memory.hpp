// Memory that GPUs of amdkfd can access: their own, the host's, and the application's.
//
// Host memory is anonymous pages. A block is registered with the driver (as a userptr object) when an agent
// first gets access, and stays registered until it is unmapped. Allocations that only the host uses therefore
// cost no driver call, and those that GPUs use cost one call for many of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/support/mutex.hpp"
#include "core/driver/kfd.hpp"
#include "core/memory/host_provider.hpp"
#include "core/memory/provider.hpp"
#include "core/topology/agent_directory.hpp"

namespace rigel {

/// Maps agents, by their index in the directory, to GPUs of the connection. Filled while the runtime starts,
/// constant afterwards.
class KfdAgents {
 public:
  explicit KfdAgents(Kfd& kfd) : kfd_(kfd) {}

  void add(size_t agent, const KfdGpu& gpu) { gpus_[agent] = gpu.gpu_id; }
  Kfd& kfd() const { return kfd_; }
  /// Returns the GPUs among `agents`, sorted.
  std::vector<uint32_t> gpus_of(const AgentSet& agents) const;
  /// Returns the index of the agent that is a GPU; SIZE_MAX if there is none.
  size_t agent_of(uint32_t gpu_id) const;
  /// Returns the GPU of an agent; null if it is not a GPU.
  KfdGpu* gpu_of(size_t agent) const;

 private:
  Kfd& kfd_;
  std::map<size_t, uint32_t> gpus_;
};

/// The GPUs that have mapped a memory object. Not thread-safe.
class KfdMapping {
 public:
  /// Maps it to exactly these GPUs. On failure, or if it throws, the previous mappings remain.
  Status change(const Kfd& kfd, uint64_t handle, const std::vector<uint32_t>& gpus);
  const std::vector<uint32_t>& mapped() const { return mapped_; }

 private:
  std::vector<uint32_t> mapped_;  // sorted
};

class KfdHostProvider final : public HostProvider {
 public:
  /// `attributes`: kfd_attributes_of.
  KfdHostProvider(const KfdAgents& agents, uint32_t attributes, int numa_node);

  Result<Backing> map(const BlockRequest& request) override;
  void unmap(const Backing& backing) noexcept override;
  Status set_access(const Backing& backing, const AgentSet& agents) override;
  Result<std::unique_ptr<PhysicalMemory>> create_physical(size_t size, uint32_t flags) override;
  Result<Imported> import_physical(int descriptor) override;

 private:
  struct Known {
    uint64_t handle = 0;  // 0: not registered with the driver
    uint32_t attributes = 0;
    KfdMapping mapping;
  };
  const KfdAgents& agents_;
  const uint32_t attributes_;
  Mutex mutex_;
  std::unordered_map<void*, Known> known_ RIGEL_GUARDED_BY(mutex_);
};

class KfdLocalProvider final : public MemoryProvider {
 public:
  /// `reclaim` is called when no memory is left; returns true if some may be free then.
  KfdLocalProvider(const KfdAgents& agents, const KfdGpu& gpu, uint32_t attributes,
                   std::function<bool()> reclaim = {})
      : agents_(agents), gpu_(gpu), attributes_(attributes), reclaim_(std::move(reclaim)) {}

  Result<Backing> map(const BlockRequest& request) override;
  void unmap(const Backing& backing) noexcept override;
  Status set_access(const Backing& backing, const AgentSet& agents) override;
  Result<int> export_block(const Backing& backing) override;
  Result<NamedBlock> name_block(const Backing& backing) override;
  bool is_shareable() const override { return true; }
  Result<std::unique_ptr<PhysicalMemory>> create_physical(size_t size, uint32_t flags) override;
  Result<Imported> import_physical(int descriptor) override;

 private:
  uint32_t flags_with(uint32_t pool_flags) const;

  const KfdAgents& agents_;
  const KfdGpu& gpu_;
  const uint32_t attributes_;
  const std::function<bool()> reclaim_;
  Mutex mutex_;
  std::unordered_map<uint64_t, KfdMapping> mappings_ RIGEL_GUARDED_BY(mutex_);  // by handle
};

class KfdPinner final : public HostPinner {
 public:
  explicit KfdPinner(const KfdAgents& agents) : agents_(agents) {}

  Result<void*> pin(void* host, size_t size, const AgentSet& agents, uint32_t global_flags) override;
  void unpin(void* host, size_t size, void* agent_address) noexcept override;

 private:
  struct Pin {
    uint64_t handle = 0;
    void* addresses = nullptr;  // address for GPUs
    uint64_t span = 0;
  };

  const KfdAgents& agents_;
  Mutex mutex_;
  std::unordered_multimap<uint64_t, Pin> pins_ RIGEL_GUARDED_BY(mutex_);  // by the address for GPUs
};

/// Returns the driver's attributes for memory of a pool.
uint32_t kfd_attributes_of(uint32_t global_flags);
/// Returns the attributes of an allocation with flags (hsa_amd_memory_pool_flag_t) in a pool with
/// `attributes`.
uint32_t kfd_attributes_with(uint32_t flags, uint32_t attributes);

}  // namespace rigel
