// Checked kernels: registers and LDS under the check `init` (analysis/definedness.hpp), accesses under
// `races`.
#include "plugins/vgpu/compiler/kernel_builder.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <cstddef>

#include "plugins/vgpu/exec/check/access.hpp"
#include "plugins/vgpu/exec/operands.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

size_t row_field(uint32_t row) {
  return offsetof(DefinedRegisters, rows) + row * sizeof(uint64_t);
}

}  // namespace

Value* KernelBuilder::defined_field(size_t field) {
  return at(b_.CreateLoad(pointer(), wave_field(offsetof(Wave, defined))), field);
}

void KernelBuilder::start_tracking(EntryKind kind) {
  if (!plan_.tracks_undefined) return;
  const isa::Registers& tracked = plan_.definedness.tracked;
  Value* const others = b_.CreateNot(b_.CreateLoad(i64(), wave_field(offsetof(Wave, launched_exec))));
  for (uint32_t row = plan_.start.rows; row < 256; ++row) {
    if (tracked.vgprs[row]) b_.CreateStore(others, defined_field(row_field(row)));
  }
  uint64_t scalars[2] = {~uint64_t{0}, ~uint64_t{0}};
  for (uint32_t code = plan_.start.scalars; code < analysis::kFirstDefinedScalar; ++code) {
    if (tracked.scalars[code]) scalars[code / 64] &= ~(uint64_t{1} << code % 64);
  }
  for (size_t i = 0; i < 2; ++i)
    b_.CreateStore(b_.getInt64(scalars[i]), defined_field(offsetof(DefinedRegisters, scalars) + i * 8));
  if (tracked.scc) b_.CreateStore(b_.getInt64(0), defined_field(offsetof(DefinedRegisters, scc)));
  if (kind != EntryKind::kBatchStart) return;
  // A batch starts work-groups without a call.
  auto* const first = BasicBlock::Create(context_, "first", function_);
  auto* const after = BasicBlock::Create(context_, "behind", function_);
  Value* const is_first =
      b_.CreateICmpEQ(b_.CreateLoad(i32(), wave_field(offsetof(Wave, id_in_group))), b_.getInt32(0));
  Value* const has_lds = b_.CreateICmpNE(group_field(offsetof(WorkGroup, lds_bytes)), b_.getInt32(0));
  b_.CreateCondBr(b_.CreateAnd(is_first, has_lds), first, after);
  b_.SetInsertPoint(first);
  auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {pointer()}, false);
  b_.CreateCall(type, linked(offsetof(Linkage, lds_starts)), {group_});
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

void KernelBuilder::leave_unless(uint32_t node, Value* holds) {
  auto* const others = BasicBlock::Create(context_, "undefined", function_);
  auto* const on = BasicBlock::Create(context_, "defined", function_);
  b_.CreateCondBr(holds, on, others, likely());
  b_.SetInsertPoint(others);
  store_all(node);
  count_until(node);
  hand_over(node);
  b_.SetInsertPoint(on);
}

void KernelBuilder::store_all(uint32_t node) {
  do_loads_now(pending_.size());
  store_live(plan_.live.before[node], plan_.live.inactive_before[node]);
}

void KernelBuilder::test_defined(uint32_t node) {
  if (!plan_.tracks_undefined || plan_.sites[node].kind == Site::Kind::kToInterpreter) return;
  const isa::Registers& tested = plan_.definedness.tested[node];
  if (tested.empty()) return;
  check_guard();
  flush();
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  Value* undefined = b_.getInt64(0);
  if (tested.vgprs.any()) {
    Value* lanes = mask_at(kExec * 4);
    switch (analysis::lanes_read_by(in)) {
      case analysis::LanesRead::kActive:
        break;
      case analysis::LanesRead::kFirst: {
        Value* const lowest = b_.CreateAnd(lanes, b_.CreateNeg(lanes));
        lanes = b_.CreateSelect(b_.CreateICmpEQ(lanes, b_.getInt64(0)), b_.getInt64(1), lowest);
        break;
      }
      case analysis::LanesRead::kOne:
        lanes = selected_lane(in);
        break;
      case analysis::LanesRead::kAll:
        lanes = b_.CreateLoad(i64(), wave_field(offsetof(Wave, launched_exec)));
        break;
    }
    for (uint32_t row = 0; row < 256; ++row) {
      if (!tested.vgprs[row]) continue;
      Value* const defined = b_.CreateLoad(i64(), defined_field(row_field(row)));
      undefined = b_.CreateOr(undefined, b_.CreateAnd(lanes, b_.CreateNot(defined)));
    }
  }
  for (uint32_t half = 0; half < 2; ++half) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < 64; ++i) bits |= uint64_t{tested.scalars[half * 64 + i]} << i;
    if (bits == 0) continue;
    Value* const defined =
        b_.CreateLoad(i64(), defined_field(offsetof(DefinedRegisters, scalars) + half * 8));
    undefined = b_.CreateOr(undefined, b_.CreateAnd(b_.CreateNot(defined), b_.getInt64(bits)));
  }
  if (tested.scc) {
    Value* const defined = b_.CreateLoad(i64(), defined_field(offsetof(DefinedRegisters, scc)));
    undefined = b_.CreateOr(undefined, b_.CreateZExt(b_.CreateICmpEQ(defined, b_.getInt64(0)), i64()));
  }
  leave_unless(node, b_.CreateICmpEQ(undefined, b_.getInt64(0)));
}

