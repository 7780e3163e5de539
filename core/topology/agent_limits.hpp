// Limits of an agent from the environment, below those of its device (gpu_settings.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace rigel {

struct AgentLimits {
  std::vector<uint32_t> units;  ///< usable compute units, bit i of word i / 32; empty: all
  bool units_at_first = true;   ///< queues start with `units`; otherwise with all, until a mask is set
  std::optional<uint32_t> cooperative_units;  ///< compute units for cooperative dispatches; none: all
};

}  // namespace rigel
