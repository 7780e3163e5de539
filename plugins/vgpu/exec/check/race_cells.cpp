#include "plugins/vgpu/exec/check/race_cells.hpp"

#include <algorithm>
#include <new>

namespace rigel::vgpu::exec {

void WaveClocks::start(uint32_t waves) {
  waves_ = waves;
  for (uint32_t wave = 0; wave < waves; ++wave) {
    clocks_[wave].fill(0);
    clocks_[wave][wave] = 1;
  }
}

void WaveClocks::join(uint32_t waves) {
  Clock joined{};
  for (uint32_t wave = 0; wave < waves_; ++wave) {
    if ((waves >> wave & 1) == 0) continue;
    for (uint32_t i = 0; i < waves_; ++i) joined[i] = std::max(joined[i], clocks_[wave][i]);
  }
  for (uint32_t wave = 0; wave < waves_; ++wave) {
    if ((waves >> wave & 1) == 0) continue;
    std::copy_n(joined.begin(), waves_, clocks_[wave].begin());
    advance(wave);
  }
}

void WaveClocks::acquire(uint32_t wave, const Clock& location) {
  for (uint32_t i = 0; i < waves_; ++i) clocks_[wave][i] = std::max(clocks_[wave][i], location[i]);
}

void WaveClocks::acquire_all(uint32_t wave) {
  for (uint32_t other = 0; other < waves_; ++other) {
    if (other == wave) continue;
    clocks_[wave][other] = clocks_[other][other];
    advance(other);  // Its later accesses are not acquired.
  }
}

EarlierAccess RaceCell::note(const RaceAccess& access, uint64_t record) {
  const bool is_atomic = access.is_atomic(), is_write = access.is_write();
  const auto conflicts = [&](uint64_t earlier) {
    return earlier != 0 && access.is_unordered(earlier) &&
           (race::bytes_of(earlier) & race::bytes_of(record)) != 0;
  };
  EarlierAccess found;
  // An atomic operation races with plain writes, and in LDS with reads. An atomic read races with nothing.
  const bool is_atomic_read = is_atomic && !is_write;
  const bool may_race_with_atomic = is_write ? !is_atomic : access.is_lds;
  if (!is_atomic_read && conflicts(write) && (!race::is_atomic(write) || may_race_with_atomic))
    found = {write, true};
  const auto merge = [&](uint64_t& last) {
    const bool is_same = last != 0 && ((last ^ record) & race::kEpoch) == 0;
    last = is_same ? record | (last & race::kBytes << race::kBytesAt) : record;
  };
  if (!is_write) {
    const auto is_own = [&](uint64_t read) {
      return read != 0 && ((read ^ record) & (race::kGroup | race::kWave << race::kWaveAt)) == 0;
    };
    const bool is_second =
        is_own(reads[1]) || (reads[0] != 0 && !is_own(reads[0]) && access.is_unordered(reads[0]));
    merge(reads[is_second ? 1 : 0]);
    return found;
  }
  for (const uint64_t read : reads) {
    if (found.record != 0 || race::is_atomic(read) || (is_atomic && !access.is_lds) || !conflicts(read))
      continue;
    found = {read, false};
  }
  merge(write);
  return found;
}

bool RaceLine::divide() {
  cells_.reset(new (std::nothrow) RaceCell[kDwords]);
  if (cells_ == nullptr) return false;
  for (uint32_t i = 0; i < kDwords; ++i) {
    cells_[i].write = race::of_dword(whole_.write, i);
    for (uint32_t r = 0; r < 2; ++r) cells_[i].reads[r] = race::of_dword(whole_.reads[r], i);
  }
  return true;
}

}  // namespace rigel::vgpu::exec
