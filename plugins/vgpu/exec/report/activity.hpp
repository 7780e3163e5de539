// State of a running dispatch, for reports of hanging kernels: where its waves are.
//
// The scheduler stops its workers briefly and records the positions of waves. Names and source lines may
// take long to find, and are looked up while the workers run again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/vgpu/cp/device_bus.hpp"
#include "plugins/vgpu/exec/micro_op.hpp"
#include "plugins/vgpu/exec/report/work_items.hpp"

namespace rigel::vgpu::exec {

class Launch;

/// Position of a wave that no worker executes at the moment.
struct WaveAt {
  enum class State : uint8_t { kRuns, kAtBarrier, kSleeps, kHalted };
  const MicroOp* op = nullptr;  ///< Next micro-op. Valid as long as the launch.
  Triple group{};
  uint32_t wave = 0;  ///< Index in the work-group.
  State state = State::kRuns;
};

struct Activity {
  std::shared_ptr<const Launch> launch;
  double seconds = 0;  ///< Time since the dispatch started.
  std::vector<WaveAt> waves;
  uint64_t restless = 0;  ///< Work-groups whose worker did not stop in time; their waves are not listed.
};

/// Returns the lines of a report; waves at the same place share a line. Called outside scopes and without
/// locks.
std::string describe_activity(const Activity& activity, DeviceBus& bus);

}  // namespace rigel::vgpu::exec
