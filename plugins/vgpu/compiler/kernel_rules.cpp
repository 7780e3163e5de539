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
  return x + x.number(y);
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
  static Expression widened(Expression x) { return x.with(x.b->CreateZExt(x.value, x.b->getInt64Ty())); }
  static Expression narrowed(Expression x) { return x.with(x.b->CreateTrunc(x.value, x.b->getInt32Ty())); }

  CommonNumbers(KernelBuilder& builder, uint32_t node) : builder_(builder), node_(node) {}

  Expression base(unsigned i, unsigned part) { return expression(builder_.common_of(node_, i, part).base); }
  Expression pitch(unsigned i, unsigned part) { return expression(builder_.common_of(node_, i, part).pitch); }
  Expression constant(uint32_t number) { return expression(builder_.b_.getInt32(number)); }
  Expression by_operation() { return expression(builder_.uniform_result(node_)); }
  Expression carry(uint16_t code) { return expression(builder_.carries_.at(code)); }
  void set_carry(uint16_t code, Expression carry) { builder_.set_carry(code, carry.value); }
  bool is_ordered(unsigned i, unsigned part) { return builder_.common_of(node_, i, part).is_ordered; }
  void guard(Expression holds) { builder_.guard(node_, holds.value); }

 private:
  Expression expression(Value* value) { return {&builder_.b_, value}; }

  KernelBuilder& builder_;
  uint32_t node_;
};

KernelBuilder::Common KernelBuilder::common_of(uint32_t node, unsigned i, unsigned part) {
  const isa::Operand& operand = plan_.graph.nodes[node].instruction.src[i];
  if (operand.is_vgpr()) return before_common_[operand.vgpr() + part];
  const MicroOp& op = *plan_.steps[plan_.sites[node].first_step].micro;
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
  const uint32_t dst = plan_.graph.nodes[node].instruction.dst[0].vgpr();
  CommonNumbers numbers(*this, node);
  const auto results = Rules<CommonNumbers>(plan_, node, before_, numbers).results();
  const Common low{results.low.base.value, results.low.pitch.value, results.low.is_ordered};
  if (results.is_low_alone) {
    build_steps(node);  // After the sources have been read: the carry may replace one of them.
    const auto& base = shapes_.of_active(dst)->base;
    common_[dst] = {base ? static_cast<Value*>(b_.getInt32(*base)) : low.base, low.pitch};
    return;
  }
  set_row(node, dst, low);
  if (results.high.shape != nullptr) set_row(node, dst + 1, {results.high.base.value});
}

void KernelBuilder::set_carry(uint16_t code, Value* carry) {
  if (code == isa::code::kNull) return;
  if (pending_masks_.any()) flush();
  carries_[code] = carry;
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
