// Arithmetic exceptions: vector instructions set bits 0 to 6 of TRAPSTS. If MODE enables the exception
// (EXCP_EN) and there is a trap handler, a trap follows.
//
// Exceptions are gathered (LoweringContext::gathers_exceptions) only for waves whose MODE enables one, and in
// kernels that read or write TRAPSTS (TranslatedCode). Other code pays nothing. A micro-operation before each
// vector instruction computes the exceptions lane by lane, from the sources after DPP, SDWA and selection. A
// micro-operation after the instruction enters the trap handler. The instruction has then been executed;
// TTMP1 holds its length in dwords.
//
// Exceptions by operation:
//  - additions, multiplications, fused operations, v_ldexp, conversions between formats and to and from
//    integers: IEEE 754, with the denormals and rounding of MODE. Underflow: the result is tiny after
//    rounding and inexact, or flushed. v_mad and similar operations round twice.
//  - min, max, comparisons, rounding to integral values: invalid for signaling NaNs.
//  - v_rcp, v_rsq, v_sqrt, v_exp, v_log, v_sin, v_cos: invalid, and division by zero (also the logarithm of
//    0); none for the approximation.
//  - v_div_fixup: invalid and division by zero of the whole division. v_rcp_iflag: integer division by zero
//    only.
//  - input denormal: a source is a denormal that MODE keeps, no source is a NaN, and the operation is neither
//    invalid nor a division by zero.
//  - none with clamp, as measured on later hardware. Output modifiers raise none.
//  - none for v_frexp, v_div_scale, v_trig_preop, cube maps, dot products, normalised integers and memory.
#pragma once

#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/exec/raises.hpp"

namespace rigel::vgpu::exec {

/// Bits of TRAPSTS; in MODE from bit kExceptionEnableShift on.
namespace exception {
constexpr uint32_t kInvalid = 1, kInputDenormal = 2, kDivisionByZero = 4, kOverflow = 8, kUnderflow = 16,
                   kInexact = 32, kIntegerDivisionByZero = 64;
constexpr uint32_t kAll = 0x7f;
}  // namespace exception
constexpr uint32_t kExceptionEnableShift = 12;  ///< EXCP_EN of MODE
/// EXCP_CYCLE of TRAPSTS. Its lower two bits are set to the quarter of the wave with the first exception.
constexpr uint32_t kExceptionCycleShift = 16, kExceptionCycle = 0x3f << kExceptionCycleShift;

/// Describes the next micro-operation to gather_exceptions(), in MicroOp::imm.
struct ExceptionRule {
  /// Format of the source operands.
  enum class Operands : uint8_t {
    kPlain,
    kPacked,  ///< Two halves or singles, selected by op_sel and op_sel_hi
    kMixed,   ///< Single precision or half precision by operand (v_fma_mix, v_mad_mix)
  };
  Raises raises;
  Operands operands;
  uint8_t sources;
  isa::Type type;          ///< Type of the first source
  isa::Type result;        ///< Type of the result
  bool has_finite_halves;  ///< The chip has FP16_OVFL.
  bool has_cycle;          ///< The chip has EXCP_CYCLE in TRAPSTS.
};
static_assert(sizeof(ExceptionRule) <= sizeof(MicroOp::imm));

/// Handler: adds the exceptions of the next micro-operation under `exec` to TRAPSTS.
void gather_exceptions(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec);

/// Emits the micro-operation that enters the trap handler if the instruction has raised an enabled exception.
void emit_exception_trap(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);

}  // namespace rigel::vgpu::exec
