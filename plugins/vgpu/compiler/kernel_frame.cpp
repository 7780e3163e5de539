// The frame of a compiled kernel: variables, entries and exits, blocks, branches, and calls of the
// interpreter.
#include "plugins/vgpu/compiler/kernel_builder.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "plugins/vgpu/exec/native/modes.hpp"

namespace rigel::vgpu::exec::compiler {

bool KernelBuilder::build() {
  shapes_at_ = find_shapes(plan_);
  stored_at_ = find_stored();
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
  if (llvm::verifyFunction(*function_, &out)) failure_ = "LLVM rejects the function: " + text;
  return failure_.empty();
}

llvm::AllocaInst* KernelBuilder::variable(llvm::Type* type, uint64_t alignment, const char* name) {
  llvm::IRBuilder<> first(allocas_, allocas_->begin());
  llvm::AllocaInst* const slot = first.CreateAlloca(type, nullptr, name);
  slot->setAlignment(llvm::Align(alignment));
  return slot;
}

Value* KernelBuilder::row(uint32_t index) {
  if (is_in_place(index)) return at(registers(), plan_.layout.vgpr_offset(index));
  const auto found = rows_.find(index);
  if (found != rows_.end()) return found->second;
  return rows_[index] = variable(llvm::ArrayType::get(i32(), wave_size_), 64, "row");
}

llvm::AllocaInst* KernelBuilder::base_variable(uint32_t index) {
  llvm::AllocaInst*& slot = base_variables_[index];
  if (slot == nullptr) slot = variable(i32(), 4, "base");
  return slot;
}

llvm::AllocaInst* KernelBuilder::pitch_variable(uint32_t index) {
  llvm::AllocaInst*& slot = pitch_variables_[index];
  if (slot == nullptr) slot = variable(i32(), 4, "pitch");
  return slot;
}

void KernelBuilder::store_common(uint32_t index, const Common& common) {
  b_.CreateStore(common.base, base_variable(index));
  if (common.pitch != nullptr) b_.CreateStore(common.pitch, pitch_variable(index));
}

Value* KernelBuilder::constant_vector(const std::vector<uint32_t>& numbers, VectorIndex v) {
  const auto first = numbers.begin() + v.number * lanes_;
  const bool all_same =
      std::all_of(numbers.begin(), numbers.end(), [&](uint32_t n) { return n == numbers[0]; });
  if (v.bytes == nullptr || all_same)
    return llvm::ConstantDataVector::get(context_, std::vector<uint32_t>(first, first + lanes_));
  llvm::GlobalVariable*& table = tables_[numbers];
  if (table == nullptr) {
    auto* const data = llvm::ConstantDataArray::get(context_, numbers);
    table = new llvm::GlobalVariable(module_, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data,
                                     "numbers");
    table->setAlignment(llvm::Align(lanes_ * 4));
  }
  return b_.CreateAlignedLoad(vector(), b_.CreateInBoundsGEP(i8(), table, v.bytes), llvm::Align(lanes_ * 4));
}

Value* KernelBuilder::lane_values(const Common& common, const Shape& shape, VectorIndex v) {
  const uint8_t* const pitches = shape.pitches.data() + v.number * lanes_;
  Value* base = common.base;
  Value* each = nullptr;
  if (common.pitch != nullptr) {
    const unsigned count = v.bytes == nullptr ? lanes_ : wave_size_;
    if (std::all_of(pitches, pitches + count, [&](uint8_t p) { return p == pitches[0]; })) {
      base = b_.CreateAdd(base, b_.CreateMul(common.pitch, b_.getInt32(pitches[0])));
    } else {
      each = b_.CreateMul(b_.CreateVectorSplat(lanes_, common.pitch), lane_numbers(shape.pitches, v));
    }
  }
  Value* const lanes = b_.CreateAdd(b_.CreateVectorSplat(lanes_, base), lane_numbers(shape.offsets, v));
  return each == nullptr ? lanes : b_.CreateAdd(lanes, each);
}

Value* KernelBuilder::lane_value(const Common& common, const Shape& shape, unsigned lane) {
  Value* const number = plus(common.base, static_cast<int32_t>(shape.offsets[lane]));
  if (common.pitch == nullptr) return number;
  return b_.CreateAdd(number, b_.CreateMul(common.pitch, b_.getInt32(shape.pitches[lane])));
}

std::bitset<256> KernelBuilder::without_shape(const Shapes& shapes) {
  std::bitset<256> rows;
  for (uint32_t v = 0; v < 256; ++v) rows[v] = shapes.rows[v] == nullptr;
  return rows;
}

std::bitset<256> KernelBuilder::stored_after(uint32_t node, std::bitset<256> stored,
                                             const Shapes& shapes) const {
  const isa::Effects& effects = plan_.graph.nodes[node].effects;
  stored &= ~effects.writes.vgprs;
  // build_call() stores the registers that a handler reads, and loads those that it writes.
  if (plan_.sites[node].kind == Site::Kind::kCall) stored |= effects.reads.vgprs | effects.writes.vgprs;
  return stored & without_shape(shapes);
}

std::vector<std::bitset<256>> KernelBuilder::find_stored() const {
  const auto& blocks = plan_.graph.blocks;
  std::vector<std::bitset<256>> at(blocks.size(), ~std::bitset<256>());
  for (size_t row = 0; row < plan_.ids.size(); ++row) at[plan_.graph.entry].reset(row);
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t b = 0; b < blocks.size(); ++b) {
      std::bitset<256> stored = at[b];
      Shapes shapes = shapes_at_[b];
      for (uint32_t node = blocks[b].first; node < blocks[b].end; ++node) {
        if (plan_.sites[node].is_wave_switch()) stored.set();
        apply(plan_, node, shapes);
        stored = stored_after(node, stored, shapes);
      }
      for (const uint32_t next : blocks[b].successors) {
        changed |= (at[next] & ~stored).any();
        at[next] &= stored;
      }
    }
  }
  return at;
}

