// Counts the memory that the instructions of a work-group move: 64-byte lines, LDS bank conflicts, scratch.
// Checked memory operations report accesses through GroupChecker.
//
// Lines: the different lines that one execution of an instruction by a wave touches, before any cache.
//
// LDS conflicts, by a model: LDS has 32 banks of four bytes. In a cycle it serves 128 bytes of consecutive
// active lanes: 32 lanes of four bytes, 16 of eight or 8 of sixteen. Lanes that read or write the same dword
// share an access; atomic operations do not. Each further dword in a bank takes a cycle more, a conflict.
// Lane permutations take no cycle.
//
// Threads: the worker of the work-group.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "plugins/vgpu/exec/check/access.hpp"
#include "plugins/vgpu/profile/kernel_profile.hpp"

namespace rigel::vgpu::exec {

class MemoryCounter {
 public:
  using Counts = std::unordered_map<uint64_t, profile::MemoryCount>;  // by address of the instruction

  /// A wave is about to execute the instruction at `pc`. The accesses that follow are its own.
  void begin(uint64_t pc);
  void access_memory(const LaneAccesses& accesses);
  void access_lds(const LaneAccesses& accesses);
  void access_private(const LaneAccesses& accesses);

  /// Returns the counts and starts again. Call between instructions.
  Counts take();

 private:
  void end_instruction();

  Counts counts_;
  uint64_t pc_ = 0;
  // Of the instruction in execution; may have duplicates.
  std::vector<uint64_t> read_lines_, written_lines_;
};

/// Cycles of LDS.
struct LdsCycles {
  uint32_t all = 0;
  uint32_t conflicts = 0;  ///< Those beyond the cycles of accesses without conflicts
};
/// Returns the cycles that LDS needs for an instruction.
LdsCycles lds_cycles(const LaneAccesses& accesses);

}  // namespace rigel::vgpu::exec
