// What sets one chip's shader cores apart from another's, beside which instructions it has (instruction_tables.hpp):
// facts by name, a row a chip. Code that executes instructions asks for the fact that it depends on, never
// for a generation, so that a chip to come is a row. Encodings are the business of decoder and disassembler,
// which know their families.
//
// Sources: the ISA manuals of AMD (GCN 3, Vega, RDNA, RDNA 2, CDNA 2), LLVM's AMDGPU.td and SIDefines.h, and
// where these are silent what is said beside a fact.
//
// Threads: constants; any.
#pragma once

#include <cstdint>

#include "plugins/vgpu/isa/target.hpp"

namespace rigel::vgpu::isa {

/// What a 16-bit result does to the upper half of its register.
enum class HalfResult : uint8_t {
  kClears,           ///< It becomes zero.
  kKeepsWhereOpSel,  ///< Instructions that have op_sel leave it alone, others clear it.
  kKeeps,            ///< It stays as it is.
};

/// Which buffer descriptors the chip has, and what of a buffer is out of range.
enum class BufferRules : uint8_t {
  kBySwizzle,  ///< Bytes if there is no stride or no swizzle, else records. Elements have a size.
  kByIndex,    ///< Bytes unless the instruction has an index and there is a stride; then records.
  kSelected,   ///< OOB_SELECT says. One format field in place of two.
};

/// Whose texture units the chip has: which resource words and layouts of images.
enum class ImageGeneration : uint8_t { kGfx8, kGfx9, kGfx10_1, kGfx10_3 };

/// DPP's controls across rows.
enum class DppControls : uint8_t {
  kWaveShifts,  ///< wave_shl, wave_rol, wave_shr, wave_ror, row_bcast
  kRowShares,   ///< row_share, row_xmask
};

/// Where a trap handler finds its registers.
struct TrapRegisters {
  uint8_t first;   ///< Code of TTMP0: the return address is there and in TTMP1.
  uint8_t status;  ///< TTMP that amdkfd's first-level handler leaves STATUS in …
  uint8_t data;    ///< … and the first of two with TMA.
};

struct Traits {
  // Operands.
  bool has_null;               ///< Scalar operand 125 reads as 0 and takes what nobody wants.
  bool has_aperture_operands;  ///< SHARED_BASE, SHARED_LIMIT, PRIVATE_BASE, PRIVATE_LIMIT
  // Vector arithmetic.
  bool cmpx_writes_mask;  ///< v_cmpx writes its mask as well as EXEC.
  HalfResult half_result;
  bool has_finite_halves;    ///< FP16_OVFL of MODE: halves overflow to their largest number.
  bool extremes_flush;       ///< min, max and med3 take denormals for zeros where MODE flushes them.
  bool sine_limited;         ///< Sine and cosine of more than 256 turns are those of 0.
  bool dot2_flushes_halves;  ///< v_dot2_f32_f16 takes denormal halves for zeros in every mode (seen on
                             ///< gfx90a).
  bool has_exception_cycle;  ///< EXCP_CYCLE of TRAPSTS says in which phase an exception was.
  DppControls dpp;
  // Local memory and exchange between lanes.
  bool m0_limits_lds;             ///< M0 is a bound of LDS addresses, and accesses must be aligned.
  bool swizzle_has_rotation;      ///< ds_swizzle_b32 has modes that rotate and reverse lane numbers.
  bool permutes_by_halves;        ///< ds_permute_b32 and ds_bpermute_b32 of waves of 64 stay within 32 lanes.
  bool ordered_count_has_dwords;  ///< ds_ordered_count says how many dwords it has.
  // Memory.
  BufferRules buffer;
  ImageGeneration image;
  bool image_has_dimension;            ///< Image instructions say their dimension; else resources do.
  bool packs_d16;                      ///< Two halves of 16-bit formats share a register.
  bool flat_scratch_is_hidden;         ///< FLAT_SCRATCH is a hardware register, not two SGPRs.
  bool flat_scratch_counts_from_base;  ///< It holds an offset in units of 256 bytes and the bytes of a lane.
  bool flat_drops_offset;  ///< A FLAT access to global memory leaves its offset out: a bug of gfx10.1.
  // Waves.
  bool packs_work_item_ids;     ///< The three ids share v0.
  uint8_t vgpr_granule;         ///< What COMPUTE_PGM_RSRC1 counts VGPRs by, of waves of 64.
  bool has_unified_vgprs;       ///< VGPRs and AGPRs are one file. Memory instructions may name either.
  bool allocates_sgprs;         ///< Kernels are given SGPRs by sixteens, in place of all of them.
  bool has_wave_placement_ids;  ///< HW_ID1 and HW_ID2 in place of HW_ID's layout.
  bool has_get_doorbell;        ///< s_sendmsg(MSG_GET_DOORBELL)
  uint32_t mode_bits;           ///< Of MODE, that s_setreg writes.
  uint32_t hardware_registers;  ///< Bit n: s_getreg and s_setreg know register n.
  TrapRegisters trap;
};

/// The row of a chip; nullptr for one that is not here.
const Traits* find_traits(const Target& target);

/// The same for a chip that is known to be here: one that was decoded for, or that a board names.
inline const Traits& traits_of(const Target& target) {
  return *find_traits(target);
}

}  // namespace rigel::vgpu::isa
