// The runtime: all objects between the first hsa_init and the last hsa_shut_down.
//
// *Threads:* acquire and release count references and may be called from any thread. The holder of a
// reference may use `current()`; the API functions of the open tables (api/entry/tables.hpp) hold one.
// Members are thread-safe as documented in their headers.
// *Fork:* the child has no runtime. The tables are closed, so that every call returns NOT_INITIALIZED, and
// hsa_init starts a new runtime. The parent's is leaked, because the threads of its locks and devices do not
// exist in the child.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "api/support/mutex.hpp"
#include "core/base/backend_report.hpp"
#include "core/copy/copy_batches.hpp"
#include "core/copy/copy_engine.hpp"
#include "core/executable/executable_registry.hpp"
#include "core/image/images.hpp"
#include "core/memory/kfd_svm.hpp"
#include "core/memory/memory_services.hpp"
#include "core/queue/queue.hpp"
#include "core/queue/queues.hpp"
#include "core/runtime/agent_code_target.hpp"
#include "core/runtime/discovery.hpp"
#include "core/runtime/system_events.hpp"
#include "core/signal/async_dispatcher.hpp"
#include "core/signal/signal_group.hpp"

namespace rigel {

class Runtime;

/// Opens and closes the API tables. No lock is held during `open` and `leave`, which load and unload tools
/// that call the API.
struct ApiGate {
  /// An exception makes hsa_init fail.
  Status (*open)(Runtime& runtime);
  /// called when the last reference is released, before `close`: unloads tools while the API still works
  void (*leave)();
  void (*close)();    ///< rejects further calls; also called after an `open` that failed
  void (*abandon)();  ///< in a forked child
  /// Reports a scratch event to subscribed tools. Called on any thread while there is a runtime.
  void (*tell_scratch)(const hsa_queue_t& queue, const hsabe_scratch_event_t& event);
};

class Runtime {
 public:
  /// hsa_init: starts the runtime for the first reference, and opens the gate. `gate` must stay valid.
  static Status acquire(const ApiGate& gate);
  /// hsa_shut_down: returns NOT_INITIALIZED without a reference; ends the runtime with the last one.
  static Status release();
  /// The running runtime. The caller must hold a reference.
  static Runtime& current() noexcept { return *current_; }

  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // Functions of the API on agents that use several services. The others are in Machine.

  Status agent_get_info(hsa_agent_t agent, uint32_t attribute, void* value);
  Status agent_preload(hsa_agent_t agent, uint64_t flags);

  const Machine& machine() const { return machine_; }
  Memory& memory() { return memory_; }
  CopyEngine& copies() { return *copies_; }
  CopyBatches& copy_batches() { return *copy_batches_; }
  Images& images() { return *images_; }
  /// Null if no GPU supports shared virtual memory.
  KfdSvm* svm() { return svm_.get(); }
  ExecutableRegistry& executables() { return *executables_; }
  Queues& queues() { return *queues_; }
  AsyncDispatcher& dispatcher() { return dispatcher_; }
  /// For notifications of drivers and devices: never blocked by a handler of the application.
  AsyncDispatcher& driver_dispatcher() { return driver_dispatcher_; }
  /// Null without GPUs of amdkfd.
  Gpus* gpus() { return support_.gpus.get(); }
  SignalGroups& signal_groups() { return signal_groups_; }
  DiscoveryReport& report() { return report_; }
  const RuntimeConfig& config() const { return config_; }
  const LoaderEnvironment& loader_environment() const { return environment_; }
  bool is_discovering() const { return discovering_.load(std::memory_order_relaxed); }
  /// Reports a configuration problem: to the discovery report during discovery, to the log afterwards.
  void warn(Stage stage, std::string_view subject, std::string_view text) noexcept;
  SystemEvents& system_events() { return system_events_; }

  /// Called by a backend when a queue has stopped: the dispatcher of faults runs the application's callback.
  void queue_failed(uint64_t cookie, Status status);
  /// Called by a backend for events of a queue's scratch memory.
  void tell_scratch(hsabe_scratch_event_t& event);

 private:
  Runtime() = default;

  /// Creates and starts a runtime. No lock is held: backends and constructors of libraries run, which may
  /// fork. One thread at a time.
  static Result<std::unique_ptr<Runtime>> make() noexcept;
  /// Starts everything except tools, which the gate loads: reads the configuration, discovers the machine,
  /// and starts the services.
  Status start();
  Status configure();
  void apply_log_config();
  /// Ends the process's runtime; releases the lock of references for the duration.
  static void end(Mutex& mutex) RIGEL_REQUIRES(mutex);
  void add_heaps();
  void add_gpu_heaps(const Agent& agent);
  // Called on the thread of the driver's events. Ends the process if the application cannot be notified.
  void memory_fault(const kfd_memory_exception& fault) noexcept;
  /// Calls the application's handlers; ends the process with the text if none handles the event.
  void tell_of(const hsa_amd_event_t& event, const Agent* agent, std::string otherwise);
  void hardware_failed(const kfd_hw_exception& failure) noexcept;
  /// Fails if a loaded HIP version crashes without a GPU and there is none (caller_quirks.hpp).
  Status suits_callers() const;
  void start_services();
  void add_copiers();

  static Runtime* current_;

  DiscoveryReport report_;
  std::atomic<bool> discovering_{true};
  LoaderEnvironment environment_;
  RuntimeConfig config_;
  // Used by services of backends: created before the first device and destroyed after the last.
  QueueTable queue_table_;
  SystemEvents system_events_;
  AsyncDispatcher fault_dispatcher_;  // separate, because a handler of a signal may wait for a dead queue
  AsyncDispatcher driver_dispatcher_{backend_report::settle};
  Discovery::Support support_;                 // outlives the agents and the memory
  std::unique_ptr<CopyBatches> copy_batches_;  // outlives the devices, which change its signals
  DescriptorServer descriptors_;
  Machine machine_;
  ClockKeeper clocks_;
  Memory memory_{machine_.directory(), descriptors_};
  AsyncDispatcher dispatcher_;
  SignalGroups signal_groups_;
  std::unique_ptr<CopyEngine> copies_;
  std::unique_ptr<Images> images_;
  std::unique_ptr<KfdSvm> svm_;
  std::unique_ptr<AgentCodeTargets> code_targets_;
  std::unique_ptr<ExecutableRegistry> executables_;
  std::unique_ptr<Queues> queues_;
};

}  // namespace rigel
