// A plan becomes LLVM's representation of it: one function of the host for a kernel of the GPU, which runs a wave.
//
// Registers are variables of the function until LLVM makes values of them: a row of W dwords for each VGPR, the scalar file,
// SCC. A row is taken a vector of the host at a time. Runs of vector instructions go from vector to vector, each through
// the whole run, so that what lies between two of them stays in the host's registers; a run ends where somebody needs all
// lanes: memory, scalars that are made of lanes, branches.
#include "plugins/vgpu/compiler/build.hpp"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <array>
#include <bit>
#include <bitset>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#define RIGEL_SIMD_LEVEL 0
#include "plugins/vgpu/exec/vector/values.hpp"

#include "plugins/vgpu/compiler/shapes.hpp"
#include "plugins/vgpu/exec/float_environment.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

namespace aux = simd_baseline::aux;
using isa::Op;
using llvm::BasicBlock;
using llvm::Value;

constexpr uint32_t kExec = 126, kVcc = 106, kM0 = 124;

// Passes
// ---------------------------------------------------------------------------------------------------

class Passes {
 public:
  explicit Passes(llvm::TargetMachine* machine) : builder_(machine) {
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
  void simplify(llvm::Function& function) { simplify_.run(function, functions_); }
  void finish(llvm::Module& module) {
    llvm::ModulePassManager inlining;
    inlining.addPass(llvm::AlwaysInlinerPass(false));
    inlining.addPass(llvm::GlobalDCEPass());
    inlining.run(module, modules_);
    for (llvm::Function& function : module) {
      if (!function.isDeclaration()) simplify(function);
    }
  }

 private:
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager graphs_;
  llvm::ModuleAnalysisManager modules_;
  llvm::PassBuilder builder_;
  llvm::FunctionPassManager simplify_;
};

// The operations' bitcode
// ---------------------------------------------------------------------------------------------------

// Finds an operation's functions in the tables of its sources, by their fields' order there.
class Operations {
 public:
  explicit Operations(llvm::Module& module) : module_(module) {
    for (llvm::GlobalVariable& global : module.globals()) {
      if (!global.hasInitializer()) continue;
      auto* const array = llvm::dyn_cast<llvm::ConstantArray>(global.getInitializer());
      if (array == nullptr) continue;
      auto* const type = llvm::dyn_cast<llvm::StructType>(array->getType()->getElementType());
      if (type == nullptr || !type->hasName()) continue;
      const llvm::StringRef name = type->getName();
      // "struct.rigel::vgpu::exec::simd_avx512::Entry", with a number where two modules have been linked
      if (name.contains("::Entry")) {
        read_lanes(*array);
      } else if (name.contains("::Operation")) {
        read_scalars(*array, alu_);
      } else if (name.contains("::SavesExec")) {
        read_scalars(*array, save_exec_);
      }
    }
  }

  llvm::Function* lanes(Op op, bool clamped) const { return find(clamped ? clamped_ : lanes_, op, 0); }
  llvm::Function* alu(Op op, unsigned slot) const { return find(alu_, op, slot); }
  llvm::Function* save_exec(Op op, unsigned slot) const { return find(save_exec_, op, slot); }
  llvm::Function* named(const std::string& name) const { return used(module_.getFunction(name)); }

 private:
  using Key = std::pair<uint64_t, unsigned>;
  using Map = std::map<Key, llvm::Function*>;

  static uint64_t op_of(const llvm::ConstantStruct& entry) {
    return llvm::cast<llvm::ConstantInt>(entry.getOperand(0))->getZExtValue();
  }
  static llvm::Function* function(llvm::Constant* constant) {
    return llvm::dyn_cast<llvm::Function>(constant->stripPointerCasts());
  }
  void read_lanes(const llvm::ConstantArray& array) {
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
  static void read_pointers(const llvm::Constant& of, unsigned& slot, uint64_t op, Map& to) {
    if (of.getType()->isPointerTy()) {
      to[{op, slot++}] = function(const_cast<llvm::Constant*>(&of));
      return;
    }
    if (auto* const all = llvm::dyn_cast<llvm::ArrayType>(of.getType())) {
      for (unsigned i = 0; i < all->getNumElements(); ++i) read_pointers(*of.getAggregateElement(i), slot, op, to);
    }
  }
  static void read_scalars(const llvm::ConstantArray& array, Map& to) {
    for (const llvm::Use& use : array.operands()) {
      auto* const entry = llvm::dyn_cast<llvm::ConstantStruct>(use.get());
      if (entry == nullptr) continue;
      unsigned slot = 0;
      for (const llvm::Use& field : entry->operands()) {
        if (field->getType()->isArrayTy()) read_pointers(*llvm::cast<llvm::Constant>(field.get()), slot, op_of(*entry), to);
      }
    }
  }

  static llvm::Function* find(const Map& map, Op op, unsigned slot) {
    const auto found = map.find({static_cast<uint64_t>(op), slot});
    return found == map.end() ? nullptr : used(found->second);
  }

  // Reads the function's body, and those of all that it calls.
  static llvm::Function* used(llvm::Function* function) {
    if (function == nullptr || !function->isMaterializable()) return function;
    if (function->materialize()) return nullptr;
    for (BasicBlock& block : *function) {
      for (llvm::Instruction& in : block) {
        for (llvm::Value* const operand : in.operands()) {
          if (auto* const other = llvm::dyn_cast<llvm::Function>(operand)) used(other);
        }
      }
    }
    return function;
  }

  llvm::Module& module_;
  Map lanes_, clamped_, alu_, save_exec_;
};

// A kernel
// ---------------------------------------------------------------------------------------------------

class KernelBuilder {
 public:
  KernelBuilder(const Plan& plan, llvm::Module& module, Passes& passes)
      : plan_(plan),
        module_(module),
        context_(module.getContext()),
        passes_(passes),
        operations_(module),
        b_(context_),
        lanes_(plan.level == SimdLevel::kAvx512 ? 16 : 8),
        wave_size_(plan.layout.wave_size),
        vectors_(wave_size_ / lanes_) {}

  bool build() {
    at_ = find_shapes(plan_);
    make_function();
    for (const analysis::Block& block : plan_.graph.blocks) {
      blocks_.push_back(BasicBlock::Create(context_, "block", function_));
      (void)block;
    }
    make_entries();
    for (uint32_t block = 0; block < plan_.graph.blocks.size() && failure_.empty(); ++block) build_block(block);
    b_.SetInsertPoint(allocas_);
    b_.CreateBr(start_);
    if (!failure_.empty()) return false;
    std::string text;
    llvm::raw_string_ostream out(text);
    if (llvm::verifyFunction(*function_, &out)) failure_ = "a function that LLVM takes for invalid: " + text;
    return failure_.empty();
  }

  const std::string& failure() const { return failure_; }
  llvm::Function* function() const { return function_; }

 private:
  // A row as it is where an instruction stands, for when its run is made.
  struct RowSource {
    uint32_t index = 0;
    ShapePointer shape;
    Value* base = nullptr;
    bool all_active = false;  // All lanes of the wave are.
  };

  // Types and small things

  llvm::Type* i1() { return b_.getInt1Ty(); }
  llvm::Type* i8() { return b_.getInt8Ty(); }
  llvm::IntegerType* i32() { return b_.getInt32Ty(); }
  llvm::IntegerType* i64() { return b_.getInt64Ty(); }
  llvm::PointerType* pointer() { return b_.getPtrTy(); }
  llvm::Type* vector() { return llvm::FixedVectorType::get(i32(), lanes_); }
  llvm::Type* mask_vector() { return llvm::FixedVectorType::get(i1(), lanes_); }

  llvm::Value* address(const void* of) {
    return b_.CreateIntToPtr(b_.getInt64(reinterpret_cast<uint64_t>(of)), pointer());
  }
  Value* at(Value* base, uint64_t bytes) { return b_.CreateConstInBoundsGEP1_64(i8(), base, bytes); }

  llvm::AllocaInst* variable(llvm::Type* type, uint64_t alignment, const char* name) {
    llvm::IRBuilder<> first(allocas_, allocas_->begin());
    llvm::AllocaInst* const made = first.CreateAlloca(type, nullptr, name);
    made->setAlignment(llvm::Align(alignment));
    return made;
  }

  // Registers

  Value* row(uint32_t index) {
    const auto found = rows_.find(index);
    if (found != rows_.end()) return found->second;
    return rows_[index] = variable(llvm::ArrayType::get(i32(), wave_size_), 64, "row");
  }
  uint32_t row_index(uint32_t offset) const { return (offset - kScalarBytes) / plan_.layout.row_bytes(); }
  Value* part(uint32_t index, unsigned v) { return at(row(index), uint64_t{v} * lanes_ * 4); }
  Value* load_part(uint32_t index, unsigned v) {
    return b_.CreateAlignedLoad(vector(), part(index, v), llvm::Align(lanes_ * 4));
  }
  void store_part(uint32_t index, unsigned v, Value* value) {
    b_.CreateAlignedStore(value, part(index, v), llvm::Align(lanes_ * 4));
  }

  // Registers whose lanes' numbers are known (shapes.hpp): the number in common is a variable from block to block.
  llvm::AllocaInst* base_variable(uint32_t index) {
    llvm::AllocaInst*& made = base_variables_[index];
    if (made == nullptr) made = variable(i32(), 4, "base");
    return made;
  }
  llvm::Constant* offsets_of(const Shape& shape, unsigned v) {
    std::vector<uint32_t> offsets(shape.offsets.begin() + v * lanes_, shape.offsets.begin() + (v + 1) * lanes_);
    return llvm::ConstantDataVector::get(context_, offsets);
  }
  Value* lanes_from(Value* base, const Shape& shape, unsigned v) {
    return b_.CreateAdd(b_.CreateVectorSplat(lanes_, base), offsets_of(shape, v));
  }
  // As it is at the instruction under way, before it.
  Value* value_of(uint32_t index, unsigned v) {
    if (index < 256 && before_.rows[index] != nullptr) return lanes_from(before_bases_[index], *before_.rows[index], v);
    return load_part(index, v);
  }
  // In its row, where functions and handlers find it.
  Value* made_row(uint32_t index) {
    if (index < 256 && before_.rows[index] != nullptr) {
      for (unsigned v = 0; v < vectors_; ++v) store_part(index, v, value_of(index, v));
    }
    return row(index);
  }
  void take_shapes(const Shapes& shapes) {
    shapes_ = shapes;
    bases_.fill(nullptr);
    for (uint32_t index = 0; index < 256; ++index) {
      const ShapePointer& shape = shapes_.rows[index];
      if (shape == nullptr) continue;
      bases_[index] = shape->base ? static_cast<Value*>(b_.getInt32(*shape->base)) : b_.CreateLoad(i32(), base_variable(index));
    }
    before_ = shapes_;
    before_bases_ = bases_;
    carries_.clear();
  }
  void next_node(uint32_t node) {
    before_ = shapes_;
    before_bases_ = bases_;
    applied_ = apply(plan_, node, shapes_);
    for (uint32_t index = 0; index < 256; ++index) {
      if (shapes_.rows[index] == nullptr) bases_[index] = nullptr;
    }
  }

