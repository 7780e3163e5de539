// What a dispatch that has not ended is doing: where its waves are. For whoever asks why a kernel does not
// end.
//
// The scheduler stops its workers for a moment and notes where waves are; what follows (names, source lines)
// may take long, and is done while they run again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/vgpu/cp/device_bus.hpp"
#include "plugins/vgpu/exec/micro_op.hpp"
#include "plugins/vgpu/exec/report/work_items.hpp"

namespace rigel::vgpu::exec {

class Launch;

/// A wave that is not executed at the moment.
struct WaveAt {
  enum class State : uint8_t { kRuns, kAtBarrier, kSleeps, kHalted };
  const MicroOp* op = nullptr;  ///< Where it goes on. Lives as long as the launch.
  Triple group{};
  uint32_t wave = 0;  ///< In its work-group.
  State state = State::kRuns;
};

struct Activity {
  std::shared_ptr<const Launch> launch;
  double seconds = 0;  ///< That it had been running.
  std::vector<WaveAt> waves;
  uint64_t restless = 0;  ///< Work-groups whose worker did not stop in time: nothing is known of their waves.
};

/// Lines, waves at the same place together. Outside of scopes and without locks.
std::string describe_activity(const Activity& activity, DeviceBus& bus);

}  // namespace rigel::vgpu::exec