void KernelBuilder::load_block_shapes(const Shapes& shapes) {
  shapes_ = shapes;
  common_.fill({});
  for (uint32_t index = 0; index < 256; ++index) {
    const ShapePointer& shape = shapes_.of_active(index);
    if (shape == nullptr) continue;
    common_[index].base = shape->base ? static_cast<Value*>(b_.getInt32(*shape->base))
                                      : b_.CreateLoad(i32(), base_variable(index));
    if (shape->has_pitch()) common_[index].pitch = b_.CreateLoad(i32(), pitch_variable(index));
  }
  before_ = shapes_;
  before_common_ = common_;
  carries_.clear();
}

void KernelBuilder::next_node(uint32_t node) {
  node_ = node;
  if (node > 0) {
    const isa::Registers& written = plan_.graph.nodes[node - 1].effects.writes;
    if (written.scalars[kExec] || written.scalars[kExec + 1]) ++exec_version_;
    kept_scalars_ &= ~written.scalars;
    kept_rows_ &= ~written.vgprs;
  }
  before_ = shapes_;
  before_common_ = common_;
  stored_before_ = stored_;
  is_by_rule_ = apply(plan_, node, shapes_);
  stored_ = stored_after(node, stored_, shapes_);
  for (uint32_t index = 0; index < 256; ++index) {
    if (shapes_.of_active(index) == nullptr) common_[index] = {};
  }
}

void KernelBuilder::make_function() {
  auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {pointer(), pointer(), i64(), pointer()}, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "kernel", module_);
  copy_attributes(*function_);
  function_->addFnAttr(llvm::Attribute::NoUnwind);
  // LLVM aligns the frame only for vectors that exist before register allocation. Without this, spilled
  // vectors would cross cache lines, depending on the caller.
  function_->addFnAttr(llvm::Attribute::getWithStackAlignment(context_, llvm::Align(64)));
  function_->addFnAttr("stackrealign");
  linkage_ = function_->getArg(3);
  allocas_ = BasicBlock::Create(context_, "variables", function_);
  start_ = BasicBlock::Create(context_, "start", function_);
  state_ = variable(llvm::ArrayType::get(i8(), sizeof(Wave)), 64, "state");
  scalars_ = variable(llvm::ArrayType::get(i8(), kScalarBytes), 64, "scalars");
  budget_ = variable(i64(), 8, "budget");
  wave_ = variable(pointer(), 8, "wave");
  registers_ = variable(pointer(), 8, "registers");
  entry_ = variable(i64(), 8, "way");
  b_.SetInsertPoint(start_);
  b_.CreateStore(function_->getArg(0), wave_);
  b_.CreateStore(function_->getArg(1), registers_);
  b_.CreateStore(function_->getArg(2), entry_);
  b_.CreateStore(scalars_, at(state_, offsetof(Wave, registers)));
  b_.CreateStore(b_.getInt32(wave_size_),
                 at(state_, offsetof(Wave, layout) + offsetof(RegisterLayout, wave_size)));
  b_.CreateStore(b_.CreateLoad(i64(), wave_field(offsetof(Wave, budget))), budget_);
  // Shared by all waves that run before control leaves.
  group_ = b_.CreateLoad(pointer(), wave_field(offsetof(Wave, group)));
  memory_ = b_.CreateLoad(pointer(), wave_field(offsetof(Wave, memory)));
  lds_ = b_.CreateLoad(pointer(), at(group_, offsetof(WorkGroup, lds)));
  lds_bytes_ = b_.CreateLoad(i32(), at(group_, plan_.is_checked ? offsetof(WorkGroup, exact_lds_bytes)
                                                                : offsetof(WorkGroup, lds_bytes)));
  if (plan_.expected_entry >= 0) {
    const auto row_field = [&](size_t field) { return at(group_, offsetof(WorkGroup, row) + field); };
    is_in_batch_ = is_in_batch();
    batch_entry_ = b_.CreateLoad(pointer(), row_field(offsetof(WorkGroup::Row, begin)));
    turn_ = b_.CreateLoad(i64(), row_field(offsetof(WorkGroup::Row, turn)));
  }
  if (plan_.is_counted) {
    auto* const find = llvm::FunctionType::get(pointer(), {pointer(), pointer()}, false);
    counters_ = b_.CreateCall(find, linked(offsetof(Linkage, counters)), {group_, linkage_});
  }
}

void KernelBuilder::copy_attributes(llvm::Function& function) {
  const llvm::Function* const like = module_.getFunction("load_global_64_1");
  for (const char* const name : {"target-cpu", "target-features", "prefer-vector-width",
                                 "min-legal-vector-width", "denormal-fp-math"}) {
    if (like->hasFnAttribute(name)) function.addFnAttr(like->getFnAttribute(name));
  }
}

