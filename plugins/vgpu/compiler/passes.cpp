#include "plugins/vgpu/compiler/passes.hpp"

#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <map>
#include <vector>

namespace rigel::vgpu::exec::compiler {
namespace {

bool is_mask(const llvm::Type* type) {
  return type->isVectorTy() && type->getScalarType()->isIntegerTy(1);
}

// Makes masks of lanes again in each block that looks at them, from the vectors or scalars that they come of. Where the host has no
// registers of masks, LLVM takes a mask from one block to another as a vector of narrower elements, which costs more at both
// ends than making it.
void repeat_masks(llvm::Function& function) {
  std::vector<llvm::Instruction*> masks;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      const bool makes = llvm::isa<llvm::CmpInst>(instruction) || llvm::isa<llvm::BitCastInst>(instruction);
      if (makes && is_mask(instruction.getType())) masks.push_back(&instruction);
    }
  }
  for (llvm::Instruction* const mask : masks) {
    std::map<llvm::BasicBlock*, llvm::Instruction*> copies;
    for (llvm::Use& use : llvm::make_early_inc_range(mask->uses())) {
      auto* const user = llvm::cast<llvm::Instruction>(use.getUser());
      llvm::BasicBlock* const block = user->getParent();
      if (block == mask->getParent() || llvm::isa<llvm::PHINode>(user)) continue;
      llvm::Instruction*& copy = copies[block];
      if (copy == nullptr) {
        copy = mask->clone();
        copy->insertBefore(block->getFirstInsertionPt());
      }
      use.set(copy);
    }
    if (mask->use_empty()) mask->eraseFromParent();
  }
}

}  // namespace

Passes::Passes(llvm::TargetMachine* machine, bool has_mask_registers)
    : builder_(machine), has_mask_registers_(has_mask_registers) {
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
    if (function.isDeclaration()) continue;
    simplify(function);
    if (!has_mask_registers_) repeat_masks(function);
  }
}

}  // namespace rigel::vgpu::exec::compiler
