// Random arithmetic: any instruction of the tables, with operands that generated kernels may read and
// write.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/vgpu/exec/registers.hpp"
#include "plugins/vgpu/exec/whole_kernels/encode.hpp"
#include "plugins/vgpu/reference/draw.hpp"

namespace rigel::vgpu::exec::whole {

struct Registers {
  uint32_t vgprs = 32;                      ///< Readable VGPRs.
  uint32_t first_data = 8;                  ///< First writable VGPR.
  uint32_t first_sgpr = 28, end_sgpr = 60;  ///< Readable and writable SGPRs, in addition to VCC.
  bool exec = false;                        ///< EXEC may be reduced (v_cmpx).
  bool exchanges = true;                    ///< Lanes may read other lanes.
  uint32_t sgprs = kAllSgprs;               ///< Number of SGPRs.
  uint32_t agprs = 0;                       ///< Number of accumulation registers.
};

class RandomAlu {
 public:
  explicit RandomAlu(const isa::Target& target);

  /// Returns a common instruction, as in most programs.
  Words common(reference::Draw& draw, const Registers& registers) const;
  Words vector(reference::Draw& draw, const Registers& registers) const;
  Words scalar(reference::Draw& draw, const Registers& registers) const;
  Words narrows(reference::Draw& draw, const Registers& registers) const;
  bool has_matrices() const { return !matrices_.empty(); }
  /// A matrix instruction, or a move from or to AGPRs; nothing if the registers are too few.
  Words matrix(reference::Draw& draw, const Registers& registers) const;

  using Rows = std::vector<uint16_t>;  ///< Indices of table rows.
  /// Returns all rows of vector() and scalar(), and v_cmpx.
  Rows all() const;
  /// Returns an instruction of the row, or nothing if no valid one was found.
  Words of_row(uint16_t row, reference::Draw& draw, const Registers& registers) const;

 private:
  Words draw_from(const Rows& rows, reference::Draw& draw, const Registers& registers) const;
  bool attempt(uint16_t row, reference::Draw& draw, const Registers& registers, Words& words) const;
  bool is_allowed(const isa::Instruction& in, const Registers& registers) const;

  isa::Target target_;
  uint32_t null_;  // NULL in fields of instructions
  Rows common_, vector_, scalar_, narrows_, matrices_;
};

}  // namespace rigel::vgpu::exec::whole
