// Discovery: opens devices from manifests and nodes, with a line in the report for each step. The failure of
// one backend or device does not affect others.
//
// *Lifetime:* a starting runtime runs it once, on one thread. The results remain: the machine, which is
// constant, and the resources of its agents.
#pragma once

#include <deque>
#include <memory>

#include "core/base/status.hpp"
#include "core/driver/kfd_events.hpp"
#include "core/runtime/gpus.hpp"
#include "core/runtime/host_services.hpp"
#include "core/topology/machine.hpp"
#include "loader/module/backend_registry.hpp"
#include "loader/module/config.hpp"
#include "loader/module/discovery_report.hpp"
#include "loader/module/loader_environment.hpp"

namespace rigel {

class Runtime;

class Discovery {
 public:
  /// Resources of the agents, which outlive them.
  struct Support {
    BackendRegistry backends;
    std::unique_ptr<Gpus> gpus;         ///< null if no GPU of amdkfd is used
    std::deque<HostServices> services;  ///< the services of each device
  };

  /// `runtime` implements the devices' services; `support` and `machine` are parts of it that are filled here; `clocks` owns
  /// the agents' clocks. `faults` is called when a GPU fails, once there are queues.
  Discovery(Runtime& runtime, const LoaderEnvironment& environment, const RuntimeConfig& config,
            DiscoveryReport& report, Support& support, Machine& machine, ClockKeeper& clocks,
            KfdEvents::Callbacks faults)
      : runtime_(runtime),
        environment_(environment),
        config_(config),
        report_(report),
        support_(support),
        machine_(machine),
        clocks_(clocks),
        faults_(std::move(faults)) {}

  /// Fails with OUT_OF_RESOURCES without any agent. Also fails if a driver or a backend that the
  /// configuration requires is not available.
  Status run();

 private:
  void find_host_nodes();
  Status find_gpus();
  void find_own_devices();
  /// Finds the backend of a device and opens it. Adds at most one agent, with the reasons in the report.
  void add_device(const Node& node);
  std::vector<const Isa*> isas_of(const Capabilities& can);
  bool open_device(const Node& node, const Backend& backend, const LoadedBackend& loaded,
                   KfdGpu* gpu = nullptr);
  bool open_gpu(const Node& node, const Backend& backend, const LoadedBackend& loaded);
  void limit_scratch(const Agent& agent) const;
  void begin_gpus();
  void list_agents();

  Runtime& runtime_;
  const LoaderEnvironment& environment_;
  const RuntimeConfig& config_;
  DiscoveryReport& report_;
  Support& support_;
  Machine& machine_;
  ClockKeeper& clocks_;
  KfdEvents::Callbacks faults_;
};

}  // namespace rigel
