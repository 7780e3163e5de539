// A format of the findings' report.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugins/vgpu/check/check_options.hpp"
#include "plugins/vgpu/check/finding.hpp"
#include "plugins/vgpu/cp/device_bus.hpp"

namespace rigel::vgpu::check {

/// The end of a report.
struct Summary {
  std::string findings;            ///< "1 error, 0 warnings by memory"
  std::vector<std::string> notes;  ///< What else the user should know
  std::vector<std::pair<Kind, uint64_t>> counts;

  /// Returns a line for each statement.
  std::string text() const;
};

class Output {
 public:
  virtual ~Output() = default;
  /// Reports a finding. Text without a log file goes through `bus` for the queue.
  virtual void add(const Finding& finding, DeviceBus& bus, uint32_t queue_id) = 0;
  /// Reports the end of the process.
  virtual void end(const Summary& summary) = 0;
};

/// Returns the format that the options select.
std::unique_ptr<Output> make_output(const Options& options);

}  // namespace rigel::vgpu::check
