#include "plugins/vgpu/exec/check/race_cells.hpp"

#include <algorithm>

namespace rigel::vgpu::exec {
namespace {

void join_into(WaveClocks::Clock& clock, const WaveClocks::Clock& other) {
  for (uint32_t i = 0; i < WaveClocks::kMost; ++i) clock[i] = std::max(clock[i], other[i]);
}

}  // namespace

void WaveClocks::join(uint32_t waves) {
  Clock joined{};
  for (uint32_t wave = 0; wave < kMost; ++wave) {
    if ((waves >> wave & 1) != 0) join_into(joined, clocks_[wave]);
  }
  for (uint32_t wave = 0; wave < kMost; ++wave) {
    if ((waves >> wave & 1) == 0) continue;
    clocks_[wave] = joined;
    advance(wave);
  }
}

void WaveClocks::synchronize(uint32_t wave, Clock& location) {
  join_into(clocks_[wave], location);
  location = clocks_[wave];
  advance(wave);
}

void WaveClocks::acquire_all(uint32_t wave) {
  for (uint32_t other = 0; other < kMost; ++other) {
    if (other == wave) continue;
    clocks_[wave][other] = clocks_[other][other];
    advance(other);  // Its later accesses are not acquired.
  }
}

bool note_access(RaceCell& cell, const WaveClocks& clocks, AccessKind kind, const CellAccess& access,
                 Race& race) {
  // Instructions do not tell atomic loads and stores from others, except loads that bypass the vector cache.
  const bool is_atomic_read = access.is_atomic && kind == AccessKind::kRead;
  const auto conflicts = [&](const CellAccess& earlier) {
    return (earlier.bytes & access.bytes) != 0 && !clocks.is_ordered(earlier, access.wave);
  };
  // An atomic operation races with plain writes only.
  const bool may_be_atomic = cell.write.is_atomic && (access.is_atomic || kind == AccessKind::kRead);
  bool races = !may_be_atomic && !is_atomic_read && conflicts(cell.write);
  if (races) race.earlier = cell.write, race.earlier_writes = true;
  if (kind == AccessKind::kRead) {
    CellAccess* slot = &cell.reads[0];
    if (cell.reads[1].op != nullptr && cell.reads[1].wave == access.wave) {
      slot = &cell.reads[1];
    } else if (slot->op != nullptr && slot->wave != access.wave && !clocks.is_ordered(*slot, access.wave)) {
      slot = &cell.reads[1];
    }
    const bool is_same = slot->op != nullptr && slot->wave == access.wave && slot->clock == access.clock;
    const uint8_t earlier_bytes = is_same ? slot->bytes : uint8_t{0};
    *slot = access;
    slot->bytes |= earlier_bytes;
    return races;
  }
  for (const CellAccess& read : cell.reads) {
    if (races || access.is_atomic || read.is_atomic || !conflicts(read)) continue;
    races = true;
    race.earlier = read;
    race.earlier_writes = false;
  }
  const bool is_same_clock = cell.write.op != nullptr && cell.write.wave == access.wave &&
                             cell.write.clock == access.clock && cell.write.is_atomic == access.is_atomic;
  const uint8_t earlier_bytes = is_same_clock ? cell.write.bytes : uint8_t{0};
  cell.write = access;
  cell.write.bytes |= earlier_bytes;
  return races;
}

}  // namespace rigel::vgpu::exec