  Value* scalar_at(uint32_t offset) { return at(scalars_, offset); }
  Value* scalar(uint32_t offset) { return b_.CreateAlignedLoad(i32(), scalar_at(offset), llvm::Align(4)); }
  Value* scalar64(uint32_t offset) { return b_.CreateAlignedLoad(i64(), scalar_at(offset), llvm::Align(4)); }
  void set_scalar(uint32_t offset, Value* value) {
    b_.CreateAlignedStore(value, scalar_at(offset), llvm::Align(4));
  }
  // As many bits as there are lanes, in 64.
  Value* mask_at(uint32_t offset) {
    if (offset == kExec * 4 && before_.all_active()) return all_lanes();
    return wave_size_ == 64 ? scalar64(offset) : b_.CreateZExt(scalar(offset), i64());
  }
  void set_mask(uint32_t offset, Value* value) {
    set_scalar(offset, wave_size_ == 64 ? value : b_.CreateTrunc(value, i32()));
  }
  Value* scc_place() { return at(state_, offsetof(Wave, scc)); }
  Value* wave_field(size_t offset) { return at(wave_, offset); }

  // The bits of a vector's lanes.
  Value* bits_of(Value* mask, unsigned v) {
    return b_.CreateAnd(v == 0 ? mask : b_.CreateLShr(mask, b_.getInt64(v * lanes_)),
                        b_.getInt64((uint64_t{1} << lanes_) - 1));
  }
  Value* lanes_of(Value* bits) {
    return b_.CreateBitCast(b_.CreateTrunc(bits, b_.getIntNTy(lanes_)), mask_vector());
  }

  // Ways in and out

  void make_function() {
    auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {pointer(), pointer(), i64()}, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "kernel", module_);
    take_attributes(*function_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    wave_ = function_->getArg(0);
    registers_ = function_->getArg(1);
    allocas_ = BasicBlock::Create(context_, "variables", function_);
    start_ = BasicBlock::Create(context_, "start", function_);
    state_ = variable(llvm::ArrayType::get(i8(), sizeof(Wave)), 64, "state");
    scalars_ = variable(llvm::ArrayType::get(i8(), kScalarBytes), 64, "scalars");
    budget_ = variable(i64(), 8, "budget");
    b_.SetInsertPoint(start_);
    b_.CreateStore(scalars_, at(state_, offsetof(Wave, registers)));
    b_.CreateStore(b_.getInt32(wave_size_), at(state_, offsetof(Wave, layout) + offsetof(RegisterLayout, wave_size)));
    b_.CreateStore(b_.CreateLoad(i64(), wave_field(offsetof(Wave, budget))), budget_);
    Value* const group = b_.CreateLoad(pointer(), wave_field(offsetof(Wave, group)));
    lds_ = b_.CreateLoad(pointer(), at(group, offsetof(WorkGroup, lds)));
    lds_bytes_ = b_.CreateLoad(i32(), at(group, offsetof(WorkGroup, lds_bytes)));
  }

  void take_attributes(llvm::Function& function) {
    const llvm::Function* const like = module_.getFunction("load_global_64_1");
    for (const char* const name : {"target-cpu", "target-features", "prefer-vector-width", "min-legal-vector-width", "denormal-fp-math"}) {
      if (like->hasFnAttribute(name)) function.addFnAttr(like->getFnAttribute(name));
    }
  }

  void make_entries() {
    auto* const invalid = BasicBlock::Create(context_, "invalid", function_);
    llvm::IRBuilder<>(invalid).CreateUnreachable();
    llvm::SwitchInst* const ways = b_.CreateSwitch(function_->getArg(2), invalid, plan_.entry_count);
    for (uint32_t node = 0; node < plan_.sites.size(); ++node) {
      const Site& site = plan_.sites[node];
      if (site.entry >= 0) {
        auto* const in = BasicBlock::Create(context_, "enter", function_);
        ways->addCase(b_.getInt64(static_cast<uint64_t>(site.entry)), in);
        b_.SetInsertPoint(in);
        const uint32_t block = plan_.graph.block_of(node);
        before_ = at_[block];
        load_live(plan_.live.before[node], plan_.live.inactive_before[node]);
        if (site.entry == 0) check_ids(node);
        for (uint32_t index = 0; index < 256; ++index) {
          if (before_.rows[index] != nullptr && !before_.rows[index]->base && before_bases_[index] != nullptr) {
            b_.CreateStore(before_bases_[index], base_variable(index));
          }
        }
        b_.CreateBr(blocks_[block]);
      }
      if (site.behind >= 0) {
        auto* const in = BasicBlock::Create(context_, "behind", function_);
        ways->addCase(b_.getInt64(static_cast<uint64_t>(site.behind)), in);
        behind_[node] = in;
      }
    }
  }

  // Waves that start with other work-items than those that the code is made for are the interpreter's.
  void check_ids(uint32_t node) {
    if (!before_.all_active()) return;
    Value* const exec = wave_size_ == 64 ? scalar64(kExec * 4) : wide(scalar(kExec * 4));
    Value* all = b_.CreateICmpEQ(exec, all_lanes());

    for (uint32_t index = 0; index < 256; ++index) {
      const ShapePointer& shape = before_.rows[index];
      if (shape == nullptr || before_bases_[index] == nullptr) continue;
      if (shape->base) {
        all = b_.CreateAnd(all, b_.CreateICmpEQ(b_.CreateLoad(i32(), at(registers_, plan_.layout.vgpr_offset(index))),
                                                b_.getInt32(*shape->base + shape->offsets[0])));
      }
      if (shape->zeros != 0 && !shape->base) {
        const uint32_t low = shape->zeros >= 32 ? ~0u : (1u << shape->zeros) - 1;
        all = b_.CreateAnd(all, b_.CreateICmpEQ(b_.CreateAnd(before_bases_[index], b_.getInt32(low)), b_.getInt32(0)));
      }
      for (unsigned v = 0; v < vectors_; ++v) {
        Value* const is = b_.CreateAlignedLoad(
            vector(), at(registers_, plan_.layout.vgpr_offset(index) + uint64_t{v} * lanes_ * 4), llvm::Align(lanes_ * 4));
        all = b_.CreateAnd(all, b_.CreateAndReduce(b_.CreateICmpEQ(is, lanes_from(before_bases_[index], *shape, v))));
      }
    }
    auto* const others = BasicBlock::Create(context_, "others", function_);
    auto* const these = BasicBlock::Create(context_, "these", function_);
    b_.CreateCondBr(all, these, others, likely());
    b_.SetInsertPoint(others);
    hand_over(node);
    b_.SetInsertPoint(these);
  }

  // To the interpreter, from before the node on; what is live is in the wave's registers.
  void hand_over(uint32_t node) {
    b_.CreateStore(b_.CreateLoad(i64(), budget_), wave_field(offsetof(Wave, budget)));
    auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {pointer(), pointer()}, false);
    b_.CreateCall(type, address(reinterpret_cast<const void*>(plan_.resume)), {address(plan_.sites[node].operations), wave_});
    b_.CreateRetVoid();
  }

  // What a rule takes for granted, or the interpreter goes on.
  void guard(uint32_t node, Value* holds) {
    auto* const otherwise = BasicBlock::Create(context_, "unguarded", function_);
    auto* const on = BasicBlock::Create(context_, "guarded", function_);
    b_.CreateCondBr(holds, on, otherwise, likely());
    b_.SetInsertPoint(otherwise);
    copy_live(plan_.live.before[node], plan_.live.inactive_before[node], true);
    hand_over(node);
    b_.SetInsertPoint(on);
  }

  // `before_` says what is known of rows at the place; loading finds the numbers in common.
  void copy_live(const isa::Registers& live, const std::bitset<256>& inactive, bool store) {
    const auto copy = [&](llvm::Type* type, Value* own, uint64_t offset, uint64_t alignment) {
      Value* const waves = at(registers_, offset);
      const llvm::Align aligned(alignment);
      b_.CreateAlignedStore(b_.CreateAlignedLoad(type, store ? own : waves, aligned), store ? waves : own, aligned);
    };
    std::bitset<128> scalars = live.scalars;
    scalars.set(kExec).set(kExec + 1);
    for (uint32_t code = 0; code < 128; ++code) {
      if (!scalars[code]) continue;
      const bool pair = code % 2 == 0 && scalars[code + 1];
      copy(pair ? i64() : i32(), scalar_at(code * 4), code * 4, 4);
      if (pair) ++code;
    }
    for (uint32_t v = 0; v < 256; ++v) {
      if (!live.vgprs[v] && !inactive[v]) {
        if (!store) before_bases_[v] = nullptr;
        continue;
      }
      if (const ShapePointer& shape = before_.rows[v]; shape != nullptr) {
        if (store) {
          for (unsigned p = 0; p < vectors_; ++p) {
            b_.CreateAlignedStore(value_of(v, p), at(registers_, plan_.layout.vgpr_offset(v) + uint64_t{p} * lanes_ * 4),
                                  llvm::Align(lanes_ * 4));
          }
        } else {
          before_bases_[v] = shape->base ? static_cast<Value*>(b_.getInt32(*shape->base))
                                         : b_.CreateSub(b_.CreateLoad(i32(), at(registers_, plan_.layout.vgpr_offset(v))),
                                                        b_.getInt32(shape->offsets[0]));
        }
        continue;
      }
      for (unsigned p = 0; p < vectors_; ++p) {
        copy(vector(), part(v, p), plan_.layout.vgpr_offset(v) + uint64_t{p} * lanes_ * 4, lanes_ * 4);
      }
    }
    if (live.scc) {
      Value* const own = scc_place();
      Value* const waves = wave_field(offsetof(Wave, scc));
      b_.CreateStore(b_.CreateLoad(i32(), store ? own : waves), store ? waves : own);
    }
  }
  void load_live(const isa::Registers& live, const std::bitset<256>& inactive) { copy_live(live, inactive, false); }

