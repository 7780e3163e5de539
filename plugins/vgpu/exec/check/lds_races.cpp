#include "plugins/vgpu/exec/check/lds_races.hpp"

#include <algorithm>
#include <bit>

#include "plugins/vgpu/exec/check/lane_sets.hpp"

namespace rigel::vgpu::exec {

void LdsRaces::start(uint32_t lds_bytes) {
  const size_t lines = (lds_bytes + RaceLine::kDwords * 4 - 1) / (RaceLine::kDwords * 4);
  for (std::vector<Last>* const list : {&writes_, &reads_, &other_reads_})
    list->assign(lines * RaceLine::kDwords, Last{});
  lines_.clear();
  lines_.resize(lines);
  interval_ = 1;
}

void LdsRaces::start_group(bool has_number) {
  is_plain_ = true;
  next_interval();
  if (has_number) return;
  for (RaceLine& line : lines_) line.clear();
}

void LdsRaces::next_interval() {
  constexpr uint32_t kMost = ~0u >> kWaveBits;
  if (++interval_ <= kMost) return;
  for (std::vector<Last>* const list : {&writes_, &reads_, &other_reads_})
    std::fill(list->begin(), list->end(), Last{});
  interval_ = 1;
}

bool LdsRaces::note(const LaneAccesses& accesses, uint32_t wave, uint32_t site) {
  const uint32_t when = interval_ << kWaveBits | wave, dwords = accesses.bytes / 4;
  if (accesses.kind == AccessKind::kAtomic || accesses.bytes % 4 != 0 || site >= race::kMostSites)
    return false;
  const bool is_write = accesses.kind == AccessKind::kWrite;
  uint64_t most = 0, bits = 0;
  for_each_lane(accesses.lanes, [&](uint32_t lane) {
    bits |= accesses.at[lane];
    most = std::max(most, accesses.at[lane]);
  });
  if (bits % 4 != 0 || most / 4 + dwords > writes_.size()) return false;
  bool races = false;
  for_each_lane(accesses.lanes, [&](uint32_t lane) {
    const uint64_t first = accesses.at[lane] / 4;
    for (uint64_t dword = first; dword != first + dwords; ++dword) {
      races |= is_unordered(writes_[dword], when);
      if (is_write) races |= is_unordered(reads_[dword], when) || is_unordered(other_reads_[dword], when);
    }
  });
  if (races) return false;
  for_each_lane(accesses.lanes, [&](uint32_t lane) {
    const uint64_t first = accesses.at[lane] / 4;
    const Last last{when, site << kLaneBits | lane};
    for (uint64_t dword = first; dword != first + dwords; ++dword) {
      if (is_write) {
        writes_[dword] = last;
      } else {
        (is_unordered(reads_[dword], when) ? other_reads_ : reads_)[dword] = last;
      }
    }
  });
  return true;
}

}  // namespace rigel::vgpu::exec
