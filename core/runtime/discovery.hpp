// Discovery: from manifests and nodes to the machine, each step with its line in the report. One bad backend
// or device never takes the others down.
//
// A runtime that starts makes one, on one thread, runs it, and is left with what was found: the machine, which
// is constant from then on, and what its agents stand on.
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
  /// What agents stand on. It outlives them.
  struct Support {
    BackendRegistry backends;
    std::unique_ptr<Gpus> gpus;         ///< null without GPUs of amdkfd that are used
    std::deque<HostServices> services;  ///< what each device was given
  };

  /// `runtime` is what the devices' services serve, `support` a part of it that is filled here, and `clocks`
  /// keeps agents' clocks. `faults` is called when a GPU fails, once there are queues.
  Discovery(Runtime& runtime, const LoaderEnvironment& environment, const RuntimeConfig& config,
            DiscoveryReport& report, Support& support, ClockKeeper& clocks, KfdEvents::Callbacks faults)
      : runtime_(runtime),
        environment_(environment),
        config_(config),
        report_(report),
        support_(support),
        clocks_(clocks),
        faults_(std::move(faults)) {}

  /// Without any agent: OUT_OF_RESOURCES. A driver or a backend that was asked for by name and cannot be had
  /// is an error too.
  Result<std::unique_ptr<const Machine>> run();

 private:
  void find_host_nodes();
  Status find_gpus();
  void find_own_devices();
  /// Finds the backend of a device and opens it: at most one agent, the reasons in the report.
  void add_device(const Node& node);
  std::vector<const Isa*> isas_of(const Capabilities& can);
  bool open_device(const Node& node, const Backend& backend, const LoadedBackend& loaded,
                   KfdGpu* gpu = nullptr);
  bool open_gpu(const Node& node, const Backend& backend, const LoadedBackend& loaded);
  void limit_scratch(const Agent& agent) const;
  void begin_gpus();

  Runtime& runtime_;
  const LoaderEnvironment& environment_;
  const RuntimeConfig& config_;
  DiscoveryReport& report_;
  Support& support_;
  ClockKeeper& clocks_;
  KfdEvents::Callbacks faults_;
  std::unique_ptr<Machine> machine_ = std::make_unique<Machine>();
};

}  // namespace rigel
