#include "plugins/vgpu/exec/profile/launch_samples.hpp"

#include <algorithm>
#include <new>
#include <tuple>

namespace rigel::vgpu::exec {
namespace {

bool precedes(const PcSample& a, const PcSample& b) {
  return std::tie(a.number_of_group, a.wave) < std::tie(b.number_of_group, b.wave);
}

}  // namespace

// A sample that follows most_ others is lost: it also follows them after other samples arrive.
void LaunchSamples::add(std::span<const PcSample> samples, uint64_t lost) noexcept {
  lost_ += lost + samples.size();
  const size_t limit = most_ + most_ / 4;
  try {
    for (const PcSample& sample : samples) {
      if (sorted_ == most_ && !precedes(sample, samples_[most_ - 1])) continue;
      samples_.push_back(sample);
      --lost_;
      if (samples_.size() > limit) sort();
    }
  } catch (const std::bad_alloc&) {
  }
}

std::span<const PcSample> LaunchSamples::finish() {
  sort();
  return samples_;
}

void LaunchSamples::sort() {
  const auto added = samples_.begin() + static_cast<ptrdiff_t>(sorted_);
  std::stable_sort(added, samples_.end(), precedes);
  std::inplace_merge(samples_.begin(), added, samples_.end(), precedes);
  if (samples_.size() > most_) {
    lost_ += samples_.size() - most_;
    samples_.resize(most_);
  }
  sorted_ = samples_.size();
}

}  // namespace rigel::vgpu::exec