// The lane of v_readlane and v_writelane, as a mask.
Value* KernelBuilder::selected_lane(const isa::Instruction& in) {
  const isa::Operand& selector = in.src[1];
  Value* number = nullptr;
  if (selector.is_scalar_register()) {
    number = scalar(selector.code * 4u);
  } else {
    uint64_t constant = 0;
    constant_of(selector, in, constant);
    number = b_.getInt32(static_cast<uint32_t>(constant));
  }
  return b_.CreateShl(b_.getInt64(1), wide(b_.CreateAnd(number, b_.getInt32(wave_size_ - 1))));
}

void KernelBuilder::note_defined(uint32_t node) {
  if (!plan_.tracks_undefined || plan_.sites[node].kind == Site::Kind::kToInterpreter) return;
  const isa::Registers& noted = plan_.definedness.noted[node];
  if (noted.empty()) return;
  const auto add = [&](size_t field, Value* bits) {
    Value* const place = defined_field(field);
    b_.CreateStore(b_.CreateOr(b_.CreateLoad(i64(), place), bits), place);
  };
  if (noted.vgprs.any()) {
    if (!before_.all_active()) flush();  // The run may compute EXEC.
    const isa::Instruction& in = plan_.graph.nodes[node].instruction;
    Value* const lanes = in.op == Op::v_writelane_b32 ? selected_lane(in) : mask_at(kExec * 4);
    for (uint32_t row = 0; row < 256; ++row) {
      if (noted.vgprs[row]) add(row_field(row), lanes);
    }
  }
  for (uint32_t half = 0; half < 2; ++half) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < 64; ++i) bits |= uint64_t{noted.scalars[half * 64 + i]} << i;
    if (bits != 0) add(offsetof(DefinedRegisters, scalars) + half * 8, b_.getInt64(bits));
  }
  if (noted.scc) b_.CreateStore(b_.getInt64(1), defined_field(offsetof(DefinedRegisters, scc)));
}

Value* KernelBuilder::shadow_of(Value* lds_begin) {
  Value* const shadow = b_.CreateLoad(pointer(), at(group_, offsetof(WorkGroup, lds_undefined)));
  Value* const into = b_.CreateSub(b_.CreatePtrToInt(lds_begin, i64()), b_.CreatePtrToInt(lds_, i64()));
  return b_.CreateGEP(i8(), shadow, into);
}

Value* KernelBuilder::are_defined_in_lds(Value* reached, const std::vector<Value*>& begins, Place place,
                                         unsigned dwords) {
  BasicBlock* const before = b_.GetInsertBlock();
  auto* const inside = BasicBlock::Create(context_, "shadow", function_);
  auto* const after = BasicBlock::Create(context_, "behind", function_);
  b_.CreateCondBr(reached, inside, after, likely());
  b_.SetInsertPoint(inside);
  Value* any = llvm::Constant::getNullValue(vector());
  Value* const exec = mask_at(kExec * 4);
  for (Value* const begin : begins) {
    place.begin = shadow_of(begin);
    for (unsigned v = 0; v < vectors_; ++v) {
      Value* undefined = nullptr;
      for (Value* const dword : load_affine(place_of_vector(place, v), dwords))
        undefined = undefined == nullptr ? dword : b_.CreateOr(undefined, dword);
      if (!before_.all_active()) {
        Value* const none = llvm::Constant::getNullValue(vector());
        undefined = b_.CreateSelect(lanes_of(exec, v), undefined, none);
      }
      any = b_.CreateOr(any, undefined);
    }
  }
  Value* const are_defined = b_.CreateICmpEQ(b_.CreateOrReduce(any), b_.getInt32(0));
  BasicBlock* const from = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  llvm::PHINode* const result = b_.CreatePHI(i1(), 2);
  result->addIncoming(b_.getFalse(), before);
  result->addIncoming(are_defined, from);
  return result;
}