  void leave(Stop stop, const void* op) {
    if (op != nullptr) b_.CreateStore(address(op), wave_field(offsetof(Wave, op)));
    b_.CreateStore(b_.getInt8(static_cast<uint8_t>(stop)), wave_field(offsetof(Wave, stop)));
    b_.CreateStore(b_.CreateLoad(i64(), budget_), wave_field(offsetof(Wave, budget)));
    b_.CreateRetVoid();
  }

  // To a block, from the end of another. Loops end a wave's turn where it is over.
  void go_to(uint32_t from, uint32_t to) {
    const uint32_t first = plan_.graph.blocks[to].first;
    before_ = shapes_;
    before_bases_ = bases_;
    const std::bitset<256> wanted = plan_.live.before[first].vgprs | plan_.live.inactive_before[first];
    for (uint32_t index = 0; index < 256; ++index) {
      const ShapePointer& is = shapes_.rows[index];
      const ShapePointer& becomes = at_[to].rows[index];
      if (is == nullptr && becomes != nullptr && wanted[index]) return fail("less is known of v" + std::to_string(index) + " than was to be");
      if (is == nullptr || !wanted[index]) continue;
      if (becomes == nullptr) {
        made_row(index);
      } else if (!becomes->base) {
        b_.CreateStore(b_.CreateAdd(bases_[index], b_.getInt32(is->offsets[0] - becomes->offsets[0])), base_variable(index));
      }
    }
    if (first > plan_.graph.blocks[from].first) {
      b_.CreateBr(blocks_[to]);
      return;
    }
    auto* const over = BasicBlock::Create(context_, "over", function_);
    b_.CreateCondBr(b_.CreateICmpSLT(b_.CreateLoad(i64(), budget_), b_.getInt64(0)), over, blocks_[to], unlikely());
    b_.SetInsertPoint(over);
    copy_live(plan_.live.before[first], plan_.live.inactive_before[first], true);
    leave(Stop::kBudget, &plan_.entries[static_cast<size_t>(plan_.sites[first].entry)]);
  }
  llvm::MDNode* unlikely() { return llvm::MDBuilder(context_).createBranchWeights(1, 1000); }
  llvm::MDNode* likely() { return llvm::MDBuilder(context_).createBranchWeights(1000, 1); }

  void count(uint32_t instructions) {
    b_.CreateStore(b_.CreateSub(b_.CreateLoad(i64(), budget_), b_.getInt64(instructions)), budget_);
  }

  // Instructions

  void build_block(uint32_t index) {
    const analysis::Block& block = plan_.graph.blocks[index];
    b_.SetInsertPoint(blocks_[index]);
    take_shapes(at_[index]);
    bool ended = false;
    uint32_t counted = block.first;
    for (uint32_t node = block.first; node < block.end; ++node) {
      const Site& site = plan_.sites[node];
      const analysis::Node& what = plan_.graph.nodes[node];
      next_node(node);
      if (site.what == Site::What::kInline) {
        applied_.rule != Rule::kNone ? build_by_rule(node) : build_steps(node);
        if (!failure_.empty()) return;
        continue;
      }
      if (site.what == Site::What::kNothing) continue;
      flush();
      switch (site.what) {
        case Site::What::kScalarLoad:
          build_scalar_load(node);
          break;
        case Site::What::kGlobal:
          build_global(node);
          break;
        case Site::What::kLds:
          build_lds(node);
          break;
        case Site::What::kBarrier:
          count(node + 1 - counted);
          counted = node + 1;
          copy_live(plan_.live.before[node + 1], plan_.live.inactive_before[node + 1], true);
          leave(Stop::kBarrier, &plan_.entries[static_cast<size_t>(site.behind)]);
          b_.SetInsertPoint(behind_[node]);
          load_live(plan_.live.before[node + 1], plan_.live.inactive_before[node + 1]);
          for (uint32_t v = 0; v < 256; ++v) {
            if (before_bases_[v] == nullptr) shapes_.rows[v] = nullptr;
          }
          bases_ = before_bases_;
          carries_.clear();
          shapes_.uniform_masks.reset();
          break;
        case Site::What::kEnd:
          count(node + 1 - counted);
          leave(Stop::kEnd, site.operations);
          ended = true;
          break;
        case Site::What::kBranch:
          count(node + 1 - counted);
          counted = node + 1;
          build_branch(index, what);
          ended = true;
          break;
        default:
          build_call(node);
          break;
      }
    }
    if (ended) return;
    flush();
    count(block.end - counted);
    if (block.successors.size() != 1) {
      fail("a block without an end");
      return;
    }
    go_to(index, block.successors[0]);
  }

  void build_branch(uint32_t from, const analysis::Node& node) {
    const auto& successors = plan_.graph.blocks[from].successors;
    if (node.instruction.op == Op::s_branch) return go_to(from, successors.back());
    Value* taken = nullptr;
    switch (node.instruction.op) {
      case Op::s_cbranch_scc0:
      case Op::s_cbranch_scc1:
        taken = b_.CreateICmpNE(b_.CreateLoad(i32(), scc_place()), b_.getInt32(0));
        break;
      case Op::s_cbranch_vccz:
      case Op::s_cbranch_vccnz:
        taken = b_.CreateICmpNE(mask_at(kVcc * 4), b_.getInt64(0));
        break;
      default:
        taken = b_.CreateICmpNE(mask_at(kExec * 4), b_.getInt64(0));
        break;
    }
    const Op op = node.instruction.op;
    const bool if_not = op == Op::s_cbranch_scc0 || op == Op::s_cbranch_vccz || op == Op::s_cbranch_execz;
    auto* const through = BasicBlock::Create(context_, "through", function_);
    auto* const away = BasicBlock::Create(context_, "away", function_);
    b_.CreateCondBr(taken, if_not ? through : away, if_not ? away : through);
    b_.SetInsertPoint(away);
    go_to(from, successors.back());
    b_.SetInsertPoint(through);
    go_to(from, successors.front());
  }

  // The interpreter's handlers, for all that is not done here.
  void build_call(uint32_t node) {
    const isa::Effects& effects = plan_.graph.nodes[node].effects;
    const auto& inactive = plan_.live.inactive_behind[node];
    isa::Registers before = effects.reads | (effects.writes - effects.replaces);
    std::bitset<256> kept;
    if (!before_.all_active()) kept = effects.writes.vgprs & inactive;
    if (effects.writes_inactive_lanes) kept |= effects.writes.vgprs;
    copy_live(before, kept, true);
    auto* const type = llvm::FunctionType::get(i1(), {pointer(), pointer(), pointer()}, false);
    Value* const went_on = b_.CreateCall(
        type, address(reinterpret_cast<const void*>(plan_.call)),
        {address(plan_.sites[node].operations), wave_, registers_});
    auto* const on = BasicBlock::Create(context_, "on", function_);
    auto* const stopped = BasicBlock::Create(context_, "stopped", function_);
    b_.CreateCondBr(went_on, on, stopped, likely());
    b_.SetInsertPoint(stopped);
    b_.CreateStore(b_.CreateLoad(i64(), budget_), wave_field(offsetof(Wave, budget)));
    b_.CreateRetVoid();
    b_.SetInsertPoint(on);
    const Shapes known = before_;
    const auto bases = before_bases_;
    for (uint32_t v = 0; v < 256; ++v) {
      if (effects.writes.vgprs[v]) before_.rows[v] = nullptr;
    }
    copy_live(effects.writes, {}, false);
    before_ = known;
    before_bases_ = bases;
  }

  // A way that may not do, and the interpreter's where it does not.
  void or_call(uint32_t node, Value* done) {
    auto* const otherwise = BasicBlock::Create(context_, "otherwise", function_);
    auto* const behind = BasicBlock::Create(context_, "behind", function_);
    b_.CreateCondBr(done, behind, otherwise, likely());
    b_.SetInsertPoint(otherwise);
    build_call(node);
    b_.CreateBr(behind);
    b_.SetInsertPoint(behind);
  }

  const MicroOp* memory_operation(uint32_t node) const { return plan_.sites[node].operations; }

  void note_place(uint32_t node) {
    b_.CreateStore(address(memory_operation(node)), wave_field(offsetof(Wave, op)));
  }

  void build_scalar_load(uint32_t node) {
    const isa::Instruction& in = plan_.graph.nodes[node].instruction;
    const MicroOp& op = *memory_operation(node);
    const uint32_t dwords = in.vdst.dwords;
    note_place(node);
    Value* va = b_.CreateAnd(scalar64(op.src[0].offset), b_.getInt64(~uint64_t{3}));
    va = b_.CreateAdd(va, b_.getInt64(static_cast<uint64_t>(int64_t{static_cast<int32_t>(op.aux)})));
    const bool null = plan_.traits().has_null && in.soffset.code == isa::code::kNull;
    if (in.soffset.exists() && !null && in.soffset.is_scalar_register()) {
      va = b_.CreateAdd(va, b_.CreateZExt(b_.CreateAnd(scalar(op.src[1].offset), b_.getInt32(~3u)), i64()));
    }
    Value* const place = call("place_to_load", {wave_, address(&op), va, b_.getInt64(dwords * 4)});
    auto* const found = BasicBlock::Create(context_, "found", function_);
    auto* const missing = BasicBlock::Create(context_, "missing", function_);
    auto* const behind = BasicBlock::Create(context_, "behind", function_);
    b_.CreateCondBr(b_.CreateIsNotNull(place), found, missing, likely());
    b_.SetInsertPoint(found);
    for (uint32_t d = 0; d < dwords; ++d) {
      set_scalar(op.dst + d * 4, b_.CreateAlignedLoad(i32(), at(place, d * 4), llvm::Align(4)));
    }
    b_.CreateBr(behind);
    b_.SetInsertPoint(missing);
    build_call(node);
    b_.CreateBr(behind);
    b_.SetInsertPoint(behind);
  }

  Value* call(const std::string& name, std::vector<Value*> arguments) {
    llvm::Function* const function = operations_.named(name);
    if (function == nullptr) {
      fail("no function " + name);
      return llvm::UndefValue::get(i1());
    }
    function->addFnAttr(llvm::Attribute::AlwaysInline);
    function->removeFnAttr(llvm::Attribute::NoInline);
    return b_.CreateCall(function, arguments);
  }

