// The runtime: everything that lives between the first hsa_init and the last hsa_shut_down.
//
// acquire and release count references and may be called from any thread. Whoever holds a reference may use
// `current()`; the API functions behind the open tables (api/entry/tables.hpp) all do. What the members offer
// is thread safe by their own headers.
//
// After fork the child has no runtime: the tables are closed, so every call answers NOT_INITIALIZED, and
// hsa_init starts a new one. The parent's is left alone where it is, because the threads that its locks and
// devices belong to do not exist in the child.
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
#include "core/memory/memory_manager.hpp"
#include "core/queue/queue.hpp"
#include "core/queue/queues.hpp"
#include "core/runtime/agent_code_target.hpp"
#include "core/runtime/discovery.hpp"
#include "core/runtime/system_events.hpp"
#include "core/signal/async_dispatcher.hpp"
#include "core/signal/signal_group.hpp"

namespace rigel {

class Runtime;

/// The API tables, as far as the runtime is concerned: when calls may come in. No lock is held while `open`
/// and `leave` run: tools are loaded and unloaded there, and call the API.
struct ApiGate {
  /// What it throws makes hsa_init fail.
  Status (*open)(Runtime& runtime);
  void (*leave)();    ///< the last reference is gone: who was told of `open` goes, with the API still there
  void (*close)();    ///< calls come in no more; also after an `open` that failed
  void (*abandon)();  ///< in a forked child
  /// For tools that want to know. While a runtime is there, on any thread.
  void (*tell_scratch)(const hsa_queue_t& queue, const hsabe_scratch_event_t& event);
};

class Runtime {
 public:
  /// hsa_init: starts the runtime for the first reference, and opens the gate for it. `gate` lives for ever.
  static Status acquire(const ApiGate& gate);
  /// hsa_shut_down: NOT_INITIALIZED without a reference; ends the runtime with the last one.
  static Status release();
  /// The running runtime. Only for who holds a reference.
  static Runtime& current() noexcept { return *current_; }

  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  // The API's functions on agents in which more than one service has a part. The others are the machine's.

  Status agent_get_info(hsa_agent_t agent, uint32_t attribute, void* value);
  Status agent_preload(hsa_agent_t agent, uint64_t flags);

  const Machine& machine() const { return *machine_; }
  MemoryManager& memory() { return memory_; }
  CopyEngine& copies() { return *copies_; }
  CopyBatches& copy_batches() { return *copy_batches_; }
  Images& images() { return *images_; }
  /// Null if no GPU takes part in shared virtual memory.
  KfdSvm* svm() { return svm_.get(); }
  ExecutableRegistry& executables() { return *executables_; }
  Queues& queues() { return *queues_; }
  AsyncDispatcher& dispatcher() { return dispatcher_; }
  /// For what drivers and devices have to be told of: never held up by a handler of the application.
  AsyncDispatcher& driver_dispatcher() { return driver_dispatcher_; }
  /// Null without GPUs of amdkfd.
  Gpus* gpus() { return support_.gpus.get(); }
  SignalGroups& signal_groups() { return signal_groups_; }
  DiscoveryReport& report() { return report_; }
  const RuntimeConfig& config() const { return config_; }
  const LoaderEnvironment& loader_environment() const { return environment_; }
  /// Whether devices are still being looked for and opened.
  bool is_discovering() const { return discovering_.load(std::memory_order_relaxed); }
  /// What concerns who configured the runtime: a line of the report while there is a discovery, then of the
  /// log.
  void warn(Stage stage, std::string_view subject, std::string_view text) noexcept;
  SystemEvents& system_events() { return system_events_; }

  /// A backend says that a queue has stopped: the application's callback is run by the dispatcher of faults.
  void queue_failed(uint64_t cookie, Status status);
  /// A backend says what happens to the scratch memory of a queue.
  void tell_scratch(hsabe_scratch_event_t& event);

 private:
  Runtime() = default;

  /// A runtime that has started. No lock is held: backends and constructors of libraries run, which may fork.
  /// One thread at a time.
  static Result<std::unique_ptr<Runtime>> make() noexcept;
  /// Everything but the tools, which the gate loads: reads the configuration, has the machine discovered, and
  /// starts the services.
  Status start();
  Status configure();
  void apply_log_config();
  /// Ends the process's runtime, without the lock of references while it does.
  static void end(Mutex& mutex) RIGEL_REQUIRES(mutex);
  void add_heaps();
  void add_links();
  void add_gpu_heaps(const Agent& agent);
  // On the thread of the driver's events: an application that cannot be told ends.
  void memory_fault(const kfd_memory_exception& fault) noexcept;
  /// Has the application's handlers called; ends the process with the text if none deals with it.
  void tell_of(const hsa_amd_event_t& event, const Agent* agent, std::string otherwise);
  void hardware_failed(const kfd_hw_exception& failure) noexcept;
  /// Not, without a GPU, callers that cannot do without (caller_quirks.hpp).
  Status suits_callers() const;
  void start_services();
  void add_copiers();

  static Runtime* current_;

  DiscoveryReport report_;
  std::atomic<bool> discovering_{true};
  LoaderEnvironment environment_;
  RuntimeConfig config_;
  // What the services of backends use: it is there before the first device and after the last.
  QueueTable queue_table_;
  SystemEvents system_events_;
  AsyncDispatcher fault_dispatcher_;  // a handler of a signal may wait for what a dead queue will never do
  AsyncDispatcher driver_dispatcher_{backend_report::settle};
  Discovery::Support support_;                 // outlives the agents and the memory
  std::unique_ptr<CopyBatches> copy_batches_;  // outlives the devices, which change its signals
  std::unique_ptr<const Machine> machine_;
  ClockKeeper clocks_;
  MemoryManager memory_;
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