void KernelBuilder::note_accesses(uint32_t node, const Place& place, unsigned dwords, Value* begin,
                                  Value* pitch, uint32_t row) {
  if (!plan_.sites[node].is_noted) return;
  const isa::MemoryShape& shape = *isa::memory_shape(plan_.graph.nodes[node].instruction.op);
  LaneAccesses relative;
  relative.lanes = wave_size_ == 64 ? ~uint64_t{0} : 0xffffffff;
  relative.bytes = dwords * 4;
  AccessPattern pattern;
  pattern.bytes = dwords * 4;
  pattern.kind = access_kind(shape.verb);
  pattern.is_lds = place.is_lds;
  for (unsigned i = 0; i < wave_size_; ++i) {
    pattern.offsets[i] = place.offsets[i];
    pattern.pitches[i] = place.pitches[i];
    relative.at[i] = place.offsets[i];
  }
  for (unsigned i = 0; i < wave_size_; ++i) {
    const LaneRun run = run_from(relative, i);
    pattern.run_ends[i] = static_cast<uint8_t>(run.end);
    pattern.run_steps[i] = static_cast<uint8_t>(run.step);
  }
  for (unsigned first = 0; first < wave_size_ && pattern.kind == AccessKind::kRead;
       first = pattern.run_ends[first]) {
    for (unsigned other = 0; other < first; other = pattern.run_ends[other]) {
      const bool is_same = pattern.offsets[other] == pattern.offsets[first] &&
                           pattern.run_steps[other] == pattern.run_steps[first] &&
                           pattern.run_ends[other] - other == pattern.run_ends[first] - first;
      pattern.repeated |= uint64_t{is_same} << first;
    }
  }
  pattern.hash = hash_of_offsets(pattern.offsets, relative.lanes);
  Value* const table = constant_bytes(&pattern, sizeof pattern);
  auto* const type = llvm::FunctionType::get(
      b_.getVoidTy(), {pointer(), pointer(), i64(), pointer(), i64(), i32(), pointer()}, false);
  b_.CreateCall(type, linked(offsetof(Linkage, note)),
                {operations_at(node), wave(), begin, table, mask_at(kExec * 4),
                 pitch != nullptr ? pitch : b_.getInt32(0), row_copy(0, row)});
}

Value* KernelBuilder::constant_bytes(const void* from, size_t size) {
  const llvm::StringRef bytes(static_cast<const char*>(from), size);
  auto* const data = llvm::ConstantDataArray::getString(context_, bytes, false);
  auto* const table = new llvm::GlobalVariable(module_, data->getType(), true,
                                               llvm::GlobalValue::PrivateLinkage, data, "pattern");
  table->setAlignment(llvm::Align(64));
  return table;
}

Value* KernelBuilder::row_copy(unsigned number, uint32_t index) {
  if (index == kNoRow) return llvm::ConstantPointerNull::get(pointer());
  Value* const copy = at(outside_rows(), uint64_t{number} * wave_size_ * 4);
  for (unsigned v = 0; v < vectors_; ++v)
    b_.CreateAlignedStore(value_of(index, v), part_at(copy, v), llvm::Align(lanes_ * 4));
  return copy;
}

void KernelBuilder::note_rows(uint32_t node, const NotedRows& rows, Value* base) {
  const isa::MemoryShape& shape = *isa::memory_shape(plan_.graph.nodes[node].instruction.op, plan_.traits());
  RowAccesses accesses;
  accesses.bytes = shape.bytes;
  accesses.kind = access_kind(shape.verb);
  accesses.is_lds = plan_.sites[node].kind == Site::Kind::kLds;
  auto* const type = llvm::FunctionType::get(
      b_.getVoidTy(), {pointer(), pointer(), pointer(), pointer(), pointer(), i64(), i64(), pointer()},
      false);
  b_.CreateCall(
      type, linked(offsetof(Linkage, rows)),
      {operations_at(node), wave(), constant_bytes(&accesses, sizeof accesses), row_copy(0, rows.low),
       row_copy(1, rows.high), base, mask_at(kExec * 4), row_copy(2, rows.stored)});
}

// Lanes outside of LDS are left to the handler, which reports all of them.
void KernelBuilder::build_lds_noted(uint32_t node) {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  const isa::MemoryShape& shape = *isa::memory_shape(in.op, plan_.traits());
  const bool is_store_of_dword = shape.verb == isa::Verb::kStore && shape.bytes == 4;
  const uint32_t unit = shape.pair ? shape.bytes * (shape.far_pair ? 64u : 1u) : 1u;
  NotedRows rows{.low = in.vaddr.vgpr()};
  if (is_store_of_dword) rows.stored = in.vdata.vgpr();
  note_rows(node, rows, b_.getInt64(uint64_t{static_cast<uint32_t>(in.offset)} * unit));
  if (shape.pair) {
    if (is_store_of_dword) rows.stored = in.vdata2.vgpr();
    note_rows(node, rows, b_.getInt64(uint64_t{in.offset1} * unit));
  }
  build_lds_anywhere(node);
}

void KernelBuilder::define_in_lds(Place place, unsigned dwords) {
  place.begin = shadow_of(place.begin);
  Value* const exec = needs_all_lanes(place, dwords) ? all_lanes() : mask_at(kExec * 4);
  const bool are_full_vectors = stores_full_vectors(place, dwords);
  const std::vector<Value*> zeros(dwords, llvm::Constant::getNullValue(vector()));
  for (unsigned v = 0; v < vectors_; ++v)
    store_affine(place_of_vector(place, v), are_full_vectors, zeros, lanes_of(exec, v));
}

}  // namespace rigel::vgpu::exec::compiler
