// The GPUs of amdkfd: the connection, the topology, kernel events, and signals that devices change. Backends
// implement everything else.
//
// *Lifetime:* created by one thread when a runtime starts, if there is a driver; destroyed after the agents.
// *Threads:* any thread may call `listen`.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/support/mutex.hpp"
#include "api/support/status.hpp"
#include "core/driver/device_signals.hpp"
#include "core/driver/kfd.hpp"
#include "core/driver/kfd_events.hpp"
#include "core/driver/kfd_topology.hpp"
#include "core/memory/kfd_memory.hpp"
#include "core/topology/agent_directory.hpp"
#include "core/topology/gpu_settings.hpp"
#include "core/topology/node.hpp"
#include "loader/module/config.hpp"
#include "loader/module/discovery_report.hpp"
#include "loader/module/loader_environment.hpp"

namespace rigel {

class Gpus {
 public:
  /// Opens the driver: the transport named by the environment or the configuration, or the kernel. Returns
  /// null, with a line in the report, if the kernel has no usable driver. Fails if a named transport is not
  /// available: INVALID_FILE for invalid options in the file.
  static Result<std::unique_ptr<Gpus>> open(const RuntimeConfig& config, const LoaderEnvironment& environment,
                                            DiscoveryReport& report);
  /// Reports a defect of the configured transport, if any: its library or its options.
  static void check_driver(const RuntimeConfig& config, const LoaderEnvironment& environment,
                           DiscoveryReport& report);
  ~Gpus();

  Kfd& kfd() { return *kfd_; }
  KfdAgents& agents() { return agents_; }
  const KfdTopology& topology() const { return topology_; }
  const KfdNode* find_node(uint32_t number) const;
  const GpuSettings& settings() const { return settings_; }
  /// Whether GPU code of this process may retry page faults, as set at its start.
  bool xnack_enabled() const { return xnack_; }

  /// Returns the GPUs to use, selected and ordered by ROCR_VISIBLE_DEVICES. HSA_OVERRIDE_GFX_VERSION
  /// overrides versions, HSA_ENABLE_SRAMECC overrides ECC.
  std::vector<Node> visible_nodes(DiscoveryReport& report) const;

  /// Creates events and makes signals accessible to devices. Call after the last GPU has been added.
  Status begin(KfdEvents::Callbacks callbacks);
  /// Starts listening to the kernel, before the first queue is created. Before `deliver` it only records the
  /// request: a device may create a queue while it is opened.
  Status listen();
  /// Enables callbacks, once their data exists: a GPU fault waits until then.
  Status deliver();
  /// Stops listening; no callback runs afterwards.
  void stop_listening() {
    if (events_ != nullptr) events_->stop();
  }

 private:
  Gpus(std::unique_ptr<Kfd> kfd, GpuSettings settings)
      : kfd_(std::move(kfd)), settings_(std::move(settings)), agents_(*kfd_) {}
  void settle_xnack(DiscoveryReport& report);

  std::unique_ptr<Kfd> kfd_;
  const GpuSettings settings_;
  bool xnack_ = false;
  KfdTopology topology_;
  KfdAgents agents_;
  std::unique_ptr<KfdEvents> events_;
  std::unique_ptr<DeviceSignals> signals_;

  Mutex mutex_;
  bool delivers_ RIGEL_GUARDED_BY(mutex_) = false;
  bool shall_listen_ RIGEL_GUARDED_BY(mutex_) = false;
};

/// A version like "9.0.6" as three numbers.
struct TargetVersion {
  uint32_t major = 0;
  uint32_t minor = 0;
  uint32_t stepping = 0;
};
std::optional<TargetVersion> parse_target_version(std::string_view text);

/// Returns the positions of GPUs with these unique ids in the order of a list like "1,GPU-1234,0". As with
/// CUDA and ROCr, the first invalid or repeated entry ends the list.
std::vector<size_t> parse_visible_devices(std::string_view list, const std::vector<uint64_t>& unique_ids);

}  // namespace rigel
