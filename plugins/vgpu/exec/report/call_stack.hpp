// Which calls led to where a wave stopped.
//
// Compilers for AMD GPUs write nothing of frames into the debugging information, so it is read from the code of each
// function, from its beginning on. A function is called by s_swappc_b64 s[30:31], which leaves there where it returns to.
// If it calls others it keeps that, and the frame pointer s33 of its caller, in lanes of a vector register (v_writelane),
// having stored that register in scratch memory first, at an offset from the stack pointer s32. What is found counts only
// if there is a call before it.
//
// Threads: an object is its owner's; a function here keeps nothing.
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

/// What a wave had in its registers when it stopped.
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

/// What reading a stack asks others.
struct StackSources {
  /// The function that has an address, its beginning in memory; nothing: nobody knows it.
  std::function<std::optional<Function>(uint64_t pc)> function_at;
  /// A dword of the GPU's memory, if it can be read.
  std::function<std::optional<uint32_t>(uint64_t va)> read;
};

/// Addresses of the calls that led to `pc`, the innermost first, as far as they can be told. `entry` is the kernel's,
/// which nobody called.
std::vector<uint64_t> calls_to(uint64_t pc, uint64_t entry, const StoppedWave& wave,
                               const StackSources& sources);

}  // namespace rigel::vgpu::exec
