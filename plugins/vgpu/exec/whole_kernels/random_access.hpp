// Random memory accesses: any instruction of the tables that moves data between memory and registers or
// uses LDS, at the work-item's own place.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/vgpu/exec/whole_kernels/encode.hpp"
#include "plugins/vgpu/reference/draw.hpp"

namespace rigel::vgpu::exec::whole {

/// Places that an access may use, and the registers with their addresses. Each place has `kBytes` bytes.
struct AccessRegisters {
  static constexpr uint32_t kBytes = 64;
  static constexpr uint32_t kBlockRegisters = 8;  ///< M0 may select these registers of a block.
  uint32_t first_data = 0, vgprs = 0;             ///< VGPRs that may be stored and loaded.
  /// VGPR: offset of the item's place in LDS. Twice the size of all `items` places follows the last.
  uint32_t slot = 0;
  uint32_t items = 0;
  uint32_t place = 0;                               ///< Two VGPRs: address of the item's place in memory.
  uint32_t offset = 0;                              ///< VGPR: its offset from `base` and in `resource`.
  uint32_t base = 0, resource = 0;                  ///< SGPRs.
  uint32_t scratch_offset = 0;                      ///< VGPR: offset in scratch, which has 2 * kBytes bytes.
  uint32_t scratch_scalar = 0;                      ///< SGPR: offset in scratch.
  uint32_t scratch_resource = 0, scratch_wave = 0;  ///< SGPRs: the descriptor, and the wave's offset.
  uint32_t first_scalar = 0, end_scalar = 0;        ///< SGPRs for data.
  uint32_t constant_base = 0, constant_resource = 0;  ///< SGPRs: read-only memory.
  uint32_t wave_place = 0;                            ///< Two SGPRs: address of the wave's 1,024 bytes.
  uint32_t wave_offset = 0;                           ///< SGPR: their offset in `resource`.
};

class RandomAccess {
 public:
  explicit RandomAccess(const isa::Target& target);

  using Rows = std::vector<uint16_t>;  ///< Of the tables.
  const Rows& all() const { return rows_; }
  /// An instruction of the row, or nothing if none has been found.
  Words of_row(uint16_t row, reference::Draw& draw, const AccessRegisters& registers) const;

 private:
  Words attempt(uint16_t row, reference::Draw& draw, const AccessRegisters& registers) const;
  Words scalar(isa::Op op, reference::Draw& draw, const AccessRegisters& registers) const;
  bool is_allowed(const isa::Instruction& in, const AccessRegisters& registers) const;

  isa::Target target_;
  Encoder encoder_;
  Rows rows_;
};

}  // namespace rigel::vgpu::exec::whole
