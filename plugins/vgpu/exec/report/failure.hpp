// Reports of failed waves, traps and completed dispatches.
//
// A failure report is made in two steps. The first copies the wave's state, on its worker and inside a
// scope of its memory. The second uses the code object's debugging information and the driver's record of
// allocations. It may take long and lock mutexes, so it runs outside scopes and without locks held.
#pragma once

#include <string>
#include <vector>

#include "plugins/vgpu/cp/dispatch.hpp"
#include "plugins/vgpu/exec/report/call_stack.hpp"
#include "plugins/vgpu/exec/report/work_items.hpp"
#include "plugins/vgpu/exec/wave_memory.hpp"

namespace rigel::vgpu::exec {

class Group;
class Launch;
struct Wave;

/// A report before its second step.
struct Failure {
  DispatchResult result;  ///< Without the reason.
  std::string summary;    ///< The failure in one line.
  std::string kernel;
  WorkItems items;
  uint64_t pc = 0;
  uint64_t entry = 0;
  StoppedWave wave;
  std::string schedule;                 ///< VGPU_SCHEDULE, if it is not the default.
  bool pc_is_late = false;              ///< The failing instruction may be a little before `pc`.
  std::vector<std::string> work_items;  ///< One line for each failed work-item.
  std::string address;                  ///< Description of the address without the driver's records.
  std::string code;                     ///< Lines with the instructions around `pc`.
  std::string registers;                ///< Lines with the registers that the instruction reads.
};

/// First step: copies the state of a failed work-group's wave. Called inside a scope of `memory`.
Failure examine_failure(const Group& group, WaveMemory& memory);

/// Second step: returns the result with its complete reason. Called before the wave's scratch memory is
/// reused.
DispatchResult describe_failure(Failure failure, DeviceBus& bus);

/// A wave that executed s_trap, which a runtime's trap handler processes.
struct Trap {
  uint32_t id = 0;
  uint64_t pc = 0;
  WorkItems items;
  StoppedWave wave;
};
/// Returns a log message with the kernel, the position and the work-items. Called outside scopes, before
/// the wave continues.
std::string describe_trap(const Trap& trap, const Launch& launch, DeviceBus& bus);

/// Return lines with the source position of `pc` and the calls that led there, and descriptions of work-items
/// (`addresses` by lane, or null). Called outside scopes.
std::string describe_place(uint64_t pc, uint64_t entry, const StoppedWave& wave, DeviceBus& bus);
std::vector<std::string> describe_work_items(const WorkItems& items, uint64_t lanes,
                                             const uint64_t* addresses);

/// Returns the demangled name of a dispatch's kernel, or "without a name". Called inside a scope of
/// `memory`.
std::string kernel_of(const Dispatch& dispatch, WaveMemory& memory);
/// The same, called outside scopes.
std::string kernel_of(const Dispatch& dispatch, DeviceBus& bus);

/// Return lines for the trace.
std::string describe_end(const Launch& launch);
std::string describe_halt(const Group& group);

}  // namespace rigel::vgpu::exec
