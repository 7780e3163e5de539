// What the program's people are told when a wave fails or traps, and of dispatches that end.
//
// A report is made in two steps. The first copies what only the wave knows, on its worker and inside a scope
// of its memory. The second asks others (the debugging information of the code object, the driver for what
// lies near an address), which may take long and wait for locks: outside of scopes and without any lock held.
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

/// A report whose second step is still to be done.
struct Failure {
  DispatchResult result;  ///< But for its reason.
  std::string what;       ///< In one line.
  std::string kernel;
  WorkItems items;
  uint64_t pc = 0;
  uint64_t entry = 0;
  StoppedWave wave;
  std::string schedule;                 ///< VGPU_SCHEDULE, if it is not the default.
  bool pc_is_late = false;              ///< It may have been a little before `pc`.
  std::vector<std::string> work_items;  ///< A line for each that failed.
  std::string address;                  ///< What is known of the address without asking anybody.
  std::string code;                     ///< The instructions around it, in lines.
  std::string registers;                ///< Those that the instruction reads, in lines.
};

/// Why a work-group's wave failed. Inside a scope of `memory`.
Failure examine_failure(const Group& group, WaveMemory& memory);

/// The result, whose reason has it all. Before the wave's scratch memory is another's.
DispatchResult describe_failure(Failure failure, DeviceBus& bus);

/// A wave that executed s_trap, which its runtime's trap handler deals with.
struct Trap {
  uint32_t id = 0;
  uint64_t pc = 0;
  WorkItems items;
  StoppedWave wave;
};
/// For the log: the kernel, the place and the work-items. Outside of scopes, before the wave goes on.
std::string describe_trap(const Trap& trap, const Launch& launch, DeviceBus& bus);

/// The kernel of a dispatch, as it was written; "without a name" if it has none. Inside a scope of `memory`.
std::string kernel_of(const Dispatch& dispatch, WaveMemory& memory);
/// … outside of scopes.
std::string kernel_of(const Dispatch& dispatch, DeviceBus& bus);

/// Lines for the trace.
std::string describe_end(const Launch& launch);
std::string describe_halt(const Group& group);

}  // namespace rigel::vgpu::exec
