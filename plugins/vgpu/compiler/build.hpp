// Makes a function "kernel" of a plan, in a module that has the operations' bitcode and perhaps not yet read it.
#pragma once

#include <string>

#include "plugins/vgpu/compiler/plan.hpp"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace rigel::vgpu::exec::compiler {

/// Empty, or why there is none. What `machine` says of costs is used; it may be null.
std::string build(const Plan& plan, llvm::Module& module, llvm::TargetMachine* machine);

}  // namespace rigel::vgpu::exec::compiler
