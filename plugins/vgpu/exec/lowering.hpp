// Lowering: one decoded instruction becomes micro-operations. The translator calls lower(); it asks, by
// encoding, one of three parts:
//   scalar   SOP*, control flow, messages, registers of the hardware      lower_scalar()
//   vector   VOP*, with SDWA, DPP, readlane and friends                   lower_vector()
//   memory   SMEM, DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF, MIMG          lower_memory()
//
// The last two are compiled once for each SIMD level, in the namespace of the level, together with the
// handlers that they choose from: see simd.hpp. Operands are resolved with operands.hpp.
//
// Code is translated for one float mode: FP_ROUND, FP_DENORM, DX10_CLAMP, IEEE and FP16_OVFL of MODE are
// known here, and whoever changes them at run time (s_setreg, s_round_mode, s_denorm_mode) ends the block, so
// that the next one is looked up under the new mode. Handlers never ask.
//
// MXCSR. While a wave runs, MXCSR has the rounding and the denormal mode (FTZ and DAZ) of its *single
// precision*; the scheduler and whoever changes the mode see to it. Handlers of double and half precision
// whose mode differs from that set it and put it back: a variant chosen here, not a test at run time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "plugins/vgpu/exec/micro_op.hpp"
#include "plugins/vgpu/exec/registers.hpp"
#include "plugins/vgpu/isa/instruction.hpp"
#include "plugins/vgpu/isa/target.hpp"
#include "plugins/vgpu/isa/traits.hpp"

namespace rigel::vgpu::exec {

/// The widest vectors of the machine, found once; each level has its own build of the handlers.
enum class SimdLevel : uint8_t { kBaseline, kAvx2, kAvx512 };

/// FP16_OVFL of MODE; means nothing on gfx8.
constexpr uint32_t kFiniteHalves = 1u << 23;

/// Bits of MODE that code is translated for.
struct FloatMode {
  uint8_t round32 = 0;   ///< 0 nearest even, 1 +inf, 2 -inf, 3 zero
  uint8_t round64 = 0;   ///< of double and half
  uint8_t denorm32 = 3;  ///< Bit 0: inputs are kept, bit 1: results are kept; 0: flushed.
  uint8_t denorm64 = 3;  ///< of double and half
  bool dx10_clamp = true;
  bool ieee = true;
  bool finite_halves = false;  ///< FP16_OVFL (gfx9 on): half precision overflows to its largest number.

  static constexpr FloatMode from_mode(uint32_t mode) {
    return {static_cast<uint8_t>(mode & 3),
            static_cast<uint8_t>(mode >> 2 & 3),
            static_cast<uint8_t>(mode >> 4 & 3),
            static_cast<uint8_t>(mode >> 6 & 3),
            (mode >> 8 & 1) != 0,
            (mode >> 9 & 1) != 0,
            (mode & kFiniteHalves) != 0};
  }
};

struct Link;            // block.hpp
struct KnownOperation;  // below

/// Takes the micro-operations of one instruction.
class Emitter {
 public:
  virtual ~Emitter() = default;
  /// Appends a zeroed operation; fill it in. Valid until the next call.
  virtual MicroOp& emit(Handler handler) = 0;
  /// Which one it is that was emitted last, where the compiler has it too. Nobody else keeps that.
  virtual void identify(const KnownOperation&) {}
  /// Memory that lives as long as the block, for what does not fit a MicroOp.
  virtual void* allocate(uint64_t bytes, uint64_t alignment) = 0;
  /// The way from this instruction to the one at `pc`, for a branch; its handler follows it.
  virtual Link* link(uint64_t pc) = 0;
};

struct LoweringContext {
  isa::Target target;
  RegisterLayout layout;
  FloatMode mode;
  SimdLevel level = SimdLevel::kBaseline;
  uint64_t pc = 0;        ///< Address of the instruction.
  uint32_t position = 0;  ///< Its number in the block.
  /// s_set_gpr_idx_on: bits 0 … 2 say that VGPRs read as src[0 … 2], bit 3 that VGPRs written as dst[0] of
  /// vector instructions are M0[7:0] registers further on.
  uint8_t gpr_index = 0;
  /// Arithmetic exceptions are gathered, and raised if MODE enables them: exceptions.hpp.
  bool gathers_exceptions = false;
  /// s_setvskip: instructions of VALU and vector memory do nothing.
  bool skip_vector = false;
  /// Nothing is executed after this instruction other than by a link or find_code(): lower_scalar() sets it
  /// for what always branches, ends the wave, or changes what code is translated for.
  bool ends_block = false;

