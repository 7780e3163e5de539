// The GPUs of amdkfd, as far as the runtime itself has to do with them: the connection, the topology, what
// the kernel reports, and the signals that devices change. What a GPU can do is its backend's affair.
//
// Made while the runtime starts, by one thread, if there is a driver; ends after the agents. `listen` may be
// called from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/support/mutex.hpp"
#include "core/base/status.hpp"
#include "core/driver/device_signals.hpp"
#include "core/driver/kfd.hpp"
#include "core/driver/kfd_events.hpp"
#include "core/driver/kfd_topology.hpp"
#include "core/memory/agents.hpp"
#include "core/memory/kfd_memory.hpp"
#include "core/topology/gpu_settings.hpp"
#include "core/topology/node.hpp"
#include "loader/module/config.hpp"
#include "loader/module/discovery_report.hpp"
#include "loader/module/loader_environment.hpp"

namespace rigel {

class Gpus {
 public:
  /// Opens the driver: the transport that the environment or the configuration names, or the kernel's own.
  /// Null if the kernel has none, or one that cannot be used, with its line in the report. A transport that was
  /// asked for and cannot be had is an error: INVALID_FILE where the file's options for it are wrong.
  static Result<std::unique_ptr<Gpus>> open(const RuntimeConfig& config, const LoaderEnvironment& environment,
                                            DiscoveryReport& report);
  /// Reports why the transport of a configuration cannot be had, if so: its library, or its options.
  static void check_driver(const RuntimeConfig& config, const LoaderEnvironment& environment,
                           DiscoveryReport& report);
  ~Gpus();

  Kfd& kfd() { return *kfd_; }
  KfdAgents& agents() { return agents_; }
  const KfdTopology& topology() const { return topology_; }
  const KfdNode* find_node(uint32_t number) const;
  const GpuSettings& settings() const { return settings_; }
  /// Whether GPU code of this process may fault and go on, since it began.
  bool xnack_enabled() const { return xnack_; }

  /// The GPUs that this process shall use, in the order that it wants: ROCR_VISIBLE_DEVICES. Versions are
  /// those of HSA_OVERRIDE_GFX_VERSION, and ECC is as HSA_ENABLE_SRAMECC has it.
  std::vector<Node> visible_nodes(DiscoveryReport& report) const;

  /// When all GPUs that will be used have been added: makes events, and signals visible to devices.
  Status begin(KfdEvents::Callbacks callbacks);
  /// Begins to listen to the kernel, at the latest when the first queue is made. Before `deliver` this only
  /// says that it shall: a device may make a queue while it is opened.
  Status listen();
  /// When all is there that the callbacks use: the fault of a GPU waits until then.
  Status deliver();
  /// Nothing is called back after this.
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

/// "9.0.6" as three numbers; nothing else will do.
struct TargetVersion {
  uint32_t major = 0;
  uint32_t minor = 0;
  uint32_t stepping = 0;
};
std::optional<TargetVersion> parse_target_version(std::string_view text);

/// The positions, among GPUs with these unique ids, that a list like "1,GPU-1234,0" names, in its order. As
/// with CUDA's and ROCr's, the first word that names none ends the list, and so does one that repeats.
std::vector<size_t> parse_visible_devices(std::string_view list, const std::vector<uint64_t>& unique_ids);

}  // namespace rigel
