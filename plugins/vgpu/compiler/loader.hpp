// Finds the module with the compiler, once a process.
#pragma once

#include "plugins/vgpu/compiler/module.hpp"

namespace rigel::vgpu::exec::compiler {

/// The compiler, or null where there is none: it was not built, its LLVM is not installed, VGPU_COMPILER=off forbids it, or
/// the process is an elevated one. Any thread.
Compile find_compiler();

/// What VGPU_COMPILER says of when kernels are compiled: "beforehand", or nothing.
Compilation asked_for();

/// Why there is none; empty if there is one.
const char* why_no_compiler();

}  // namespace rigel::vgpu::exec::compiler
