// Waves in a row: how compiled code goes from one wave of a work-group to the next, and from one work-group to the next along
// the grid's first dimension, without coming back to its caller.
//
// Such waves all start alike: in the same code, with all lanes, with the scalars of their work-group and the ids of their
// place in it (TranslatedCode::Beginning::fills_registers). Nothing else has to be made for the next one. At a barrier, a
// yield and its end a wave is followed by the next one of the pass (WorkGroup::ready). The row is over where a wave has to
// be interpreted, fails or has used up its time; then Group runs the waves of that work-group.
//
// Compiled code has these functions as bitcode.
#pragma once

#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec {

/// Takes what a wave has executed to account, of whose turn `budget` is left.
inline void end_turn(WorkGroup::Row& row, int64_t& budget) {
  row.left -= row.turn - budget;
  budget = row.turn;
}

/// The wave that runs next, of a work-group in which some wave is ready, has yielded or is at a barrier.
inline Wave* next_in_row(WorkGroup& group) {
  const uint32_t ready = group.ready != 0 ? group.ready : group.take_next_pass();
  group.ready = ready & (ready - 1);
  return group.running = group.waves + __builtin_ctz(ready);
}

/// The wave has ended. The one that runs next, with its budget; null: the row is over, or there was none.
inline Wave* next_after_end(Wave* wave, int64_t& budget) {
  WorkGroup& group = *wave->group;
  if (group.row.end == 0) return nullptr;
  wave->op = group.row.begin;
  end_turn(group.row, budget);
  if ((group.ready | group.yielded | group.at_barrier) != 0) return next_in_row(group);
  if (group.id[0] + 1 >= group.row.end || group.row.left < 0) return nullptr;
  ++group.place;
  group.scalars[group.row.id_scalar] = ++group.id[0];
  group.ready = group.all_waves();
  return next_in_row(group);
}

/// The wave is at a barrier, and goes on at its `op` afterwards: as next_after_end().
inline Wave* next_after_barrier(Wave* wave, int64_t& budget) {
  WorkGroup& group = *wave->group;
  if (group.row.end == 0 || group.row.left < 0) return nullptr;
  end_turn(group.row, budget);
  group.at_barrier |= 1u << wave->id_in_group;
  return next_in_row(group);
}

/// The wave lets the others go on, and goes on at its `op` afterwards: as next_after_end().
inline Wave* next_after_yield(Wave* wave, int64_t& budget) {
  WorkGroup& group = *wave->group;
  if (group.row.end == 0 || group.row.left < 0) return nullptr;
  end_turn(group.row, budget);
  group.yielded |= 1u << wave->id_in_group;
  return next_in_row(group);
}

}  // namespace rigel::vgpu::exec
