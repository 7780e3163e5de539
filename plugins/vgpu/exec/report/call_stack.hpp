// Call stack of a stopped wave.
//
// Compilers for AMD GPUs do not write frame information into the debugging information. The stack is
// derived from each function's code instead, read from its start. A call is s_swappc_b64 s[30:31], which
// stores the return address there. A function that calls others saves the return address, and its caller's
// frame pointer s33, in lanes of a VGPR (v_writelane). Before that it stores the VGPR in scratch memory, at
// an offset from the stack pointer s32. A return address counts only if a call precedes it.
//
// Threads: one per object; functions have no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "plugins/vgpu/exec/registers.hpp"
#include "plugins/vgpu/exec/report/loaded_code_objects.hpp"
#include "plugins/vgpu/isa/target.hpp"

namespace rigel::vgpu::exec {

struct Wave;

struct StoppedWave {
  isa::Target target;
  uint64_t exec = 0;
  RegisterLayout layout;
  std::vector<std::byte> registers;

  StoppedWave() = default;
  StoppedWave(const Wave& wave, const isa::Target& target, uint64_t exec);

  uint32_t scalar(uint32_t code) const;
  uint32_t vgpr(uint32_t index, uint32_t lane) const;
};

struct StackSources {
  /// Returns the function that contains an address, with its start in memory, or nothing if it is unknown.
  std::function<std::optional<Function>(uint64_t pc)> function_at;
  /// Returns a dword of the GPU's memory, or nothing if it cannot be read.
  std::function<std::optional<uint32_t>(uint64_t va)> read;
};

/// Returns the addresses of the calls that led to `pc`, innermost first, as far as they can be determined.
/// `entry` is the kernel's entry, where the stack ends.
std::vector<uint64_t> calls_to(uint64_t pc, uint64_t entry, const StoppedWave& wave,
                               const StackSources& sources);

}  // namespace rigel::vgpu::exec
