// Arithmetic exceptions: bits 0 … 6 of TRAPSTS, which gather what vector instructions raise, and the trap
// that follows if MODE enables it (EXCP_EN) and there is a handler.
//
// It costs nothing where nobody looks. Code is translated with it (LoweringContext::gathers_exceptions) for
// waves whose MODE enables an exception, and for kernels that read or write TRAPSTS (TranslatedCode). Then each vector
// instruction that can raise any is preceded by a micro-operation that works out which, one lane after the
// other, from its sources as they are after DPP, SDWA and selection; and followed by one that goes to the
// trap handler. So the instruction has been executed by then; TTMP1 says how many dwords ago it began.
//
// What raises what. Sums, products, fused operations, v_ldexp, conversions between formats and to and from
// integers: what IEEE 754 says, with the denormals and the rounding of MODE; underflow is a result that is
// tiny after rounding and inexact, or flushed. v_mad and its like round twice. Minima, maxima, comparisons,
// rounding to integral values: invalid for signaling NaNs. v_rcp, v_rsq, v_sqrt, v_exp, v_log, v_sin, v_cos:
// invalid and division by zero (the logarithm of 0, too), nothing of the approximation. v_div_fixup: invalid
// and division by zero, of the division. v_rcp_iflag: integer division by zero, nothing else. Input denormal:
// where a source is one that MODE keeps, no source is a NaN, and it is neither invalid nor a division by
// zero. Nothing raises with clamp, as measured on later hardware; output modifiers add nothing. No exceptions
// come of v_frexp, v_div_scale, v_trig_preop, cube maps, dot products, normalised integers, and memory.
#pragma once

#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/exec/raises.hpp"

namespace rigel::vgpu::exec {

/// Bits of TRAPSTS, and from bit 12 of MODE on.
namespace exception {
constexpr uint32_t kInvalid = 1, kInputDenormal = 2, kDivisionByZero = 4, kOverflow = 8, kUnderflow = 16,
                   kInexact = 32, kIntegerDivisionByZero = 64;
constexpr uint32_t kAll = 0x7f;
}  // namespace exception
constexpr uint32_t kExceptionEnableShift = 12;  ///< Of MODE.
/// EXCP_CYCLE of TRAPSTS, of which the lower two bits are set: in which quarter of the wave the first enabled
/// exception was.
constexpr uint32_t kExceptionCycleShift = 16, kExceptionCycle = 0x3f << kExceptionCycleShift;

/// What gather_exceptions() is told, in MicroOp::imm, of the operation behind it.
struct ExceptionRule {
  /// How the sources are found.
  enum class Operands : uint8_t {
    kPlain,
    kPacked,  ///< Two halves or singles each, selected by op_sel and op_sel_hi,
    kMixed,   ///< single precision or halves.
  };
  Raises raises;
  Operands operands;
  uint8_t sources;
  isa::Type type;          ///< Of the first source,
  isa::Type result;        ///< and of the result.
  bool has_finite_halves;  ///< FP16_OVFL means something.
  bool has_cycle;          ///< EXCP_CYCLE of TRAPSTS says in which phase it was.
};
static_assert(sizeof(ExceptionRule) <= sizeof(MicroOp::imm));

/// Handler: adds to TRAPSTS what the next operation will raise under this EXEC.
void gather_exceptions(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec);

/// Emits what enters the trap handler after an instruction that has raised what MODE enables.
void emit_exception_trap(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);

}  // namespace rigel::vgpu::exec
