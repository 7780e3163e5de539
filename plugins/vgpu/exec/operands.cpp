#include "plugins/vgpu/exec/operands.hpp"

#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec {
namespace {

using isa::Type;
namespace code = isa::code;

// 0.5 -0.5 1 -1 2 -2 4 -4 1/(2 pi)
constexpr uint16_t kHalf[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
constexpr uint32_t kSingle[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr uint64_t kDouble[] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                                0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                                0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};

bool is_half(Type type) {
  switch (type) {
    case Type::kB16:
    case Type::kI16:
    case Type::kU16:
    case Type::kF16:
    case Type::kV2B16:
    case Type::kV2I16:
    case Type::kV2U16:
    case Type::kV2F16:
      return true;
    default:
      return false;
  }
}

bool is_packed(Type type) {
  return type == Type::kV2B16 || type == Type::kV2I16 || type == Type::kV2U16 || type == Type::kV2F16;
}

// aux: code of the source. Apertures have 4 GiB and are aligned: bases end in 32 zeros, limits in 32 ones.
void copy_special(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  uint32_t value[2] = {};
  switch (op->aux) {
    case code::kScc:
      value[0] = wave->scc;
      break;
    case code::kExecz:
      value[0] = exec == 0 ? 1 : 0;
      break;
    case code::kVccz:
      value[0] = (wave->pair(code::kVccLo) & wave->mask()) == 0 ? 1 : 0;
      break;
    default:
      const bool shared = op->aux == code::kSharedBase || op->aux == code::kSharedLimit;
      const bool limit = op->aux == code::kSharedLimit || op->aux == code::kPrivateLimit;
      value[0] = limit ? ~0u : 0;
      value[1] = shared ? wave->shared_aperture_hi : wave->private_aperture_hi;
  }
  std::memcpy(registers + op->dst, value, sizeof value);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

}  // namespace

bool constant_of(const isa::Operand& operand, const isa::Instruction& instruction, uint64_t& bits) {
  const uint16_t c = operand.code;
  // Two 32-bit values: the constant is the lower one (gfx90a, v_pk_*_f32 and v_pk_mov_b32).
  const bool is_pair = operand.type == Type::kF32 || operand.type == Type::kB32;
  const bool wide = (operand.dwords == 2 && !is_pair) || operand.type == Type::kB64 ||
                    operand.type == Type::kI64 || operand.type == Type::kU64 || operand.type == Type::kF64;
  int64_t integer = 0;
  if (c >= code::kZero && c <= 192) {
    integer = c - code::kZero;
  } else if (c >= 193 && c <= 208) {
    integer = 192 - int64_t{c};
  } else if (c >= code::kHalf && c <= code::kInv2Pi) {
    const unsigned i = c - code::kHalf;
    // Packed integers read it as single precision (LLVM's getInlineEncodingV216; not in the manuals).
    const bool half = is_half(operand.type) && (!is_packed(operand.type) || operand.type == Type::kV2F16);
    bits = half ? kHalf[i] : wide ? kDouble[i] : kSingle[i];
    return true;
  } else if (operand.is_literal()) {
    bits = instruction.literal;
    if (operand.type == Type::kF64) bits <<= 32;
    if (operand.type == Type::kI64) bits = static_cast<uint64_t>(int64_t{static_cast<int32_t>(bits)});
    if (is_half(operand.type) && !is_packed(operand.type)) bits &= 0xffff;
    return true;
  } else {
    return false;
  }
  bits = static_cast<uint64_t>(integer);
  if (!wide) bits = is_half(operand.type) && !is_packed(operand.type) ? bits & 0xffff : bits & 0xffffffff;
  return true;
}

PlaceOf source_place(const isa::Operand& operand, const isa::Instruction& instruction,
                     const LoweringContext& context, Emitter& out, uint32_t temporary) {
  PlaceOf result;
  if (constant_of(operand, instruction, result.place.source.constant)) {
    result.place.is_constant = true;
    return result;
  }
  result.place.source.constant = 0;
  if (operand.is_row()) {
    result.ok = row_offset(operand, context.layout, result.place.source.offset);
    return result;
  }
  if (operand.is_null()) {
    result.ok = context.traits().has_null;
    result.place.is_constant = true;
    return result;
  }
  if (operand.is_scalar_register()) {
    result.place.source.offset = scalar_offset(operand.code);
    return result;
  }
  switch (operand.code) {
    case code::kScc:
    case code::kExecz:
    case code::kVccz:
      break;
    case code::kSharedBase:
    case code::kSharedLimit:
    case code::kPrivateBase:
    case code::kPrivateLimit:
      result.ok = context.traits().has_aperture_operands;
      break;
    default:
      result.ok = false;
      break;
  }
  if (!result.ok) return result;
  MicroOp& op = out.emit(copy_special);
  op.dst = scalar_offset(kScalarTemporary + temporary);
  op.aux = operand.code;
  result.place.source.offset = op.dst;
  return result;
}

bool row_offset(const isa::Operand& operand, const RegisterLayout& layout, uint32_t& offset) {
  const uint32_t dwords = operand.dwords == 0 ? 1u : operand.dwords;
  if (operand.is_vgpr()) {
    offset = layout.vgpr_offset(operand.vgpr());
    return operand.vgpr() + dwords <= layout.vgprs;
  }
  if (!operand.is_agpr()) return false;
  offset = layout.agpr_offset(operand.agpr());
  return operand.agpr() + dwords <= layout.agprs;
}

bool destination_offset(const isa::Operand& operand, const LoweringContext& context, uint32_t& offset) {
  if (operand.is_row()) return row_offset(operand, context.layout, offset);
  if (operand.is_null()) {
    offset = scalar_offset(kSinkSlot);
    return context.traits().has_null;
  }
  if (!operand.is_scalar_register()) return false;
  offset = scalar_offset(operand.code);
  return true;
}

}  // namespace rigel::vgpu::exec
