// The parts of lower_memory(), by kind of memory, and what they share.
#pragma once

#include <cstring>
#include <new>
#include <type_traits>

#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/exec/memory_ops/shape.hpp"
#include "plugins/vgpu/exec/memory_ops/span.hpp"
#include "plugins/vgpu/exec/operands.hpp"
#include "plugins/vgpu/exec/simd.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

Refusal lower_scalar_memory(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);
Refusal lower_flat(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);
Refusal lower_buffer(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);
Refusal lower_image(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);
Refusal lower_gws(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);
Refusal lower_lds(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);

/// DS instructions that move data between lanes and touch no memory: permutations and swizzles.
constexpr bool is_lane_exchange(isa::Op op) {
  return op == isa::Op::ds_swizzle_b32 || op == isa::Op::ds_permute_b32 || op == isa::Op::ds_bpermute_b32;
}
Refusal lower_lane_exchange(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);

/// A full fence: see wave_memory.hpp.
void fence(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec);

/// Accesses the work-group's LDS at these byte offsets; each element in whole, or not at all where it does
/// not fit (loads give 0).
void access_lds(Wave* wave, const Shape& shape, const uint32_t* offsets, uint64_t exec, const DataRows& rows);

/// Moves a row, each lane's dword to or from the dword of LDS that has the lane's number, from M0 and the offset on.
void access_lds_in_order(Wave* wave, Verb verb, uint32_t offset, uint64_t exec, uint32_t data);

/// Memory of the block for a handler's details.
template <class T>
T& allocate(Emitter& out, const T& value) {
  static_assert(std::is_trivially_destructible_v<T>);
  return *new (out.allocate(sizeof(T), alignof(T))) T(value);
}

template <class T>
const T& details(const MicroOp* op) {
  return *reinterpret_cast<const T*>(op->imm);
}

/// Calls `general(op, wave, exec)`, which does all of an instruction and says whether the wave goes on.
template <bool (*kGeneral)(const MicroOp*, Wave*, uint64_t)>
[[gnu::noinline]] void general_handler(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  if (exec != 0 && !kGeneral(op, wave, exec)) RIGEL_LEAVE(op, wave);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

/// A scalar operand: a register, or a constant.
struct ScalarSource {
  uint32_t constant = 0;
  uint32_t offset = 0;
  bool is_register = false;

  uint32_t read(const std::byte* registers) const {
    uint32_t value = constant;
    if (is_register) std::memcpy(&value, registers + offset, sizeof value);
    return value;
  }
};

/// SOFFSET; an absent one and NULL are 0. False: something that memory instructions cannot have.
inline bool scalar_source(const isa::Instruction& instruction, const isa::Traits& traits,
                          ScalarSource& source) {
  const isa::Operand& operand = instruction.soffset;
  source = {};
  if (!operand.exists() || (traits.has_null && operand.code == isa::code::kNull)) return true;
  if (operand.is_scalar_register()) {
    source.offset = scalar_offset(operand.code);
    source.is_register = true;
    return true;
  }
  uint64_t bits = 0;
  if (operand.is_literal() || !constant_of(operand, instruction, bits)) return false;
  source.constant = static_cast<uint32_t>(bits);
  return true;
}

constexpr const char* kRefuseRegister = "memory instruction names a register that the wave does not have";

/// Whether the registers exist; absent operands do.
inline bool in_file(const isa::Operand& operand, unsigned dwords, const RegisterLayout& layout) {
  if (!operand.exists()) return true;
  if (operand.is_vgpr()) return operand.vgpr() + dwords <= layout.vgprs;
  return operand.code + dwords <= isa::code::kZero;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
