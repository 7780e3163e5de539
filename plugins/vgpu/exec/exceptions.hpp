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

/// Of which an operation is an instance, as far as exceptions go.
enum class Raises : uint8_t {
  kNothing,
  kSum,
  kDifference,
  kReverseDifference,
  kProduct,
  kLegacyProduct,  ///< Zero times anything is zero.
  kFused,
  kLegacyFused,
  kMultiplyAdd,  ///< Rounded twice, without denormals.
  kLegacyMultiplyAdd,
  kScaled,  ///< v_ldexp
  kChoice,  ///< Signaling NaNs are invalid; that is all.
  kReciprocal,
  kIntegerReciprocal,
  kReciprocalRoot,
  kRoot,
  kLogarithm,
  kAngle,
  kDivFmas,
  kDivFixup,
  kConversion,        ///< From one format to another.
  kConversionToZero,  ///< Of two sources to halves.
  kTruncation,        ///< To integers:
  kFloor,
  kNearestUp,
  kFromInteger,
};

enum class FloatFormat : uint8_t { kHalf, kSingle, kDouble };

struct ExceptionRule {
  /// How the sources are found.
  enum class Operands : uint8_t {
    kPlain,
    kPackedHalves,  ///< Two halves each, selected by op_sel and op_sel_hi,
    kPairs,         ///< two singles each,
    kMixed,         ///< single precision or halves.
  };
  Raises raises = Raises::kNothing;
  FloatFormat format = FloatFormat::kSingle;  ///< Of the operation, or of what is converted.
  FloatFormat to = FloatFormat::kSingle;      ///< Of the result, where that is another one.
  Operands operands = Operands::kPlain;
  uint8_t sources = 0;
  uint8_t bits = 0;  ///< Of the integers.
  bool is_signed = false;
};

/// What an operation can raise; kNothing for most.
ExceptionRule exception_rule(isa::Op op);

/// A source of the operation below, as the instruction's own handler will find it.
struct ExaminedSource {
  Source source;
  bool is_uniform = false, is_constant = false;
  bool is_high = false, abs = false, neg = false;
};

/// What gather_exceptions() is told, by MicroOp::imm.
struct Examination {
  ExceptionRule rule;
  ExaminedSource source[3];
  uint8_t select = 0, select_high = 0,
          neg_high = 0;            ///< VOP3P: bit i is of source i; of kMixed the last is abs.
  bool has_finite_halves = false;  ///< FP16_OVFL means something.
  bool has_cycle = false;          ///< EXCP_CYCLE of TRAPSTS says in which phase it was.
};

/// Handler: adds to TRAPSTS what the instruction will raise under this EXEC.
void gather_exceptions(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec);

/// Emits what enters the trap handler after an instruction that has raised what MODE enables.
void emit_exception_trap(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);

}  // namespace rigel::vgpu::exec
