// A bus without memory, which notes reports.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/vgpu/cp/device_bus.hpp"

namespace rigel::vgpu::check {

class TestBus final : public DeviceBus {
 public:
  std::vector<std::string> texts;

  void report(Severity, std::optional<uint32_t>, std::string_view problem) noexcept override {
    texts.emplace_back(problem);
  }
  Translation translate(uint64_t, uint64_t, Access) noexcept override { return {}; }
  uint32_t begin_translations() noexcept override { return 0; }
  void end_translations(uint32_t) noexcept override {}
  uint64_t translation_epoch() const noexcept override { return 0; }
  void report_fault(const VmFault&) noexcept override {}
  void raise_interrupt(InterruptSource, uint32_t, uint32_t) noexcept override {}
  bool take_queue_error(uint32_t, QueueError) noexcept override { return false; }
  void queue_stopped(uint32_t, std::string_view) noexcept override {}
  uint64_t gpu_clock() noexcept override { return 0; }
};

}  // namespace rigel::vgpu::check
