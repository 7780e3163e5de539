// Generates the function "kernel" of a plan, in the module with the operations' bitcode, which may be lazily
// loaded.
#pragma once

#include <string>

#include "plugins/vgpu/exec/native/plan.hpp"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace rigel::vgpu::exec::compiler {

/// Returns an error or an empty string. `machine` supplies instruction costs; it may be null.
std::string build(const Plan& plan, llvm::Module& module, llvm::TargetMachine* machine);

}  // namespace rigel::vgpu::exec::compiler
