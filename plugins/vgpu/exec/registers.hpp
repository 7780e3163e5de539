// Where a wave's registers lie: one block of memory, aligned to 64 bytes. First the scalar file, indexed by
// the source codes of the hardware, so that an operand's code is its place; then temporaries; then one row of
// wave_size dwords for each VGPR, then temporary rows. Offsets are in bytes and fit MicroOp's fields.
#pragma once

#include <cstdint>

namespace rigel::vgpu::exec {

/// Scalar slots 0 … 127 are the source codes of the hardware: SGPRs, FLAT_SCRATCH and XNACK_MASK where the
/// generation has them, VCC (106), TTMPs, M0 (124), EXEC (126).
/// gfx10's NULL (125) reads zero: the lowering makes it the constant 0 and, as a destination, kSinkSlot.
constexpr uint32_t kScalarTemporary = 128;  ///< 128 … 143: for the lowering of one instruction.
constexpr uint32_t kSinkSlot = 144;         ///< 144 … 159: written, never read.
constexpr uint32_t kAllSgprs = 106;         ///< Those behind 101 are special ones on gfx8 and gfx9.
constexpr uint32_t kFlatScratchSgpr = 102;  ///< 102, 103: FLAT_SCRATCH of gfx8 and gfx9.
constexpr uint32_t kFlatScratchSlot = 160;  ///< 160, 161: FLAT_SCRATCH of gfx10, a hardware register there.
constexpr uint32_t kScalarSlots = 256;      ///< The rest is reserved.
constexpr uint32_t kScalarBytes = kScalarSlots * 4;
constexpr uint32_t kTemporaryRows = 16;  ///< After the wave's VGPRs, for the lowering of one instruction.

constexpr uint32_t scalar_offset(uint32_t code) {
  return code * 4;
}

/// Rows are as wide as the wave: 64-bit values have their low halves in one row and the high ones in the
/// next.
struct RegisterLayout {
  uint32_t wave_size = 64;
  uint32_t vgprs = 256;  ///< As allocated; what becomes of higher ones: register_bounds.hpp.
  uint32_t sgprs = kAllSgprs;

  constexpr uint32_t row_bytes() const { return wave_size * 4; }
  constexpr uint32_t vgpr_offset(uint32_t index) const { return kScalarBytes + index * row_bytes(); }
  constexpr uint32_t temporary_offset(uint32_t index) const { return vgpr_offset(vgprs + index); }
  constexpr uint32_t bytes() const { return vgpr_offset(vgprs + kTemporaryRows); }
  friend constexpr bool operator==(const RegisterLayout&, const RegisterLayout&) = default;
};

}  // namespace rigel::vgpu::exec
