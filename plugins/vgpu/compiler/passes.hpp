// LLVM's passes over operations and kernels.
#pragma once

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>

namespace rigel::vgpu::exec::compiler {

class Passes {
 public:
  /// What `machine` says of costs is used; it may be null.
  explicit Passes(llvm::TargetMachine* machine);
  /// Of one function, what it calls being inlined already.
  void simplify(llvm::Function& function) { simplify_.run(function, functions_); }
  /// Inlines what is to be inlined, drops what nobody uses, and simplifies the rest.
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
