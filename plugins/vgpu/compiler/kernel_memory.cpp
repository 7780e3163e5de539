// Loads and stores at arbitrary addresses, by functions of code/accesses.cpp.
#include "plugins/vgpu/compiler/kernel_builder.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <cstddef>

#include "plugins/vgpu/compiler/access_flags.hpp"

namespace rigel::vgpu::exec::compiler {

std::vector<uint64_t> KernelBuilder::number_sites(const Plan& plan) {
  constexpr uint64_t kScratch = 0;
  std::vector<uint64_t> numbers(plan.sites.size(), kScratch);
  uint64_t next = kScratch;
  for (size_t node = 0; node < numbers.size(); ++node) {
    const Site::Kind kind = plan.sites[node].kind;
    if (kind != Site::Kind::kGlobal && kind != Site::Kind::kScalarLoad) continue;
    next = next + 1 == WaveMemory::kSites ? kScratch + 1 : next + 1;
    numbers[node] = next;
  }
  return numbers;
}

Value* KernelBuilder::call(const std::string& name, std::vector<Value*> arguments,
                           llvm::Attribute::AttrKind inlining) {
  llvm::Function* const function = operations_.named(name);
  if (function == nullptr) {
    fail("missing function " + name);
    return llvm::UndefValue::get(i1());
  }
  function->removeFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(inlining);
  return b_.CreateCall(function, arguments);
}

Value* KernelBuilder::call_access(const std::string& name, std::vector<Value*> arguments) {
  return call(name, std::move(arguments),
              plan_.is_large ? llvm::Attribute::NoInline : llvm::Attribute::AlwaysInline);
}

Value* KernelBuilder::row_list(const std::vector<Value*>& rows) {
  llvm::AllocaInst* const list = variable(llvm::ArrayType::get(pointer(), 4), 8, "rows");
  for (size_t i = 0; i < rows.size(); ++i) b_.CreateStore(rows[i], at(list, i * 8));
  return list;
}

std::vector<Value*> KernelBuilder::rows_from(uint32_t first, unsigned count) {
  std::vector<Value*> rows;
  for (unsigned i = 0; i < count; ++i) rows.push_back(materialized_row(first + i));
  return rows;
}

bool KernelBuilder::keeps_any(uint32_t node, uint32_t first, unsigned count) const {
  if (before_.all_active()) return false;
  for (unsigned i = 0; i < count; ++i) {
    if (plan_.live.inactive_behind[node][first + i]) return true;
  }
  return false;
}

namespace {

uint32_t flags_of(const isa::MemoryShape& shape) {
  return (shape.sign ? access_flags::kSigned : 0) | (shape.d16 ? access_flags::kD16 : 0) |
         (shape.high ? access_flags::kHigh : 0) | (shape.clears_half ? access_flags::kClearsHalf : 0);
}

}  // namespace

std::string KernelBuilder::suffix(const isa::MemoryShape& shape) const {
  const bool narrow = shape.bytes < 4;
  return (narrow ? "_narrow_" : "_") + std::to_string(wave_size_) + "_" +
         std::to_string(narrow ? shape.bytes : shape.dwords());
}

void KernelBuilder::build_global(uint32_t node) {
  const auto build = [&] {
    if (build_global_affine(node)) return;
    // Flat addresses may be in LDS or scratch.
    const bool may_be_elsewhere = plan_.graph.nodes[node].instruction.encoding == isa::Encoding::kFlat;
    const bool is_reported_by_handler = plan_.sites[node].is_noted && may_be_elsewhere;
    is_reported_by_handler ? build_call(node) : build_global_anywhere(node);
  };
  if (plan_.tracks_undefined || plan_.sites[node].is_noted || !has_one_flat_address(node)) return build();
  note_place(node);
  const Scratch scratch = private_of(plan_.graph.nodes[node].instruction);
  with_fallback(
      scratch.is_scratch, [&] { build_private(node, scratch); }, build);
}

bool KernelBuilder::has_one_flat_address(uint32_t node) const {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  const isa::MemoryShape& shape = *isa::memory_shape(in.op);
  if (in.encoding != isa::Encoding::kFlat || shape.bytes < 4 || shape.verb == isa::Verb::kAtomic)
    return false;
  const auto is_uniform = [&](uint32_t row) {
    return before_.of_active(row) != nullptr && before_.of_active(row)->is_uniform(wave_size_);
  };
  return is_uniform(in.vaddr.vgpr()) && is_uniform(in.vaddr.vgpr() + 1u);
}

void KernelBuilder::build_global_anywhere(uint32_t node) {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  const isa::MemoryShape& shape = *isa::memory_shape(in.op, plan_.traits());
  const bool stores = shape.verb == isa::Verb::kStore;
  const unsigned dwords = shape.dwords();
  const bool has_base = in.saddr.exists() && in.saddr.code != isa::code::kNull;
  note_place(node);
  Value* base = b_.getInt64(static_cast<uint64_t>(int64_t{in.offset}));
  if (has_base) base = b_.CreateAdd(base, scalar64(in.saddr.code * 4u));
  if (plan_.sites[node].is_noted) {
    const uint32_t low = in.vaddr.vgpr();
    note_rows(node, {.low = low, .high = has_base ? kNoRow : low + 1}, base);
  }
  Value* const none = llvm::ConstantPointerNull::get(pointer());
  std::vector<Value*> arguments = {wave(),
                                   linkage_,
                                   site_of(node),
                                   materialized_row(in.vaddr.vgpr()),
                                   has_base ? none : materialized_row(in.vaddr.vgpr() + 1u),
                                   base,
                                   mask_at(kExec * 4)};
  uint32_t flags = flags_of(shape) | (in.encoding == isa::Encoding::kFlat ? access_flags::kFlat : 0);
  if (shape.verb == isa::Verb::kAtomic) {
    const bool two = isa::has_two_operands(shape.atomic);
    arguments.push_back(
        row_list({materialized_row(in.vdata.vgpr()), two ? materialized_row(in.vdata.vgpr() + 1u) : none,
                  in.glc ? materialized_row(in.vdst.vgpr()) : none}));
    arguments.push_back(b_.getInt32(flags));
    arguments.push_back(b_.getInt32(static_cast<uint32_t>(shape.atomic)));
    return or_call(node, call_access("global_atomic_" + std::to_string(wave_size_), arguments));
  }
  const uint32_t data = stores ? in.vdata.vgpr() : in.vdst.vgpr();
  if (!stores && keeps_any(node, data, dwords)) flags |= access_flags::kKeeps;
  arguments.push_back(row_list(rows_from(data, dwords)));
  arguments.push_back(b_.getInt32(flags));
  with_fallback(
      call_access((stores ? "store_global" : "load_global") + suffix(shape), arguments), [] {},
      [&] { build_global_fallback(node); });
}

void KernelBuilder::build_global_fallback(uint32_t node) {
  if (plan_.sites[node].is_noted) return build_call(node);
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  const isa::MemoryShape& shape = *isa::memory_shape(in.op);
  const bool may_be_private = in.encoding == isa::Encoding::kFlat && shape.bytes >= 4 &&
                              !has_one_flat_address(node) && !plan_.tracks_undefined;
  may_be_private ? build_private(node, private_of(in)) : build_call(node);
}

Value* KernelBuilder::lds_limit() {
  if (!plan_.m0_limits_lds) return lds_bytes_;
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, lds_bytes_, scalar(kM0 * 4));
}