  const isa::Traits& traits() const { return isa::traits_of(target); }
};

/// Empty, or why the instruction cannot be executed: it becomes an illegal-instruction report that says so.
using Refusal = std::string_view;

/// Hands the instruction to the part that its encoding belongs to, of the level that the context names.
Refusal lower(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);

/// The levels that are built and that this machine has, the lowest first; with VGPU_SIMD (baseline, avx2,
/// avx512) none above the one it names. Found once; there is always one.
std::span<const SimdLevel> simd_levels();

/// The last of them.
SimdLevel best_simd_level();

/// Why a level is none of them: left out by the build (CMakeLists.txt says why), not this processor's, or
/// above the one that VGPU_SIMD names. Empty: it is one, or the build left it out without a word.
std::string_view why_absent(SimdLevel level);

/// Operations that no instruction has to itself, or that are not a function of a lane.
enum class NamedOperation : uint8_t {
  kNone,
  // SDWA: a part of a row becomes all of another, and back.
  kExtract,
  kExtractSigned,
  kInsert,
  // All lanes at once. They know of nothing but rows, scalars and EXEC.
  kFetchDpp,  ///< Narrows EXEC, until kRestoreExec.
  kRestoreExec,
  kReadFirstLane,
  kReadLane,
  kWriteLane,
  kCountBelow,
  kPermuteRows,
  kSwizzle32,
  kSwizzle64,
  kBpermute32,
  kBpermute64,
  kBpermuteHalves,
  kPermute32,
  kPermute64,
  kPermuteHalves,
};
struct NamedHandler {
  NamedOperation operation;
  Handler handler;
};

/// What an operation does, for the compiler, which has the same operations in its own form.
struct KnownOperation {
  enum class Kind : uint8_t {
    kOther,          ///< Nothing that the compiler knows.
    kTakeExec,       ///< EXEC becomes what it is in the scalar file.
    kAlu,            ///< Handler `slot` of an Operation in scalar_alu.cpp
    kSaveExec,       ///< … of a SavesExec in scalar_mask.cpp
    kLoadsMode,      ///< MXCSR becomes `aux`.
    kComputes,       ///< A row, or two; with a test, a lane mask as well.
    kCompare,        ///< A lane mask,
    kCompareToExec,  ///< which EXEC becomes too.
    kWave,           ///< All lanes at once: `named` says what.
  };
  Kind kind = Kind::kOther;
  uint8_t slot = 0;
  bool clamped = false;  ///< The form of the operation that saturates.
  bool has_test = false;
  /// Computes with floating point, in the host's mode of rounding and denormals.
  bool is_float = false;
  /// Its result has something of what was in the row before.
  bool reads_destination = false;
  uint8_t sources = 0;
  uint8_t row_sources = 0;  ///< Without lane masks, which come last.
  uint8_t result_rows = 1;
  isa::Op op{};
  NamedOperation named = NamedOperation::kNone;  ///< If it is another there is no `op`.
};

#define RIGEL_DECLARE_LOWERING(level)                                                                \
  namespace level {                                                                                  \
  Refusal lower_vector(const isa::Instruction& instruction, LoweringContext& context, Emitter& out); \
  Refusal lower_memory(const isa::Instruction& instruction, LoweringContext& context, Emitter& out); \
  }
RIGEL_DECLARE_LOWERING(simd_baseline)
RIGEL_DECLARE_LOWERING(simd_avx2)
RIGEL_DECLARE_LOWERING(simd_avx512)
#undef RIGEL_DECLARE_LOWERING

}  // namespace rigel::vgpu::exec
