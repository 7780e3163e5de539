// Waves in a row: how compiled code goes from one wave of a work-group to the next, and from one work-group to the next along
// the grid's first dimension, without coming back to its caller.
//
// Such waves all start alike: in the same code, with all lanes, with the scalars of their work-group and the ids of their
// place in it (TranslatedCode::Beginning::fills_registers). Nothing else has to be made for the next one. All waves of a work-group
// take the same way: to a barrier, or to their end; where one does not, or has to be interpreted, or has used up its time, the
// row is over, and each wave of that work-group goes on by itself (Group::leave_row()).
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

/// The wave has ended. The one that runs next, with its budget; null: the row is over, or there was none.
inline Wave* next_after_end(Wave* wave, int64_t& budget) {
  WorkGroup& group = *wave->group;
  if (group.row.end == 0 || group.waves_at_barrier != 0) return nullptr;
  wave->op = group.row.begin;
  end_turn(group.row, budget);
  Wave* next = wave + 1;
  if (++group.waves_ended == group.wave_count) {
    if (group.id[0] + 1 >= group.row.end || group.row.left < 0) return nullptr;
    group.waves_ended = 0;
    ++group.place;
    group.scalars[group.row.id_scalar] = ++group.id[0];
    next = group.waves;
  }
  return group.running = next;
}

/// The wave is at a barrier, and goes on at its `op` afterwards: as next_after_end().
inline Wave* next_after_barrier(Wave* wave, int64_t& budget) {
  WorkGroup& group = *wave->group;
  if (group.row.end == 0 || group.waves_ended != 0 || group.row.left < 0) return nullptr;
  end_turn(group.row, budget);
  Wave* next = wave + 1;
  if (++group.waves_at_barrier == group.wave_count) {
    group.waves_at_barrier = 0;
    next = group.waves;
  }
  return group.running = next;
}

}  // namespace rigel::vgpu::exec
