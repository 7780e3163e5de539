// Finds the bitcode of operations, in the tables in which the interpreter's lowering finds their handlers.
//
// The module is read lazily: a function's body is read when the function is first requested.
#pragma once

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <map>
#include <string>
#include <utility>

#include "plugins/vgpu/exec/lowering.hpp"

namespace rigel::vgpu::exec::compiler {

using isa::Op;

class Operations {
 public:
  explicit Operations(llvm::Module& module);

  llvm::Function* lanes(Op op, bool clamped) const { return find(clamped ? clamped_ : lanes_, op, 0); }
  llvm::Function* named(NamedOperation operation) const {
    return find(named_, Op{}, static_cast<unsigned>(operation));
  }
  llvm::Function* alu(Op op, unsigned slot) const { return find(alu_, op, slot); }
  llvm::Function* save_exec(Op op, unsigned slot) const { return find(save_exec_, op, slot); }
  llvm::Function* named(const std::string& name) const { return used(module_.getFunction(name)); }

 private:
  using Key = std::pair<uint64_t, unsigned>;
  using Map = std::map<Key, llvm::Function*>;

  static uint64_t op_of(const llvm::ConstantStruct& entry);
  static llvm::Function* function(llvm::Constant* constant);
  void read_lanes(const llvm::ConstantArray& array);
  void read_named(const llvm::ConstantArray& array);
  static void read_pointers(const llvm::Constant& constant, unsigned& slot, uint64_t op, Map& to);
  static void read_scalars(const llvm::ConstantArray& array, Map& to);

  static llvm::Function* find(const Map& map, Op op, unsigned slot);

  // Reads the function's body and those of all its callees.
  static llvm::Function* used(llvm::Function* function);

  llvm::Module& module_;
  Map lanes_, clamped_, named_, alu_, save_exec_;
};

}  // namespace rigel::vgpu::exec::compiler
