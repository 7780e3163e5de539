// LLVM, and the operations' bitcode.
#pragma once

#include "plugins/vgpu/compiler/flat_code.hpp"
#include "plugins/vgpu/compiler/plan.hpp"

namespace rigel::vgpu::exec::compiler {

/// Machine code of a kernel for this host. LLVM may end the process where it does not know what to do.
FlatCode generate_code(const Plan& plan);

}  // namespace rigel::vgpu::exec::compiler