  // Pointers to rows, as functions of memory want them.
  Value* row_list(const std::vector<Value*>& rows) {
    llvm::AllocaInst* const list = variable(llvm::ArrayType::get(pointer(), 4), 8, "rows");
    for (size_t i = 0; i < rows.size(); ++i) b_.CreateStore(rows[i], at(list, i * 8));
    return list;
  }
  std::vector<Value*> rows_from(uint32_t first, unsigned count) {
    std::vector<Value*> rows;
    for (unsigned i = 0; i < count; ++i) rows.push_back(made_row(first + i));
    return rows;
  }
  bool keeps_any(uint32_t node, uint32_t first, unsigned count) const {
    if (before_.all_active()) return false;
    for (unsigned i = 0; i < count; ++i) {
      if (plan_.live.inactive_behind[node][first + i]) return true;
    }
    return false;
  }
  std::string suffix(unsigned dwords) const {
    return "_" + std::to_string(wave_size_) + "_" + std::to_string(dwords);
  }

  void build_global(uint32_t node) {
    if (build_global_known(node)) return;
    const isa::Instruction& in = plan_.graph.nodes[node].instruction;
    const isa::MemoryShape& shape = *isa::memory_shape(in.op);
    const bool stores = shape.verb == isa::Verb::kStore;
    const unsigned dwords = shape.dwords();
    const bool has_base = in.saddr.exists() && in.saddr.code != isa::code::kNull;
    note_place(node);
    Value* base = b_.getInt64(static_cast<uint64_t>(int64_t{in.offset}));
    if (has_base) base = b_.CreateAdd(base, scalar64(in.saddr.code * 4u));
    const uint32_t data = stores ? in.vdata.vgpr() : in.vdst.vgpr();
    const uint32_t flags = (!stores && keeps_any(node, data, dwords) ? 1 : 0) |
                           (in.encoding == isa::Encoding::kFlat ? 2 : 0);
    Value* const none = llvm::ConstantPointerNull::get(pointer());
    Value* const done =
        call((stores ? "store_global" : "load_global") + suffix(dwords),
             {wave_, address(memory_operation(node)), made_row(in.vaddr.vgpr()),
              has_base ? none : made_row(in.vaddr.vgpr() + 1u), base, mask_at(kExec * 4),
              row_list(rows_from(data, dwords)), b_.getInt32(flags)});
    or_call(node, done);
  }

  void build_lds(uint32_t node) {
    if (build_lds_known(node)) return;
    const isa::Instruction& in = plan_.graph.nodes[node].instruction;
    const isa::MemoryShape& shape = *isa::memory_shape(in.op);
    const bool stores = shape.verb == isa::Verb::kStore;
    const unsigned dwords = shape.dwords();
    if (stores && shape.pair) return build_call(node);
    note_place(node);
    Value* limit = lds_bytes_;
    if (plan_.m0_limits_lds) {
      limit = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, limit, scalar(kM0 * 4));
    }
    const uint32_t data = stores ? in.vdata.vgpr() : in.vdst.vgpr();
    const uint32_t aligned = plan_.m0_limits_lds ? 2 : 0;
    const auto reach = [&](Value* list, uint32_t offset, uint32_t flags) {
      return call((stores ? "store_lds" : "load_lds") + suffix(dwords),
                  {lds_, limit, made_row(in.vaddr.vgpr()), b_.getInt32(offset), mask_at(kExec * 4), list,
                   b_.getInt32(flags | aligned)});
    };
    if (!shape.pair) {
      const uint32_t keeps = !stores && keeps_any(node, data, dwords) ? 1 : 0;
      or_call(node, reach(row_list(rows_from(data, dwords)), static_cast<uint32_t>(in.offset), keeps));
      return;
    }
    // Both into rows of their own first: addresses may stand where results go.
    const uint32_t unit = shape.bytes * (shape.far_pair ? 64u : 1u);
    std::vector<Value*> found;
    for (unsigned i = 0; i < dwords * 2; ++i) {
      found.push_back(variable(llvm::ArrayType::get(i32(), wave_size_), 64, "found"));
    }
    const auto half = [&](unsigned i) {
      return std::vector<Value*>(found.begin() + i * dwords, found.begin() + (i + 1) * dwords);
    };
    auto* const second = BasicBlock::Create(context_, "second", function_);
    auto* const both = BasicBlock::Create(context_, "both", function_);
    auto* const otherwise = BasicBlock::Create(context_, "otherwise", function_);
    auto* const behind = BasicBlock::Create(context_, "behind", function_);
    b_.CreateCondBr(reach(row_list(half(0)), static_cast<uint32_t>(in.offset) * unit, 0), second, otherwise, likely());
    b_.SetInsertPoint(second);
    b_.CreateCondBr(reach(row_list(half(1)), in.offset1 * unit, 0), both, otherwise, likely());
    b_.SetInsertPoint(both);
    Value* const exec = mask_at(kExec * 4);
    for (unsigned i = 0; i < dwords * 2; ++i) {
      for (unsigned v = 0; v < vectors_; ++v) {
        Value* const value = b_.CreateAlignedLoad(vector(), at(found[i], uint64_t{v} * lanes_ * 4), llvm::Align(lanes_ * 4));
        put(node, row_source(data + i), v, value, exec);
      }
    }
    b_.CreateBr(behind);
    b_.SetInsertPoint(otherwise);
    build_call(node);
    b_.CreateBr(behind);
    b_.SetInsertPoint(behind);
  }

  // What an instruction writes to a row; lanes that are not active keep what they have where anybody wants it.
  void put(uint32_t node, const RowSource& old, unsigned v, Value* value, Value* exec) {
    if (old.index < 256 && !old.all_active && plan_.live.inactive_behind[node][old.index]) {
      value = b_.CreateSelect(lanes_of(bits_of(exec, v)), value, get(old, v));
    }
    store_part(old.index, v, value);
  }

  // By rules (shapes.hpp)

  Value* number(uint32_t node, unsigned i, unsigned part = 0) {
    const isa::Operand& operand = plan_.graph.nodes[node].instruction.src[i];
    if (operand.is_vgpr()) return before_bases_[operand.vgpr() + part];
    const MicroOp& op = *plan_.steps[plan_.sites[node].first_step].micro;
    if ((op.aux & aux::kConstant << i) != 0) return b_.getInt32(static_cast<uint32_t>(op.src[i].constant >> (part * 32)));
    const uint32_t code = op.src[i].offset / 4 + part;
    if (code < 128 && unmade_[code]) flush();
    return scalar(op.src[i].offset + part * 4);
  }
  Shape shape_of_source(uint32_t node, unsigned i) const {
    const isa::Operand& operand = plan_.graph.nodes[node].instruction.src[i];
    return operand.is_vgpr() ? *before_.rows[operand.vgpr()] : Shape{};
  }
  Value* wide(Value* value) { return b_.CreateZExt(value, i64()); }
  Value* plus(Value* value, int32_t by) { return b_.CreateAdd(value, b_.getInt32(static_cast<uint32_t>(by))); }
  // Whether no lane's number goes beyond 2^32 where its neighbour's does not.
  Value* does_not_wrap(Value* base, const Shape& shape) {
    const int32_t least = shape.least(wave_size_);
    const auto span = static_cast<uint32_t>(shape.greatest(wave_size_) - least);
    if (span == 0) return b_.getTrue();
    return b_.CreateICmpULE(plus(base, least), b_.getInt32(~span));
  }

  void set_row(uint32_t index, Value* base) {
    const ShapePointer& shape = shapes_.rows[index];
    bases_[index] = shape->base ? static_cast<Value*>(b_.getInt32(*shape->base)) : base;
  }

  // The low bits that offsets of these sources have, where their numbers in common are not known.
  Value* bits_in(uint32_t node, std::initializer_list<unsigned> sources, uint32_t first_shift = 0) {
    unsigned bits = 0;
    for (const unsigned i : sources) {
      if (is_known_source(node, i)) continue;
      const Shape shape = shape_of_source(node, i);
      for (unsigned lane = 0; lane < wave_size_; ++lane) {
        bits = std::max(bits, static_cast<unsigned>(std::bit_width(shape.offsets[lane] << (i == 0 ? first_shift : 0))));
      }
    }
    return b_.getInt32(bits >= 32 ? ~0u : (1u << bits) - 1);
  }
  bool is_known_source(uint32_t node, unsigned i) const {
    const isa::Operand& operand = plan_.graph.nodes[node].instruction.src[i];
    if (operand.is_vgpr()) return before_.rows[operand.vgpr()]->base.has_value();
    return (plan_.steps[plan_.sites[node].first_step].micro->aux & aux::kConstant << i) != 0;
  }
  // A source's number in common, without bits that are the offsets'.
  Value* above(uint32_t node, unsigned i, Value* number, Value* low, uint32_t shift = 0) {
    if (!is_known_source(node, i)) return number;
    const Shape shape = shape_of_source(node, i);
    return b_.CreateAnd(plus(number, static_cast<int32_t>(shape.offsets[0] << shift)), b_.CreateNot(low));
  }

