// Code generation with LLVM and the operations' bitcode.
#pragma once

#include "plugins/vgpu/compiler/flat_code.hpp"
#include "plugins/vgpu/exec/native/plan.hpp"

namespace rigel::vgpu::exec::compiler {

/// Returns the kernel's machine code for this host. LLVM may abort the process.
FlatCode generate_code(const Plan& plan);

}  // namespace rigel::vgpu::exec::compiler
