// The samples of one launch: at most the first kMostSamples in the order of work-groups and waves. Which
// samples are kept depends neither on the order in which work-groups run nor on the number of threads.
//
// *Threads:* one at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plugins/vgpu/cp/device_bus.hpp"

namespace rigel::vgpu::exec {

class LaunchSamples {
 public:
  /// Maximum number of samples of a launch that are kept. A sample takes 40 bytes, and up to three times as
  /// much while samples are sorted.
  static constexpr size_t kMostSamples = size_t{1} << 20;

  explicit LaunchSamples(size_t most = kMostSamples) : most_(most) {}

  /// Adds samples. Those of one wave arrive in the order of time, in one or several calls. `lost`: samples
  /// that are missing. Samples for which the host has no memory are lost, too.
  void add(std::span<const PcSample> samples, uint64_t lost) noexcept;

  /// Returns the samples that are kept, in their order. Call once.
  std::span<const PcSample> finish();
  /// Returns the number of lost samples; final after finish().
  uint64_t lost() const { return lost_; }

 private:
  void sort();

  const size_t most_;
  std::vector<PcSample> samples_;  // the first sorted_ ones are in their order
  size_t sorted_ = 0;
  uint64_t lost_ = 0;
};

}  // namespace rigel::vgpu::exec