  void build_by_rule(uint32_t node) {
    const isa::Instruction& in = plan_.graph.nodes[node].instruction;
    const Step& step = plan_.steps[plan_.sites[node].first_step];
    const uint32_t dst = in.dst[0].vgpr();
    const unsigned count = step.lanes.row_sources;
    const auto amount = [&](unsigned i) { return b_.CreateAnd(number(node, i), b_.getInt32(31)); };
    switch (applied_.rule) {
      case Rule::kNone:
        return;
      case Rule::kSum: {
        Value* total = number(node, 0);
        for (unsigned i = 1; i < count; ++i) total = b_.CreateAdd(total, number(node, i));
        return set_row(dst, total);
      }
      case Rule::kDifference:
        return set_row(dst, b_.CreateSub(number(node, 0), number(node, 1)));
      case Rule::kReverseDifference:
        return set_row(dst, b_.CreateSub(number(node, 1), number(node, 0)));
      case Rule::kShiftSum:
        return set_row(dst, b_.CreateAdd(b_.CreateShl(number(node, 0), amount(1)), number(node, 2)));
      case Rule::kSumShift:
        return set_row(dst, b_.CreateShl(b_.CreateAdd(number(node, 0), number(node, 1)), amount(2)));
      case Rule::kShift:
        return set_row(dst, b_.CreateShl(number(node, 1), amount(0)));
      case Rule::kFolded:
        return set_row(dst, nullptr);
      case Rule::kSignShift: {
        const Shape shape = shape_of_source(node, 1);
        Value* const low = b_.CreateAShr(plus(number(node, 1), shape.least(wave_size_)), b_.getInt32(31));
        Value* const high = b_.CreateAShr(plus(number(node, 1), shape.greatest(wave_size_)), b_.getInt32(31));
        flush();
        guard(node, b_.CreateICmpEQ(low, high));
        return set_row(dst, low);
      }
      case Rule::kWideShift: {
        const Shape shape = shape_of_source(node, 1);
        const auto shift = static_cast<uint32_t>(llvm::cast<llvm::ConstantInt>(number(node, 0))->getZExtValue()) & 63;
        Value* const low = number(node, 1);
        Value* const first = b_.CreateLShr(plus(low, shape.least(wave_size_)), b_.getInt32(32 - shift));
        Value* const last = b_.CreateLShr(plus(low, shape.greatest(wave_size_)), b_.getInt32(32 - shift));
        Value* const high = number(node, 1, 1);
        flush();
        guard(node, b_.CreateAnd(does_not_wrap(low, shape), b_.CreateICmpEQ(first, last)));
        set_row(dst, b_.CreateShl(low, b_.getInt32(shift)));
        // Offsets of the upper half's source are all the same, and perhaps not 0.
        const ShapePointer& upper = in.src[1].is_vgpr() ? before_.rows[in.src[1].vgpr() + 1u] : nullptr;
        Value* const above = upper == nullptr ? high : plus(high, static_cast<int32_t>(upper->offsets[0]));
        return set_row(dst + 1, b_.CreateOr(b_.CreateShl(above, b_.getInt32(shift)), first));
      }
      case Rule::kCarryOut: {
        const Shape a = shape_of_source(node, 0), c = shape_of_source(node, 1);
        Value *const x = number(node, 0), *const y = number(node, 1);
        const auto carry = [&](int32_t of_a, int32_t of_c) {
          return b_.CreateLShr(b_.CreateAdd(wide(plus(x, of_a)), wide(plus(y, of_c))), b_.getInt64(32));
        };
        Value* const first = carry(a.least(wave_size_), c.least(wave_size_));
        Value* const last = carry(a.greatest(wave_size_), c.greatest(wave_size_));
        flush();
        guard(node, b_.CreateAnd(b_.CreateAnd(does_not_wrap(x, a), does_not_wrap(y, c)), b_.CreateICmpEQ(first, last)));
        set_carry(in.dst[1].code, first);
        return set_row(dst, b_.CreateAdd(x, y));
      }
      case Rule::kCarryIn: {
        const Shape a = shape_of_source(node, 0), c = shape_of_source(node, 1);
        Value* const x = wide(plus(number(node, 0), static_cast<int32_t>(a.offsets[0])));
        Value* const y = wide(plus(number(node, 1), static_cast<int32_t>(c.offsets[0])));
        Value* const total = b_.CreateAdd(b_.CreateAdd(x, y), carries_.at(in.src[2].code));
        if (unmade_.any()) flush();
        set_carry(in.dst[1].code, b_.CreateLShr(total, b_.getInt64(32)));
        shapes_.uniform_masks.reset(in.dst[1].code);
        return set_row(dst, b_.CreateTrunc(total, i32()));
      }
      case Rule::kBitwise: {
        Value *const x = number(node, 0), *const y = number(node, 1);
        Value* const low = bits_in(node, {0, 1});
        Value *const a = above(node, 0, x, low), *const c = above(node, 1, y, low);
        return set_row(dst, in.op == Op::v_and_b32  ? b_.CreateAnd(a, c)
                            : in.op == Op::v_or_b32 ? b_.CreateOr(a, c)
                                                    : b_.CreateXor(a, c));
      }
      case Rule::kShiftOr: {
        Value* const shifted = b_.CreateShl(number(node, 0), amount(1));
        const auto by = static_cast<uint32_t>(llvm::cast<llvm::ConstantInt>(amount(1))->getZExtValue());
        Value* const low = bits_in(node, {0, 2}, by);
        return set_row(dst, b_.CreateOr(above(node, 0, shifted, low, by), above(node, 2, number(node, 2), low)));
      }
      case Rule::kShiftRight:
        return set_row(dst, b_.CreateLShr(number(node, 1), amount(0)));
      case Rule::kWideProduct: {
        const Shape shape = shape_of_source(node, 2);
        const auto uniform = [&](unsigned i) { return wide(plus(number(node, i), static_cast<int32_t>(shape_of_source(node, i).offsets[0]))); };
        const ShapePointer upper_shape = in.src[2].is_vgpr() ? before_.rows[in.src[2].vgpr() + 1u] : nullptr;
        Value* const upper = plus(number(node, 2, 1), upper_shape == nullptr ? 0 : static_cast<int32_t>(upper_shape->offsets[0]));
        Value* const low = number(node, 2);
        Value* const product = b_.CreateMul(uniform(0), uniform(1));
        const auto total = [&](int32_t offset) {
          return b_.CreateAdd(product, b_.CreateOr(b_.CreateShl(wide(upper), b_.getInt64(32)), wide(plus(low, offset))));
        };
        Value *const first = total(shape.least(wave_size_)), *const last = total(shape.greatest(wave_size_));
        flush();
        const auto carry = [&](Value* of) { return b_.CreateICmpULT(of, product); };
        guard(node, b_.CreateAnd(b_.CreateAnd(does_not_wrap(low, shape), b_.CreateICmpEQ(carry(first), carry(last))),
                                 b_.CreateICmpEQ(b_.CreateLShr(first, b_.getInt64(32)), b_.CreateLShr(last, b_.getInt64(32)))));
        set_carry(in.dst[1].code, wide(carry(first)));
        shapes_.uniform_masks.reset(in.dst[1].code);
        set_row(dst, b_.CreateAdd(b_.CreateTrunc(product, i32()), low));
        return set_row(dst + 1, b_.CreateTrunc(b_.CreateLShr(first, b_.getInt64(32)), i32()));
      }
      case Rule::kUniform:
        return build_uniform(node, step);
    }
  }

  // The lanes' carries are one: the mask is all active lanes, or none.
  void set_carry(uint16_t code, Value* carry) {
    carries_[code] = carry;
    Value* const exec = mask_at(kExec * 4);
    set_mask(code * 4u, b_.CreateSelect(b_.CreateICmpNE(carry, b_.getInt64(0)), exec, b_.getInt64(0)));
  }

  // Once for all lanes.
  void build_uniform(uint32_t node, const Step& step) {
    const isa::Instruction& in = plan_.graph.nodes[node].instruction;
    Wrapper key = key_of(step, 0);
    std::vector<Value*> arguments;
    for (unsigned i = 0; i < step.lanes.row_sources; ++i) {
      Value* value = number(node, i);
      if (in.src[i].is_vgpr()) {
        key.sources[i] = 1;
        value = plus(value, static_cast<int32_t>(before_.rows[in.src[i].vgpr()]->offsets[0]));
        arguments.push_back(b_.CreateVectorSplat(lanes_, value));
      } else {
        key.sources[i] = Wrapper::kUniformSource;
        arguments.push_back(wide(value));
      }
    }
    llvm::Function* const wrapper = wrapper_of(key);
    if (wrapper == nullptr) return;
    Value* const result = b_.CreateExtractValue(b_.CreateCall(wrapper, arguments), 0);
    set_row(in.dst[0].vgpr(), b_.CreateExtractElement(result, b_.getInt64(0)));
  }

  // Memory at known places: what lanes have apart from each other is known, and where they begin is a scalar.
  struct Place {
    Value* begin = nullptr;  // where the lane with the least offset is
    std::array<uint32_t, 64> offsets{};  // from there
  };

  bool follow_each_other(const Place& place, unsigned v, uint32_t step) const {
    for (unsigned i = 1; i < lanes_; ++i) {
      if (place.offsets[v * lanes_ + i] != place.offsets[v * lanes_] + i * step) return false;
    }
    return true;
  }
  // How many bytes loads of such places look at.
  uint32_t span_of(const Place& place, uint32_t bytes) const {
    uint32_t most = 0;
    for (unsigned i = 0; i < wave_size_; ++i) most = std::max(most, place.offsets[i]);
    return most + bytes;
  }

