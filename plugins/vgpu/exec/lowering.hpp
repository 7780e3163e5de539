// Lowering: the translation of one decoded instruction to micro-operations. lower() selects by encoding:
//   scalar   SOP*, control flow, messages, registers of the hardware      lower_scalar()
//   vector   VOP*, with SDWA, DPP, readlane and friends                   lower_vector()
//   memory   SMEM, DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF, MIMG          lower_memory()
//
// lower_vector() and lower_memory() and their handlers are compiled once for each SIMD level (simd.hpp).
//
// Code is translated for one float mode: FP_ROUND, FP_DENORM, DX10_CLAMP, IEEE and FP16_OVFL of MODE are
// constants here. Instructions that change them (s_setreg, s_round_mode, s_denorm_mode) end the block; the
// next block is found by the new mode. Handlers do not read MODE.
//
// MXCSR: while a wave runs, MXCSR has the rounding and denormal mode (FTZ and DAZ) of its *single precision*.
// The scheduler and the handlers that change MODE maintain it. If double or half precision has another mode,
// lowering chooses handlers that set MXCSR and restore it.
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

/// A set of host vector instructions. The handlers are compiled for each level.
enum class SimdLevel : uint8_t { kBaseline, kAvx2, kAvx512 };

/// FP16_OVFL of MODE; ignored on gfx8.
constexpr uint32_t kFiniteHalves = 1u << 23;

/// Bits of MODE for which code is translated.
struct FloatMode {
  uint8_t round32 = 0;   ///< 0 nearest even, 1 +inf, 2 -inf, 3 zero
  uint8_t round64 = 0;   ///< of double and half precision
  uint8_t denorm32 = 3;  ///< Bit 0: keep denormal inputs, bit 1: keep denormal results; 0: flush
  uint8_t denorm64 = 3;  ///< of double and half precision
  bool dx10_clamp = true;
  bool ieee = true;
  bool finite_halves =
      false;  ///< FP16_OVFL (gfx9 and later): half precision overflows to its largest number.

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

/// Receives the micro-operations of one instruction.
class Emitter {
 public:
  virtual ~Emitter() = default;
  /// Appends a zeroed micro-operation, which the caller fills in. The reference is valid until the next call.
  virtual MicroOp& emit(Handler handler) = 0;
  /// Describes the last micro-operation to the kernel compiler. Other emitters ignore it.
  virtual void identify(const KnownOperation&) {}
  /// Allocates memory with the block's lifetime, for data that does not fit a MicroOp.
  virtual void* allocate(uint64_t bytes, uint64_t alignment) = 0;
  /// Creates the link of a branch from this instruction to `pc`.
  virtual Link* link(uint64_t pc) = 0;
};

struct LoweringContext {
  isa::Target target;
  RegisterLayout layout;
  FloatMode mode;
  SimdLevel level = SimdLevel::kBaseline;
  uint64_t pc = 0;        ///< Address of the instruction
  uint32_t position = 0;  ///< Index of the instruction in the block
  /// s_set_gpr_idx_on: M0[7:0] is added to the numbers of VGPRs in src[0] to src[2] (bits 0 to 2) and in
  /// dst[0] of vector instructions (bit 3).
  uint8_t gpr_index = 0;
  /// Memory operations report their accesses to WorkGroup::checker.
  bool checked = false;
  /// s_setvskip: VALU and vector memory instructions do nothing.
  bool skip_vector = false;
  /// Set by lower_scalar() for instructions that always branch, end the wave or change the variant.
  bool ends_block = false;

  const isa::Traits& traits() const { return isa::traits_of(target); }
};

/// Empty, or the reason for which the instruction cannot be executed, for the report.
using Refusal = std::string_view;

/// Whether the DS instruction moves data between lanes without memory: permutations and swizzles.
constexpr bool is_lane_exchange(isa::Op op) {
  return op == isa::Op::ds_swizzle_b32 || op == isa::Op::ds_permute_b32 || op == isa::Op::ds_bpermute_b32;
}

/// Lowers an instruction for the level context.level.
Refusal lower(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);

/// Returns the levels that are built and that the CPU supports, lowest first. VGPU_SIMD (baseline, avx2,
/// avx512) sets an upper limit. The result is constant and never empty.
std::span<const SimdLevel> simd_levels();

SimdLevel best_simd_level();

/// Returns why simd_levels() does not contain a level: not built (CMakeLists.txt has the reason), not
/// supported by the CPU, or above VGPU_SIMD. Empty if it contains the level, or if the build gives no reason.
std::string_view why_absent(SimdLevel level);

/// Micro-operations without a corresponding instruction (SDWA), or that combine lanes.
enum class NamedOperation : uint8_t {
  kNone,
  // SDWA: a byte or word of each lane to a whole dword, and back.
  kExtract,
  kExtractSigned,
  kInsert,
  // Operations on all lanes. They access only rows, scalars and EXEC.
  kFetchDpp,  ///< Narrows EXEC until kRestoreExec
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

/// Describes a micro-operation to the kernel compiler, which has the same operations as bitcode.
struct KnownOperation {
  enum class Kind : uint8_t {
    kOther,          ///< Not supported by the compiler
    kTakeExec,       ///< Loads EXEC from the scalar file
    kAlu,            ///< Handler `slot` of an Operation in scalar_alu.cpp
    kSaveExec,       ///< Handler `slot` of a SavesExec in scalar_mask.cpp
    kLoadsMode,      ///< Sets MXCSR to `aux`
    kComputes,       ///< Computes one or two rows; with `has_test`, a lane mask as well
    kCompare,        ///< Computes a lane mask
    kCompareToExec,  ///< Computes a lane mask, and writes it to EXEC too
    kWave,           ///< Operation `named` on all lanes
  };
  Kind kind = Kind::kOther;
  uint8_t slot = 0;
  bool clamped = false;  ///< The saturating form
  bool has_test = false;
  /// Floating point in the host's rounding and denormal mode.
  bool is_float = false;
  /// The result depends on the previous value of the destination.
  bool reads_destination = false;
  uint8_t sources = 0;
  uint8_t row_sources = 0;  ///< Number of leading sources that are rows; the rest are lane masks.
  uint8_t result_rows = 1;
  isa::Op op{};
  NamedOperation named = NamedOperation::kNone;  ///< If it is not kNone, `op` is not set.
};

#define RIGEL_DECLARE_LOWERING(level)                                                                \
  namespace level {                                                                                  \
  Refusal lower_vector(const isa::Instruction& instruction, LoweringContext& context, Emitter& out); \
  Refusal lower_memory(const isa::Instruction& instruction, LoweringContext& context, Emitter& out); \
  }
RIGEL_DECLARE_LOWERING(simd_baseline)
RIGEL_DECLARE_LOWERING(simd_avx2)
RIGEL_DECLARE_LOWERING(simd_avx512)
RIGEL_DECLARE_LOWERING(simd_checked)
#undef RIGEL_DECLARE_LOWERING

}  // namespace rigel::vgpu::exec
