// Arithmetic at random: any instruction of the tables, its operands among registers that generated kernels
// may read and write.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/vgpu/exec/registers.hpp"
#include "plugins/vgpu/exec/whole_kernels/encode.hpp"
#include "plugins/vgpu/reference/draw.hpp"

namespace rigel::vgpu::exec::whole {

/// Which registers.
struct Registers {
  uint32_t vgprs = 32;                      ///< All may be read;
  uint32_t first_data = 8;                  ///< from here on, written.
  uint32_t first_sgpr = 28, end_sgpr = 60;  ///< Read and written; VCC as well.
  bool exec = false;                        ///< EXEC may be changed, to fewer lanes (v_cmpx).
  bool exchanges = true;                    ///< Lanes may read others'.
  uint32_t sgprs = kAllSgprs;               ///< From here on there are none.
};

class RandomAlu {
 public:
  explicit RandomAlu(const isa::Target& target);

  /// One of the instructions that every program has.
  Words common(reference::Draw& draw, const Registers& registers) const;
  Words vector(reference::Draw& draw, const Registers& registers) const;
  Words scalar(reference::Draw& draw, const Registers& registers) const;
  /// A v_cmpx.
  Words narrows(reference::Draw& draw, const Registers& registers) const;

  using Rows = std::vector<uint16_t>;  ///< Of the tables.
  /// All that vector() and scalar() choose from, and v_cmpx.
  Rows all() const;
  /// An instruction of the row, or nothing if none has been found that the registers allow.
  Words of_row(uint16_t row, reference::Draw& draw, const Registers& registers) const;

 private:
  Words draw_from(const Rows& rows, reference::Draw& draw, const Registers& registers) const;
  bool attempt(uint16_t row, reference::Draw& draw, const Registers& registers, Words& words) const;
  bool is_allowed(const isa::Instruction& in, const Registers& registers) const;

  isa::Target target_;
  Rows common_, vector_, scalar_, narrows_;
};

}  // namespace rigel::vgpu::exec::whole