// Loads the initial state (see Plan::expected_entry), and the other live registers from the register array.
void KernelBuilder::load_initial_state(uint32_t node) {
  const isa::Registers& live = plan_.live.before[node];
  isa::Registers others = live;
  for (uint32_t code = 0; code < kMostStartScalars; ++code) others.scalars.reset(code);
  const bool has_ids_in_ttmps = isa::traits_of(plan_.graph.target).has_ids_in_ttmps;
  if (has_ids_in_ttmps) others.scalars.reset(kTtmp9).reset(kTtmp7);
  others.scc = false;
  for (uint32_t row = 0; row < plan_.ids.size(); ++row) others.vgprs.reset(row);
  load_live(others, plan_.live.inactive_before[node]);
  Value* const ids = b_.CreateLoad(pointer(), wave_field(offsetof(Wave, start_ids)));
  for (uint32_t code = 0; code < kMostStartScalars; ++code) {
    if (!live.scalars[code]) continue;
    set_scalar(code * 4, b_.CreateLoad(i32(), at(group_, offsetof(WorkGroup, scalars) + code * 4)));
  }
  for (const auto& [code, place] : {std::pair{kTtmp9, kScalarOfTtmp9}, std::pair{kTtmp7, kScalarOfTtmp7}}) {
    if (!has_ids_in_ttmps || !live.scalars[code]) continue;
    set_scalar(code * 4, b_.CreateLoad(i32(), at(group_, offsetof(WorkGroup, scalars) + place * 4)));
  }
  b_.CreateStore(b_.getInt64(0), scalar_at(kVcc * 4));
  b_.CreateStore(all_lanes(), scalar_at(kExec * 4));
  b_.CreateStore(b_.getInt32(0), scc_place());
  for (uint32_t row = 0; row < plan_.ids.size(); ++row) {
    before_common_[row].base = b_.CreateSub(b_.CreateLoad(i32(), at(ids, uint64_t{row} * wave_size_ * 4)),
                                            b_.getInt32(before_.rows[row]->offsets[0]));
  }
}

void KernelBuilder::make_entries() {
  auto* const invalid = BasicBlock::Create(context_, "invalid", function_);
  llvm::IRBuilder<>(invalid).CreateUnreachable();
  entry_switch_ = BasicBlock::Create(context_, "ways", function_);
  load_arguments();
  b_.CreateBr(entry_switch_);
  llvm::SwitchInst* missing = nullptr;
  if (arguments_missing_ != nullptr) {
    b_.SetInsertPoint(arguments_missing_);
    missing = b_.CreateSwitch(function_->getArg(2), invalid, plan_.entry_count);
  }
  b_.SetInsertPoint(entry_switch_);
  llvm::SwitchInst* const entries = b_.CreateSwitch(b_.CreateLoad(i64(), entry_), invalid, plan_.entry_count);
  const auto hand_over_without_arguments = [&](int32_t entry, uint32_t node, EntryKind beginning) {
    if (missing == nullptr) return;
    auto* const in = BasicBlock::Create(context_, "missing", function_);
    missing->addCase(b_.getInt64(static_cast<uint64_t>(entry)), in);
    b_.SetInsertPoint(in);
    before_ = shapes_at_[plan_.graph.block_of(node)];
    if (plan_.sites[node].entry == 0 && beginning != EntryKind::kTrusted) start_tracking(beginning);
    if (beginning == EntryKind::kBatchStart) {
      load_initial_state(node);
      store_live(plan_.live.before[node], plan_.live.inactive_before[node]);
    }
    hand_over(node);
  };
  for (uint32_t node = 0; node < plan_.sites.size(); ++node) {
    const Site& site = plan_.sites[node];
    const auto enter = [&](int32_t entry, EntryKind beginning) {
      hand_over_without_arguments(entry, node, beginning);
      auto* const in = BasicBlock::Create(context_, "enter", function_);
      entries->addCase(b_.getInt64(static_cast<uint64_t>(entry)), in);
      if (beginning == EntryKind::kBatchStart) batch_start_ = in;
      b_.SetInsertPoint(in);
      const uint32_t block = plan_.graph.block_of(node);
      before_ = shapes_at_[block];
      if (site.entry == 0 && beginning != EntryKind::kTrusted) start_tracking(beginning);
      if (beginning == EntryKind::kBatchStart) {
        load_initial_state(node);
      } else {
        load_live(plan_.live.before[node], plan_.live.inactive_before[node]);
      }
      if (beginning == EntryKind::kChecked) check_expected_shapes(node);
      for (uint32_t index = 0; index < 256; ++index) {
        const ShapePointer& shape = before_.of_active(index);
        if (shape != nullptr && !shape->base && before_common_[index].base != nullptr) {
          store_common(index, before_common_[index]);
        }
      }
      b_.CreateBr(blocks_[block]);
    };
    if (site.entry >= 0) enter(site.entry, site.entry == 0 ? EntryKind::kChecked : EntryKind::kTrusted);
    if (site.from_interpreter >= 0) enter(site.from_interpreter, EntryKind::kChecked);
    if (site.entry == 0 && plan_.expected_entry >= 0) enter(plan_.expected_entry, EntryKind::kBatchStart);
    if (site.entry_after >= 0) {
      auto* const in = BasicBlock::Create(context_, "behind", function_);
      entries->addCase(b_.getInt64(static_cast<uint64_t>(site.entry_after)), in);
      after_switch_[node] = in;
      hand_over_without_arguments(site.entry_after, node + 1, EntryKind::kTrusted);
    }
  }
}

