// The limits that the environment sets for an agent, below those of its device (gpu_settings.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace rigel {

struct AgentLimits {
  std::vector<uint32_t> units;  ///< compute units that its queues may have, bit i of word i / 32; empty: all
  bool units_at_first = true;   ///< queues begin with those; else with all, until they are given a mask
  std::optional<uint32_t> cooperative_units;  ///< that cooperative dispatches are on; none: all
};

}  // namespace rigel
