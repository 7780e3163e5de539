// The shader cores of a board: what a process has unless it is told otherwise.
#pragma once

#include <memory>

#include "plugins/vgpu/cp/dispatch.hpp"
#include "plugins/vgpu/devices/machine.hpp"
#include "plugins/vgpu/exec/launch.hpp"

namespace rigel::vgpu::exec {

/// What launches need to know of a board.
Device device_of(const Board& board);

/// Shader cores for a GPU, as MakeShaderCores (plugins/vgpu/kfd) wants them. The bus outlives them.
std::unique_ptr<DispatchSink> make_shader_cores(const Gpu& gpu, DeviceBus& bus);

}  // namespace rigel::vgpu::exec
