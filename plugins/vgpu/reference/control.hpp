// What the model's scalar instructions do beyond arithmetic: where the wave goes on, whether it stops, and
// the hardware's registers. A part of the reference (model.hpp); test code.
#pragma once

#include "plugins/vgpu/reference/model.hpp"

namespace rigel::vgpu::exec::reference {

/// What a wave has besides the registers of its State.
struct Hardware {
  uint32_t status = 0;            ///< STATUS, without the bits that follow from other state.
  uint32_t trap_status = 0;       ///< TRAPSTS
  uint32_t flat_scratch[2] = {};  ///< gfx10, where it is no scalar register.
  uint32_t vgprs = 0;             ///< As allocated.
  uint32_t lds_bytes = 0;
  uint64_t trap_code = 0, trap_data = 0;  ///< TBA, TMA; 0: there is no handler.
  uint32_t doorbell = 0;
  std::vector<uint32_t> interrupts;  ///< What s_sendmsg told the host.
};

enum class Next : uint8_t {
  kGoesOn,  ///< At State::pc.
  kEnds,    ///< The others stop the wave; if it goes on, then at State::pc.
  kBarrier,
  kSleeps,
  kHalts,
  kTraps,  ///< s_trap in the trap handler.
};

/// Executes a scalar instruction at State::pc that execute() does not know. State::pc is where it leads to.
Outcome execute_control(const isa::Instruction& instruction, State& state, Hardware& hardware, Next& next);

}  // namespace rigel::vgpu::exec::reference
