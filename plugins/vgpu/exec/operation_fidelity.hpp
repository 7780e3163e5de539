// Which instructions the shader cores execute, for the fidelity report. Found by asking the lowering about
// every line of the instruction tables, so that it cannot say anything else than what happens.
#pragma once

#include <span>
#include <vector>

#include "plugins/vgpu/isa/fidelity.hpp"

namespace rigel::vgpu::exec {

/// A row an operation that one of the targets has. Takes some milliseconds.
std::vector<isa::OperationFidelity> instruction_fidelity(std::span<const isa::Target> targets);

}  // namespace rigel::vgpu::exec