void KernelBuilder::check_expected_shapes(uint32_t node) {
  const isa::Registers& live = plan_.live.before[node];
  Value* all = b_.getTrue();
  const auto expect = [&](Value* holds) { all = b_.CreateAnd(all, holds); };
  const auto mask_of = [&](uint32_t code) {
    return wave_size_ == 64 ? scalar64(code * 4) : wide(scalar(code * 4));
  };
  const auto expect_zeros = [&](Value* number, unsigned zeros) {
    const uint32_t low = zeros >= 32 ? ~0u : (1u << zeros) - 1;
    expect(b_.CreateICmpEQ(b_.CreateAnd(number, b_.getInt32(low)), b_.getInt32(0)));
  };
  for (uint32_t code = 0; code < before_.full.size(); ++code) {
    if (before_.full[code] && (code == kExec || live.scalars[code]))
      expect(b_.CreateICmpEQ(mask_of(code), all_lanes()));
  }
  for (uint32_t code = 0; code < before_.scalar_zeros.size(); ++code) {
    const unsigned zeros = before_.scalar_zeros[code];
    if (zeros != 0 && live.scalars[code]) expect_zeros(scalar(code * 4), zeros);
  }
  for (uint32_t index = 0; index < 256; ++index) {
    const ShapePointer& shape = before_.of_active(index);
    const Common& common = before_common_[index];
    if (shape == nullptr || common.base == nullptr) continue;
    if (shape->zeros != 0 && !shape->base) expect_zeros(common.base, shape->zeros);
    Value* const waves = at(registers(), plan_.layout.vgpr_offset(index));
    for (unsigned v = 0; v < vectors_; ++v) {
      Value* const row = b_.CreateAlignedLoad(vector(), part_at(waves, v), llvm::Align(lanes_ * 4));
      Value* same = b_.CreateICmpEQ(row, lane_values(common, *shape, v));
      if (before_.rows[index] == nullptr) same = b_.CreateOr(same, b_.CreateNot(lanes_of(mask_of(kExec), v)));
      expect(b_.CreateAndReduce(same));
    }
  }
  auto* const others = BasicBlock::Create(context_, "others", function_);
  auto* const these = BasicBlock::Create(context_, "these", function_);
  b_.CreateCondBr(all, these, others, likely());
  b_.SetInsertPoint(others);
  hand_over(node);
  b_.SetInsertPoint(these);
}

void KernelBuilder::hand_over(uint32_t node) {
  b_.CreateStore(b_.CreateLoad(i64(), budget_), wave_field(offsetof(Wave, budget)));
  auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {pointer(), pointer()}, false);
  b_.CreateCall(type, linked(offsetof(Linkage, hand_over)), {operations_at(node), wave()});
  b_.CreateRetVoid();
}

void KernelBuilder::check_barrier(uint32_t node) {
  Value* const at_barrier = group_field(offsetof(WorkGroup, at_barrier));
  Value* present = b_.CreateShl(b_.getInt32(1), b_.CreateLoad(i32(), wave_field(offsetof(Wave, id_in_group))),
                                "", true, true);
  for (const size_t set : {offsetof(WorkGroup, ready), offsetof(WorkGroup, yielded)})
    present = b_.CreateOr(present, group_field(set));
  present = b_.CreateOr(present, at_barrier);
  Value* const all = b_.CreateLShr(
      b_.getInt32(~0u), b_.CreateSub(b_.getInt32(32), group_field(offsetof(WorkGroup, wave_count))));
  // Outside of batches, Group::run_waves() finds missing waves.
  Value* const is_complete = b_.CreateOr(b_.CreateICmpEQ(present, all), b_.CreateNot(is_in_batch()));
  Value* const is_full =
      b_.CreateICmpEQ(mask_at(kExec * 4), b_.CreateLoad(i64(), wave_field(offsetof(Wave, launched_exec))));
  Value* const place = at(group_, offsetof(WorkGroup, barrier));
  Value* const is_same = b_.CreateOr(b_.CreateICmpEQ(at_barrier, b_.getInt32(0)),
                                     b_.CreateICmpEQ(b_.CreateLoad(pointer(), place), operations_at(node)));
  hand_over_unless(node, b_.CreateAnd(b_.CreateAnd(is_complete, is_full), is_same));
  b_.CreateStore(operations_at(node), place);
}

void KernelBuilder::check_end(uint32_t node) {
  const bool has_barriers = std::ranges::any_of(plan_.sites, [](const Site& site) {
    return site.kind == Site::Kind::kBarrier || site.kind == Site::Kind::kToInterpreter;
  });
  if (!has_barriers) return;
  Value* const is_alone = b_.CreateICmpEQ(group_field(offsetof(WorkGroup, at_barrier)), b_.getInt32(0));
  hand_over_unless(node, b_.CreateOr(is_alone, b_.CreateNot(is_in_batch())));
}

Value* KernelBuilder::is_in_batch() {
  return b_.CreateICmpNE(group_field(offsetof(WorkGroup, row) + offsetof(WorkGroup::Row, end)),
                         b_.getInt32(0));
}

void KernelBuilder::hand_over_unless(uint32_t node, Value* holds) {
  auto* const others = BasicBlock::Create(context_, "others", function_);
  auto* const on = BasicBlock::Create(context_, "on", function_);
  b_.CreateCondBr(holds, on, others, likely());
  b_.SetInsertPoint(others);
  store_live(plan_.live.before[node], plan_.live.inactive_before[node]);
  count_until(node);
  hand_over(node);
  b_.SetInsertPoint(on);
}

void KernelBuilder::guard(uint32_t node, Value* holds) {
  if (guarded_.holds != nullptr) {
    guarded_.holds = b_.CreateAnd(guarded_.holds, holds);
    return;
  }
  flush();
  guarded_ = {
      node, holds,
      deferred_stores(plan_.live.before[node], plan_.live.inactive_before[node], StoreFor::kInterpreter),
      pending_.size()};
}

void KernelBuilder::check_guard() {
  if (guarded_.holds == nullptr) return;
  const Guarded guarded = std::exchange(guarded_, {});
  auto* const fallback = BasicBlock::Create(context_, "unguarded", function_);
  auto* const on = BasicBlock::Create(context_, "guarded", function_);
  b_.CreateCondBr(guarded.holds, on, fallback, likely());
  b_.SetInsertPoint(fallback);
  do_loads_now(guarded.pending);
  for (const auto& store : guarded.stores) store();
  count_until(guarded.node);
  hand_over(guarded.node);
  b_.SetInsertPoint(on);
}

