// Affine instructions: computes base and pitch of the result at run time (lane_rules.hpp).
#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include "plugins/vgpu/compiler/kernel_builder.hpp"
#include "plugins/vgpu/compiler/lane_rules.hpp"
#include "plugins/vgpu/exec/vector/operand_fields.hpp"

namespace rigel::vgpu::exec::compiler {
namespace {

struct Expression {
  llvm::IRBuilder<>* b = nullptr;
  Value* value = nullptr;

  Expression with(Value* other) const { return {b, other}; }
  Expression number(uint64_t number) const { return with(llvm::ConstantInt::get(value->getType(), number)); }
  Expression operator!() const { return with(b->CreateNot(value)); }
};
Expression operator+(Expression x, Expression y) {
  return x.with(x.b->CreateAdd(x.value, y.value));
}
Expression operator-(Expression x, Expression y) {
  return x.with(x.b->CreateSub(x.value, y.value));
}
Expression operator*(Expression x, Expression y) {
  return x.with(x.b->CreateMul(x.value, y.value));
}
Expression operator&(Expression x, Expression y) {
  return x.with(x.b->CreateAnd(x.value, y.value));
}
Expression operator|(Expression x, Expression y) {
  return x.with(x.b->CreateOr(x.value, y.value));
}
Expression operator^(Expression x, Expression y) {
  return x.with(x.b->CreateXor(x.value, y.value));
}
Expression operator==(Expression x, Expression y) {
  return x.with(x.b->CreateICmpEQ(x.value, y.value));
}
Expression operator+(Expression x, uint32_t y) {
  return y == 0 ? x : x + x.number(y);
}
Expression operator*(Expression x, uint32_t y) {
  return x * x.number(y);
}
Expression operator&(Expression x, uint32_t y) {
  return x & x.number(y);
}
Expression operator<<(Expression x, uint32_t y) {
  return x.with(x.b->CreateShl(x.value, x.number(y).value));
}
Expression operator>>(Expression x, uint32_t y) {
  return x.with(x.b->CreateLShr(x.value, x.number(y).value));
}
}  // namespace

class KernelBuilder::CommonNumbers {
 public:
  using Number = Expression;

  static Expression shifted_signed(Expression x, uint32_t y) {
    return x.with(x.b->CreateAShr(x.value, x.number(y).value));
  }
  static Expression is_below(Expression x, Expression y) {
    return x.with(x.b->CreateICmpULT(x.value, y.value));
  }
  static Expression is_below(Expression x, uint32_t y) { return is_below(x, x.number(y)); }
  static bool is_same(Expression x, Expression y) { return x.value == y.value; }
  static Expression widened_signed(Expression x) {
    return x.with(x.b->CreateSExt(x.value, x.b->getInt64Ty()));
  }
  static Expression widened(Expression x) { return x.with(x.b->CreateZExt(x.value, x.b->getInt64Ty())); }
  static Expression narrowed(Expression x) { return x.with(x.b->CreateTrunc(x.value, x.b->getInt32Ty())); }

  CommonNumbers(KernelBuilder& builder, uint32_t node, unsigned half)
      : builder_(builder), node_(node), half_(half) {}

  Expression base(unsigned i, unsigned part) { return expression(common(i, part).base); }
  Expression pitch(unsigned i, unsigned part) { return expression(common(i, part).pitch); }
  Expression constant(uint32_t number) { return expression(builder_.b_.getInt32(number)); }
  Expression by_operation() { return expression(builder_.uniform_result(node_)); }
  Expression carry(uint16_t code) { return expression(builder_.carries_.at(code).value); }
  void set_carry(uint16_t code, Expression carry) { builder_.set_carry(code, carry.value); }
  void set_carry_of_sum(uint16_t code, Expression x, Expression y) {
    set_carry(code, (widened(x) + widened(y)) >> 32);
    const auto made = builder_.carries_.find(code);
    if (made != builder_.carries_.end()) made->second.sources = {x.value, y.value};
  }
  Expression sum_above(uint16_t code, Expression x, Expression y) {
    const Carry& carry = builder_.carries_.at(code);
    if (carry.sources[0] == nullptr) return x + y + narrowed(expression(carry.value));
    const auto joined = [&](Value* low, Expression high) {
      return widened(expression(low)) | widened(high) << 32;
    };
    const Expression total = joined(carry.sources[0], x) + joined(carry.sources[1], y);
    Common& low = builder_.common_[carry.row];
    // The same number, as the lower half of the whole.
    if (low.base == carry.base) low.base = narrowed(total).value;
    return narrowed(total >> 32);
  }
  bool is_ordered(unsigned i, unsigned part) { return common(i, part).is_ordered; }
  void guard(Expression holds) { builder_.guard(node_, holds.value); }

 private:
  Expression expression(Value* value) { return {&builder_.b_, value}; }
  Common common(unsigned i, unsigned part) {
    const Plan& plan = builder_.plan_;
    return builder_.common_of(half_of(plan.graph.nodes[node_].instruction, half_).src[i],
                              *rule_step(plan, node_, half_), i, part);
  }

