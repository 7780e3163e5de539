// An agent: a device that a backend has opened, with the answers to every query about it.
//
// Made at start-up and constant afterwards; its address is its handle. Its memory pools belong to the memory
// manager, which the runtime asks by the agent's handle.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/status.hpp"
#include "core/topology/agent_limits.hpp"
#include "core/topology/device_clock.hpp"
#include "core/topology/isa.hpp"
#include "core/topology/node.hpp"
#include "loader/module/checked_capabilities.hpp"
#include "loader/module/loaded_backend.hpp"

namespace rigel {

/// A cache of an agent; its address is its handle.
struct Cache {
  std::string name;
  uint8_t level = 0;
  uint32_t size = 0;  ///< bytes

  Status info(hsa_cache_info_t attribute, void* value) const;
};

/// What the queries need to know that is not the agent's own.
struct AgentSurroundings {
  hsa_agent_t nearest_cpu{};
  uint64_t memory_available = 0;  ///< bytes
  std::string_view product_name;  ///< empty: the backend's
  bool is_apu = false;            ///< it is on one chip with the CPU
  uint32_t* registers = nullptr;  ///< the page of registers that user mode may write
};

class Agent {
 public:
  /// `backend` and `host` outlive the agent.
  Agent(Node node, const LoadedBackend& backend, const hsabe_host_t& host, Capabilities capabilities,
        std::vector<const Isa*> isas, AgentLimits limits = {});
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  ~Agent();

  /// Opens the device; the destructor closes it.
  Status open();

  hsa_agent_t handle() const { return {reinterpret_cast<uint64_t>(this)}; }
  const Node& node() const { return node_; }
  const hsabe_caps_t& caps() const { return capabilities_.caps; }
  const AgentLimits& limits() const { return limits_; }
  const std::vector<hsabe_heap_t>& heaps() const { return capabilities_.heaps; }
  const LoadedBackend& backend() const { return backend_; }
  void* device() const { return device_; }
  const std::vector<const Isa*>& isas() const { return isas_; }
  const std::deque<Cache>& caches() const { return caches_; }
  bool is_cpu() const { return caps().device_type == HSA_DEVICE_TYPE_CPU; }
  bool dispatches_kernels() const { return capabilities_.has(HSABE_FEATURE_KERNEL_DISPATCH); }

  /// hsa_agent_get_info, AMD's attributes included, but not the mask of extensions, whose list is the entry's
  /// (api/entry/agent.cpp). INVALID_ARGUMENT: unknown attribute or null.
  Status info(uint32_t attribute, void* value, const AgentSurroundings& surroundings) const;

  /// The attributes of hsa_ext_image.h, which hsa_agent_get_info answers too: all 0 for want of images.
  Status image_info(uint32_t attribute, void* value) const;

  /// The device's clock now. Without one of its own, the system's.
  Status read_clock(uint64_t& ticks, uint64_t& ticks_per_second) const;
  /// From here on ticks have times, if the device has a clock of its own. Once, after `open`. `read`, if any,
  /// reads both clocks closer together than read_clock can. `keeper` ends before the agent.
  void begin_times(std::function<bool(ClockReading&)> read, ClockKeeper* keeper);
  /// Compares the device's clock with the system's, if times have been asked for.
  void calibrate() const {
    if (clock_ != nullptr) clock_->calibrate();
  }

  /// Has the device give back memory that it keeps without need: whether there was any. Any thread.
  bool trim() const;
  /// hsa_amd_agent_set_async_scratch_limit.
  Status set_scratch_limit(uint64_t bytes) const;
  /// The greatest that there can be, and the one that there is.
  void scratch_limits(uint64_t& most, uint64_t& now) const;

  /// A tick of the device's clock as system time (core/base/clock.hpp): the same for as long as the process
  /// lives. 0 stays 0: no time was taken.
  uint64_t to_system_time(uint64_t ticks) const {
    return ticks == 0 || clock_ == nullptr ? ticks : clock_->to_ns(ticks);
  }

 private:
  Status amd_info(uint32_t attribute, void* value, const AgentSurroundings& surroundings) const;

  const Node node_;
  const LoadedBackend& backend_;
  const hsabe_host_t& host_;
  const Capabilities capabilities_;
  const AgentLimits limits_;
  std::vector<const Isa*> isas_;
  std::deque<Cache> caches_;  // a deque, so that handles stay
  void* device_ = nullptr;
  std::unique_ptr<DeviceClock> clock_;  // null: the system's
};

}  // namespace rigel
