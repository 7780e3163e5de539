// An agent: a device that a backend has opened, and the answers to queries about it.
//
// *Lifetime:* created at start and constant afterwards; its address is its handle. Heaps owns its
// memory pools.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/support/status.hpp"
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

/// Values for queries that are not stored in the agent.
struct AgentSurroundings {
  hsa_agent_t nearest_cpu{};
  uint64_t memory_available = 0;  ///< bytes
  std::string_view product_name;  ///< empty: use the backend's
  bool is_apu = false;            ///< whether it is on one chip with the CPU
  uint32_t* registers = nullptr;  ///< page of registers that user mode may write
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

  /// Implements hsa_agent_get_info with AMD's attributes, without the mask of extensions
  /// (api/entry/agent.cpp). INVALID_ARGUMENT for an unknown attribute or null.
  Status info(uint32_t attribute, void* value, const AgentSurroundings& surroundings) const;

  /// Implements the attributes of hsa_ext_image.h in hsa_agent_get_info: all 0 if it does not support images.
  Status image_info(uint32_t attribute, void* value) const;

  /// Reads the device's clock; the system's if the device has none.
  Status read_clock(uint64_t& ticks, uint64_t& ticks_per_second) const;
  /// Enables conversion of ticks if the device has a clock. Call once, after `open`. `read`, if not null,
  /// reads both clocks closer together than read_clock. `keeper` ends before the agent.
  void begin_times(std::function<bool(ClockReading&)> read, ClockKeeper* keeper);
  /// Compares the device's clock with the system's, if times have been requested.
  void calibrate() const {
    if (clock_ != nullptr) clock_->calibrate();
  }

  /// Makes the device release unused memory. Returns whether there was any. Any thread.
  bool trim() const;
  Status set_scratch_limit(uint64_t bytes) const;
  void scratch_limits(uint64_t& most, uint64_t& now) const;

  /// Converts a tick of the device's clock to system time (api/support/clock.hpp); the result is the same
  /// until the process ends. 0 stays 0: no time was recorded.
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
  std::deque<Cache> caches_;  // a deque, because addresses are handles
  void* device_ = nullptr;
  std::unique_ptr<DeviceClock> clock_;  // null: the system's
};

}  // namespace rigel
