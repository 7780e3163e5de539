// Properties of agents and kernels, used to check packets.
#pragma once

#include <hsa_plugin/hsa_tool.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/validate/memory.hpp"

namespace validate {

struct Agent {
  hsa_agent_t handle{};
  std::string name;
  bool is_cpu = false;
  bool dispatches = false;
  uint16_t workgroup_dim[3] = {};
  uint32_t workgroup_size = 0;
  uint32_t grid_dim[3] = {};
  uint64_t group_bytes = 0;                 ///< LDS limit of a work-group; 0: unknown
  std::vector<uint64_t> pools_with_access;  ///< pools accessible by default
};

/// Agents and pools, which do not change between hsa_init and hsa_shut_down. Read once.
class Topology {
 public:
  /// Queries the runtime, and registers all handles that exist from the start.
  Topology(const hsatool::Host& host, Registry& registry);

  const Agent* agent(uint64_t handle) const;
  const std::vector<std::unique_ptr<Agent>>& agents() const { return agents_; }
  const Pool* pool(uint64_t handle) const;
  /// Returns whether an agent may access a block; true if that is unknown.
  bool may_access(const Agent& agent, const Block& block) const;

 private:
  std::vector<std::unique_ptr<Agent>> agents_;
  std::unordered_map<uint64_t, Pool> pools_;  // and regions
};

struct Kernel {
  std::string name;
  uint64_t agent = 0;
  uint64_t executable = 0;
  uint32_t kernarg_size = 0;
  uint32_t kernarg_alignment = 0;
  uint32_t group_size = 0;
  uint32_t private_size = 0;
  Event destroyed;  ///< destruction of its executable; empty while it exists
};

/// Kernels by kernel object (hsa_kernel_dispatch_packet_t::kernel_object).
///
/// *Threads:* any function, any thread.
class Kernels {
 public:
  /// Adds the kernels of a frozen executable, and registers its symbols.
  void add(const hsatool::Host& host, const Topology& topology, Registry& registry,
           hsa_executable_t executable, const Event& frozen);
  void remove(uint64_t executable, const Event& destroyed);
  void restore(uint64_t executable);
  std::shared_ptr<const Kernel> find(uint64_t object) const;

 private:
  mutable rigel::SharedMutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<Kernel>> kernels_ RIGEL_GUARDED_BY(mutex_);
};

}  // namespace validate
