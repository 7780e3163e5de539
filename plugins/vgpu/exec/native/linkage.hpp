// The interface between compiled code and the process that runs it.
//
// *Threads:* each function works on the calling thread's wave.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugins/vgpu/exec/check/access.hpp"
#include "plugins/vgpu/exec/profile/counters.hpp"
#include "plugins/vgpu/exec/wave.hpp"
#include "plugins/vgpu/exec/wave_memory.hpp"

namespace rigel::vgpu::exec::compiler {

struct Linkage;

/// Continues in the interpreter at this operation's instruction, until the wave reaches an entry
/// (Plan::ways_in).
void resume(const MicroOp* at, Wave* wave);

/// Does so if the wave has stopped because of undefined bits (Stop::kUndefined).
void resume_if_undefined(const MicroOp* at, Wave* wave);

/// Reports accesses to the checks: GroupChecker::access_pattern().
void note_accesses(const MicroOp* site, Wave* wave, uint64_t begin, const AccessPattern* pattern,
                   uint64_t exec, uint32_t pitch, const uint32_t* data);

/// Reports accesses at the lanes' addresses to the checks: GroupChecker::access_rows().
void note_rows(const MicroOp* site, Wave* wave, const RowAccesses* accesses, const uint32_t* low,
               const uint32_t* high, uint64_t base, uint64_t exec, const uint32_t* data);

/// All LDS becomes undefined, as a work-group starts. Only under the check `init`.
void forget_lds(WorkGroup* group);

/// Runs the operations from `first` on. Returns true if the last one has returned control; false if the wave
/// has stopped, with the reason in `wave`.
bool call_handlers(const MicroOp* first, Wave* wave, std::byte* registers);

/// Miss of a site's cache: finds the host address of [va, va + bytes) and caches the extent for `site`. Null:
/// the range is not in one extent; the interpreter handles the access.
std::byte* find_place(WaveMemory* memory, const MicroOp* site, uint64_t va, uint64_t bytes, Access access);

/// Returns the counters of the wave's work-group for this code's segments. The pointer is valid until control
/// leaves.
Counter* find_counters(WorkGroup* group, const Linkage* linkage);

/// Counts `times` (1 or -1) executions of the instructions [first, end) with `lanes` active lanes each.
void count_instructions(WorkGroup* group, const Linkage* linkage, uint64_t nodes, int64_t lanes,
                        int64_t times);

/// All pointers that compiled code needs of its process. Otherwise the code is position-independent.
struct Linkage {
  const MicroOp* operations = nullptr;  ///< Plan::operations
  const MicroOp* entries = nullptr;
  decltype(&call_handlers) call = call_handlers;
  decltype(&resume) hand_over = resume;
  decltype(&find_place) find = find_place;
  decltype(&find_counters) counters = find_counters;
  decltype(&count_instructions) count = count_instructions;
  decltype(&resume_if_undefined) stopped = resume_if_undefined;
  decltype(&forget_lds) lds_starts = forget_lds;
  decltype(&note_accesses) note = note_accesses;
  uint32_t first_counter = 0;  ///< Index in GroupCounters
  uint32_t segment_count = 0, instruction_count = 0;
  Counter* lost_counters = nullptr;  ///< Used if the host has no memory for a work-group's counters
  decltype(&note_rows) rows = note_rows;
};

/// Compiled code: runs a wave from `entry` on, and the waves after it in its batch, until one stops.
using Run = void (*)(Wave* wave, std::byte* registers, uint64_t entry, const Linkage* linkage);

}  // namespace rigel::vgpu::exec::compiler