  std::vector<Value*> load_known(const Place& place, unsigned v, unsigned dwords) {
    const uint32_t* const offsets = place.offsets.data() + v * lanes_;
    const auto load = [&](llvm::Type* type, uint32_t offset) {
      return b_.CreateAlignedLoad(type, at(place.begin, offset), llvm::Align(4));
    };
    std::vector<Value*> values;
    const bool same = std::all_of(offsets, offsets + lanes_, [&](uint32_t o) { return o == offsets[0]; });
    if (same) {
      // Pairs in one piece, so that they are not torn.
      std::vector<Value*> parts;
      for (unsigned d = 0; d + 1 < dwords; d += 2) {
        Value* const pair = b_.CreateAlignedLoad(i64(), at(place.begin, offsets[0] + d * 4), llvm::Align(4));
        parts.push_back(b_.CreateTrunc(pair, i32()));
        parts.push_back(b_.CreateTrunc(b_.CreateLShr(pair, b_.getInt64(32)), i32()));
      }
      if (dwords % 2 != 0) parts.push_back(load(i32(), offsets[0] + (dwords - 1) * 4));
      for (Value* const part : parts) values.push_back(b_.CreateVectorSplat(lanes_, part));
      return values;
    }
    if (follow_each_other(place, v, dwords * 4)) {
      std::vector<Value*> loaded;
      for (unsigned d = 0; d < dwords; ++d) loaded.push_back(load(vector(), offsets[0] + d * lanes_ * 4));
      if (dwords == 1) return loaded;
      Value* all = loaded[0];
      if (dwords == 2) all = concatenated(loaded[0], loaded[1], lanes_);
      if (dwords == 4) {
        all = concatenated(concatenated(loaded[0], loaded[1], lanes_), concatenated(loaded[2], loaded[3], lanes_), 2 * lanes_);
      }
      if (dwords != 3) {
        for (unsigned d = 0; d < dwords; ++d) {
          std::vector<int> picks;
          for (unsigned i = 0; i < lanes_; ++i) picks.push_back(static_cast<int>(i * dwords + d));
          values.push_back(b_.CreateShuffleVector(all, picks));
        }
        return values;
      }
    }
    std::vector<llvm::Constant*> places;
    for (unsigned i = 0; i < lanes_; ++i) places.push_back(b_.getInt32(offsets[i]));
    for (unsigned d = 0; d < dwords; ++d) values.push_back(load_apart(place, offsets, d * 4));
    return values;
  }
  Value* concatenated(Value* low, Value* high, unsigned each) {
    std::vector<int> picks;
    for (unsigned i = 0; i < 2 * each; ++i) picks.push_back(static_cast<int>(i));
    return b_.CreateShuffleVector(low, high, picks);
  }
  // Lanes that are near each other by a vector's load or two; others by a gather.
  Value* load_apart(const Place& place, const uint32_t* offsets, uint32_t further) {
    const uint32_t first = *std::min_element(offsets, offsets + lanes_), last = *std::max_element(offsets, offsets + lanes_);
    const bool whole = std::all_of(offsets, offsets + lanes_, [&](uint32_t o) { return (o - first) % 4 == 0; });
    const uint32_t bytes = last - first + 4;
    const uint32_t vector_bytes = lanes_ * 4;
    if (whole && bytes <= 2 * vector_bytes && bytes >= vector_bytes) {
      // The second one ends where the last lane does.
      const uint32_t second = last + 4 - vector_bytes;
      Value* const low = b_.CreateAlignedLoad(vector(), at(place.begin, first + further), llvm::Align(4));
      Value* const high = b_.CreateAlignedLoad(vector(), at(place.begin, second + further), llvm::Align(4));
      std::vector<int> picks;
      for (unsigned i = 0; i < lanes_; ++i) {
        const uint32_t from = offsets[i] - first;
        picks.push_back(from < vector_bytes ? static_cast<int>(from / 4)
                                            : static_cast<int>(lanes_ + (offsets[i] - second) / 4));
      }
      return b_.CreateShuffleVector(low, high, picks);
    }
    std::map<uint32_t, Value*> loaded;
    std::set<uint32_t> different(offsets, offsets + lanes_);
    if (different.size() <= 4) {
      Value* result = llvm::PoisonValue::get(vector());
      for (unsigned i = 0; i < lanes_; ++i) {
        Value*& one = loaded[offsets[i]];
        if (one == nullptr) one = b_.CreateAlignedLoad(i32(), at(place.begin, offsets[i] + further), llvm::Align(4));
        result = b_.CreateInsertElement(result, one, b_.getInt64(i));
      }
      return result;
    }
    std::vector<uint32_t> places(offsets, offsets + lanes_);
    for (uint32_t& offset : places) offset += further;
    Value* const pointers = b_.CreateGEP(i8(), place.begin, llvm::ConstantDataVector::get(context_, places));
    return b_.CreateMaskedGather(vector(), pointers, llvm::Align(4));
  }

  // Dwords of full vectors of lanes; of others, one dword each.
  void store_known(const Place& place, unsigned v, const std::vector<Value*>& values, Value* bits) {
    const uint32_t* const offsets = place.offsets.data() + v * lanes_;
    Value* const mask = lanes_of(bits);
    if (values.size() == 1) {
      if (follow_each_other(place, v, 4)) {
        b_.CreateMaskedStore(values[0], at(place.begin, offsets[0]), llvm::Align(4), mask);
        return;
      }
      std::vector<uint32_t> places(offsets, offsets + lanes_);
      Value* const pointers = b_.CreateGEP(i8(), place.begin, llvm::ConstantDataVector::get(context_, places));
      b_.CreateMaskedScatter(values[0], pointers, llvm::Align(4), mask);
      return;
    }
    const auto dwords = static_cast<unsigned>(values.size());
    Value* all = concatenated(values[0], values[1], lanes_);
    if (dwords == 4) all = concatenated(all, concatenated(values[2], values[3], lanes_), 2 * lanes_);
    for (unsigned part = 0; part < dwords; ++part) {
      std::vector<int> picks;
      for (unsigned i = 0; i < lanes_; ++i) {
        const unsigned dword = part * lanes_ + i;
        picks.push_back(static_cast<int>(dword % dwords * lanes_ + dword / dwords));
      }
      b_.CreateAlignedStore(b_.CreateShuffleVector(all, picks), at(place.begin, offsets[0] + part * lanes_ * 4), llvm::Align(4));
    }
  }
  // Whether stores of so many dwords can be made so.
  bool can_store_known(const Place& place, unsigned dwords) const {
    if (dwords == 1) return true;
    if (dwords == 3) return false;
    for (unsigned v = 0; v < vectors_; ++v) {
      if (!follow_each_other(place, v, dwords * 4)) return false;
    }
    return follow_each_other_all(place, dwords * 4);
  }
  // Vectors do not overlap either.
  bool follow_each_other_all(const Place& place, uint32_t step) const {
    for (unsigned i = 1; i < wave_size_; ++i) {
      if (place.offsets[i] != place.offsets[0] + i * step) return false;
    }
    return true;
  }

  Place place_from(const Shape& shape) const {
    Place place;
    const int32_t least = shape.least(wave_size_);
    for (unsigned i = 0; i < wave_size_; ++i) place.offsets[i] = shape.offsets[i] - static_cast<uint32_t>(least);
    return place;
  }
  static bool is_near(const Shape& shape, unsigned lanes) {
    return shape.least(lanes) >= -(1 << 24) && shape.greatest(lanes) <= 1 << 24;
  }
  Value* all_lanes() { return b_.getInt64(wave_size_ == 64 ? ~uint64_t{0} : 0xffffffff); }

  void access_known(uint32_t node, const Place& place, bool stores, uint32_t data, unsigned dwords) {
    Value* const exec = mask_at(kExec * 4);
    for (unsigned v = 0; v < vectors_; ++v) {
      if (stores) {
        std::vector<Value*> values;
        for (unsigned d = 0; d < dwords; ++d) values.push_back(value_of(data + d, v));
        store_known(place, v, values, bits_of(exec, v));
      } else {
        const std::vector<Value*> values = load_known(place, v, dwords);
        for (unsigned d = 0; d < dwords; ++d) put(node, row_source(data + d), v, values[d], exec);
      }
    }
  }

  // False: nothing is known of the places.
  bool build_global_known(uint32_t node) {
    const isa::Instruction& in = plan_.graph.nodes[node].instruction;
    const isa::MemoryShape& memory = *isa::memory_shape(in.op);
    const bool stores = memory.verb == isa::Verb::kStore;
    const unsigned dwords = memory.dwords();
    const bool has_base = in.saddr.exists() && in.saddr.code != isa::code::kNull;
    const uint32_t address_row = in.vaddr.vgpr();
    const ShapePointer& low = before_.rows[address_row];
    if (low == nullptr || !is_near(*low, wave_size_)) return false;
    const ShapePointer& high = before_.rows[address_row + 1];
    if (!has_base && (high == nullptr || !high->is_uniform(wave_size_))) return false;
    Place place = place_from(*low);
    if (stores && !can_store_known(place, dwords)) return false;
    note_place(node);
    Value* const base = before_bases_[address_row];
    Value* const start = plus(base, low->least(wave_size_));
    Value* va = b_.CreateAdd(wide(start), b_.getInt64(static_cast<uint64_t>(int64_t{in.offset})));
    Value* reached = does_not_wrap(base, *low);
    if (has_base) {
      va = b_.CreateAdd(va, scalar64(in.saddr.code * 4u));
    } else {
      Value* const upper = plus(before_bases_[address_row + 1], static_cast<int32_t>(high->offsets[0]));
      va = b_.CreateAdd(va, b_.CreateShl(wide(upper), b_.getInt64(32)));
      if (in.encoding == isa::Encoding::kFlat) {
        for (const size_t aperture : {offsetof(Wave, shared_aperture_hi), offsetof(Wave, private_aperture_hi)}) {
          reached = b_.CreateAnd(reached, b_.CreateICmpNE(upper, b_.CreateLoad(i32(), wave_field(aperture))));
        }
      }
    }
    place.begin = call(stores ? "place_to_store" : "place_to_load",
                       {wave_, address(memory_operation(node)), va, b_.getInt64(span_of(place, dwords * 4))});
    reached = b_.CreateAnd(reached, b_.CreateIsNotNull(place.begin));
    if (stores && dwords > 1) reached = b_.CreateAnd(reached, b_.CreateICmpEQ(mask_at(kExec * 4), all_lanes()));
    const uint32_t data = stores ? in.vdata.vgpr() : in.vdst.vgpr();
    with_call(node, reached, [&] { access_known(node, place, stores, data, dwords); });
    return true;
  }

  template <class F>
  void with_call(uint32_t node, Value* reached, F done) {
    auto* const found = BasicBlock::Create(context_, "reached", function_);
    auto* const otherwise = BasicBlock::Create(context_, "otherwise", function_);
    auto* const behind = BasicBlock::Create(context_, "behind", function_);
    b_.CreateCondBr(reached, found, otherwise, likely());
    b_.SetInsertPoint(found);
    done();
    b_.CreateBr(behind);
    b_.SetInsertPoint(otherwise);
    build_call(node);
    b_.CreateBr(behind);
    b_.SetInsertPoint(behind);
  }

