// Agents and their kernels: the facts that packets are held against.
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
  uint64_t group_bytes = 0;                 ///< of a work-group; 0: not known
  std::vector<uint64_t> pools_with_access;  ///< from the beginning, without anybody's leave
};

/// What there is before the program does anything. Read once, and the same for the life of the runtime.
class Topology {
 public:
  /// Asks the runtime, and registers all that programs may get handles of.
  Topology(const hsatool::Host& host, Registry& registry);

  const Agent* agent(uint64_t handle) const;
  const std::vector<std::unique_ptr<Agent>>& agents() const { return agents_; }
  const Pool* pool(uint64_t handle) const;
  /// Whether an agent may access a block. True where that is not known.
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
  Event destroyed;  ///< the end of its executable, if that is over
};

/// Kernels by the kernel object that packets name. Any thread.
class Kernels {
 public:
  /// Those of an executable that has been frozen; its symbols are registered.
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
