// Inside of the scalar part: what its files share. lower_scalar() asks each in turn.
#pragma once

#include "plugins/vgpu/exec/block.hpp"
#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/exec/operands.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec::scalar {

constexpr uint32_t kVcc = 106, kM0 = 124, kExec = 126;

/// Answer of a file that does not know the operation.
constexpr Refusal kNotMine = "?";

Refusal lower_alu(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);
Refusal lower_mask(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);
Refusal lower_control(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);
Refusal lower_state(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);

/// A value in the wave's registers: pairs begin at any register, and are seen as one here and as two
/// elsewhere.
template <class T>
struct InRegisters {
  typedef T Type __attribute__((aligned(4), may_alias));
};
template <class T>
inline typename InRegisters<T>::Type& at(std::byte* registers, uint32_t offset) {
  return *reinterpret_cast<typename InRegisters<T>::Type*>(registers + offset);
}

/// A source of 32 or 64 bits that is a constant or lies in the scalar file.
template <class T, bool kConstant>
inline T read(const MicroOp* op, unsigned i, std::byte* registers) {
  if constexpr (kConstant) return static_cast<T>(op->src[i].constant);
  return at<T>(registers, op->src[i].offset);
}

/// Which of two operations is the one on values of T.
template <class T>
constexpr isa::Op by_size(isa::Op b32, isa::Op b64) {
  return sizeof(T) == 4 ? b32 : b64;
}

/// Whether `dwords` scalars from byte `offset` on include a half of EXEC.
constexpr bool touches_exec(uint32_t offset, uint32_t dwords) {
  return offset + dwords * 4 > scalar_offset(kExec) && offset < scalar_offset(kExec + 2);
}

/// The constant in src[0] goes to dst and behind it, as 64 bits.
void put_constant(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec);

/// The same source for a handler that reads registers alone: a constant is put into the scalar temporary.
PlaceOf register_place(PlaceOf source, Emitter& out, uint32_t temporary);

/// The travelling EXEC becomes what the scalar file says.
void emit_take_exec(Emitter& out);

/// Whether the wave has had its turn, and has been stopped for that: asked by whatever may close a loop.
inline bool turn_is_over(Wave* wave) {
  const bool over = wave->budget < 0;
  if (over) wave->stop = Stop::kBudget;
  return over;
}

/// The next block is what the wave's variant says is at the address after this instruction.
void change_variant(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec);
void emit_change_variant(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);

}  // namespace rigel::vgpu::exec::scalar
