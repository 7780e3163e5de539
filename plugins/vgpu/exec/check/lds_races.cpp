#include "plugins/vgpu/exec/check/lds_races.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "plugins/vgpu/exec/check/lane_sets.hpp"

namespace rigel::vgpu::exec {

void LdsRaces::start(uint32_t lds_bytes) {
  const size_t lines = (lds_bytes + RaceLine::kDwords * 4 - 1) / (RaceLine::kDwords * 4);
  for (LastAccesses* const list : {&writes_, &reads_, &other_reads_}) list->assign(lines * RaceLine::kDwords);
  lines_.clear();
  lines_.resize(lines);
  interval_ = 1;
  known_.fill(0);  // They may be of larger LDS.
  if (log_ == nullptr) log_ = std::make_unique<Logged[]>(kMostLogged);
}

void LdsRaces::start_group(bool has_number) {
  is_plain_ = true;
  next_interval();
  if (has_number) return;
  for (RaceLine& line : lines_) line.clear();
}

void LdsRaces::next_interval() {
  writers_ = readers_ = 0;
  logged_ = 0;
  sequence_ = 0;
  constexpr uint32_t kMost = ~0u >> kWaveBits;
  if (++interval_ <= kMost) return;
  for (LastAccesses* const list : {&writes_, &reads_, &other_reads_}) list->assign(list->times.size());
  interval_ = 1;
}

void LdsRaces::LastAccesses::assign(size_t count) {
  times.assign(count, 0);
  places.assign(count, 0);
}

bool LdsRaces::races(uint64_t dword, uint32_t count, bool is_write, uint32_t when) const {
  uint32_t any = 0;
  const auto add = [&](const LastAccesses& last) {
    const uint32_t* const times = last.times.data() + dword;
    uint32_t i = 0;
    constexpr uint32_t kBlock = 8;
    for (; i + kBlock <= count; i += kBlock) {  // in a form that GCC vectorizes
      for (uint32_t k = 0; k < kBlock; ++k) any |= is_unordered(times[i + k], when) ? 1u : 0u;
    }
    for (; i < count; ++i) any |= is_unordered(times[i], when) ? 1u : 0u;
  };
  add(writes_);
  if (is_write) add(reads_), add(other_reads_);
  return any != 0;
}

inline void LdsRaces::note_write(uint64_t dword, uint32_t when, uint32_t place) {
  writes_.times[dword] = when;
  writes_.places[dword] = place;
}

inline void LdsRaces::note_read(uint64_t dword, uint32_t when, uint32_t place) {
  LastAccesses& last = has_other_readers_ && is_unordered(reads_.times[dword], when) ? other_reads_ : reads_;
  last.times[dword] = when;
  last.places[dword] = place;
}

bool LdsRaces::note(LaneAccesses& accesses, uint32_t wave, uint32_t site) {
  if (accesses.kind == AccessKind::kAtomic || accesses.bytes % 4 != 0 || site >= race::kMostSites)
    return false;
  if (accesses.lanes == 0) return true;
  uint64_t hash = accesses.pattern != nullptr ? accesses.pattern->hash + accesses.begin * 0xc2b2ae3d27d4eb4f
                                              : hash_of_offsets(accesses.at, accesses.lanes);
  const uint64_t form = wave << 8 | accesses.bytes << 1 | (accesses.kind == AccessKind::kWrite ? 1u : 0u);
  hash = (sequence_ + hash + form * 0x165667b19e3779f9) * 0x9e3779b97f4a7c15;
  hash ^= hash >> 32;
  hash *= 0xff51afd7ed558ccd;
  uint64_t& known = known_[hash >> (64 - kKnownBits)];
  if (known == hash && logged_ < kMostLogged) {
    Logged& logged = log_[logged_++];
    logged.wave = wave;
    logged.site = site;
    accesses.copy_to(logged.accesses);
    sequence_ = hash;
    return true;
  }
  replay();
  if (!note_now(accesses, wave, site)) return false;
  known = sequence_ = hash;
  return true;
}

void LdsRaces::replay() {
  const size_t count = std::exchange(logged_, 0);
  for (size_t i = 0; i < count; ++i) note_now(log_[i].accesses, log_[i].wave, log_[i].site);
}

bool LdsRaces::note_now(LaneAccesses& accesses, uint32_t wave, uint32_t site) {
  accesses.set_addresses();
  const uint32_t when = interval_ << kWaveBits | wave, dwords = accesses.bytes / 4;
  const auto first = static_cast<uint32_t>(std::countr_zero(accesses.lanes));
  constexpr uint32_t kShort = 8;
  const uint32_t length = known_run_from(accesses, first).end - first;
  const uint32_t others = ~(1u << wave);
  const bool is_write = accesses.kind == AccessKind::kWrite;
  needs_test_ = ((writers_ | (is_write ? readers_ : 0)) & others) != 0;
  has_other_readers_ = (readers_ & others) != 0;
  const bool is_noted =
      length < kShort ? note_lanes(accesses, when, dwords, site) : note_runs(accesses, when, dwords, site);
  if (is_noted) (is_write ? writers_ : readers_) |= 1u << wave;
  return is_noted;
}

bool LdsRaces::note_lanes(const LaneAccesses& accesses, uint32_t when, uint32_t dwords, uint32_t site) {
  const bool is_write = accesses.kind == AccessKind::kWrite;
  uint64_t most = 0, bits = 0;
  for_each_lane(accesses.lanes, [&](uint32_t lane) {
    bits |= accesses.at[lane];
    most = std::max(most, accesses.at[lane]);
  });
  if (bits % 4 != 0 || most / 4 + dwords > writes_.times.size()) return false;
  uint32_t any = 0;
  for_each_lane(needs_test_ ? accesses.lanes : 0, [&](uint32_t lane) {
    const uint64_t start = accesses.at[lane] / 4;
    for (uint64_t dword = start; dword != start + dwords; ++dword) {
      any |= is_unordered(writes_.times[dword], when) ? 1u : 0u;
      if (is_write) {
        any |= is_unordered(reads_.times[dword], when) ? 1u : 0u;
        any |= is_unordered(other_reads_.times[dword], when) ? 1u : 0u;
      }
    }
  });
  if (any != 0) return false;
  for_each_lane(accesses.lanes, [&](uint32_t lane) {
    const uint64_t start = accesses.at[lane] / 4;
    const uint32_t place = site << kLaneBits | lane;
    for (uint64_t dword = start; dword != start + dwords; ++dword)
      is_write ? note_write(dword, when, place) : note_read(dword, when, place);
  });
  return true;
}

bool LdsRaces::note_runs(const LaneAccesses& accesses, uint32_t when, uint32_t dwords, uint32_t site) {
  const bool is_write = accesses.kind == AccessKind::kWrite;
  // Runs of lanes with adjacent dwords, or with the same ones.
  struct Part {
    uint64_t dword;
    uint32_t first, end;
    uint32_t step;
  } parts[64];
  uint32_t count = 0;
  bool found = false;
  for (uint64_t remaining = accesses.lanes; remaining != 0; ++count) {
    const auto first = static_cast<uint32_t>(std::countr_zero(remaining));
    const LaneRun run = known_run_from(accesses, first);
    remaining = run.end == 64 ? 0 : remaining & ~uint64_t{0} << run.end;
    const uint64_t at = accesses.at[first];
    const uint32_t size = (run.end - 1 - first) * run.step + dwords;
    if (at % 4 != 0 || at / 4 + size > writes_.times.size()) return false;
    parts[count] = {at / 4, first, run.end, run.step};
    found |= needs_test_ && races(at / 4, size, is_write, when);
  }
  if (found) return false;
  for (uint32_t p = 0; p < count; ++p) {
    const auto& [dword, first, end, step] = parts[p];
    const uint32_t place = site << kLaneBits;
    if (step == 0 || end == first + 1) {
      for (uint32_t d = 0; d < dwords; ++d)
        is_write ? note_write(dword + d, when, place | (end - 1))
                 : note_read(dword + d, when, place | (end - 1));
    } else if (step != dwords) {
      for (uint32_t lane = first; lane < end; ++lane) {
        for (uint32_t d = 0; d < dwords; ++d) {
          const uint64_t at = dword + lane - first + d;
          is_write ? note_write(at, when, place | lane) : note_read(at, when, place | lane);
        }
      }
    } else if (is_write) {
      std::fill_n(writes_.times.begin() + static_cast<ptrdiff_t>(dword), (end - first) * dwords, when);
      uint32_t* places = writes_.places.data() + dword;
      for (uint32_t lane = first; lane < end; ++lane) {
        for (uint32_t d = 0; d < dwords; ++d) *places++ = place | lane;
      }
    } else {
      uint64_t next = dword;
      for (uint32_t lane = first; lane < end; ++lane) {
        for (uint32_t d = 0; d < dwords; ++d) note_read(next++, when, place | lane);
      }
    }
  }
  return true;
}

}  // namespace rigel::vgpu::exec