std::vector<std::function<void()>> KernelBuilder::deferred_stores(const isa::Registers& live,
                                                                  const std::bitset<256>& inactive,
                                                                  StoreFor reader) {
  std::vector<std::function<void()>> stores;
  std::vector<RowSource> without_memory;  // Rows that are computed as they are stored.
  const auto keep = [&](llvm::Type* type, Value* own, uint64_t offset, uint64_t alignment) {
    const llvm::Align aligned(alignment);
    Value* const value = b_.CreateAlignedLoad(type, own, aligned);
    stores.emplace_back([=, this] { b_.CreateAlignedStore(value, at(registers(), offset), aligned); });
  };
  const auto place = [&](uint32_t index, unsigned v) {
    return plan_.layout.vgpr_offset(index) + uint64_t{v} * lanes_ * 4;
  };
  for_each_live_scalar(live, [&](llvm::Type* type, uint32_t offset) {
    const uint32_t code = offset / 4;
    const bool is_kept = kept_scalars_[code] && (type == i32() || kept_scalars_[code + 1]);
    if (reader == StoreFor::kOwnReload && is_kept) return;
    keep(type, scalar_at(offset), offset, 4);
  });
  for (uint32_t index = 0; index < 256; ++index) {
    if (!live.vgprs[index] && !inactive[index]) continue;
    const ShapePointer& shape = before_.rows[index];
    if (shape != nullptr && reader == StoreFor::kOwnReload) {
      if (kept_rows_[index]) continue;
      stores.emplace_back([=, this, common = before_common_[index]] {
        Value* const waves = at(registers(), plan_.layout.vgpr_offset(index));
        if (!shape->base) b_.CreateStore(lane_value(common, *shape, 0), waves);
        if (!shape->has_pitch()) return;
        const auto pair = shape->lanes_one_pitch_apart(wave_size_);
        for (const unsigned lane : *pair)
          b_.CreateStore(lane_value(common, *shape, lane), at(waves, lane * 4));
      });
    } else if (shape != nullptr || pending_rows_[index]) {
      without_memory.push_back(row_source(index));
    } else if (stored_before_[index] || is_in_place(index)) {
      continue;
    } else {
      for (unsigned v = 0; v < vectors_; ++v) keep(vector(), part(index, v), place(index, v), lanes_ * 4);
    }
  }
  if (!without_memory.empty()) {
    stores.emplace_back([=, this] {
      for_each_vector(true, [&](VectorIndex v) {
        for (const RowSource& source : without_memory) {
          Value* const waves = at(registers(), plan_.layout.vgpr_offset(source.index));
          b_.CreateAlignedStore(get(source, v), part_at(waves, v), llvm::Align(lanes_ * 4));
        }
      });
    });
  }
  if (live.scc) {
    Value* const scc = b_.CreateLoad(i32(), scc_place());
    stores.emplace_back([=, this] { b_.CreateStore(scc, wave_field(offsetof(Wave, scc))); });
  }
  return stores;
}

void KernelBuilder::store_live(const isa::Registers& live, const std::bitset<256>& inactive,
                               StoreFor reader) {
  for (const auto& store : deferred_stores(live, inactive, reader)) store();
}

void KernelBuilder::load_affine_row(uint32_t index) {
  const Shape& shape = *before_.rows[index];
  Value* const waves = at(registers(), plan_.layout.vgpr_offset(index));
  const auto without_offset = [&](unsigned lane) {
    return b_.CreateSub(b_.CreateLoad(i32(), at(waves, lane * 4)), b_.getInt32(shape.offsets[lane]));
  };
  Common& common = before_common_[index] = {};
  common.base = shape.base ? static_cast<Value*>(b_.getInt32(*shape.base)) : without_offset(0);
  if (!shape.has_pitch()) return;
  const auto pair = shape.lanes_one_pitch_apart(wave_size_);
  common.pitch = b_.CreateSub(without_offset((*pair)[1]), without_offset((*pair)[0]));
  common.base = b_.CreateSub(common.base, b_.CreateMul(common.pitch, b_.getInt32(shape.pitches[0])));
}

void KernelBuilder::load_live(const isa::Registers& live, const std::bitset<256>& inactive) {
  const auto load = [&](llvm::Type* type, Value* own, uint64_t offset, uint64_t alignment) {
    const llvm::Align aligned(alignment);
    b_.CreateAlignedStore(b_.CreateAlignedLoad(type, at(registers(), offset), aligned), own, aligned);
  };
  for_each_live_scalar(live,
                       [&](llvm::Type* type, uint32_t offset) { load(type, scalar_at(offset), offset, 4); });
  for (uint32_t index = 0; index < 256; ++index) {
    if (!live.vgprs[index] && !inactive[index]) {
      before_common_[index] = {};
      continue;
    }
    if (before_.rows[index] != nullptr) {
      load_affine_row(index);
      continue;
    }
    if (!is_in_place(index)) copy_row(row(index), at(registers(), plan_.layout.vgpr_offset(index)));
    if (before_.active[index] != nullptr) before_common_[index] = {base_of_active(index)};
  }
  if (live.scc) b_.CreateStore(b_.CreateLoad(i32(), wave_field(offsetof(Wave, scc))), scc_place());
}

// Computes the base from any active lane. If no lane is active, the value does not matter.
Value* KernelBuilder::base_of_active(uint32_t index) {
  const Shape& shape = *before_.active[index];
  if (shape.base) return b_.getInt32(*shape.base);
  const std::vector<uint32_t> numbers(shape.offsets.begin(), shape.offsets.begin() + wave_size_);
  auto* const data = llvm::ConstantDataArray::get(context_, numbers);
  auto* const offsets = new llvm::GlobalVariable(module_, data->getType(), true,
                                                 llvm::GlobalValue::PrivateLinkage, data, "offsets");
  Value* const exec = wave_size_ == 64 ? scalar64(kExec * 4) : wide(scalar(kExec * 4));
  Value* const lane = b_.CreateAnd(b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, exec, b_.getFalse()),
                                   b_.getInt64(wave_size_ - 1));
  Value* const waves = at(registers(), plan_.layout.vgpr_offset(index));
  return b_.CreateSub(b_.CreateLoad(i32(), b_.CreateInBoundsGEP(i32(), waves, lane)),
                      b_.CreateLoad(i32(), b_.CreateInBoundsGEP(i32(), offsets, lane)));
}

