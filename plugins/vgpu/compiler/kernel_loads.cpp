// Loads from known places are done where the wave waits for them. Where they stand, their memory is found; so what lies behind
// several of them is one run of instructions, each of which takes what it needs from memory, and nothing has to be kept
// meanwhile. The order is what the GPU warrants: loads are done at s_waitcnt at the latest, before the wave's next store.
#include "plugins/vgpu/compiler/kernel_builder.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <algorithm>

namespace rigel::vgpu::exec::compiler {

bool KernelBuilder::may_wait(const Place& place, unsigned dwords) const {
  return place.pitch == nullptr && span_of(place, dwords * 4) <= kMostLanding;
}

void KernelBuilder::load_later(uint32_t node, Value* reached, std::vector<PendingLoad> loads) {
  BasicBlock* const from = b_.GetInsertBlock();
  auto* const otherwise = BasicBlock::Create(context_, "otherwise", function_);
  auto* const behind = BasicBlock::Create(context_, "behind", function_);
  b_.CreateCondBr(reached, behind, otherwise, likely());
  b_.SetInsertPoint(otherwise);
  build_call(node, Results::kStayInWave);
  // The interpreter's results lie in the wave's registers: they are put in memory as the kernel's lie in its own.
  std::vector<Value*> landings;
  for (const PendingLoad& load : loads) {
    Value* const landing = landing_of(pending_.size() + landings.size());
    auto* const data = llvm::ConstantDataArray::get(
        context_, llvm::ArrayRef(load.place.offsets.data(), static_cast<size_t>(wave_size_)));
    auto* const offsets = new llvm::GlobalVariable(module_, data->getType(), true,
                                                   llvm::GlobalValue::PrivateLinkage, data, "offsets");
    llvm::Function* const lay_out = operations_.named("lay_out_" + std::to_string(wave_size_));
    if (lay_out == nullptr) return fail("no function lay_out");
    b_.CreateCall(lay_out, {at(registers(), plan_.layout.vgpr_offset(load.data)), b_.getInt32(load.dwords),
                            load.exec, offsets, landing});
    landings.push_back(landing);
  }
  BasicBlock* const end = b_.GetInsertBlock();
  b_.CreateBr(behind);
  b_.SetInsertPoint(behind);
  for (size_t i = 0; i < loads.size(); ++i) {
    PendingLoad& load = loads[i];
    llvm::PHINode* const begin = b_.CreatePHI(pointer(), 2);
    begin->addIncoming(load.place.begin, from);
    begin->addIncoming(landings[i], end);
    load.place.begin = begin;
  }
  for (PendingLoad& load : loads) {
    for (unsigned d = 0; d < load.dwords; ++d) pending_rows_.set(load.data + d);
    pending_.push_back(std::move(load));
  }
}

KernelBuilder::PendingLoad KernelBuilder::pending_load(uint32_t node, const Place& place, uint32_t data,
                                                       unsigned dwords) {
  PendingLoad load{node, place, data, dwords, mask_at(kExec * 4), {}};
  for (unsigned d = 0; d < dwords; ++d) load.old.push_back(row_source(data + d));
  return load;
}

Value* KernelBuilder::landing_of(size_t index) {
  while (landings_.size() <= index)
    landings_.push_back(variable(llvm::ArrayType::get(i8(), kMostLanding), 64, "landing"));
  return landings_[index];
}

bool KernelBuilder::waits_for_loads(uint32_t node) const {
  const Site& site = plan_.sites[node];
  const analysis::Node& what = plan_.graph.nodes[node];
  const auto takes_some = [&] {
    return ((what.effects.reads.vgprs | what.effects.writes.vgprs) & pending_rows_).any();
  };
  switch (site.what) {
    case Site::What::kInline:
      return takes_some();
    case Site::What::kScalarLoad:
      return false;
    case Site::What::kGlobal:
    case Site::What::kScratch:
    case Site::What::kLds: {
      constexpr size_t kMostPending = 16;
      return isa::memory_shape(what.instruction.op)->verb != isa::Verb::kLoad || takes_some() ||
             pending_.size() + 4 > kMostPending;
    }
    default:  // s_waitcnt is among them
      return true;
  }
}

void KernelBuilder::do_load(const PendingLoad& load, unsigned v) {
  const std::vector<Value*> values = load_known(load.place, v, load.dwords);
  for (unsigned d = 0; d < load.dwords; ++d) put(load.node, load.old[d], v, values[d], load.exec);
}

void KernelBuilder::do_loads_now() {
  for (const PendingLoad& load : pending_) {
    for (unsigned v = 0; v < vectors_; ++v) do_load(load, v);
  }
}

void KernelBuilder::do_loads_in_run() {
  if (pending_.empty()) return;
  check_guard();
  for (PendingLoad& load : pending_)
    run_.push_back([this, load = std::move(load)](unsigned v) { do_load(load, v); });
  pending_.clear();
  pending_rows_.reset();
}

}  // namespace rigel::vgpu::exec::compiler
