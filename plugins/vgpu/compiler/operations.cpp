#include "plugins/vgpu/compiler/operations.hpp"

#include <llvm/Support/Error.h>

namespace rigel::vgpu::exec::compiler {

Operations::Operations(llvm::Module& module) : module_(module) {
  for (llvm::GlobalVariable& global : module.globals()) {
    if (!global.hasInitializer()) continue;
    auto* const array = llvm::dyn_cast<llvm::ConstantArray>(global.getInitializer());
    if (array == nullptr) continue;
    auto* const type = llvm::dyn_cast<llvm::StructType>(array->getType()->getElementType());
    if (type == nullptr || !type->hasName()) continue;
    const llvm::StringRef name = type->getName();
    // Names such as "struct.rigel::vgpu::exec::simd_avx512::Entry", with a number after linking modules.
    // Linking merges the names of types with equal layouts, so these four layouts must differ.
    if (name.contains("::Entry")) {
      read_lanes(*array);
    } else if (name.contains("::NamedHandler")) {
      read_named(*array);
    } else if (name.contains("::Operation")) {
      read_scalars(*array, alu_);
    } else if (name.contains("::SavesExec")) {
      read_scalars(*array, save_exec_);
    }
  }
}

uint64_t Operations::op_of(const llvm::ConstantStruct& entry) {
  return llvm::cast<llvm::ConstantInt>(entry.getOperand(0))->getZExtValue();
}

llvm::Function* Operations::function(llvm::Constant* constant) {
  return llvm::dyn_cast<llvm::Function>(constant->stripPointerCasts());
}

void Operations::read_lanes(const llvm::ConstantArray& array) {
  for (const llvm::Use& use : array.operands()) {
    auto* const entry = llvm::dyn_cast<llvm::ConstantStruct>(use.get());
    if (entry == nullptr) continue;
    unsigned pointers = 0;
    for (const llvm::Use& field : entry->operands()) {
      if (!field->getType()->isPointerTy()) continue;
      llvm::Function* const handler = function(llvm::cast<llvm::Constant>(field.get()));
      (pointers == 0 ? lanes_ : clamped_)[{op_of(*entry), 0}] = handler;
      if (++pointers == 2) break;
    }
  }
}

void Operations::read_named(const llvm::ConstantArray& array) {
  for (const llvm::Use& use : array.operands()) {
    auto* const entry = llvm::cast<llvm::ConstantStruct>(use.get());
    named_[{static_cast<uint64_t>(Op{}), static_cast<unsigned>(op_of(*entry))}] =
        function(entry->getOperand(entry->getNumOperands() - 1));
  }
}

void Operations::read_pointers(const llvm::Constant& constant, unsigned& slot, uint64_t op, Map& to) {
  if (constant.getType()->isPointerTy()) {
    to[{op, slot++}] = function(const_cast<llvm::Constant*>(&constant));
    return;
  }
  if (auto* const array = llvm::dyn_cast<llvm::ArrayType>(constant.getType())) {
    for (unsigned i = 0; i < array->getNumElements(); ++i)
      read_pointers(*constant.getAggregateElement(i), slot, op, to);
  }
}

void Operations::read_scalars(const llvm::ConstantArray& array, Map& to) {
  for (const llvm::Use& use : array.operands()) {
    auto* const entry = llvm::dyn_cast<llvm::ConstantStruct>(use.get());
    if (entry == nullptr) continue;
    unsigned slot = 0;
    for (const llvm::Use& field : entry->operands()) {
      if (field->getType()->isArrayTy())
        read_pointers(*llvm::cast<llvm::Constant>(field.get()), slot, op_of(*entry), to);
    }
  }
}

llvm::Function* Operations::find(const Map& map, Op op, unsigned slot) {
  const auto found = map.find({static_cast<uint64_t>(op), slot});
  return found == map.end() ? nullptr : used(found->second);
}

llvm::Function* Operations::used(llvm::Function* function) {
  if (function == nullptr || !function->isMaterializable()) return function;
  if (function->materialize()) return nullptr;
  for (llvm::BasicBlock& block : *function) {
    for (llvm::Instruction& in : block) {
      for (llvm::Value* const operand : in.operands()) {
        if (auto* const other = llvm::dyn_cast<llvm::Function>(operand)) used(other);
      }
    }
  }
  return function;
}

}  // namespace rigel::vgpu::exec::compiler
