// Integer comparisons of affine operands: a subtraction of scalars and a table of lane masks.
#include "plugins/vgpu/compiler/kernel_builder.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace rigel::vgpu::exec::compiler {
namespace {

enum class Relation : uint8_t { kEqual, kBelow, kAtMost };

struct Comparison {
  Relation relation = Relation::kEqual;
  bool is_negated = false;
  bool is_signed = false;

  // With exchanged sources: a < b is !(b <= a).
  Comparison exchanged() const {
    if (relation == Relation::kEqual) return *this;
    return {relation == Relation::kBelow ? Relation::kAtMost : Relation::kBelow, !is_negated, is_signed};
  }
};

std::optional<Comparison> comparison_of(Op op) {
  switch (op) {
    case Op::v_cmp_eq_u32:
    case Op::v_cmpx_eq_u32:
    case Op::v_cmp_eq_i32:
    case Op::v_cmpx_eq_i32:
      return Comparison{Relation::kEqual, false, false};
    case Op::v_cmp_ne_u32:
    case Op::v_cmpx_ne_u32:
    case Op::v_cmp_ne_i32:
    case Op::v_cmpx_ne_i32:
      return Comparison{Relation::kEqual, true, false};
    case Op::v_cmp_lt_u32:
    case Op::v_cmpx_lt_u32:
      return Comparison{Relation::kBelow, false, false};
    case Op::v_cmp_le_u32:
    case Op::v_cmpx_le_u32:
      return Comparison{Relation::kAtMost, false, false};
    case Op::v_cmp_gt_u32:
    case Op::v_cmpx_gt_u32:
      return Comparison{Relation::kAtMost, true, false};
    case Op::v_cmp_ge_u32:
    case Op::v_cmpx_ge_u32:
      return Comparison{Relation::kBelow, true, false};
    case Op::v_cmp_lt_i32:
    case Op::v_cmpx_lt_i32:
      return Comparison{Relation::kBelow, false, true};
    case Op::v_cmp_le_i32:
    case Op::v_cmpx_le_i32:
      return Comparison{Relation::kAtMost, false, true};
    case Op::v_cmp_gt_i32:
    case Op::v_cmpx_gt_i32:
      return Comparison{Relation::kAtMost, true, true};
    case Op::v_cmp_ge_i32:
    case Op::v_cmpx_ge_i32:
      return Comparison{Relation::kBelow, true, true};
    default:
      return std::nullopt;
  }
}

}  // namespace

Value* KernelBuilder::affine_comparison(uint32_t node, const Step& step) {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  std::optional<Comparison> comparison = comparison_of(in.op);
  if (!comparison || in.lanes != isa::LaneMode::kNone ||
      step.micro != plan_.steps[plan_.sites[node].first_step].micro)
    return nullptr;
  for (unsigned i = 0; i < 2; ++i) {
    if (in.src[i].is_vgpr() && before_.of_active(in.src[i].vgpr()) == nullptr) return nullptr;
  }
  Shape lanes = shape_of_source(node, 0), other = shape_of_source(node, 1);
  Common base = common_of(node, 0), limit = common_of(node, 1);
  if (!other.is_uniform(wave_size_)) {
    std::swap(lanes, other);
    std::swap(base, limit);
    comparison = comparison->exchanged();
  }
  constexpr int32_t kMostApart = 1023;
  if (!other.is_uniform(wave_size_) || lanes.has_pitch() || !lanes.is_near(wave_size_)) return nullptr;
  const int32_t least = lanes.minimum_offset(wave_size_), distance = lanes.maximum_offset(wave_size_) - least;
  if (distance > kMostApart) return nullptr;

  const bool is_equality = comparison->relation == Relation::kEqual;
  // The lanes whose offset equals the index, or is below it; the last entry serves all greater numbers.
  std::vector<uint64_t> table(static_cast<size_t>(distance) + 2);
  for (size_t number = 0; number < table.size(); ++number) {
    for (unsigned lane = 0; lane < wave_size_; ++lane) {
      const auto offset = static_cast<size_t>(static_cast<int32_t>(lanes.offsets[lane]) - least);
      if (is_equality ? offset == number : offset < number) table[number] |= uint64_t{1} << lane;
    }
  }
  auto* const data = llvm::ConstantDataArray::get(context_, table);
  auto* const masks = new llvm::GlobalVariable(module_, data->getType(), true,
                                               llvm::GlobalValue::PrivateLinkage, data, "lanes");
  const auto look_up = [&](Value* number) {
    Value* const entry =
        b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, number, b_.getInt64(table.size() - 1));
    return b_.CreateAlignedLoad(i64(), b_.CreateInBoundsGEP(i64(), masks, entry), llvm::Align(8));
  };
  Value* first = plus(base.base, least);
  Value* bound = plus(limit.base, static_cast<int32_t>(other.offsets[0]));
  Value* mask = nullptr;
  if (is_equality) {
    mask = look_up(wide(b_.CreateSub(bound, first)));
  } else {
    if (comparison->is_signed) {
      // Flipping the highest bit maps signed order to unsigned order.
      first = b_.CreateXor(first, b_.getInt32(0x80000000));
      bound = b_.CreateXor(bound, b_.getInt32(0x80000000));
    }
    first = wide(first), bound = wide(bound);
    if (comparison->relation == Relation::kAtMost) bound = b_.CreateAdd(bound, b_.getInt64(1));
    // Lanes whose offset is 2^32 - first or more have wrapped to values from 0 on.
    Value* const to_wrap = b_.CreateSub(b_.getInt64(uint64_t{1} << 32), first);
    Value* const below = look_up(b_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, bound, first));
    Value* const below_wrapped = look_up(b_.CreateAdd(bound, to_wrap));
    mask = b_.CreateOr(below, b_.CreateAnd(below_wrapped, b_.CreateNot(look_up(to_wrap))));
  }
  if (comparison->is_negated) mask = b_.CreateNot(mask);
  return b_.CreateAnd(mask, mask_at(kExec * 4));
}

}  // namespace rigel::vgpu::exec::compiler
