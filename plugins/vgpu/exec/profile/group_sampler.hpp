// Samples of the program counters of a work-group's waves, at regular intervals of executed instructions.
//
// The instructions of a launch count as one sequence for each wave, and every interval-th of them is a
// sample. The first sample of a wave depends on its number in the grid, so that short waves are sampled too.
// The samples are the same in every run, on any number of threads.
//
// *Threads:* the worker of the work-group.
#pragma once

#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "plugins/vgpu/cp/device_bus.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::exec {

class GroupSampler {
 public:
  /// Starts a work-group with this number in the grid.
  void start(uint64_t group, uint32_t waves, uint64_t interval) {
    group_ = group;
    interval_ = interval;
    left_.resize(waves);
    // The remainders of the products mostly differ between neighbouring waves.
    for (uint32_t i = 0; i < waves; ++i) left_[i] = 1 + (group * waves + i) * 0x9e3779b97f4a7c15u % interval;
  }

  /// Counts an instruction of a wave. Returns whether it is a sample.
  bool step(uint32_t wave) noexcept { return --left_[wave] == 0; }

  /// Adds a sample. Called by handlers; does not throw.
  void take(const Wave& wave, uint64_t pc, uint64_t exec) noexcept {
    left_[wave.id_in_group] = interval_;
    const WorkGroup& group = *wave.group;
    try {
      samples_.push_back({pc, exec, {group.id[0], group.id[1], group.id[2]}, wave.id_in_group, group_});
    } catch (const std::bad_alloc&) {
      ++lost_;
    }
  }

  /// Returns the samples since the last call, and the number of those lost because the host had no memory.
  std::pair<std::vector<PcSample>, uint64_t> take_all() {
    return {std::exchange(samples_, {}), std::exchange(lost_, 0)};
  }

 private:
  uint64_t group_ = 0;
  uint64_t interval_ = 0;
  std::vector<uint64_t> left_;  // instructions until the next sample, by wave
  std::vector<PcSample> samples_;
  uint64_t lost_ = 0;
};

}  // namespace rigel::vgpu::exec
