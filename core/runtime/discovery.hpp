// Discovery: opens devices from manifests and nodes, with a line in the report for each step. The failure of
// one backend or device does not affect others.
//
// *Lifetime:* a starting runtime runs it once, on one thread. It fills the foundation: the machine, which is
// constant afterwards, its backends and drivers, and the services of the devices.
#pragma once

#include <vector>

#include "api/support/status.hpp"
#include "core/runtime/foundation.hpp"

namespace rigel {

class Discovery {
 public:
  explicit Discovery(Foundation& foundation) : foundation_(foundation), machine_(foundation.machine) {}

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

  Foundation& foundation_;
  Machine& machine_;
};

}  // namespace rigel
