// LLVM, and the operations' bitcode.
#pragma once

#include "plugins/vgpu/compiler/flat_code.hpp"
#include "plugins/vgpu/compiler/plan.hpp"

namespace rigel::vgpu::exec::compiler {

/// Compiles a kernel for this host. LLVM may end the process where it does not know what to do.
FlatCode compile(const Plan& plan);

}  // namespace rigel::vgpu::exec::compiler
