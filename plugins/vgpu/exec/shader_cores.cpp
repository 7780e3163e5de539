#include "plugins/vgpu/exec/shader_cores.hpp"

#include <cstdlib>

#include "plugins/vgpu/check/findings.hpp"
#include "plugins/vgpu/exec/native/compiler_process.hpp"
#include "plugins/vgpu/exec/scheduler.hpp"
#include "plugins/vgpu/profile/profile.hpp"

namespace rigel::vgpu::exec {

Device device_of(const Board& board) {
  check::Findings::of_process();  // prints its summary even if no kernel runs
  profile::Profile::of_process();
  Device device;
  device.target = board.target();
  device.compute_units = board.units_in_order();
  device.waves_per_compute_unit = board.shader.simd_per_cu * board.shader.max_waves_per_simd;
  device.simds_per_compute_unit = board.shader.simd_per_cu;
  device.lds_bytes_per_compute_unit = board.shader.lds_kb * 1024;
  device.has_unit_pairs = board.driver().has_unit_pairs;
  device.tiling = {board.gb_addr_config, board.tiling.banks, board.tiling.ranks, board.tiling.modes,
                   board.tiling.macro_modes};
  device.level = best_simd_level();
  device.compilation = compiler::asked_for();
  // Invalid values are reported with those of the other variables.
  if (const char* const text = std::getenv("VGPU_SCHEDULE"))
    device.schedule = Schedule::from_text(text).value_or(Schedule{});
  return device;
}

std::unique_ptr<DispatchSink> make_shader_cores(const Gpu& gpu, DeviceBus& bus) {
  return std::make_unique<Scheduler>(device_of(gpu.board), bus);
}

}  // namespace rigel::vgpu::exec
