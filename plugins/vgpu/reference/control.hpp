// Scalar instructions of the model beyond arithmetic: control flow, stops, hardware registers. Test code.
#pragma once

#include "plugins/vgpu/reference/model.hpp"

namespace rigel::vgpu::exec::reference {

/// A wave's hardware state outside of State.
struct Hardware {
  uint32_t status = 0;            ///< STATUS without bits that follow from other state.
  uint32_t trap_status = 0;       ///< TRAPSTS
  uint32_t flat_scratch[2] = {};  ///< gfx10, which has it as hardware registers.
  uint32_t vgprs = 0;             ///< Allocated number.
  uint32_t lds_bytes = 0;
  uint64_t trap_code = 0, trap_data = 0;  ///< TBA, TMA; 0: no handler.
  uint32_t doorbell = 0;
  std::vector<uint32_t> interrupts;  ///< Messages of s_sendmsg to the host.
};

enum class Next : uint8_t {
  kContinues,  ///< At State::pc.
  kEnds,       ///< This and the following stop the wave, which resumes at State::pc.
  kBarrier,
  kSleeps,
  kHalts,
  kTraps,  ///< s_trap in the trap handler.
};

/// Executes a scalar instruction that execute() does not support. State::pc becomes the next instruction's
/// address.
Outcome execute_control(const isa::Instruction& instruction, State& state, Hardware& hardware, Next& next);

}  // namespace rigel::vgpu::exec::reference
