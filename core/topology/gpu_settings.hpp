// GPU settings of the environment, with ROCr's names, read once while the runtime starts. An invalid setting
// is reported and has no effect.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/topology/agent_limits.hpp"
#include "core/topology/cu_mask_list.hpp"
#include "loader/module/discovery_report.hpp"
#include "loader/module/loader_environment.hpp"

namespace rigel {

struct GpuSettings {
  std::optional<bool> xnack;              ///< HSA_XNACK
  std::optional<bool> sramecc;            ///< HSA_ENABLE_SRAMECC
  std::optional<uint32_t> queues_max;     ///< HSA_MAX_QUEUES, if it is not 0
  std::optional<uint64_t> scratch_limit;  ///< HSA_SCRATCH_SINGLE_LIMIT, bytes
  CuMaskList units;                       ///< HSA_CU_MASK
  bool units_at_first = true;             ///< without HSA_CU_MASK_SKIP_INIT=1
  bool counts_cooperative = false;        ///< HSA_COOP_CU_COUNT=1

  static GpuSettings read(const LoaderEnvironment& environment, DiscoveryReport& report);

  /// Returns the limits of GPU number `gpu`, and applies them to its capabilities. `subject` is its name in
  /// the report; `has_masks`: its queues can be bound to compute units.
  AgentLimits restrict(uint32_t gpu, hsabe_caps_t& caps, bool has_masks, std::string_view subject,
                       DiscoveryReport& report) const;

  /// Reports settings for GPUs that do not exist; `gpus` is the number of GPUs.
  void conclude(size_t gpus, DiscoveryReport& report) const;
};

}  // namespace rigel
