// Everything that a backend may use while devices are opened: configuration, report, drivers, memory and
// callbacks. Services of the running runtime (runtime.hpp) are built on it.
//
// *Lifetime:* created before the first device is opened and destroyed after the last service. Members are
// destroyed in reverse order: memory before agents, agents before what their backends use.
// *Threads:* one thread creates and discovers; the machine and the configuration are constant afterwards. Any
// thread may call the functions at the end.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "api/support/backend_report.hpp"
#include "api/support/status.hpp"
#include "core/copy/copy_batches.hpp"
#include "core/memory/memory_services.hpp"
#include "core/queue/queue.hpp"
#include "core/runtime/gpus.hpp"
#include "core/runtime/host_services.hpp"
#include "core/runtime/system_events.hpp"
#include "core/sharing/descriptor_server.hpp"
#include "core/signal/async_dispatcher.hpp"
#include "core/topology/machine.hpp"
#include "loader/module/backend_registry.hpp"
#include "loader/module/config.hpp"
#include "loader/module/discovery_report.hpp"
#include "loader/module/loader_environment.hpp"

namespace rigel {

struct Foundation {
  /// Reports a scratch event to subscribed tools.
  using NotifyScratch = void (*)(const hsa_queue_t& queue, const hsabe_scratch_event_t& event);

  /// Calls `notify_scratch` on any thread while there are devices.
  explicit Foundation(NotifyScratch notify) : notify_scratch(notify) {}
  ~Foundation() { stop(); }
  Foundation(const Foundation&) = delete;
  Foundation& operator=(const Foundation&) = delete;

  /// Reads the configuration and the environment.
  Status configure();
  /// Discovers the machine and adds its heaps. Fails without any agent, and if the configuration requires a
  /// driver or backend that is not available.
  Status discover();
  /// Fails if a loaded HIP version crashes without a GPU and there is none (caller_quirks.hpp).
  Status suits_callers() const;
  /// Stops the threads of drivers, clocks and callbacks, which use queues. May be called again.
  void stop() noexcept;

  // Called by backends and drivers:

  /// Reports a configuration problem: to the discovery report during discovery, to the log afterwards.
  void warn(Stage stage, std::string_view subject, std::string_view text) noexcept;
  /// Calls the application's callback of a queue that has stopped, on the dispatcher of faults.
  void queue_failed(uint64_t cookie, Status status) noexcept;
  /// Reports an event of a queue's scratch memory to tools.
  void scratch_event(hsabe_scratch_event_t& event);
  // On the thread of the driver's events. They end the process if the application cannot be notified.
  void memory_fault(const kfd_memory_exception& fault) noexcept;
  void hardware_failed(const kfd_hw_exception& failure) noexcept;

  const NotifyScratch notify_scratch;
  DiscoveryReport report;
  std::atomic<bool> discovering{true};  ///< the report is open
  LoaderEnvironment loader_environment;
  RuntimeConfig config;
  QueueTable queue_table;
  SystemEvents system_events;
  AsyncDispatcher fault_dispatcher;  ///< separate, because a handler of a signal may wait for a dead queue
  /// For notifications of drivers and devices: never blocked by a handler of the application.
  AsyncDispatcher driver_dispatcher{backend_report::settle};
  BackendRegistry backends;
  std::unique_ptr<Gpus> gpus;                   ///< null if no GPU of amdkfd is used
  std::deque<HostServices> host_services;       ///< the services of each device
  CopyBatches copy_batches{driver_dispatcher};  ///< devices change its signals
  DescriptorServer descriptors;  ///< passes descriptors of memory and signals to other processes
  Machine machine;
  ClockKeeper clocks;
  Memory memory{machine.directory(), descriptors};

 private:
  void apply_log_config();
  void add_heaps();
  void add_gpu_heaps(const Agent& agent);
  /// Calls the application's handlers; ends the process with the text if none handles the event.
  void raise(const hsa_amd_event_t& event, const Agent* agent, std::string otherwise);
};

}  // namespace rigel
