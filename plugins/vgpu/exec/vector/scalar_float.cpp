// Scalar floating-point instructions of gfx1150 and gfx12: the vector operation in one lane, between the
// scalar registers. Also v_s_exp_f32 and others of gfx12, which have scalar operands.
#include "plugins/vgpu/exec/vector/lower.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {
namespace {

using isa::Op;

void activate_one_lane(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t) {
  RIGEL_NEXT(op + 1, wave, registers, 1);
}

// src[0]: the row of the result; imm: mask of its bits.
void take_result(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t) {
  uint32_t value;
  std::memcpy(&value, registers + op->src[0].offset, sizeof value);
  value &= static_cast<uint32_t>(op->imm);
  std::memcpy(registers + op->dst, &value, sizeof value);
  RIGEL_NEXT(op + 1, wave, registers, wave->exec());
}

// src[0]: the lane mask of a comparison.
void take_condition(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t) {
  uint32_t mask;
  std::memcpy(&mask, registers + op->src[0].offset, sizeof mask);
  wave->scc = mask & 1;
  RIGEL_NEXT(op + 1, wave, registers, wave->exec());
}

}  // namespace

Op vector_operation_of(Op op) {
  switch (op) {
#define RIGEL_BOTH(name)       \
  case Op::s_##name##_f16:     \
    return Op::v_##name##_f16; \
  case Op::s_##name##_f32:     \
    return Op::v_##name##_f32;
    RIGEL_BOTH(add)
    RIGEL_BOTH(sub)
    RIGEL_BOTH(mul)
    RIGEL_BOTH(min)
    RIGEL_BOTH(max)
    RIGEL_BOTH(minimum)
    RIGEL_BOTH(maximum)
    RIGEL_BOTH(ceil)
    RIGEL_BOTH(floor)
    RIGEL_BOTH(trunc)
    RIGEL_BOTH(rndne)
    RIGEL_BOTH(cmp_lt)
    RIGEL_BOTH(cmp_eq)
    RIGEL_BOTH(cmp_le)
    RIGEL_BOTH(cmp_gt)
    RIGEL_BOTH(cmp_lg)
    RIGEL_BOTH(cmp_ge)
    RIGEL_BOTH(cmp_o)
    RIGEL_BOTH(cmp_u)
    RIGEL_BOTH(cmp_nge)
    RIGEL_BOTH(cmp_nlg)
    RIGEL_BOTH(cmp_ngt)
    RIGEL_BOTH(cmp_nle)
    RIGEL_BOTH(cmp_neq)
    RIGEL_BOTH(cmp_nlt)
#undef RIGEL_BOTH
#define RIGEL_PSEUDO_SCALAR(name) \
  case Op::v_s_##name##_f16:      \
    return Op::v_##name##_f16;    \
  case Op::v_s_##name##_f32:      \
    return Op::v_##name##_f32;
    RIGEL_PSEUDO_SCALAR(exp)
    RIGEL_PSEUDO_SCALAR(log)
    RIGEL_PSEUDO_SCALAR(rcp)
    RIGEL_PSEUDO_SCALAR(rsq)
    RIGEL_PSEUDO_SCALAR(sqrt)
#undef RIGEL_PSEUDO_SCALAR
    case Op::s_fmac_f16:
      return Op::v_fma_f16;
    case Op::s_fmac_f32:
    case Op::s_fmaak_f32:
    case Op::s_fmamk_f32:
      return Op::v_fma_f32;
    case Op::s_cvt_f16_f32:
      return Op::v_cvt_f16_f32;
    case Op::s_cvt_f32_f16:
    case Op::s_cvt_hi_f32_f16:
      return Op::v_cvt_f32_f16;
    case Op::s_cvt_pk_rtz_f16_f32:
      return Op::v_cvt_pkrtz_f16_f32;
    case Op::s_cvt_f32_i32:
      return Op::v_cvt_f32_i32;
    case Op::s_cvt_f32_u32:
      return Op::v_cvt_f32_u32;
    case Op::s_cvt_i32_f32:
      return Op::v_cvt_i32_f32;
    case Op::s_cvt_u32_f32:
      return Op::v_cvt_u32_f32;
    default:
      return Op::none;
  }
}

Refusal lower_scalar_float(const isa::Instruction& instruction, LoweringContext& context, Emitter& out,
                           Refusal (*lower_operation)(Lowering&)) {
  isa::Instruction in = instruction;
  in.op = vector_operation_of(instruction.op);
  in.encoding = isa::Encoding::kVop3;
  if (instruction.op == Op::s_cvt_hi_f32_f16) in.op_sel = 1;
  const bool compares = instruction.encoding == isa::Encoding::kSopc;
  const bool is_vector = isa::is_vector_alu(instruction.encoding);
  if (is_vector && instruction.src[0].is_vgpr()) return "source operand is not a scalar register";
  Lowering lowering(in, context, out);
  uint32_t dst = 0;
  if (compares) {
    lowering.forced_dst = scalar_offset(kScalarTemporary + 8);
  } else {
    if (!destination_offset(instruction.dst[0], context, dst)) return "destination is not a scalar register";
    lowering.forced_dst = context.layout.temporary_offset(kResultRow);
  }
  out.emit(activate_one_lane);
  if (const Refusal refusal = lower_operation(lowering); !refusal.empty()) return refusal;
  MicroOp& take = out.emit(compares ? take_condition : take_result);
  take.src[0].offset = lowering.forced_dst;
  take.dst = dst;
  const isa::Operand& typed = is_vector ? instruction.src[0] : instruction.dst[0];
  take.imm = typed.type == isa::Type::kF16 ? 0xffff : 0xffffffff;
  return {};
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
