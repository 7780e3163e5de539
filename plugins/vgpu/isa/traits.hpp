// Differences between the shader cores of chips, apart from their instructions (instruction_tables.hpp): one
// row for each chip. Code that executes instructions uses these columns and does not compare generations, so
// a new chip is a new row. Decoder and disassembler, which handle encodings, may use families.
//
// Sources: AMD's ISA manuals (GCN 3, Vega, RDNA, RDNA 2, RDNA 3, RDNA 4, CDNA 2, CDNA 3), LLVM's AMDGPU.td
// and SIDefines.h, and the sources noted at columns.
//
// *Threads:* any; constants.
#pragma once

#include <cstdint>

#include "plugins/vgpu/isa/target.hpp"

namespace rigel::vgpu::isa {

/// Effect of a 16-bit result on the upper half of its register.
enum class HalfResult : uint8_t {
  kClears,           ///< Clears it.
  kKeepsWhereOpSel,  ///< Keeps it in instructions with op_sel; others clear it.
  kKeeps,            ///< Keeps it.
};

/// Kind of buffer descriptors, and their range check.
enum class BufferRules : uint8_t {
  kBySwizzle,  ///< Checks bytes without stride or swizzle, else records. Elements have a size.
  kByIndex,    ///< Checks bytes, but records if the instruction has an index and there is a stride.
  kSelected,   ///< OOB_SELECT chooses. One format field instead of two.
};

/// Generation of the texture unit: resource words and image layouts.
enum class ImageGeneration : uint8_t { kGfx8, kGfx9, kGfx10_1, kGfx10_3, kGfx11, kGfx12 };

/// DPP controls that cross rows of 16 lanes.
enum class DppControls : uint8_t {
  kWaveShifts,  ///< wave_shl, wave_rol, wave_shr, wave_ror, row_bcast
  kRowShares,   ///< row_share, row_xmask
};

/// Sums of matrix instructions with F16 and BF16, in single precision. F32 and F64: a fused multiply-add for
/// each k, in order.
enum class MatrixSums : uint8_t {
  kExact,    ///< Four products (BF16: two) and C are added exactly and rounded once.
  kFlushed,  ///< Four products (BF16 without _1K: two) are added in pairs, then to C. Denormals are flushed.
  kTruncated,  ///< Products are truncated to the largest one's unit, and the sum is rounded down to C's.
};

/// Registers of a trap handler.
struct TrapRegisters {
  uint8_t first;     ///< Code of TTMP0, which with TTMP1 has the return address.
  uint8_t status;    ///< TTMP in which amdkfd's first-level handler leaves STATUS.
  uint8_t data;      ///< First of two TTMPs with TMA.
  uint8_t id_shift;  ///< First bit of the trap's number in TTMP1.
};

struct Traits {
  bool has_null;               ///< Scalar operand 125 reads as 0 and discards writes.
  bool has_aperture_operands;  ///< SHARED_BASE, SHARED_LIMIT, PRIVATE_BASE, PRIVATE_LIMIT
  bool cmpx_writes_mask;       ///< v_cmpx writes its mask and EXEC.
  HalfResult half_result;
  bool has_ieee_mode;      ///< MODE has IEEE and DX10_CLAMP; otherwise clamps return 0 for a NaN (gfx12).
  bool has_finite_halves;  ///< FP16_OVFL of MODE exists: overflowing halves become the largest finite value.
  bool extremes_flush;     ///< min, max and med3 flush denormals if MODE does.
  bool sine_limited;       ///< Sine and cosine of more than 256 turns return the value for 0.
  bool dot2_flushes_halves;  ///< v_dot2_f32_f16 flushes denormal halves in every mode (seen on gfx90a).
  DppControls dpp;
  bool m0_limits_lds;             ///< M0 limits LDS addresses, and accesses must be aligned.
  bool swizzle_has_rotation;      ///< ds_swizzle_b32 has modes that rotate and reverse lane numbers.
  bool permutes_by_halves;        ///< ds_permute_b32 and ds_bpermute_b32 of waves of 64 stay within 32 lanes.
  bool ordered_count_has_dwords;  ///< ds_ordered_count has a number of dwords.
  BufferRules buffer;
  bool has_compact_formats;  ///< FORMAT of buffers has six bits, and SWIZZLE_ENABLE two.
  ImageGeneration image;
  bool image_has_dimension;  ///< Image instructions have a dimension field; otherwise resources do.
  bool packs_d16;            ///< Two 16-bit components share a register.
  /// A D16 load clears the other half of the register: chips whose registers have ECC (LLVM's
  /// d16PreservesUnusedBits; Tensile's HasEccHalf, whose kernels combine two halves by OR). The gfx906 boards
  /// report that ECC is on.
  bool d16_loads_clear_half;
  bool flat_scratch_is_hidden;  ///< FLAT_SCRATCH is a hardware register, not two SGPRs.
  bool has_cache_scopes;        ///< sc0, sc1 and nt replace GLC, SCC and SLC of vector memory instructions.
  /// FLAT_SCRATCH has an offset in units of 256 bytes and a lane's bytes.
  bool flat_scratch_counts_from_base;
  bool has_launched_flat_scratch;  ///< FLAT_SCRATCH is set at launch; kernels get no scratch offset.
  bool scratch_adds_registers;     ///< Scratch instructions have a VGPR and an SGPR; otherwise one of them.
  bool flat_drops_offset;          ///< FLAT accesses to global memory ignore their offset: a bug of gfx10.1.
  bool packs_work_item_ids;        ///< The three ids share v0.
  /// Work-group ids are in TTMP9 and TTMP7, and the wave's number in TTMP8; otherwise ids follow the user
  /// SGPRs.
  bool has_ids_in_ttmps;
  uint8_t vgpr_granule;         ///< Unit of VGPRs in COMPUTE_PGM_RSRC1, for waves of 64.
  MatrixSums matrix_sums;       ///< Of matrix instructions with F16 and BF16; kTruncated: also XF32, FP8, BF8
  bool splits_matrices;         ///< WMMA has each element in one lane only (vector/split_matrix.hpp).
  bool matrix_negates_doubles;  ///< BLGP of matrix instructions with F64 negates A, B and C.
  bool has_agprs;               ///< Accumulation registers, which matrix instructions use
  bool has_unified_vgprs;       ///< VGPRs and AGPRs are one file; memory instructions may use either.
  bool allocates_sgprs;         ///< SGPRs are allocated in units of 16; otherwise kernels have all of them.
  bool has_wave_placement_ids;  ///< HW_ID1 and HW_ID2 exist, and HW_ID does not.
  bool has_xcc_id;              ///< Hardware register 20 is XCC_ID; otherwise, if it exists, FLAT_SCRATCH.
  bool has_split_status;  ///< STATE_PRIV, EXCP_FLAG_USER, TRAP_CTRL and others replace TRAPSTS and HW_ID.
  bool has_get_doorbell;  ///< s_sendmsg(MSG_GET_DOORBELL); otherwise, if it exists, s_sendmsg_rtn
  bool has_returned_messages;   ///< s_sendmsg_rtn; message 3 of s_sendmsg releases the VGPRs.
  bool has_split_counters;      ///< LDS, scalar memory and vector memory have a counter each (isa/waits.hpp).
  uint32_t mode_bits;           ///< Bits of MODE that s_setreg writes.
  uint32_t hardware_registers;  ///< Bit n: s_getreg and s_setreg support register n.
  TrapRegisters trap;
};

/// Returns the chip's row; null if it is unknown.
const Traits* find_traits(const Target& target);

/// Returns the row of a chip that is known, for example because it was decoded for.
inline const Traits& traits_of(const Target& target) {
  return *find_traits(target);
}

}  // namespace rigel::vgpu::isa
