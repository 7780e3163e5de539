#include "plugins/vgpu/exec/check/launch_races.hpp"

namespace rigel::vgpu::exec {

namespace {

// Whether both accesses may be atomic. Instructions do not tell atomic loads and stores from others, except
// loads that bypass the vector cache.
bool may_be_atomic(const LaunchRaces::Access& a, const LaunchRaces::Access& b) {
  if ((a.is_atomic && !a.is_write) || (b.is_atomic && !b.is_write)) return true;
  return (a.is_atomic && !b.is_write) || (b.is_atomic && !a.is_write) || (a.is_atomic && b.is_atomic);
}

}  // namespace

std::optional<LaunchRaces::Access> LaunchRaces::note(uint64_t dword, const Access& access,
                                                     bool may_be_ordered) {
  Shard& shard = shards_[(dword >> 4) % kShards];
  const MutexLock lock(shard.mutex);
  Cell& cell = shard.cells[dword];
  const auto conflicts = [&](const Access& earlier) {
    return earlier.pc != 0 && earlier.group != access.group && (earlier.bytes & access.bytes) != 0 &&
           !may_be_atomic(earlier, access);
  };
  std::optional<Access> race;
  if (!may_be_ordered) {
    if (conflicts(cell.write)) {
      race = cell.write;
    } else if (access.is_write) {
      for (const Access& read : cell.reads) {
        if (conflicts(read)) race = read;
      }
    }
  }
  // A third work-group's read replaces the second one.
  const bool is_first_read = cell.reads[0].pc == 0 || cell.reads[0].group == access.group;
  Access& last = access.is_write ? cell.write : cell.reads[is_first_read ? 0 : 1];
  const bool is_same = last.pc != 0 && last.group == access.group && last.is_atomic == access.is_atomic;
  const uint8_t earlier_bytes = is_same ? last.bytes : uint8_t{0};
  last = access;
  last.bytes |= earlier_bytes;
  return race;
}

}  // namespace rigel::vgpu::exec
