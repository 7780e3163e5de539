// Instructions whose result is known but for a number that all lanes have in common: that number is computed.
#include "plugins/vgpu/compiler/kernel_builder.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <bit>

#include "plugins/vgpu/compiler/lane_aux.hpp"

namespace rigel::vgpu::exec::compiler {

KernelBuilder::Common KernelBuilder::common_of(uint32_t node, unsigned i, unsigned part) {
  const isa::Operand& operand = plan_.graph.nodes[node].instruction.src[i];
  if (operand.is_vgpr()) return before_common_[operand.vgpr() + part];
  const MicroOp& op = *plan_.steps[plan_.sites[node].first_step].micro;
  if ((op.aux & aux::kConstant << i) != 0)
    return {b_.getInt32(static_cast<uint32_t>(op.src[i].constant >> (part * 32)))};
  const uint32_t code = op.src[i].offset / 4 + part;
  if (code < 128 && unmade_[code]) flush();
  return {scalar(op.src[i].offset + part * 4)};
}

Value* KernelBuilder::does_not_wrap(const Common& common, const Shape& shape) {
  if (shape.is_uniform(wave_size_)) return b_.getTrue();
  return b_.CreateAnd(has_ends(common),
                      b_.CreateICmpULE(least_of(common, shape), greatest_of(common, shape)));
}

Value* KernelBuilder::bits_in(uint32_t node, std::initializer_list<unsigned> sources, uint32_t first_shift) {
  unsigned bits = 0;
  for (const unsigned i : sources) {
    if (is_known_source(node, i)) continue;
    const Shape shape = shape_of_source(node, i);
    for (unsigned lane = 0; lane < wave_size_; ++lane) {
      bits = std::max(
          bits, static_cast<unsigned>(std::bit_width(shape.offsets[lane] << (i == 0 ? first_shift : 0))));
    }
  }
  return b_.getInt32(bits >= 32 ? ~0u : (1u << bits) - 1);
}

bool KernelBuilder::is_known_source(uint32_t node, unsigned i) const {
  const isa::Operand& operand = plan_.graph.nodes[node].instruction.src[i];
  if (operand.is_vgpr()) return before_.known(operand.vgpr())->base.has_value();
  return (plan_.steps[plan_.sites[node].first_step].micro->aux & aux::kConstant << i) != 0;
}

Value* KernelBuilder::above(uint32_t node, unsigned i, Value* number, Value* low, uint32_t shift) {
  if (!is_known_source(node, i)) return number;
  const Shape shape = shape_of_source(node, i);
  return b_.CreateAnd(plus(number, static_cast<int32_t>(shape.offsets[0] << shift)), b_.CreateNot(low));
}

void KernelBuilder::set_row(uint32_t node, uint32_t index, Value* base, Value* pitch) {
  const ShapePointer shape = shapes_.known(index);
  const Common common = common_[index] = {shape->base ? static_cast<Value*>(b_.getInt32(*shape->base)) : base,
                                          shape->has_pitch() ? pitch : nullptr};
  if (shapes_.rows[index] != nullptr) return;
  // Lanes that are not active keep what they have.
  run_.push_back([=, this, old = row_source(index), exec = mask_at(kExec * 4)](unsigned v) {
    put(node, old, v, lanes_from(common, *shape, v), exec);
  });
}

void KernelBuilder::build_by_rule(uint32_t node) {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  const Step& step = plan_.steps[plan_.sites[node].first_step];
  const uint32_t dst = in.dst[0].vgpr();
  const unsigned count = step.lanes.row_sources;
  const auto amount = [&](unsigned i) { return b_.CreateAnd(number(node, i), b_.getInt32(31)); };
  // At most one of the sources has a pitch.
  const auto pitch = [&](unsigned i, unsigned part = 0) {
    return in.src[i].is_vgpr() ? before_common_[in.src[i].vgpr() + part].pitch : nullptr;
  };
  const auto either = [](Value* one, Value* other) { return one != nullptr ? one : other; };
  const auto shifted = [&](Value* of, Value* by) { return of == nullptr ? nullptr : b_.CreateShl(of, by); };
  switch (applied_.rule) {
    case Rule::kNone:
      return;
    case Rule::kSum: {
      Value* total = number(node, 0);
      Value* of = pitch(0);
      for (unsigned i = 1; i < count; ++i) {
        total = b_.CreateAdd(total, number(node, i));
        of = either(of, pitch(i));
      }
      return set_row(node, dst, total, of);
    }
    case Rule::kDifference:
      return set_row(node, dst, b_.CreateSub(number(node, 0), number(node, 1)), pitch(0));
    case Rule::kReverseDifference:
      return set_row(node, dst, b_.CreateSub(number(node, 1), number(node, 0)), pitch(1));
    case Rule::kShiftSum:
      return set_row(node, dst, b_.CreateAdd(b_.CreateShl(number(node, 0), amount(1)), number(node, 2)),
                     either(shifted(pitch(0), amount(1)), pitch(2)));
    case Rule::kSumShift:
      return set_row(node, dst, b_.CreateShl(b_.CreateAdd(number(node, 0), number(node, 1)), amount(2)),
                     shifted(either(pitch(0), pitch(1)), amount(2)));
    case Rule::kShift:
      return set_row(node, dst, b_.CreateShl(number(node, 1), amount(0)), shifted(pitch(1), amount(0)));
    case Rule::kFolded:
      return set_row(node, dst, nullptr);
    case Rule::kSignShift: {
      const Shape shape = shape_of_source(node, 1);
      const Common common = common_of(node, 1);
      Value* const low = b_.CreateAShr(least_of(common, shape), b_.getInt32(31));
      Value* const high = b_.CreateAShr(greatest_of(common, shape), b_.getInt32(31));
      guard(node, b_.CreateAnd(has_ends(common), b_.CreateICmpEQ(low, high)));
      return set_row(node, dst, low);
    }
    case Rule::kWideSignShift: {
      const Shape shape = *before_.known(in.src[1].vgpr() + 1u);
      const auto shift =
          static_cast<uint32_t>(llvm::cast<llvm::ConstantInt>(number(node, 0))->getZExtValue()) & 63;
      const Common index = common_of(node, 1, 1);
      Value* const first = b_.CreateAShr(least_of(index, shape), b_.getInt32(shift));
      Value* const last = b_.CreateAShr(greatest_of(index, shape), b_.getInt32(shift));
      guard(node, b_.CreateAnd(has_ends(index), b_.CreateICmpEQ(first, last)));
      set_row(node, dst, b_.CreateShl(index.base, b_.getInt32(32 - shift)),
              shifted(index.pitch, b_.getInt32(32 - shift)));
      return set_row(node, dst + 1, first);
    }
    case Rule::kWideShift: {
      const Shape shape = shape_of_source(node, 1);
      const auto shift =
          static_cast<uint32_t>(llvm::cast<llvm::ConstantInt>(number(node, 0))->getZExtValue()) & 63;
      const Common low = common_of(node, 1);
      Value* const first = b_.CreateLShr(least_of(low, shape), b_.getInt32(32 - shift));
      Value* const last = b_.CreateLShr(greatest_of(low, shape), b_.getInt32(32 - shift));
      Value* const high = number(node, 1, 1);
      guard(node, b_.CreateAnd(does_not_wrap(low, shape), b_.CreateICmpEQ(first, last)));
      set_row(node, dst, b_.CreateShl(low.base, b_.getInt32(shift)), shifted(low.pitch, b_.getInt32(shift)));
      // Offsets of the upper half's source are all the same, and perhaps not 0.
      const ShapePointer& upper = in.src[1].is_vgpr() ? before_.known(in.src[1].vgpr() + 1u) : nullptr;
      Value* const above = upper == nullptr ? high : plus(high, static_cast<int32_t>(upper->offsets[0]));
      return set_row(node, dst + 1, b_.CreateOr(b_.CreateShl(above, b_.getInt32(shift)), first));
    }
    case Rule::kCarryOut: {
      const Shape a = shape_of_source(node, 0), c = shape_of_source(node, 1);
      const Common x = common_of(node, 0), y = common_of(node, 1);
      const auto carry = [&](Value* one, Value* other) {
        return b_.CreateLShr(b_.CreateAdd(wide(one), wide(other)), b_.getInt64(32));
      };
      Value* const first = carry(least_of(x, a), least_of(y, c));
      Value* const last = carry(greatest_of(x, a), greatest_of(y, c));
      guard(node, b_.CreateAnd(b_.CreateAnd(does_not_wrap(x, a), does_not_wrap(y, c)),
                               b_.CreateICmpEQ(first, last)));
      set_carry(in.dst[1].code, first);
      return set_row(node, dst, b_.CreateAdd(x.base, y.base), either(x.pitch, y.pitch));
    }
    case Rule::kCarryIn: {
      const Shape a = shape_of_source(node, 0), c = shape_of_source(node, 1);
      if (!a.is_uniform(wave_size_) || !c.is_uniform(wave_size_)) {
        Value* const sum = b_.CreateAdd(number(node, 0), number(node, 1));
        return set_row(node, dst, b_.CreateAdd(sum, b_.CreateTrunc(carries_.at(in.src[2].code), i32())));
      }
      Value* const x = wide(plus(number(node, 0), static_cast<int32_t>(a.offsets[0])));
      Value* const y = wide(plus(number(node, 1), static_cast<int32_t>(c.offsets[0])));
      Value* const total = b_.CreateAdd(b_.CreateAdd(x, y), carries_.at(in.src[2].code));
      set_carry(in.dst[1].code, b_.CreateLShr(total, b_.getInt64(32)));
      shapes_.uniform_masks.reset(in.dst[1].code);
      return set_row(node, dst, b_.CreateTrunc(total, i32()));
    }
    case Rule::kBitwise: {
      Value *const x = number(node, 0), *const y = number(node, 1);
      Value* const low = bits_in(node, {0, 1});
      Value *const a = above(node, 0, x, low), *const c = above(node, 1, y, low);
      return set_row(node, dst,
                     in.op == Op::v_and_b32  ? b_.CreateAnd(a, c)
                     : in.op == Op::v_or_b32 ? b_.CreateOr(a, c)
                                             : b_.CreateXor(a, c));
    }
    case Rule::kShiftOr: {
      Value* const left = b_.CreateShl(number(node, 0), amount(1));
      const auto by = static_cast<uint32_t>(llvm::cast<llvm::ConstantInt>(amount(1))->getZExtValue());
      Value* const low = bits_in(node, {0, 2}, by);
      return set_row(node, dst,
                     b_.CreateOr(above(node, 0, left, low, by), above(node, 2, number(node, 2), low)));
    }
    case Rule::kShiftRight:
      return set_row(node, dst, b_.CreateLShr(number(node, 1), amount(0)));
    case Rule::kWideProduct: {
      const Shape shape = shape_of_source(node, 2);
      const auto uniform = [&](unsigned i) {
        return wide(plus(number(node, i), static_cast<int32_t>(shape_of_source(node, i).offsets[0])));
      };
      const ShapePointer upper_shape = in.src[2].is_vgpr() ? before_.known(in.src[2].vgpr() + 1u) : nullptr;
      Value* const upper = plus(number(node, 2, 1),
                                upper_shape == nullptr ? 0 : static_cast<int32_t>(upper_shape->offsets[0]));
      Value* const low = number(node, 2);
      Value* const product = b_.CreateMul(uniform(0), uniform(1));
      const auto total = [&](int32_t offset) {
        return b_.CreateAdd(product,
                            b_.CreateOr(b_.CreateShl(wide(upper), b_.getInt64(32)), wide(plus(low, offset))));
      };
      Value *const first = total(shape.least(wave_size_)), *const last = total(shape.greatest(wave_size_));
      const auto carry = [&](Value* of) { return b_.CreateICmpULT(of, product); };
      guard(node, b_.CreateAnd(
                      b_.CreateAnd(does_not_wrap({low}, shape), b_.CreateICmpEQ(carry(first), carry(last))),
                      b_.CreateICmpEQ(b_.CreateLShr(first, b_.getInt64(32)),
                                      b_.CreateLShr(last, b_.getInt64(32)))));
      set_carry(in.dst[1].code, wide(carry(first)));
      shapes_.uniform_masks.reset(in.dst[1].code);
      set_row(node, dst, b_.CreateAdd(b_.CreateTrunc(product, i32()), low));
      return set_row(node, dst + 1, b_.CreateTrunc(b_.CreateLShr(first, b_.getInt64(32)), i32()));
    }
    case Rule::kLowProductSum:
    case Rule::kProductSum: {
      const bool is_24_bits = in.op == Op::v_mad_u32_u24;
      const auto factor = [&](unsigned i) {
        const Shape shape = shape_of_source(node, i);
        Value* const is = shape.is_uniform(wave_size_)
                              ? plus(number(node, i), static_cast<int32_t>(shape.offsets[0]))
                              : number(node, i);
        return is_24_bits ? b_.CreateAnd(is, b_.getInt32(0xffffff)) : is;
      };
      Value *const x = factor(0), *const y = factor(1);
      Value* const product = b_.CreateMul(x, y);
      Value* const total = count > 2 ? b_.CreateAdd(product, number(node, 2)) : product;
      Value* of = count > 2 ? pitch(2) : nullptr;
      if (of == nullptr && applied_.result->has_pitch()) {
        // The factor that lanes have in common, so many times as the other one had a pitch.
        const unsigned lane = shape_of_source(node, 0).is_uniform(wave_size_) ? 1 : 0;
        of = lane == 0 ? y : x;
        if (pitch(lane) != nullptr) of = b_.CreateMul(of, pitch(lane));
      }
      if (applied_.rule == Rule::kProductSum) return set_row(node, dst, total, of);
      build_steps(node);  // behind what has been read: the carry may go where a factor was
      const auto& base = shapes_.known(dst)->base;
      common_[dst] = {base ? static_cast<Value*>(b_.getInt32(*base)) : total, of};
      return;
    }
    case Rule::kCountBelow:
      return set_row(node, dst, number(node, 1), pitch(1));
    case Rule::kUniform:
      return build_uniform(node, step);
  }
}

void KernelBuilder::set_carry(uint16_t code, Value* carry) {
  if (unmade_.any()) flush();
  carries_[code] = carry;
  Value* const exec = mask_at(kExec * 4);
  set_mask(code * 4u, b_.CreateSelect(b_.CreateICmpNE(carry, b_.getInt64(0)), exec, b_.getInt64(0)));
}

void KernelBuilder::build_uniform(uint32_t node, const Step& step) {
  const isa::Instruction& in = plan_.graph.nodes[node].instruction;
  Wrapper key = key_of(step, 0);
  std::vector<Value*> arguments;
  for (unsigned i = 0; i < step.lanes.row_sources; ++i) {
    Value* value = number(node, i);
    if (in.src[i].is_vgpr()) {
      key.sources[i] = 1;
      value = plus(value, static_cast<int32_t>(before_.known(in.src[i].vgpr())->offsets[0]));
      arguments.push_back(b_.CreateVectorSplat(lanes_, value));
    } else {
      key.sources[i] = Wrapper::kUniformSource;
      arguments.push_back(wide(value));
    }
  }
  llvm::Function* const wrapper = wrapper_of(key);
  if (wrapper == nullptr) return;
  Value* const result = b_.CreateExtractValue(b_.CreateCall(wrapper, arguments), 0);
  set_row(node, in.dst[0].vgpr(), b_.CreateExtractElement(result, b_.getInt64(0)));
}

}  // namespace rigel::vgpu::exec::compiler
