// A format of the findings' report.
//
// Threads: any.
#pragma once

#include <memory>
#include <string_view>

#include "plugins/vgpu/check/check_options.hpp"
#include "plugins/vgpu/check/finding.hpp"
#include "plugins/vgpu/cp/device_bus.hpp"

namespace rigel::vgpu::check {

class Output {
 public:
  virtual ~Output() = default;
  /// Reports a finding. Text without a log file goes through `bus` for the queue.
  virtual void add(const Finding& finding, DeviceBus& bus, uint32_t queue_id) = 0;
  /// Reports the end of the process.
  virtual void end(std::string_view summary) = 0;
};

/// Returns the format that the options select.
std::unique_ptr<Output> make_output(const Options& options);

}  // namespace rigel::vgpu::check