void KernelBuilder::leave(Stop stop, Value* op) {
  b_.CreateStore(op, wave_field(offsetof(Wave, op)));
  b_.CreateStore(b_.getInt8(static_cast<uint8_t>(stop)), wave_field(offsetof(Wave, stop)));
  b_.CreateStore(b_.CreateLoad(i64(), budget_), wave_field(offsetof(Wave, budget)));
  b_.CreateRetVoid();
}

// The next wave of the batch continues if it has this MODE.
void KernelBuilder::switch_wave(uint32_t node) {
  const Site& site = plan_.sites[node];
  const bool is_barrier = site.kind == Site::Kind::kBarrier, yields = site.kind == Site::Kind::kYield;
  if ((is_barrier || yields) && plan_.modes[node] == plan_.mode) {
    b_.CreateStore(entry_at(site.entry_after), wave_field(offsetof(Wave, op)));
    continue_with_next_wave(is_barrier ? "after_barrier" : "after_yield", entry_switch_);
  }
  leave(is_barrier ? Stop::kBarrier : yields ? Stop::kYield : Stop::kSleep, entry_at(site.entry_after));
}

void KernelBuilder::continue_with_next_wave(const char* next, BasicBlock* to) {
  if (batch_start_ == nullptr) return;
  auto* const next_block = BasicBlock::Create(context_, "next", function_);
  auto* const time_is_up = BasicBlock::Create(context_, "over", function_);
  Value* const wave = call(next, {group_, this->wave(), budget_});
  b_.CreateCondBr(b_.CreateIsNotNull(wave), next_block, time_is_up, likely());
  b_.SetInsertPoint(next_block);
  b_.CreateStore(wave, wave_);
  b_.CreateStore(b_.CreateLoad(pointer(), wave_field(offsetof(Wave, registers))), registers_);
  if (to == entry_switch_) {
    Value* const op = b_.CreateLoad(pointer(), wave_field(offsetof(Wave, op)));
    b_.CreateStore(wide(b_.CreateLoad(i32(), at(op, offsetof(MicroOp, aux)))), entry_);
  }
  b_.CreateBr(to);
  b_.SetInsertPoint(time_is_up);
}

// Does what next_after_end() does. Waves that never wait are ready in the order of their numbers, and what is
// constant in a batch is in values.
void KernelBuilder::continue_in_order() {
  if (batch_start_ == nullptr) return;
  const auto block = [&](const char* name) { return BasicBlock::Create(context_, name, function_); };
  auto *const in_batch = block("batch"), *const first = block("first"), *const next = block("next");
  auto *const start = block("start"), *const over = block("over");
  b_.CreateCondBr(is_in_batch_, in_batch, over, likely());
  b_.SetInsertPoint(in_batch);
  Value* const ended = wave();
  b_.CreateStore(batch_entry_, at(ended, offsetof(Wave, op)));
  Value* const left = at(group_, offsetof(WorkGroup, row) + offsetof(WorkGroup::Row, left));
  Value* const used = b_.CreateSub(turn_, b_.CreateLoad(i64(), budget_));
  b_.CreateStore(b_.CreateSub(b_.CreateLoad(i64(), left), used), left);
  b_.CreateStore(turn_, budget_);
  Value* const others = group_field(offsetof(WorkGroup, ready));
  b_.CreateCondBr(b_.CreateICmpNE(others, b_.getInt32(0)), next, first, likely());
  b_.SetInsertPoint(first);
  Value* const goes_on = call("next_group", {group_});
  Value* const all = group_field(offsetof(WorkGroup, ready));
  Value* const waves = b_.CreateLoad(pointer(), at(group_, offsetof(WorkGroup, waves)));
  BasicBlock* const from_first = b_.GetInsertBlock();
  b_.CreateCondBr(goes_on, start, over, likely());
  b_.SetInsertPoint(next);
  Value* const following = at(ended, sizeof(Wave));
  b_.CreateBr(start);
  b_.SetInsertPoint(start);
  llvm::PHINode* const ready = b_.CreatePHI(i32(), 2);
  ready->addIncoming(others, next);
  ready->addIncoming(all, from_first);
  llvm::PHINode* const wave = b_.CreatePHI(pointer(), 2);
  wave->addIncoming(following, next);
  wave->addIncoming(waves, from_first);
  b_.CreateStore(b_.CreateAnd(ready, b_.CreateSub(ready, b_.getInt32(1))),
                 at(group_, offsetof(WorkGroup, ready)));
  b_.CreateStore(wave, at(group_, offsetof(WorkGroup, running)));
  b_.CreateStore(wave, wave_);
  b_.CreateStore(b_.CreateLoad(pointer(), at(wave, offsetof(Wave, registers))), registers_);
  b_.CreateBr(batch_start_);
  b_.SetInsertPoint(over);
}

