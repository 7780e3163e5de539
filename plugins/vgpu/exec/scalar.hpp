// Shared by the scalar_*.cpp files. lower_scalar() (lowering.cpp) tries their lowering functions in order.
#pragma once

#include "plugins/vgpu/exec/block.hpp"
#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/exec/operands.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec::scalar {

constexpr uint32_t kVcc = 106, kM0 = 124, kExec = 126;

/// Result of a lowering function that does not have the operation.
constexpr Refusal kNotMine = "?";

Refusal lower_alu(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);
Refusal lower_mask(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);
Refusal lower_control(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);
Refusal lower_state(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);

/// The type of a value in the registers: pairs may start at any register, and alias single registers.
template <class T>
struct InRegisters {
  typedef T Type __attribute__((aligned(4), may_alias));
};
template <class T>
inline typename InRegisters<T>::Type& at(std::byte* registers, uint32_t offset) {
  return *reinterpret_cast<typename InRegisters<T>::Type*>(registers + offset);
}

/// Reads a source of 32 or 64 bits: a constant, or from the scalar file.
template <class T, bool kConstant>
inline T read(const MicroOp* op, unsigned i, std::byte* registers) {
  if constexpr (kConstant) return static_cast<T>(op->src[i].constant);
  return at<T>(registers, op->src[i].offset);
}

template <class T>
constexpr isa::Op by_size(isa::Op b32, isa::Op b64) {
  return sizeof(T) == 4 ? b32 : b64;
}

/// Whether `dwords` scalars from byte `offset` include a half of EXEC.
constexpr bool touches_exec(uint32_t offset, uint32_t dwords) {
  return offset + dwords * 4 > scalar_offset(kExec) && offset < scalar_offset(kExec + 2);
}

/// Handler: writes the constant src[0] to dst as 64 bits.
void put_constant(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec);

/// Returns `source` for a handler that reads only registers: copies a constant to the scalar temporary.
PlaceOf register_place(PlaceOf source, Emitter& out, uint32_t temporary);

/// Emits a load of the handlers' `exec` argument from the scalar file.
void emit_take_exec(Emitter& out);

/// Whether the time slice has ended; if so, sets Wave::stop. Every handler that may close a loop calls it.
inline bool slice_is_over(Wave* wave) {
  const bool over = wave->budget < 0;
  if (over) wave->stop = Stop::kBudget;
  return over;
}

/// Handler: continues after this instruction in the block of the wave's new variant.
void change_variant(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec);
void emit_change_variant(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);

}  // namespace rigel::vgpu::exec::scalar
