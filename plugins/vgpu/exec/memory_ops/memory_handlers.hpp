// Parts of lower_memory(), by kind of memory, and their shared functions.
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

Refusal lower_lane_exchange(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);

/// A full fence: see wave_memory.hpp.
void fence(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec);

/// Accesses the work-group's LDS at byte offsets. Elements that do not fit completely load as 0 and are not
/// stored.
bool access_lds(Wave* wave, const Shape& shape, const uint32_t* offsets, uint64_t exec, const DataRows& rows);

/// Moves a row between registers and LDS. Lane i's dword is dword i from M0 plus the offset on.
void access_lds_in_order(Wave* wave, Verb verb, uint32_t offset, uint64_t exec, uint32_t data);

template <class T>
T& allocate(Emitter& out, const T& value) {
  static_assert(std::is_trivially_destructible_v<T>);
  return *new (out.allocate(sizeof(T), alignof(T))) T(value);
}

template <class T>
const T& details(const MicroOp* op) {
  return *reinterpret_cast<const T*>(op->imm);
}

/// Handler that calls `kGeneral(op, wave, exec)`, which executes the instruction and returns whether the
/// wave continues.
template <bool (*kGeneral)(const MicroOp*, Wave*, uint64_t)>
[[gnu::noinline]] void general_handler(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  if (exec != 0 && !kGeneral(op, wave, exec)) RIGEL_LEAVE(op, wave);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

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

/// Reads SOFFSET; an absent operand and NULL are 0. Returns false for operands that are invalid in memory
/// instructions.
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

constexpr const char* kRefuseRegister = "register operand is out of the wave's range";

/// Whether the operand's registers exist. Absent operands are accepted.
inline bool in_file(const isa::Operand& operand, unsigned dwords, const RegisterLayout& layout) {
  if (!operand.exists()) return true;
  if (operand.is_vgpr()) return operand.vgpr() + dwords <= layout.vgprs;
  if (operand.is_agpr()) return operand.agpr() + dwords <= layout.agprs;
  return operand.code + dwords <= isa::code::kZero;
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
