#include "plugins/vgpu/compiler/passes.hpp"

#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

namespace rigel::vgpu::exec::compiler {

Passes::Passes(llvm::TargetMachine* machine) : builder_(machine) {
  builder_.registerModuleAnalyses(modules_);
  builder_.registerCGSCCAnalyses(graphs_);
  builder_.registerFunctionAnalyses(functions_);
  builder_.registerLoopAnalyses(loops_);
  builder_.crossRegisterProxies(loops_, functions_, graphs_, modules_);
  simplify_.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  simplify_.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  simplify_.addPass(llvm::EarlyCSEPass(false));
  simplify_.addPass(llvm::InstCombinePass());
  simplify_.addPass(llvm::SimplifyCFGPass());
  simplify_.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  simplify_.addPass(llvm::EarlyCSEPass(false));
  simplify_.addPass(llvm::ADCEPass());
}

void Passes::finish(llvm::Module& module) {
  llvm::ModulePassManager inlining;
  inlining.addPass(llvm::AlwaysInlinerPass(false));
  inlining.addPass(llvm::GlobalDCEPass());
  inlining.run(module, modules_);
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) simplify(function);
  }
}

}  // namespace rigel::vgpu::exec::compiler
