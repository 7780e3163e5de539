// Wave batches: compiled code runs the waves of a work-group, and then those of the next work-groups along
// the grid's first dimension, without returning to its caller.
//
// All waves of a batch start in the same code with all lanes. Their initial registers are the work-group's
// scalars and the work-items' ids (TranslatedCode::StartPoint::fills_registers), so starting the next wave
// needs no setup. At a barrier, a yield and its end a wave is followed by the next wave of the pass
// (WorkGroup::ready). The batch ends if a wave must be interpreted, fails or exceeds the budget. Group::run()
// then runs the waves of that work-group.
//
// Compiled code contains these functions as bitcode.
#pragma once

#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec {

/// Charges the instructions of a wave to the batch and resets its budget.
inline void end_turn(WorkGroup::Row& row, int64_t& budget) {
  row.left -= row.turn - budget;
  budget = row.turn;
}

/// Returns the next wave of a work-group in which some wave is ready, has yielded or is at a barrier.
inline Wave* next_in_row(WorkGroup& group) {
  const uint32_t ready = group.ready != 0 ? group.ready : group.take_next_pass();
  group.ready = ready & (ready - 1);
  return group.running = group.waves + __builtin_ctz(ready);
}

/// Starts the next work-group of the batch. Returns false if no work-group or no time is left.
inline bool start_next_group(WorkGroup& group) {
  if (group.id[0] + 1 >= group.row.end || group.row.left < 0) return false;
  ++group.place;
  group.scalars[group.row.id_scalar] = ++group.id[0];
  group.ready = group.all_waves();
  group.signalled = 0;
  return true;
}

/// Returns the next wave after `wave` has ended, and resets `budget` for it. Null: no batch, or its end.
inline Wave* next_after_end(WorkGroup& group, Wave* wave, int64_t& budget) {
  if (group.row.end == 0) return nullptr;
  wave->op = group.row.begin;
  end_turn(group.row, budget);
  const bool goes_on = (group.ready | group.yielded | group.at_barrier) != 0 || start_next_group(group);
  return goes_on ? next_in_row(group) : nullptr;
}

/// As next_after_end(), if the wave is at a barrier. It continues at its `op` later.
inline Wave* next_after_barrier(WorkGroup& group, const Wave* wave, int64_t& budget) {
  if (group.row.end == 0 || group.row.left < 0) return nullptr;
  end_turn(group.row, budget);
  group.at_barrier |= 1u << wave->id_in_group;
  return next_in_row(group);
}

/// As next_after_end(), if the wave yields. It continues at its `op` later.
inline Wave* next_after_yield(WorkGroup& group, const Wave* wave, int64_t& budget) {
  if (group.row.end == 0 || group.row.left < 0) return nullptr;
  end_turn(group.row, budget);
  group.yielded |= 1u << wave->id_in_group;
  return next_in_row(group);
}

}  // namespace rigel::vgpu::exec
