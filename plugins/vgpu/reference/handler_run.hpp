// Runs handlers for the comparison: lowers instructions like the translator, and executes the micro-ops on a
// wave with the model's state.
#pragma once

#include <span>
#include <string>

#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/reference/model.hpp"

namespace rigel::vgpu::exec::reference {

struct HandlerResult {
  std::string refusal;     ///< The reason if it could not be lowered.
  bool consistent = true;  ///< EXEC as passed between operations equals EXEC in the scalar file at the end.
  bool wrote_past_lds = false;  ///< Bytes past the end of LDS were written.
  bool faulted = false;         ///< Memory violation at `fault_va`.
  bool waits = false;           ///< The wave must retry.
  uint64_t fault_va = 0;
};

/// Runs the instructions on `state`, with the handlers of the level.
HandlerResult run_handlers(std::span<const isa::Instruction> instructions, SimdLevel level, State& state);

}  // namespace rigel::vgpu::exec::reference
