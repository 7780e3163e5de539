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

void RaceLine::update_settled(const RaceAccess& access, Mask mask) {
  if (access.is_write()) {
    settled_ &= static_cast<Mask>(~mask);
    return;
  }
  for (uint32_t remaining = mask & ~settled_; remaining != 0; remaining &= remaining - 1) {
    const RaceCell& cell = cells_[std::countr_zero(remaining)];
    const bool is_whole = (race::bytes_of(cell.reads[0]) & race::bytes_of(cell.reads[1])) == race::kBytes;
    if (is_whole && cell.is_settled()) settled_ |= static_cast<Mask>(remaining & -remaining);
  }
}

bool RaceLine::divide() {
  if (cells_ == nullptr) cells_.reset(new (std::nothrow) RaceCell[kDwords]);
  if (cells_ == nullptr) return false;
  for (uint32_t i = 0; i < kDwords; ++i) {
    const auto part = [&](uint64_t record, Mask mask) {
      return (mask >> i & 1) != 0 ? race::of_dword(record, i) : 0;
    };
    cells_[i].write = part(whole_.write, masks_[0]);
    for (uint32_t r = 0; r < 2; ++r) cells_[i].reads[r] = part(whole_.reads[r], masks_[1 + r]);
  }
  whole_.write = kDivided;
  return true;
}

}  // namespace rigel::vgpu::exec
