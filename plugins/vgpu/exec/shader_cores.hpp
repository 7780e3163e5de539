// Creates the default shader cores of a virtual GPU: a Scheduler with the properties of the GPU's board.
#pragma once

#include <memory>

#include "plugins/vgpu/cp/dispatch.hpp"
#include "plugins/vgpu/devices/machine.hpp"
#include "plugins/vgpu/exec/launch.hpp"

namespace rigel::vgpu::exec {

Device device_of(const Board& board);

/// Creates the shader cores of a GPU; a MakeShaderCores function (plugins/vgpu/kfd). `bus` outlives them.
std::unique_ptr<DispatchSink> make_shader_cores(const Gpu& gpu, DeviceBus& bus);

}  // namespace rigel::vgpu::exec
