// Branches to an address relative to the instruction.
//
// *Threads:* any; constants.
#pragma once

#include "plugins/vgpu/isa/op.hpp"

namespace rigel::vgpu::isa {

/// Whether an operation is s_branch or s_cbranch with SCC, VCC or EXEC. Debuggers' branches, forks and loops
/// of sub-vectors do not count.
constexpr bool is_branch(Op op) {
  switch (op) {
    case Op::s_branch:
    case Op::s_cbranch_scc0:
    case Op::s_cbranch_scc1:
    case Op::s_cbranch_vccz:
    case Op::s_cbranch_vccnz:
    case Op::s_cbranch_execz:
    case Op::s_cbranch_execnz:
      return true;
    default:
      return false;
  }
}

}  // namespace rigel::vgpu::isa