void KernelBuilder::build_lds(uint32_t node) {
  if (build_lds_affine(node)) return;
  if (plan_.tracks_undefined) return build_call(node);
  plan_.sites[node].is_noted ? build_lds_noted(node) : build_lds_anywhere(node);
}

void KernelBuilder::build_lds_anywhere(uint32_t node) {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  const isa::MemoryShape& shape = *isa::memory_shape(in.op, plan_.traits());
  const bool stores = shape.verb == isa::Verb::kStore;
  const unsigned dwords = shape.dwords();
  note_place(node);
  Value* const limit = lds_limit();
  const uint32_t data = stores ? in.vdata.vgpr() : in.vdst.vgpr();
  const uint32_t always = flags_of(shape) | (plan_.m0_limits_lds ? access_flags::kAligned : 0);
  const auto reach = [&](Value* list, uint32_t offset, uint32_t flags) {
    return call_access((stores ? "store_lds" : "load_lds") + suffix(shape),
                       {lds_, limit, materialized_row(in.vaddr.vgpr()), b_.getInt32(offset),
                        mask_at(kExec * 4), list, b_.getInt32(flags | always)});
  };
  if (!shape.pair) {
    const uint32_t keeps = !stores && keeps_any(node, data, dwords) ? access_flags::kKeeps : 0;
    or_call(node, reach(row_list(rows_from(data, dwords)), static_cast<uint32_t>(in.offset), keeps));
    return;
  }
  const uint32_t unit = shape.bytes * (shape.far_pair ? 64u : 1u);
  if (stores) {
    // If only one store succeeds, the handler repeats both.
    Value* const first_done =
        reach(row_list(rows_from(data, dwords)), static_cast<uint32_t>(in.offset) * unit, 0);
    Value* const second_done = reach(row_list(rows_from(in.vdata2.vgpr(), dwords)), in.offset1 * unit, 0);
    return or_call(node, b_.CreateAnd(first_done, second_done));
  }
  // Both go to temporary rows first: a result may replace the address register.
  std::vector<Value*> found;
  for (unsigned i = 0; i < dwords * 2; ++i) {
    found.push_back(variable(llvm::ArrayType::get(i32(), wave_size_), 64, "found"));
  }
  const auto half = [&](unsigned i) {
    return std::vector<Value*>(found.begin() + i * dwords, found.begin() + (i + 1) * dwords);
  };
  auto* const second = BasicBlock::Create(context_, "second", function_);
  auto* const both = BasicBlock::Create(context_, "both", function_);
  auto* const fallback = BasicBlock::Create(context_, "otherwise", function_);
  auto* const after = BasicBlock::Create(context_, "behind", function_);
  b_.CreateCondBr(reach(row_list(half(0)), static_cast<uint32_t>(in.offset) * unit, 0), second, fallback,
                  likely());
  b_.SetInsertPoint(second);
  b_.CreateCondBr(reach(row_list(half(1)), in.offset1 * unit, 0), both, fallback, likely());
  b_.SetInsertPoint(both);
  Value* const exec = mask_at(kExec * 4);
  for (unsigned i = 0; i < dwords * 2; ++i) {
    for (unsigned v = 0; v < vectors_; ++v) {
      Value* const value = b_.CreateAlignedLoad(vector(), part_at(found[i], v), llvm::Align(lanes_ * 4));
      put(node, row_source(data + i), v, value, exec);
    }
  }
  b_.CreateBr(after);
  b_.SetInsertPoint(fallback);
  build_call(node);
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void KernelBuilder::build_lds_atomic(uint32_t node) {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  const isa::MemoryShape& shape = *isa::memory_shape(in.op);
  note_place(node);
  Value* const none = llvm::ConstantPointerNull::get(pointer());
  const bool two = isa::has_two_operands(shape.atomic);
  Value* const rows =
      row_list({materialized_row(in.vdata.vgpr()), two ? materialized_row(in.vdata2.vgpr()) : none,
                shape.returns ? materialized_row(in.vdst.vgpr()) : none});
  or_call(node, call_access("lds_atomic_" + std::to_string(wave_size_),
                            {lds_, lds_limit(), materialized_row(in.vaddr.vgpr()),
                             b_.getInt32(static_cast<uint32_t>(in.offset)), mask_at(kExec * 4), rows,
                             b_.getInt32(static_cast<uint32_t>(shape.atomic))}));
}

}  // namespace rigel::vgpu::exec::compiler
