// The names of a session's agents, and the owners of memory pools.
//
// *Threads:* constant after construction; any thread.
#pragma once

#include <hsa/hsa_api_trace.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "plugins/trace/pattern.hpp"

namespace trace {

class Agents {
 public:
  Agents() = default;
  /// Queries the runtime. `wanted` matches names ("gfx906"), kinds ("GPU") and indices ("1").
  Agents(const HsaApiTable& tables, const Patterns& wanted);

  /// All texts that a pattern can match: the names, kinds and indices of all agents.
  const std::vector<std::string>& names() const { return names_; }
  /// Returns "GPU 1 gfx906", "CPU 0", or the handle of an unknown agent.
  std::string name(hsa_agent_t agent) const;
  /// Whether the patterns select the agent. Also true for an unknown agent.
  bool is_wanted(hsa_agent_t agent) const;
  /// Returns the agent that owns a pool or region; 0 if it is unknown.
  hsa_agent_t of_pool(uint64_t pool) const;
  bool is_gpu(hsa_agent_t agent) const;

 private:
  struct Properties {
    std::string name;
    bool wanted;
    bool gpu;
  };
  std::vector<std::string> names_;
  std::unordered_map<uint64_t, Properties> agents_;
  std::unordered_map<uint64_t, uint64_t> pools_;
};

}  // namespace trace