void KernelBuilder::jump_to(uint32_t from, uint32_t to) {
  const uint32_t first = plan_.graph.blocks[to].first;
  before_ = shapes_;
  stored_before_ = stored_;
  before_common_ = common_;
  const std::bitset<256> wanted = plan_.live.before[first].vgprs | plan_.live.inactive_before[first];
  for (uint32_t index = 0; index < 256; ++index) {
    const ShapePointer& shape_now = shapes_.of_active(index);
    const ShapePointer& shape_there = shapes_at_[to].of_active(index);
    if (!wanted[index]) continue;
    if ((shape_now == nullptr && shape_there != nullptr) ||
        (shapes_.rows[index] == nullptr && shapes_at_[to].rows[index] != nullptr))
      return fail("the shape of v" + std::to_string(index) + " is less known than planned");
    if (shapes_at_[to].rows[index] == nullptr) materialized_row(index);
    if (shape_there != nullptr && !shape_there->base) {
      store_common(index, {plus(common_[index].base,
                                static_cast<int32_t>(shape_now->offsets[0] - shape_there->offsets[0])),
                           common_[index].pitch});
    }
  }
  if (first > plan_.graph.blocks[from].first) {
    b_.CreateBr(blocks_[to]);
    return;
  }
  auto* const time_is_up = BasicBlock::Create(context_, "over", function_);
  b_.CreateCondBr(b_.CreateICmpSLT(b_.CreateLoad(i64(), budget_), b_.getInt64(0)), time_is_up, blocks_[to],
                  unlikely());
  b_.SetInsertPoint(time_is_up);
  store_live(plan_.live.before[first], plan_.live.inactive_before[first]);
  leave(Stop::kBudget, entry_at(plan_.sites[first].entry));
}

void KernelBuilder::count_segment(uint32_t end) {
  if (!plan_.is_counted || end == counted_) return;
  const auto segment = std::ranges::lower_bound(plan_.segments, counted_, {}, &Segment::first);
  if (segment == plan_.segments.end() || segment->first != counted_ || segment->end != end)
    return fail("a segment differs from the plan's");
  counted_ = end;
  lanes_of_last_ = active_lane_count();
  const auto index = static_cast<uint64_t>(segment - plan_.segments.begin());
  Value* const counter = at(counters_, index * sizeof(Counter) + offsetof(Counter, segments));
  Value* const added = b_.CreateOr(b_.CreateShl(lanes_of_last_, Counter::kLanesShift), b_.getInt64(1));
  b_.CreateStore(b_.CreateAdd(b_.CreateLoad(i64(), counter), added), counter);
}

void KernelBuilder::count_until(uint32_t node) {
  if (!plan_.is_counted || node == counted_) return;
  const bool is_too_many = node < counted_;
  const uint64_t first = std::min(node, counted_), end = std::max(node, counted_);
  auto* const count =
      llvm::FunctionType::get(b_.getVoidTy(), {pointer(), pointer(), i64(), i64(), i64()}, false);
  b_.CreateCall(
      count, linked(offsetof(Linkage, count)),
      {group_, linkage_, b_.getInt64(end << 32 | first), is_too_many ? lanes_of_last_ : active_lane_count(),
       b_.getInt64(is_too_many ? ~uint64_t{0} : 1)});
}

void KernelBuilder::build_block(uint32_t index) {
  const analysis::Block& block = plan_.graph.blocks[index];
  b_.SetInsertPoint(blocks_[index]);
  load_block_shapes(shapes_at_[index]);
  stored_ = stored_at_[index];
  guarded_lds_.clear();
  kept_scalars_.reset();
  kept_rows_.reset();
  bool ended = false;
  uint32_t charged = block.first;  // to the budget
  counted_ = block.first;
  for (uint32_t node = block.first; node < block.end; ++node) {
    const Site& site = plan_.sites[node];
    next_node(node);
    test_defined(node);
    note_defined(node);
    if (plan_.is_counted && ends_segment_before_it_runs(node)) {
      check_guard();
      flush();
      count_segment(node + 1);
    }
    do_due_loads(node);
    count_issued(node);
    if (is_guarded_lds_load(node)) {
      build_guarded_lds_load(node);
      continue;
    }
    if (site.kind != Site::Kind::kInline && site.kind != Site::Kind::kNothing) check_guard();
    if (site.kind == Site::Kind::kInline) {
      is_by_rule_ ? build_by_rule(node) : build_steps(node);
      if (!failure_.empty()) return;
      continue;
    }
    if (site.kind == Site::Kind::kNothing) continue;
    flush();
    switch (site.kind) {
      case Site::Kind::kBarrier:
        if (plan_.is_checked) check_barrier(node);
        if (plan_.reports_accesses) build_call(node);
        [[fallthrough]];
      case Site::Kind::kYield:
      case Site::Kind::kSleep:
        charge(node + 1 - charged);
        charged = node + 1;
        count_segment(node + 1);
        build_wave_switch(node);
        break;
      case Site::Kind::kSignal: {
        Value* const signalled = at(group_, offsetof(WorkGroup, signalled));
        Value* const own =
            b_.CreateShl(b_.getInt32(1), b_.CreateLoad(i32(), wave_field(offsetof(Wave, id_in_group))));
        b_.CreateStore(b_.CreateOr(b_.CreateLoad(i32(), signalled), own), signalled);
        break;
      }
      case Site::Kind::kMode:
        build_mode(block, node);
        break;
      case Site::Kind::kToInterpreter:
        charge(node - charged);
        count_segment(node);
        store_live(plan_.live.before[node], plan_.live.inactive_before[node]);
        return hand_over(node);
      case Site::Kind::kEnd:
        charge(node + 1 - charged);
        count_segment(node + 1);
        build_end(node);
        ended = true;
        break;
      case Site::Kind::kBranch:
        charge(node + 1 - charged);
        charged = node + 1;
        count_segment(node + 1);
        build_branch(index, plan_.graph.nodes[node]);
        ended = true;
        break;
      default:
        build_access(node);
        break;
    }
  }
  if (ended) return;
  do_loads_in_run();
  check_guard();
  flush();
  charge(block.end - charged);
  count_segment(block.end);
  if (block.successors.size() != 1) {
    fail("a block has no terminator");
    return;
  }
  jump_to(index, block.successors[0]);
}

