// The runtime: all objects between the first hsa_init and the last hsa_shut_down.
//
// *Construction:* first the foundation (foundation.hpp), then the machine, which the foundation discovers,
// then the runtime with all its services. A backend can call the foundation only; it is complete before the
// first device is opened.
// *Threads:* acquire and release count references and may be called from any thread. The holder of a
// reference may use `current()`; the API functions of the open tables (api/entry/tables.hpp) hold one.
// Members are thread-safe as documented in their headers.
// *Fork:* the child has no runtime. The tables are closed, so that every call returns NOT_INITIALIZED, and
// hsa_init starts a new runtime. The parent's is leaked, because the threads of its locks and devices do not
// exist in the child.
#pragma once

#include <cstdint>
#include <memory>

#include "api/support/mutex.hpp"
#include "core/copy/copy_engine.hpp"
#include "core/counters/counter_profiles.hpp"
#include "core/executable/executable_registry.hpp"
#include "core/image/images.hpp"
#include "core/memory/kfd_svm.hpp"
#include "core/queue/queues.hpp"
#include "core/runtime/agent_code_target.hpp"
#include "core/runtime/foundation.hpp"
#include "core/sampling/pc_sampling.hpp"
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
  void (*abandon)();  ///< runs in a forked child
  /// Reports a scratch event to subscribed tools. Called on any thread while there is a runtime.
  Foundation::NotifyScratch notify_scratch;
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

  const Machine& machine() const { return foundation_->machine; }
  Memory& memory() { return foundation_->memory; }
  CopyEngine& copies() { return copies_; }
  CopyBatches& copy_batches() { return foundation_->copy_batches; }
  Images& images() { return images_; }
  PcSampling& pc_sampling() { return pc_sampling_; }
  CounterProfiles counter_profiles() const { return CounterProfiles(machine()); }
  /// Null if no GPU supports shared virtual memory.
  KfdSvm* svm() { return svm_.get(); }
  ExecutableRegistry& executables() { return executables_; }
  Queues& queues() { return queues_; }
  AsyncDispatcher& dispatcher() { return dispatcher_; }
  AsyncDispatcher& driver_dispatcher() { return foundation_->driver_dispatcher; }
  /// Null without GPUs of amdkfd.
  Gpus* gpus() { return foundation_->gpus.get(); }
  SignalGroups& signal_groups() { return signal_groups_; }
  DiscoveryReport& report() { return foundation_->report; }
  const RuntimeConfig& config() const { return foundation_->config; }
  const LoaderEnvironment& loader_environment() const { return foundation_->loader_environment; }
  SystemEvents& system_events() { return foundation_->system_events; }

 private:
  /// Creates all services on a foundation whose machine has been discovered.
  explicit Runtime(std::unique_ptr<Foundation> foundation);

  /// Creates and starts a runtime, except tools, which the gate loads. No lock is held: backends and
  /// constructors of libraries run, which may fork. One thread at a time.
  static Result<std::unique_ptr<Runtime>> make(const ApiGate& gate) noexcept;
  /// Ends the process's runtime; releases the lock of references for the duration.
  static void end(Mutex& mutex) RIGEL_REQUIRES(mutex);
  void add_copiers();

  static Runtime* current_;

  // In reverse order of their ends.
  const std::unique_ptr<Foundation> foundation_;
  AsyncDispatcher dispatcher_;
  SignalGroups signal_groups_;
  AgentCodeTargets code_targets_;
  Queues queues_;
  /// Stops the threads that call queues.
  struct Stop {
    Foundation& foundation;
    ~Stop();
  } const stop_;
  ExecutableRegistry executables_;
  const std::unique_ptr<KfdSvm> svm_;
  CopyEngine copies_;
  Images images_;
  PcSampling pc_sampling_;
};

}  // namespace rigel
