// The agents and memory pools of a session, as a trace names them. Made in load, and then only read.
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
  /// Asks the runtime. `wanted` is compared to names ("gfx906"), to kinds ("GPU") and to positions ("1").
  Agents(const HsaApiTable& tables, const Patterns& wanted);

  /// All that patterns are compared to.
  const std::vector<std::string>& names() const { return names_; }
  /// "GPU 1 gfx906", "CPU 0", or the handle of an agent that is not known.
  std::string name(hsa_agent_t agent) const;
  bool is_wanted(hsa_agent_t agent) const;
  /// Whose pool or region it is; 0 if that is not known.
  hsa_agent_t of_pool(uint64_t pool) const;
  bool is_gpu(hsa_agent_t agent) const;

 private:
  struct Facts {
    std::string name;
    bool wanted;
    bool gpu;
  };
  std::vector<std::string> names_;
  std::unordered_map<uint64_t, Facts> agents_;
  std::unordered_map<uint64_t, uint64_t> pools_;
};

}  // namespace trace
