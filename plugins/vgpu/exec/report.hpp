// What the program's people are told when a wave fails, and of dispatches that end.
#pragma once

#include <string>

#include "plugins/vgpu/cp/dispatch.hpp"
#include "plugins/vgpu/exec/memory.hpp"

namespace rigel::vgpu::exec {

class Group;
class Launch;

/// Why a work-group's wave failed: the kernel, where it was, the code around that, and the wave's registers.
/// Inside a scope of `memory`.
DispatchResult describe_failure(const Group& group, Memory& memory);

/// Lines for the trace.
std::string describe_end(const Launch& launch);
std::string describe_halt(const Group& group);

}  // namespace rigel::vgpu::exec
