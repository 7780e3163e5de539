// The layout of a wave's registers: one allocation, aligned to 64 bytes. It starts with the scalar file,
// indexed by the hardware's source codes, and scalar temporaries. A *row* of wave_size dwords for each VGPR
// follows, one for each AGPR, then temporary rows. Offsets are in bytes and fit MicroOp's fields.
#pragma once

#include <cstdint>

namespace rigel::vgpu::exec {

// Scalar slots 0 to 127 are the hardware's source codes: SGPRs, FLAT_SCRATCH and XNACK_MASK (gfx8, gfx9), VCC
// (106), TTMPs, M0 (124), EXEC (126). gfx10's NULL (125) is lowered to the constant 0 or to kSinkSlot.
constexpr uint32_t kScalarTemporary = 128;  ///< 128 to 143: temporaries within one instruction
constexpr uint32_t kSinkSlot = 144;         ///< 144 to 159: written, never read
constexpr uint32_t kAllSgprs = 106;         ///< Those past 101 are special registers on gfx8 and gfx9.
constexpr uint32_t kFlatScratchSgpr = 102;  ///< 102, 103: FLAT_SCRATCH of gfx8 and gfx9
constexpr uint32_t kFlatScratchSlot =
    160;                                ///< 160, 161: FLAT_SCRATCH of gfx10 and gfx942, a hardware register
constexpr uint32_t kScalarSlots = 256;  ///< Higher slots are reserved.
constexpr uint32_t kScalarBytes = kScalarSlots * 4;
constexpr uint32_t kTemporaryRows = 16;  ///< After the wave's VGPRs: temporaries within one instruction

constexpr uint32_t scalar_offset(uint32_t code) {
  return code * 4;
}

/// A 64-bit value has its lower half in one row and its upper half in the next.
struct RegisterLayout {
  uint32_t wave_size = 64;
  uint32_t vgprs = 256;  ///< Allocated VGPRs; register_bounds.hpp handles higher numbers
  uint32_t sgprs = kAllSgprs;
  uint32_t agprs = 0;  ///< Allocated accumulation registers (CDNA)

  constexpr uint32_t row_bytes() const { return wave_size * 4; }
  constexpr uint32_t vgpr_offset(uint32_t index) const { return kScalarBytes + index * row_bytes(); }
  constexpr uint32_t agpr_offset(uint32_t index) const { return vgpr_offset(vgprs + index); }
  constexpr uint32_t temporary_offset(uint32_t index) const { return agpr_offset(agprs + index); }
  constexpr uint32_t bytes() const { return temporary_offset(kTemporaryRows); }
  friend constexpr bool operator==(const RegisterLayout&, const RegisterLayout&) = default;
};

}  // namespace rigel::vgpu::exec
