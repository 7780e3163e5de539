// LLVM's passes over operations and kernels.
#pragma once

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>

namespace rigel::vgpu::exec::compiler {

class Passes {
 public:
  /// `machine` supplies instruction costs; it may be null.
  explicit Passes(llvm::TargetMachine* machine);
  /// Simplifies one function whose callees have been inlined already.
  void simplify(llvm::Function& function) { simplify_.run(function, functions_); }
  /// Inlines the functions marked for it, drops unused ones, and simplifies the rest.
  void finish(llvm::Module& module);

 private:
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager graphs_;
  llvm::ModuleAnalysisManager modules_;
  llvm::PassBuilder builder_;
  llvm::FunctionPassManager simplify_;
};

}  // namespace rigel::vgpu::exec::compiler
