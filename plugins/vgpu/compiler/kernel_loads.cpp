// Delayed loads. At a load with affine addresses, the memory is only found; it is read at the s_waitcnt that
// covers the load, or before the first instruction that could observe the difference, such as a store.
// Several loads and the instructions that use them then form one run, without intermediate rows in memory.
#include "plugins/vgpu/compiler/kernel_builder.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "plugins/vgpu/isa/waits.hpp"

namespace rigel::vgpu::exec::compiler {

std::optional<uint32_t> KernelBuilder::minimum_distance(const Place& place, bool of_distinct) const {
  std::vector<uint32_t> offsets(place.offsets.begin(), place.offsets.begin() + wave_size_);
  std::sort(offsets.begin(), offsets.end());
  std::optional<uint32_t> least;
  for (unsigned i = 1; i < wave_size_; ++i) {
    const uint32_t distance = offsets[i] - offsets[i - 1];
    if (distance == 0 && of_distinct) continue;
    least = std::min(least.value_or(distance), distance);
  }
  return least;
}

bool KernelBuilder::can_be_delayed(uint32_t node, const Place& place, unsigned dwords) const {
  if (place.pitch != nullptr || span_of(place, dwords * 4) > kMostLanding) return false;
  // Lanes at the same private address have different data, which a landing cannot represent.
  const bool is_flat = plan_.graph.nodes[node].instruction.encoding == isa::Encoding::kFlat;
  return !is_flat || *minimum_distance(place, false) >= dwords * 4;
}

bool KernelBuilder::overlaps_in_part(const Place& place, unsigned dwords) const {
  return minimum_distance(place, true).value_or(UINT32_MAX) < dwords * 4;
}

void KernelBuilder::delay_loads(uint32_t node, const Fork& fork, std::vector<PendingLoad> loads) {
  BasicBlock* const from = b_.GetInsertBlock();
  auto* const after = BasicBlock::Create(context_, "behind", function_);
  b_.CreateBr(after);
  b_.SetInsertPoint(fork.otherwise);
  build_call(node, Results::kStayInWave);
  // The handler's results are in the wave's registers. They are laid out in a landing as they are in memory.
  std::vector<Value*> landings;
  for (PendingLoad& load : loads) {
    load.landing = free_landing(loads);
    Value* const landing = landing_of(load.landing);
    auto* const data = llvm::ConstantDataArray::get(
        context_, llvm::ArrayRef(load.place.offsets.data(), static_cast<size_t>(wave_size_)));
    auto* const offsets = new llvm::GlobalVariable(module_, data->getType(), true,
                                                   llvm::GlobalValue::PrivateLinkage, data, "offsets");
    llvm::Function* const lay_out = operations_.named("lay_out_" + std::to_string(wave_size_));
    if (lay_out == nullptr) return fail("missing function lay_out");
    b_.CreateCall(lay_out, {at(registers(), plan_.layout.vgpr_offset(load.data)), b_.getInt32(load.dwords),
                            load.exec, offsets, landing});
    landings.push_back(landing);
  }
  BasicBlock* const end = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  for (size_t i = 0; i < loads.size(); ++i) {
    PendingLoad& load = loads[i];
    llvm::PHINode* const begin = b_.CreatePHI(pointer(), 2);
    begin->addIncoming(load.place.begin, from);
    begin->addIncoming(landings[i], end);
    load.place.begin = begin;
  }
  for (PendingLoad& load : loads) add_pending(std::move(load));
}

void KernelBuilder::add_pending(PendingLoad load) {
  for (unsigned d = 0; d < load.dwords; ++d) pending_rows_.set(load.data + d);
  pending_.push_back(std::move(load));
}

KernelBuilder::PendingLoad KernelBuilder::pending_load(uint32_t node, const Place& place, uint32_t data,
                                                       unsigned dwords) {
  PendingLoad load{node, place, data, dwords, mask_at(kExec * 4), {}, kNoLanding, 0, 0};
  const bool is_flat = plan_.graph.nodes[node].instruction.encoding == isa::Encoding::kFlat;
  if (!place.is_lds) load.vm = issued_vm_;
  if (place.is_lds || is_flat) load.lgkm = issued_lgkm_;
  for (unsigned d = 0; d < dwords; ++d) load.old.push_back(row_source(data + d));
  return load;
}

Value* KernelBuilder::landing_of(uint32_t index) {
  while (landings_.size() <= index)
    landings_.push_back(variable(llvm::ArrayType::get(i8(), kMostLanding), 64, "landing"));
  return landings_[index];
}

uint32_t KernelBuilder::free_landing(const std::vector<PendingLoad>& others) const {
  const auto takes = [](const std::vector<PendingLoad>& loads, uint32_t index) {
    return std::any_of(loads.begin(), loads.end(),
                       [&](const PendingLoad& load) { return load.landing == index; });
  };
  uint32_t index = 0;
  while (takes(pending_, index) || takes(others, index)) ++index;
  return index;
}

// Counts instructions of the kinds that s_waitcnt counts; overestimates if in doubt.
void KernelBuilder::count_issued(uint32_t node) {
  switch (plan_.sites[node].kind) {
    case Site::Kind::kScalarLoad:
      issued_lgkm_ += 2;
      break;
    case Site::Kind::kGlobal:
      ++issued_lgkm_;  // FLAT
      ++issued_vm_;
      break;
    case Site::Kind::kScratch:
      ++issued_vm_;
      break;
    case Site::Kind::kLds:
      ++issued_lgkm_;
      break;
    default:  // All pending loads have been done.
      break;
  }
}

bool KernelBuilder::needs_pending_loads(uint32_t node) const {
  const Site& site = plan_.sites[node];
  const analysis::Node& graph_node = plan_.graph.nodes[node];
  const auto takes_some = [&] {
    return ((graph_node.effects.reads.vgprs | graph_node.effects.writes.vgprs) & pending_rows_).any();
  };
  switch (site.kind) {
    case Site::Kind::kInline:
      return takes_some();
    case Site::Kind::kScalarLoad:
      return false;
    case Site::Kind::kGlobal:
    case Site::Kind::kScratch:
    case Site::Kind::kLds: {
      constexpr size_t kMostPending = 16;
      return isa::memory_shape(graph_node.instruction.op)->verb != isa::Verb::kLoad || takes_some() ||
             pending_.size() + 4 > kMostPending;
    }
    default:
      return graph_node.instruction.op != Op::s_nop;
  }
}

void KernelBuilder::do_load(const PendingLoad& load, VectorIndex v) {
  const std::vector<Value*> values = load_affine(place_of_vector(load.place, v), load.dwords);
  for (unsigned d = 0; d < load.dwords; ++d) put(load.node, load.old[d], v, values[d], load.exec);
}

void KernelBuilder::do_loads_now(size_t count) {
  for (const PendingLoad& load : std::span(pending_).first(count))
    for_each_vector(is_same_for_all_vectors(load.place), [&](VectorIndex v) { do_load(load, v); });
}

void KernelBuilder::do_due_loads(uint32_t node) {
  if (pending_.empty()) return;
  const isa::Waits waits = isa::waits_of(plan_.graph.nodes[node].instruction, plan_.graph.target);
  if (waits.is_empty() || plan_.sites[node].is_wave_switch()) {
    if (needs_pending_loads(node)) do_loads_in_run();
    return;
  }
  const auto is_past = [&](isa::WaitCounter counter, auto number, auto issued) {
    const std::optional<unsigned> limit = waits.limit(counter);
    return number != 0 && limit && issued - number >= *limit;
  };
  const auto is_due = [&](const PendingLoad& load) {
    return is_past(isa::WaitCounter::kVector, load.vm, issued_vm_) ||
           is_past(isa::WaitCounter::kShared, load.lgkm, issued_lgkm_);
  };
  if (std::none_of(pending_.begin(), pending_.end(), is_due)) return;
  // The guard refers to the first pending loads by their number; do not change their order before.
  check_guard();
  do_loads_in_run(std::stable_partition(pending_.begin(), pending_.end(), is_due));
}

void KernelBuilder::do_loads_in_run(std::vector<PendingLoad>::iterator end) {
  if (end == pending_.begin()) return;
  check_guard();
  for (auto load = pending_.begin(); load != end; ++load) {
    RunStep& step = run_.emplace_back();
    step.build = [this, load = *load](VectorIndex v) { do_load(load, v); };
    step.is_same_for_all_vectors = is_same_for_all_vectors(load->place);
  }
  pending_.erase(pending_.begin(), end);
  pending_rows_.reset();
  for (const PendingLoad& load : pending_) {
    for (unsigned d = 0; d < load.dwords; ++d) pending_rows_.set(load.data + d);
  }
}

}  // namespace rigel::vgpu::exec::compiler
