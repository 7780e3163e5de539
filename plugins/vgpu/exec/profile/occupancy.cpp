#include "plugins/vgpu/exec/profile/occupancy.hpp"

#include <algorithm>

namespace rigel::vgpu::exec {

profile::Occupancy occupancy_of(const Dialect& dialect, const OccupancyInputs& inputs) {
  constexpr uint32_t kBarriers = 16;  // work-groups of several waves that a compute unit can hold
  const uint32_t simds = inputs.simds * inputs.units, waves = std::max(inputs.waves_of_group, 1u);
  uint32_t groups = simds * inputs.max_waves / waves;
  std::string_view limit = groups * waves < simds * inputs.max_waves ? "the size of work-groups" : "";
  const auto restrict = [&](uint32_t most_groups, std::string_view by) {
    if (most_groups >= groups) return;
    groups = most_groups;
    limit = by;
  };
  const uint32_t vgprs = dialect.allocated_vgprs(inputs.rsrc1);
  restrict(simds * (dialect.vgprs_of_simd / vgprs) / waves, "VGPRs");
  if (dialect.sgprs_of_simd != 0 && inputs.sgprs != 0)
    restrict(simds * (dialect.sgprs_of_simd / inputs.sgprs) / waves, "SGPRs");
  if (inputs.lds_bytes_of_group != 0)
    restrict(inputs.units * inputs.lds_bytes / inputs.lds_bytes_of_group, "LDS");
  if (waves > 1) restrict(inputs.units * kBarriers, "barriers");
  if (inputs.scratch_slots != 0) restrict(inputs.units * inputs.scratch_slots / waves, "scratch");
  // The command processor rejects work-groups that do not fit.
  groups = std::max(groups, 1u);
  return {groups * waves, simds, inputs.max_waves, limit};
}

}  // namespace rigel::vgpu::exec