  KernelBuilder& builder_;
  uint32_t node_;
  unsigned half_;
};

KernelBuilder::Common KernelBuilder::common_of(uint32_t node, unsigned i, unsigned part) {
  return common_of(plan_.graph.nodes[node].instruction.src[i], plan_.steps[plan_.sites[node].first_step], i,
                   part);
}

KernelBuilder::Common KernelBuilder::common_of(const isa::Operand& operand, const Step& step, unsigned i,
                                               unsigned part) {
  if (operand.is_vgpr()) return before_common_[operand.vgpr() + part];
  const MicroOp& op = *step.micro;
  if ((op.aux & aux::kConstant << i) != 0)
    return {b_.getInt32(static_cast<uint32_t>(op.src[i].constant >> (part * 32)))};
  const uint32_t code = op.src[i].offset / 4 + part;
  if (code < 128 && pending_masks_[code]) flush();
  return {scalar(op.src[i].offset + part * 4)};
}

Value* KernelBuilder::does_not_wrap(const Common& common, const Shape& shape) {
  if (shape.is_uniform(wave_size_) || common.is_ordered) return b_.getTrue();
  return b_.CreateAnd(has_extremes(common),
                      b_.CreateICmpULE(minimum_of(common, shape), maximum_of(common, shape)));
}

void KernelBuilder::set_row(uint32_t node, uint32_t index, Common common) {
  const ShapePointer shape = shapes_.of_active(index);
  if (shape->base) common.base = b_.getInt32(*shape->base);
  if (!shape->has_pitch()) common.pitch = nullptr;
  common_[index] = common;
  if (shapes_.rows[index] != nullptr) return;
  // Inactive lanes keep their values.
  run_.push_back({[=, this, old = row_source(index), exec = mask_at(kExec * 4)](VectorIndex v) {
    put(node, old, v, lane_values(common, *shape, v), exec);
  }});
}

void KernelBuilder::build_by_rule(uint32_t node) {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  std::array<compiler::Results<Expression>, 2> results;
  for (unsigned half = 0; half < half_count(in); ++half) {
    CommonNumbers numbers(*this, node, half);
    results[half] = Rules<CommonNumbers>(plan_, node, half, before_, numbers).results();
  }
  const auto common_of_low = [](const compiler::Results<Expression>& result) {
    return Common{result.low.base.value, result.low.pitch.value, result.low.is_ordered};
  };
  if (results[0].is_low_alone || half_count(in) == 2) {
    build_steps(node);  // After the sources have been read: the carry may replace one of them.
    for (unsigned half = 0; half < half_count(in); ++half) {
      const uint32_t dst = half_of(in, half).dst[0].vgpr();
      const ShapePointer& shape = shapes_.of_active(dst);
      if (results[half].low.shape == nullptr || shape == nullptr) continue;
      Common common = common_of_low(results[half]);
      common.is_ordered = false;
      if (shape->base) common.base = b_.getInt32(*shape->base);
      common_[dst] = common;
    }
    return;
  }
  const uint32_t dst = in.dst[0].vgpr();
  set_row(node, dst, common_of_low(results[0]));
  const isa::Operand& carry_out = in.dst[1];
  if (const auto carry = carries_.find(carry_out.code);
      results[0].has_carry && carry_out.is_scalar_register() && carry != carries_.end())
    carry->second.row = dst, carry->second.base = common_[dst].base;
  if (results[0].high.shape != nullptr) set_row(node, dst + 1, {results[0].high.base.value});
}

void KernelBuilder::set_carry(uint16_t code, Value* carry) {
  if (code == isa::code::kNull) return;
  if (pending_masks_.any()) flush();
  carries_[code] = {carry};
  Value* const exec = mask_at(kExec * 4);
  set_mask(code * 4u, b_.CreateSelect(b_.CreateICmpNE(carry, b_.getInt64(0)), exec, b_.getInt64(0)));
}

Value* KernelBuilder::uniform_result(uint32_t node) {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  const Step& step = plan_.steps[plan_.sites[node].first_step];
  Wrapper key = key_of(step);
  std::vector<Value*> arguments;
  for (unsigned i = 0; i < step.row_sources; ++i) {
    Value* value = number(node, i);
    if (in.src[i].is_vgpr()) {
      key.sources[i] = 1;
      value = plus(value, static_cast<int32_t>(before_.of_active(in.src[i].vgpr())->offsets[0]));
      arguments.push_back(b_.CreateVectorSplat(lanes_, value));
    } else {
      key.sources[i] = Wrapper::kUniformSource;
      arguments.push_back(wide(value));
    }
  }
  llvm::Function* const wrapper = wrapper_of(key);
  if (wrapper == nullptr) return b_.getInt32(0);
  Value* const result = b_.CreateExtractValue(b_.CreateCall(wrapper, arguments), 0);
  return b_.CreateExtractElement(result, b_.getInt64(0));
}

}  // namespace rigel::vgpu::exec::compiler
