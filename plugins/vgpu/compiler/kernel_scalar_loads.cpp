// Scalar loads, with those that are done once per wave batch (arguments.hpp).
#include <cstddef>

#include "plugins/vgpu/compiler/kernel_builder.hpp"

namespace rigel::vgpu::exec::compiler {

void KernelBuilder::load_arguments() {
  // Batches consist of waves that use the expected entry.
  if (plan_.expected_entry >= 0) arguments_ = find_arguments(plan_);
  if (arguments_.regions.empty()) return;
  // The work-group id changes within the batch.
  Value* const id_scalar =
      b_.CreateLoad(i32(), at(group_, offsetof(WorkGroup, row) + offsetof(WorkGroup::Row, id_scalar)));
  Value* const is_alone = b_.CreateNot(is_in_batch_);
  std::vector<Value*> places;
  Value* all_found = b_.getTrue();
  for (const Arguments::Region& region : arguments_.regions) {
    const auto bytes = static_cast<uint64_t>(region.end - region.begin);
    Value* const is_pointer =
        b_.CreateICmpUGT(b_.CreateSub(id_scalar, b_.getInt32(region.pointer)), b_.getInt32(1));
    Value* const pointer = b_.CreateAlignedLoad(
        i64(), at(group_, offsetof(WorkGroup, scalars) + region.pointer * 4), llvm::Align(4));
    places.push_back(call("place_to_load", {memory_, linkage_, site_of(region.first_load),
                                            address_from(pointer, region.begin), b_.getInt64(bytes)}));
    all_found = b_.CreateAnd(
        all_found, b_.CreateAnd(b_.CreateOr(is_pointer, is_alone), b_.CreateIsNotNull(places.back())));
  }
  auto* const found = BasicBlock::Create(context_, "found", function_);
  arguments_missing_ = BasicBlock::Create(context_, "missing", function_);
  b_.CreateCondBr(all_found, found, arguments_missing_, likely());
  b_.SetInsertPoint(found);
  for (const auto& [node, region] : arguments_.loads) {
    const auto offset =
        static_cast<int32_t>(plan_.sites[node].operations->aux) - arguments_.regions[region].begin;
    argument_values_[node] = load_element(at(places[region], static_cast<uint64_t>(offset)),
                                          plan_.graph.nodes[node].instruction.vdst.dwords);
  }
}

Value* KernelBuilder::address_from(Value* pointer, int32_t offset) {
  return b_.CreateAdd(b_.CreateAnd(pointer, b_.getInt64(~uint64_t{3})),
                      b_.getInt64(static_cast<uint64_t>(int64_t{offset})));
}

void KernelBuilder::build_scalar_load(uint32_t node) {
  const auto argument = argument_values_.find(node);
  if (argument != argument_values_.end()) {
    for (uint32_t d = 0; d < argument->second.size(); ++d)
      set_scalar(plan_.sites[node].operations->dst + d * 4, argument->second[d]);
    return;
  }
  // No kernel writes the memory of arguments, so only other loads can race.
  plan_.reports_accesses ? build_call(node) : build_scalar_load_anew(node);
}

void KernelBuilder::build_scalar_load_anew(uint32_t node) {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  const MicroOp& op = *plan_.sites[node].operations;
  const uint32_t dwords = in.vdst.dwords;
  note_place(node);
  Value* va = address_from(scalar64(op.src[0].offset), static_cast<int32_t>(op.aux));
  if (adds_scalar(in)) va = b_.CreateAdd(va, wide(b_.CreateAnd(scalar(op.src[1].offset), b_.getInt32(~3u))));
  Value* const place = call("place_to_load", {memory_, linkage_, site_of(node), va, b_.getInt64(dwords * 4)});
  with_fallback(
      b_.CreateIsNotNull(place),
      [&] {
        const std::vector<Value*> values = load_element(place, dwords);
        for (uint32_t d = 0; d < dwords; ++d) set_scalar(op.dst + d * 4, values[d]);
      },
      [&] { build_call(node); });
}

}  // namespace rigel::vgpu::exec::compiler
