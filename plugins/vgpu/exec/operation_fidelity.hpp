// Which instructions the shader cores execute, for the fidelity report. The lowering is tried with every row
// of the instruction tables, so the report always agrees with execution.
#pragma once

#include <span>
#include <vector>

#include "plugins/vgpu/isa/fidelity.hpp"

namespace rigel::vgpu::exec {

/// Returns one row per operation that any of the targets has. Takes some milliseconds.
std::vector<isa::OperationFidelity> instruction_fidelity(std::span<const isa::Target> targets);

}  // namespace rigel::vgpu::exec
