// What there is between compiled code and the process that runs it.
//
// Threads: each function works for the thread whose wave it is given.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugins/vgpu/exec/wave.hpp"
#include "plugins/vgpu/exec/wave_memory.hpp"

namespace rigel::vgpu::exec::compiler {

/// The wave is the interpreter's from this operation's instruction on, until it comes to a way in (Plan::ways_in).
void resume(const MicroOp* at, Wave* wave);

/// Runs the operations that stand from `first` on. True: the last one has given control back; false: the wave has
/// stopped, and why is in it.
bool call_handlers(const MicroOp* first, Wave* wave, std::byte* registers);

/// Where [va, va + bytes) is, which the instruction did not use last; it has, afterwards. Null: what is to be done about that is
/// the interpreter's business.
std::byte* find_place(WaveMemory* memory, const MicroOp* site, uint64_t va, uint64_t bytes, Access access);

/// What compiled code needs of the process that it runs in. Nothing else in it depends on where things lie.
struct Linkage {
  const MicroOp* operations = nullptr;  ///< Plan::operations
  const MicroOp* entries = nullptr;
  decltype(&call_handlers) call = call_handlers;
  decltype(&resume) hand_over = resume;
  decltype(&find_place) find = find_place;
};

/// Code that a wave can be run by: from way in `entry` on, until it stops, or the last that follows it in a row.
using Run = void (*)(Wave* wave, std::byte* registers, uint64_t entry, const Linkage* linkage);

}  // namespace rigel::vgpu::exec::compiler
