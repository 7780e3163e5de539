// The other side of the comparison: lowers one instruction as the translator does and runs its
// micro-operations on a wave that looks like the model's state.
#pragma once

#include <span>
#include <string>

#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/reference/model.hpp"

namespace rigel::vgpu::exec::reference {

struct MachineResult {
  std::string refusal;     ///< Why it could not be lowered; empty if it ran.
  bool consistent = true;  ///< EXEC as handed on equals EXEC in the scalar file at the end.
  bool strayed = false;    ///< Something was written behind the LDS.
  bool faulted = false;    ///< A memory violation at `fault_va`.
  bool waits = false;      ///< The wave wants to be asked again.
  uint64_t fault_va = 0;
};

/// Runs the instructions on `state` in place, one after the other, with the handlers of the level.
MachineResult run_on_machine(std::span<const isa::Instruction> instructions, SimdLevel level, State& state);

}  // namespace rigel::vgpu::exec::reference