  bool build_lds_known(uint32_t node) {
    const isa::Instruction& in = plan_.graph.nodes[node].instruction;
    const isa::MemoryShape& memory = *isa::memory_shape(in.op);
    const bool stores = memory.verb == isa::Verb::kStore;
    const unsigned dwords = memory.dwords();
    const ShapePointer& low = before_.rows[in.vaddr.vgpr()];
    if (low == nullptr || !is_near(*low, wave_size_)) return false;
    Place place = place_from(*low);
    if (stores && !can_store_known(place, dwords)) return false;
    const uint32_t unit = memory.pair ? memory.bytes * (memory.far_pair ? 64u : 1u) : 1u;
    const uint32_t offsets[2] = {static_cast<uint32_t>(in.offset) * unit, in.offset1 * unit};
    const unsigned elements = memory.pair ? 2 : 1;
    const uint32_t span = span_of(place, dwords * 4);
    if (memory.pair && stores && !apart(place, offsets[0], offsets[1], dwords * 4)) return false;
    note_place(node);
    Value* limit = lds_bytes_;
    if (plan_.m0_limits_lds) limit = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, limit, scalar(kM0 * 4));
    Value* const start = plus(before_bases_[in.vaddr.vgpr()], low->least(wave_size_));
    Value* reached = does_not_wrap(before_bases_[in.vaddr.vgpr()], *low);
    std::array<Value*, 2> begins{};
    for (unsigned e = 0; e < elements; ++e) {
      begins[e] = wide(b_.CreateAdd(start, b_.getInt32(offsets[e])));
      reached = b_.CreateAnd(reached, b_.CreateICmpULE(b_.CreateAdd(begins[e], b_.getInt64(span)), wide(limit)));
      if (plan_.m0_limits_lds) {
        const uint32_t alignment = (dwords == 3 ? 16u : dwords * 4) - 1;
        for (const uint32_t offset : place.offsets) {
          if ((offset & alignment) != 0) return false;
        }
        reached = b_.CreateAnd(reached, b_.CreateICmpEQ(b_.CreateAnd(begins[e], b_.getInt64(alignment)), b_.getInt64(0)));
      }
    }
    if (stores && dwords > 1) reached = b_.CreateAnd(reached, b_.CreateICmpEQ(mask_at(kExec * 4), all_lanes()));
    with_call(node, reached, [&] {
      for (unsigned e = 0; e < elements; ++e) {
        place.begin = b_.CreateGEP(i8(), lds_, begins[e]);
        const uint32_t data = stores ? (e == 0 ? in.vdata : in.vdata2).vgpr() : in.vdst.vgpr() + e * dwords;
        access_known(node, place, stores, data, dwords);
      }
    });
    return true;
  }
  // Whether the elements of the two offsets share no byte.
  bool apart(const Place& place, uint32_t one, uint32_t other, uint32_t bytes) const {
    std::set<uint32_t> taken;
    for (unsigned i = 0; i < wave_size_; ++i) {
      for (uint32_t byte = 0; byte < bytes; ++byte) taken.insert(place.offsets[i] + one + byte);
    }
    for (unsigned i = 0; i < wave_size_; ++i) {
      for (uint32_t byte = 0; byte < bytes; ++byte) {
        if (taken.contains(place.offsets[i] + other + byte)) return false;
      }
    }
    return true;
  }

  // Vector instructions

  void build_steps(uint32_t node) {
    const Site& site = plan_.sites[node];
    const uint32_t usual = mxcsr_of(plan_.mode);
    uint32_t mxcsr = usual;
    for (uint32_t i = 0; i < site.step_count; ++i) {
      const Step& step = plan_.steps[site.first_step + i];
      switch (step.kind) {
        case Step::Kind::kTakeExec:
          break;
        case Step::Kind::kMode:
          mxcsr = step.micro->aux;
          break;
        case Step::Kind::kAlu:
        case Step::Kind::kSaveExec:
          build_scalar(node, step);
          break;
        case Step::Kind::kLanes:
          build_lanes(node, step, mxcsr);
          break;
      }
      if (!failure_.empty()) return;
    }
  }

  void build_scalar(uint32_t node, const Step& step) {
    const isa::Effects& effects = plan_.graph.nodes[node].effects;
    if (((effects.reads.scalars | effects.writes.scalars) & unmade_).any()) flush();
    llvm::Function* const function = step.kind == Step::Kind::kAlu ? operations_.alu(step.op, step.slot)
                                                                   : operations_.save_exec(step.op, step.slot);
    if (function == nullptr) return fail("no bitcode of " + std::string(isa::name(step.op)));
    function->addFnAttr(llvm::Attribute::AlwaysInline);
    function->removeFnAttr(llvm::Attribute::NoInline);
    b_.CreateCall(function, {constant(*step.micro), state_, scalars_, mask_at(kExec * 4)});
  }

  // The operation as a constant of the module, without what only the interpreter wants.
  llvm::Constant* constant(const MicroOp& of) {
    MicroOp op = of;
    op.handler = nullptr;
    op.block = nullptr;
    op.code_offset = 0;
    std::array<uint8_t, sizeof op> bytes;
    std::memcpy(bytes.data(), &op, sizeof op);
    auto* const data = llvm::ConstantDataArray::get(context_, bytes);
    auto* const made = new llvm::GlobalVariable(module_, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data, "op");
    made->setAlignment(llvm::Align(64));
    return made;
  }

  // Lane masks that runs of vector instructions make, vector by vector, before they are scalars.
  using MaskParts = std::array<Value*, 8>;

  RowSource row_source(uint32_t index) {
    RowSource source;
    source.index = index;
    source.all_active = before_.all_active();
    if (index < 256 && before_.rows[index] != nullptr) {
      source.shape = before_.rows[index];
      source.base = before_bases_[index];
    }
    return source;
  }
  Value* get(const RowSource& source, unsigned v) {
    return source.shape != nullptr ? lanes_from(source.base, *source.shape, v) : load_part(source.index, v);
  }

  struct Input {
    enum class Kind : uint8_t { kRows, kUniform, kMask, kUnmade } kind = Kind::kRows;
    std::vector<RowSource> rows;
    Value* value = nullptr;
    std::shared_ptr<MaskParts> parts;
  };

  Input mask_input(uint32_t offset) {
    Input input;
    const auto unmade = unmade_parts_.find(offset);
    if (unmade != unmade_parts_.end()) {
      input.kind = Input::Kind::kUnmade;
      input.parts = unmade->second;
      return input;
    }
    if (unmade_[offset / 4] || (wave_size_ == 64 && unmade_[offset / 4 + 1])) flush();
    input.kind = Input::Kind::kMask;
    input.value = mask_at(offset);
    return input;
  }

  void build_lanes(uint32_t node, const Step& step, uint32_t mxcsr) {
    const isa::Instruction& in = plan_.graph.nodes[node].instruction;
    const MicroOp& op = *step.micro;
    std::vector<Input> inputs;
    Wrapper key = key_of(step, mxcsr == mxcsr_of(plan_.mode) ? 0 : mxcsr);
    for (unsigned i = 0; i < step.lanes.sources; ++i) {
      if (i == 3) {  // VCC
        inputs.push_back(mask_input(op.dst2));
        key.sources[i] = Wrapper::kMaskSource;
        continue;
      }
      const bool is_constant = (op.aux & aux::kConstant << i) != 0;
      if (i >= step.lanes.row_sources) {
        Input input;
        if (is_constant) {
          input.kind = Input::Kind::kMask;
          input.value = b_.getInt64(op.src[i].constant);
        } else {
          input = mask_input(op.src[i].offset);
        }
        inputs.push_back(input);
        key.sources[i] = Wrapper::kMaskSource;
        continue;
      }
      Input input;
      if ((op.aux & aux::kUniform << i) != 0) {
        input.kind = Input::Kind::kUniform;
        if (is_constant) {
          input.value = b_.getInt64(op.src[i].constant);
        } else {
          const uint32_t code = op.src[i].offset / 4;
          const bool pair = in.src[i].dwords > 1;
          if (code < 128 && (unmade_[code] || (pair && unmade_[code + 1]))) flush();
          input.value = pair ? scalar64(op.src[i].offset) : b_.CreateZExt(scalar(op.src[i].offset), i64());
        }
        key.sources[i] = Wrapper::kUniformSource;
      } else {
        const uint32_t first = row_index(op.src[i].offset);
        const unsigned count = std::max<unsigned>(in.src[i].dwords, 1);
        for (unsigned r = 0; r < count; ++r) input.rows.push_back(row_source(first + r));
        key.sources[i] = static_cast<int8_t>(count);
      }
      inputs.push_back(input);
    }
    const bool makes_rows = step.lanes.kind == LaneOperation::Kind::kComputes;
    const bool reads_old = makes_rows && (op.aux & (aux::kHighResult | aux::kKeepHigh)) != 0;
    key.reads_old = reads_old;
    llvm::Function* const wrapper = wrapper_of(key);
    if (wrapper == nullptr) return;
    const uint32_t dst = makes_rows ? row_index(op.dst) : 0;
    const unsigned result_rows = step.lanes.result_rows;
    const uint32_t mask_offset = makes_rows ? op.dst2 : op.dst;
    const bool makes_mask = !makes_rows || step.lanes.has_test;
    Value* const exec = mask_at(kExec * 4);
    std::vector<RowSource> old;
    if (makes_rows) {
      for (unsigned r = 0; r < result_rows; ++r) old.push_back(row_source(dst + r));
    }
    std::shared_ptr<MaskParts> parts;
    if (makes_mask) {
      parts = std::make_shared<MaskParts>();
      parts->fill(nullptr);
    }
    run_.push_back([=, this, inputs = std::move(inputs)](unsigned v) {
      std::vector<Value*> arguments;
      for (const Input& input : inputs) {
        switch (input.kind) {
          case Input::Kind::kRows:
            for (const RowSource& source : input.rows) arguments.push_back(get(source, v));
            break;
          case Input::Kind::kUniform:
            arguments.push_back(input.value);
            break;
          case Input::Kind::kMask:
            arguments.push_back(bits_of(input.value, v));
            break;
          case Input::Kind::kUnmade:
            arguments.push_back((*input.parts)[v]);
            break;
        }
      }
      if (reads_old) arguments.push_back(get(old[0], v));
      Value* const results = b_.CreateCall(wrapper, arguments);
      unsigned field = 0;
      if (makes_rows) {
        for (unsigned r = 0; r < result_rows; ++r) put(node, old[r], v, b_.CreateExtractValue(results, field++), exec);
      }
      if (makes_mask) (*parts)[v] = b_.CreateAnd(b_.CreateExtractValue(results, field), bits_of(exec, v));
    });
    if (!makes_mask) return;
    const uint32_t code = mask_offset / 4;
    if (code < 128) {
      // What overlaps it and is not the same would be made later than this.
      for (auto it = unmade_parts_.begin(); it != unmade_parts_.end();) {
        const bool overlaps = it->first != mask_offset && it->first / 4 <= code + 1 && code <= it->first / 4 + 1;
        if (overlaps) {
          fail("lane masks that overlap");
          return;
        }
        ++it;
      }
      unmade_parts_[mask_offset] = parts;
      unmade_.set(code);
      if (wave_size_ == 64) unmade_.set(code + 1);
    }
    if (step.lanes.kind == LaneOperation::Kind::kCompareToExec) {
      unmade_parts_[kExec * 4] = parts;
      flush();
    }
  }

  // Makes all that is to be made, one vector of lanes after the other.
  void flush() {
    if (run_.empty()) return;
    for (unsigned v = 0; v < vectors_; ++v) {
      for (const auto& step : run_) step(v);
    }
    for (const auto& [offset, parts] : unmade_parts_) {
      Value* mask = nullptr;
      for (unsigned v = 0; v < vectors_; ++v) {
        Value* const bits = v == 0 ? (*parts)[v] : b_.CreateShl((*parts)[v], b_.getInt64(v * lanes_));
        mask = mask == nullptr ? bits : b_.CreateOr(mask, bits);
      }
      set_mask(offset, mask);
    }
    run_.clear();
    unmade_parts_.clear();
    unmade_.reset();
  }

  // An operation on one vector of lanes, by values
  struct Wrapper {
    static constexpr int8_t kMaskSource = -1, kUniformSource = -2;
    Op op{};
    bool clamped = false;
    uint64_t imm = 0;
    uint32_t aux = 0;
    uint32_t mxcsr = 0;  ///< 0: what there is
    LaneOperation::Kind kind{};
    bool has_test = false;
    bool is_float = false;  ///< And more than one instruction of the host, which LLVM does not look into.
    bool reads_old = false;
    uint8_t result_rows = 1;
    std::array<int8_t, 4> sources{};  ///< Rows, or one of the above; 0: none

    auto operator<=>(const Wrapper&) const = default;
  };

  // Sums and products without modifiers, which are named instructions of the host (vector/ordered.hpp).
  static bool is_one_instruction(const Step& step) {
    if ((step.micro->aux & aux::kPost) != 0) return false;
    switch (step.lanes.op) {
      case Op::v_add_f32:
      case Op::v_sub_f32:
      case Op::v_subrev_f32:
      case Op::v_mul_f32:
      case Op::v_fma_f32:
      case Op::v_fmac_f32:
      case Op::v_fmaak_f32:
      case Op::v_fmamk_f32:
      case Op::v_add_f64:
      case Op::v_mul_f64:
      case Op::v_fma_f64:
        return true;
      default:
        return false;
    }
  }

  static Wrapper key_of(const Step& step, uint32_t mxcsr) {
    Wrapper key;
    key.op = step.lanes.op;
    key.clamped = step.lanes.clamped;
    key.imm = step.micro->imm;
    key.aux = step.micro->aux & ~(7 * aux::kConstant);
    key.mxcsr = mxcsr;
    key.kind = step.lanes.kind;
    key.has_test = step.lanes.has_test;
    key.is_float = step.lanes.is_float && !is_one_instruction(step);
    key.result_rows = step.lanes.result_rows;
    return key;
  }

  llvm::Function* wrapper_of(const Wrapper& key) {
    const auto found = wrappers_.find(key);
    if (found != wrappers_.end()) return found->second;
    llvm::Function* const operation = operations_.lanes(key.op, key.clamped);
    if (operation == nullptr) {
      fail("no bitcode of " + std::string(isa::name(key.op)));
      return nullptr;
    }
    constexpr uint32_t kSlot = 1024, kResult = 4 * kSlot, kTest = 5 * kSlot, kFile = 6 * kSlot;
    const uint32_t row_bytes = plan_.layout.row_bytes();
    std::vector<llvm::Type*> parameters;
    for (const int8_t source : key.sources) {
      if (source > 0) parameters.insert(parameters.end(), static_cast<size_t>(source), vector());
      if (source < 0) parameters.push_back(i64());
    }
    if (key.reads_old) parameters.push_back(vector());
    const bool makes_rows = key.kind == LaneOperation::Kind::kComputes;
    std::vector<llvm::Type*> results;
    if (makes_rows) results.insert(results.end(), key.result_rows, vector());
    if (!makes_rows || key.has_test) results.push_back(i64());
    auto* const type = llvm::FunctionType::get(llvm::StructType::get(context_, results), parameters, false);
    llvm::Function* const made =
        llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "on_lanes", module_);
    take_attributes(*made);
    made->addFnAttr(llvm::Attribute::NoUnwind);
    made->addFnAttr(key.mxcsr == 0 ? llvm::Attribute::AlwaysInline : llvm::Attribute::NoInline);

    llvm::IRBuilder<> b(BasicBlock::Create(context_, "", made));
    llvm::AllocaInst* const file = b.CreateAlloca(llvm::ArrayType::get(i8(), kFile));
    file->setAlignment(llvm::Align(64));
    const auto place = [&](uint32_t offset) { return b.CreateConstInBoundsGEP1_64(i8(), file, offset); };
    MicroOp op;
    op.aux = key.aux;
    op.imm = key.imm;
    op.dst = kResult;
    op.dst2 = kTest;
    // LLVM computes with constants as if there were one mode: it must not see any.
    const auto hidden = [&](Value* value) -> Value* {
      if (!key.is_float) return value;
      auto* const identity = llvm::FunctionType::get(value->getType(), {value->getType()}, false);
      return b.CreateCall(llvm::InlineAsm::get(identity, "", "=v,0", false), {value});
    };
    unsigned argument = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const uint32_t slot = i * kSlot;
      if (i < 3) op.src[i].offset = slot;
      if (key.sources[i] > 0) {
        for (int8_t r = 0; r < key.sources[i]; ++r) {
          b.CreateAlignedStore(hidden(made->getArg(argument++)), place(slot + static_cast<uint32_t>(r) * row_bytes), llvm::Align(lanes_ * 4));
        }
      } else if (key.sources[i] < 0) {
        Value* const given = made->getArg(argument++);
        if (key.sources[i] == Wrapper::kUniformSource && key.is_float) {
          auto* const identity = llvm::FunctionType::get(i64(), {i64()}, false);
          b.CreateAlignedStore(b.CreateCall(llvm::InlineAsm::get(identity, "", "=r,0", false), {given}), place(slot), llvm::Align(8));
        } else {
          b.CreateAlignedStore(given, place(i == 3 ? kTest : slot), llvm::Align(8));
        }
      }
    }
    if (!makes_rows) op.dst = kTest;
    if (key.reads_old) b.CreateAlignedStore(made->getArg(argument++), place(kResult), llvm::Align(lanes_ * 4));
    const auto set_mode = [&](uint32_t mxcsr) {
      auto* const word = new llvm::GlobalVariable(module_, i32(), true, llvm::GlobalValue::PrivateLinkage, b.getInt32(mxcsr), "mxcsr");
      auto* const code_type = llvm::FunctionType::get(b.getVoidTy(), {pointer(), pointer()}, false);
      b.CreateCall(llvm::InlineAsm::get(code_type, "ldmxcsr ($0)", "r,r,~{memory}", true), {word, file});
    };
    if (key.mxcsr != 0) set_mode(key.mxcsr);
    llvm::CallInst* const call =
        b.CreateCall(operation, {constant(op), llvm::ConstantPointerNull::get(pointer()), file,
                                 b.getInt64((uint64_t{1} << lanes_) - 1)});
    if (key.mxcsr != 0) set_mode(mxcsr_of(plan_.mode));
    Value* result = llvm::UndefValue::get(type->getReturnType());
    unsigned field = 0;
    if (makes_rows) {
      for (uint32_t r = 0; r < key.result_rows; ++r) {
        result = b.CreateInsertValue(result, b.CreateAlignedLoad(vector(), place(kResult + r * row_bytes), llvm::Align(lanes_ * 4)), field++);
      }
    }
    if (!makes_rows || key.has_test) {
      Value* const bits = wave_size_ == 64 ? b.CreateAlignedLoad(i64(), place(kTest), llvm::Align(8))
                                           : b.CreateZExt(b.CreateAlignedLoad(i32(), place(kTest), llvm::Align(8)), i64());
      result = b.CreateInsertValue(result, bits, field++);
    }
    b.CreateRet(result);
    llvm::InlineFunctionInfo info;
    llvm::InlineFunction(*call, info);
    passes_.simplify(*made);
    wrappers_[key] = made;
    return made;
  }

  void fail(std::string why) {
    if (failure_.empty()) failure_ = std::move(why);
  }

  const Plan& plan_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  Passes& passes_;
  Operations operations_;
  llvm::IRBuilder<> b_;
  const unsigned lanes_;
  const unsigned wave_size_;
  const unsigned vectors_;
  std::string failure_;

  llvm::Function* function_ = nullptr;
  BasicBlock* allocas_ = nullptr;
  BasicBlock* start_ = nullptr;
  std::vector<BasicBlock*> blocks_;
  std::map<uint32_t, BasicBlock*> behind_;
  Value *wave_ = nullptr, *registers_ = nullptr, *lds_ = nullptr, *lds_bytes_ = nullptr;
  llvm::AllocaInst *state_ = nullptr, *scalars_ = nullptr, *budget_ = nullptr;
  std::map<uint32_t, llvm::AllocaInst*> rows_;

  std::vector<std::function<void(unsigned)>> run_;
  std::map<uint32_t, std::shared_ptr<MaskParts>> unmade_parts_;
  std::bitset<128> unmade_;
  std::map<Wrapper, llvm::Function*> wrappers_;

  std::vector<Shapes> at_;  // at the beginning of blocks
  Shapes before_, shapes_;  // before the instruction under way, and behind it
  Applied applied_;
  std::array<Value*, 256> before_bases_{}, bases_{};
  std::map<uint32_t, llvm::AllocaInst*> base_variables_;
  std::map<uint16_t, Value*> carries_;
};

}  // namespace

std::string build(const Plan& plan, llvm::Module& module, llvm::TargetMachine* machine) {
  Passes passes(machine);
  KernelBuilder builder(plan, module, passes);
  if (!builder.build()) return builder.failure();
  // Only the kernel is wanted, and what it uses.
  for (const char* const kept : {"llvm.used", "llvm.compiler.used"}) {
    if (llvm::GlobalVariable* const list = module.getGlobalVariable(kept, true)) list->eraseFromParent();
  }
  for (llvm::GlobalValue& value : module.global_values()) {
    if (&value == builder.function() || value.isDeclaration() || value.hasAppendingLinkage()) continue;
    value.setLinkage(llvm::GlobalValue::InternalLinkage);
    if (auto* const object = llvm::dyn_cast<llvm::GlobalObject>(&value)) object->setComdat(nullptr);
  }
  passes.finish(module);
  return {};
}

}  // namespace rigel::vgpu::exec::compiler