void KernelBuilder::build_wave_switch(uint32_t node) {
  const isa::Registers& live = plan_.live.before[node + 1];
  const std::bitset<256>& inactive = plan_.live.inactive_before[node + 1];
  store_live(live, inactive, StoreFor::kOwnReload);
  switch_wave(node);
  b_.SetInsertPoint(after_switch_[node]);
  load_live(live, inactive);
  kept_scalars_ = live.scalars;
  kept_scalars_.set(kExec).set(kExec + 1);
  for (uint32_t v = 0; v < 256; ++v) {
    if (before_common_[v].base == nullptr) shapes_.rows[v] = shapes_.active[v] = nullptr;
    kept_rows_[v] = shapes_.rows[v] != nullptr;
  }
  common_ = before_common_;
  stored_ = without_shape(shapes_) & without_shape(before_);
  carries_.clear();
  shapes_.uniform_masks.reset();
}

void KernelBuilder::build_mode(const analysis::Block& block, uint32_t node) {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  if (indexes_registers(in.op)) return set_index(in);
  // At a block's end, the mode of the following block: the next node may be in this instruction's literal.
  const bool is_last = node + 1 == block.end;
  set_mode(plan_.modes[is_last ? plan_.graph.blocks[block.successors.front()].first : node + 1]);
}

void KernelBuilder::build_end(uint32_t node) {
  if (plan_.modes[node] != plan_.mode) set_mode(plan_.mode);
  if ((plan_.modes[node] & kGprIndexEnable) != 0) enable_index(false);
  if (plan_.is_checked) check_end(node);
  const bool waves_take_turns = !after_switch_.empty();
  waves_take_turns ? continue_with_next_wave("after_end", entry_switch_) : continue_in_order();
  leave(Stop::kEnd, operations_at(node));
}

void KernelBuilder::build_access(uint32_t node) {
  switch (plan_.sites[node].kind) {
    case Site::Kind::kScalarLoad:
      return build_scalar_load(node);
    case Site::Kind::kGlobal:
      return build_global(node);
    case Site::Kind::kScratch:
      return build_scratch(node);
    case Site::Kind::kLds:
      return build_lds(node);
    case Site::Kind::kLdsAtomic:
      return build_lds_atomic(node);
    default:
      return build_call(node);
  }
}

void KernelBuilder::build_branch(uint32_t from, const analysis::Node& node) {
  const auto& successors = plan_.graph.blocks[from].successors;
  if (successors.size() == 1) return jump_to(from, successors.back());
  const isa::ImplicitEffects effects = isa::implicit_effects(node.instruction.op);
  const uint32_t mask = effects.has(isa::implicit::kReadsVcc) ? kVcc : kExec;
  Value* const taken = effects.has(isa::implicit::kReadsScc)
                           ? b_.CreateICmpNE(b_.CreateLoad(i32(), scc_place()), b_.getInt32(0))
                           : b_.CreateICmpNE(mask_at(mask * 4), b_.getInt64(0));
  const Op op = node.instruction.op;
  const bool if_not = op == Op::s_cbranch_scc0 || op == Op::s_cbranch_vccz || op == Op::s_cbranch_execz;
  auto* const through = BasicBlock::Create(context_, "through", function_);
  auto* const away = BasicBlock::Create(context_, "away", function_);
  b_.CreateCondBr(taken, if_not ? through : away, if_not ? away : through);
  b_.SetInsertPoint(away);
  jump_to(from, successors.back());
  b_.SetInsertPoint(through);
  jump_to(from, successors.front());
}

void KernelBuilder::build_call(uint32_t node, Results results) {
  const isa::Effects& effects = plan_.graph.nodes[node].effects;
  const auto& inactive = plan_.live.inactive_behind[node];
  isa::Registers before = effects.reads | (effects.writes - effects.replaces);
  std::bitset<256> kept;
  if (!before_.all_active()) kept = effects.writes.vgprs & inactive;
  if (effects.writes_inactive_lanes) kept |= effects.writes.vgprs;
  store_live(before, kept);
  llvm::Function* const handlers = operations_.named("unlikely_call");
  if (handlers == nullptr) return fail("missing function for calls");
  llvm::CallInst* const went_on =
      b_.CreateCall(handlers, {linkage_, operations_at(node), wave(), registers()});
  went_on->setCallingConv(handlers->getCallingConv());
  auto* const on = BasicBlock::Create(context_, "on", function_);
  auto* const stopped = BasicBlock::Create(context_, "stopped", function_);
  b_.CreateCondBr(went_on, on, stopped, likely());
  b_.SetInsertPoint(stopped);
  if (plan_.tracks_undefined) store_all(node);
  // Reports find the caller from the scalars in the wave's registers.
  if (plan_.is_function) {
    for_each_live_scalar(plan_.live.before[node], [&](llvm::Type* type, uint32_t offset) {
      Value* const value = b_.CreateAlignedLoad(type, scalar_at(offset), llvm::Align(4));
      b_.CreateAlignedStore(value, at(registers(), offset), llvm::Align(4));
    });
  }
  b_.CreateStore(b_.CreateLoad(i64(), budget_), wave_field(offsetof(Wave, budget)));
  if (plan_.tracks_undefined) {
    auto* const type = llvm::FunctionType::get(b_.getVoidTy(), {pointer(), pointer()}, false);
    b_.CreateCall(type, linked(offsetof(Linkage, stopped)), {operations_at(node), wave()});
  }
  b_.CreateRetVoid();
  b_.SetInsertPoint(on);
  if (results == Results::kStayInWave) return;
  const Shapes saved_shapes = before_;
  const auto saved_common = before_common_;
  for (uint32_t v = 0; v < 256; ++v) {
    if (effects.writes.vgprs[v]) before_.rows[v] = before_.active[v] = nullptr;
  }
  load_live(effects.writes, {});
  before_ = saved_shapes;
  before_common_ = saved_common;
}

}  // namespace rigel::vgpu::exec::compiler
