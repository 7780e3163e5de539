#include "plugins/vgpu/compiler/passes.hpp"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

namespace rigel::vgpu::exec::compiler {
namespace {

bool is_logic(const llvm::Value* value) {
  while (const auto* const cast = llvm::dyn_cast<llvm::BitCastInst>(value)) value = cast->getOperand(0);
  if (const auto* const binary = llvm::dyn_cast<llvm::BinaryOperator>(value))
    return binary->isBitwiseLogicOp();
  if (const auto* const unary = llvm::dyn_cast<llvm::UnaryOperator>(value))
    return unary->getOpcode() == llvm::Instruction::FNeg;
  const auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(value);
  return call != nullptr && (call->getIntrinsicID() == llvm::Intrinsic::fabs ||
                             call->getIntrinsicID() == llvm::Intrinsic::copysign);
}

// Hides the result of a bitwise operation from a select that uses it. LLVM 14 to 19 and 22 select a wrong
// VPTERNLOG table for an instruction with mask and memory operand (llvm-project issue 157929).
void separate_logic_from_selects(llvm::Function& function) {
  if (!function.getFnAttribute("target-features").getValueAsString().contains("+avx512f")) return;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* const select = llvm::dyn_cast<llvm::SelectInst>(&instruction);
    if (select == nullptr || !select->getCondition()->getType()->isVectorTy()) continue;
    const unsigned bits = select->getType()->getScalarSizeInBits();
    const unsigned total_bits = select->getType()->getPrimitiveSizeInBits().getFixedValue();
    if ((bits != 32 && bits != 64) || (total_bits != 128 && total_bits != 256 && total_bits != 512)) continue;
    for (const unsigned operand : {1u, 2u}) {
      llvm::Value* const value = select->getOperand(operand);
      if (!is_logic(value)) continue;
      auto* const type = llvm::FunctionType::get(value->getType(), {value->getType()}, false);
      llvm::IRBuilder<> b(select);
      select->setOperand(operand, b.CreateCall(llvm::InlineAsm::get(type, "", "=v,0", false), {value}));
    }
  }
}

}  // namespace

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
    if (function.isDeclaration()) continue;
    simplify(function);
    separate_logic_from_selects(function);
  }
}

}  // namespace rigel::vgpu::exec::compiler
