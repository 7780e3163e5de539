// What the program's people are told when a wave fails, and of dispatches that end.
#pragma once

#include <string>

#include "plugins/vgpu/cp/dispatch.hpp"

namespace rigel::vgpu::exec {

class Group;
class Launch;

/// Why a work-group's wave failed, with where it was and its registers.
DispatchResult describe_failure(const Group& group);

/// One line for the trace.
std::string describe_end(const Launch& launch);

}  // namespace rigel::vgpu::exec
