// Scalar loads, with those that are done once per wave batch (arguments.hpp).
#include <cstddef>

#include "plugins/vgpu/compiler/kernel_builder.hpp"

namespace rigel::vgpu::exec::compiler {

void KernelBuilder::load_arguments(Value* entry, BasicBlock* next) {
  // Batches consist of waves that use the expected entry.
  if (plan_.expected_entry >= 0) arguments_ = find_arguments(plan_);
  for (const auto& [node, region] : arguments_.loads) {
    for (uint32_t d = 0; d < plan_.graph.nodes[node].instruction.vdst.dwords; ++d)
      argument_variables_[node].push_back(variable(i32(), 4, "argument"));
  }
  for (size_t i = 0; i < arguments_.regions.size(); ++i) {
    arguments_known_.push_back(variable(i1(), 1, "known"));
    b_.CreateStore(b_.getFalse(), arguments_known_[i]);
  }
  if (arguments_.regions.empty()) {
    b_.CreateBr(next);
    return;
  }
  auto* const first = BasicBlock::Create(context_, "arguments", function_);
  b_.CreateCondBr(b_.CreateICmpEQ(entry, b_.getInt64(static_cast<uint64_t>(plan_.expected_entry))), first,
                  next);
  b_.SetInsertPoint(first);
  // The work-group id changes within the batch.
  Value* const id_scalar =
      b_.CreateLoad(i32(), at(group_, offsetof(WorkGroup, row) + offsetof(WorkGroup::Row, id_scalar)));
  for (uint32_t i = 0; i < arguments_.regions.size(); ++i) {
    const Arguments::Region& region = arguments_.regions[i];
    const auto bytes = static_cast<uint64_t>(region.end - region.begin);
    Value* const is_pointer =
        b_.CreateICmpUGT(b_.CreateSub(id_scalar, b_.getInt32(region.pointer)), b_.getInt32(1));
    Value* const pointer = b_.CreateAlignedLoad(
        i64(), at(group_, offsetof(WorkGroup, scalars) + region.pointer * 4), llvm::Align(4));
    Value* const place = call("place_to_load", {memory_, linkage_, site_of(region.first_load),
                                                address_from(pointer, region.begin), b_.getInt64(bytes)});
    auto* const found = BasicBlock::Create(context_, "found", function_);
    auto* const after = BasicBlock::Create(context_, "behind", function_);
    b_.CreateCondBr(b_.CreateAnd(is_pointer, b_.CreateIsNotNull(place)), found, after, likely());
    b_.SetInsertPoint(found);
    for (const auto& [node, region_index] : arguments_.loads) {
      if (region_index != i) continue;
      const auto offset = static_cast<int32_t>(plan_.sites[node].operations->aux) - region.begin;
      const auto& variables = argument_variables_[node];
      const std::vector<Value*> values =
          load_element(at(place, static_cast<uint64_t>(offset)), static_cast<unsigned>(variables.size()));
      for (size_t d = 0; d < variables.size(); ++d) b_.CreateStore(values[d], variables[d]);
    }
    b_.CreateStore(b_.getTrue(), arguments_known_[i]);
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }
  b_.CreateBr(next);
}

Value* KernelBuilder::address_from(Value* pointer, int32_t offset) {
  return b_.CreateAdd(b_.CreateAnd(pointer, b_.getInt64(~uint64_t{3})),
                      b_.getInt64(static_cast<uint64_t>(int64_t{offset})));
}

void KernelBuilder::build_scalar_load(uint32_t node) {
  const auto argument = arguments_.loads.find(node);
  const auto load_anew = [&] {
    // No kernel writes the memory of arguments, so only other loads can race.
    plan_.reports_accesses ? build_call(node) : build_scalar_load_anew(node);
  };
  if (argument == arguments_.loads.end()) return load_anew();
  const MicroOp& op = *plan_.sites[node].operations;
  const auto& variables = argument_variables_[node];
  with_fallback(
      b_.CreateLoad(i1(), arguments_known_[argument->second]),
      [&] {
        for (uint32_t d = 0; d < variables.size(); ++d)
          set_scalar(op.dst + d * 4, b_.CreateLoad(i32(), variables[d]));
      },
      load_anew);
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
