#include "core/runtime/runtime.hpp"

#include <hsa/hsa_ext_amd.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <type_traits>
#include <utility>

#include "api/support/mutex.hpp"
#include "core/base/environment.hpp"
#include "core/base/fence.hpp"
#include "core/base/log.hpp"
#include "core/executable/fork.hpp"
#include "core/runtime/agent_copier.hpp"
#include "core/runtime/caller_quirks.hpp"
#include "core/runtime/memory_copier.hpp"
#include "core/signal/handler_thread.hpp"
#include "core/signal/shared_signals.hpp"
#include "core/signal/signal_pool.hpp"
#include "core/tool/packet_tools.hpp"
#include "loader/module/loaded_tool.hpp"

namespace rigel {
namespace {

// A change of the runtime by one thread, without a lock, while others wait.
enum class Change : uint32_t {
  kNone,
  kStarting,  // there is no runtime yet, or one that failed to start is being destroyed
  kOpening,   // the runtime exists; tools are being loaded
  kEnding     // the last reference is gone: tools are unloaded and the destructor runs
};

// The process's runtime and its references. Constant-initialised, because constructors that run earlier may
// call hsa_init, and destructors that run later may call hsa_shut_down.
struct Process {
  Mutex mutex;
  Runtime* runtime = nullptr;  // owned
  std::atomic<Change> change = Change::kNone;
  pid_t changing_thread = 0;  // its own calls do not wait for the change
  uint32_t forks = 0;         // number of forks between the first process and this one
  int32_t references = 0;
  bool forks_handled = false;
  const ApiGate* gate = nullptr;
};

static_assert(std::is_trivially_destructible_v<Process>, "it is used until the very end of the process");
constinit Process the_process;

Process& process() {
  return the_process;
}

// Locks that other threads may hold during a fork, and that the child would inherit locked.
void before_fork() RIGEL_ACQUIRE(process().mutex, debug_list_mutex(), loaded_files_mutex()) {
  process().mutex.lock();
  debug_list_mutex().lock();
  loaded_files_mutex().lock();
  shared_signals::before_fork();
}

void after_fork() RIGEL_RELEASE(process().mutex, debug_list_mutex(), loaded_files_mutex()) {
  shared_signals::after_fork();
  loaded_files_mutex().unlock();
  debug_list_mutex().unlock();
  process().mutex.unlock();
}

void after_fork_in_child() RIGEL_RELEASE(process().mutex, debug_list_mutex(), loaded_files_mutex()) {
  Process& self = process();
  if (self.gate != nullptr) self.gate->abandon();
  // The parent's runtime is leaked: the threads that hold its locks do not exist in this process.
  self.runtime = nullptr;
  self.references = 0;
  self.change = Change::kNone;
  ++self.forks;
  DeviceClock::reset_after_fork();
  Kfd::reset_after_fork();
  DeviceSignals::reset_after_fork();
  shared_signals::reset_after_fork();
  signal_pool::reset_after_fork();
  reset_intercept_queues_after_fork();
  after_fork();
}

void begin_change(Process& self, Change change) {
  self.changing_thread = ::gettid();
  self.change = change;
}

void end_change(Process& self) {
  self.change = Change::kNone;
  self.change.notify_all();
}

Status open_gate(const ApiGate& gate, Runtime& runtime) noexcept try {
  return gate.open(runtime);
} catch (...) {
  return status_of_exception(LogTopic::kApi);
}

}  // namespace

Runtime* Runtime::current_ = nullptr;

Status Runtime::acquire(const ApiGate& gate) {
  Process& self = process();
  MutexLock lock(self.mutex);
  for (Change change; (change = self.change) != Change::kNone;) {
    if (self.changing_thread == ::gettid()) {
      if (change == Change::kOpening) break;  // called by a tool that is being loaded
      return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                  "hsa_init: called by a backend or a tool while the runtime starts or shuts down");
    }
    // The destructor waits for this handler, or is an earlier frame of this stack.
    if (is_handler_thread()) {
      return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                  "hsa_init: called by a handler while the runtime starts or shuts down");
    }
    lock.unlock();
    self.change.wait(change);
    lock.lock();
  }
  if (self.references > 0) {
    if (self.references == INT32_MAX) return HSA_STATUS_ERROR_REFCOUNT_OVERFLOW;
    if (const Status status = current_->suits_callers(); status != HSA_STATUS_SUCCESS) return status;
    ++self.references;
    return HSA_STATUS_SUCCESS;
  }
  if (!self.forks_handled) {
    if (pthread_atfork(before_fork, after_fork, after_fork_in_child) != 0) {
      return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "hsa_init: out of memory for fork handlers");
    }
    self.forks_handled = true;
  }
  const uint32_t forks = self.forks;
  const auto in_forked_child = [&] {
    return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                "hsa_init: called in a process that was forked during hsa_init or hsa_shut_down");
  };
  begin_change(self, Change::kStarting);
  lock.unlock();
  auto made = make();
  lock.lock();
  // a backend has forked, and this is the child: the runtime belongs to the parent
  if (self.forks != forks) {
    if (made) static_cast<void>(made->release());
    return in_forked_child();
  }
  if (!made) {
    end_change(self);
    return made.error();
  }
  self.runtime = current_ = made->release();
  self.gate = &gate;
  self.references = 1;
  begin_change(self, Change::kOpening);
  lock.unlock();
  const Status opened = open_gate(gate, *current_);
  lock.lock();
  if (self.forks != forks) {  // a tool has forked, and this is the child
    gate.abandon();           // everything that was loaded since the fork
    return in_forked_child();
  }
  if (opened != HSA_STATUS_SUCCESS) end(self.mutex);
  end_change(self);
  return opened;
}

Result<std::unique_ptr<Runtime>> Runtime::make() noexcept try {
  std::unique_ptr<Runtime> runtime(new Runtime);
  const Status status = runtime->start();
  if (status == HSA_STATUS_SUCCESS) return runtime;
  open_plugins(runtime->config_, runtime->environment_, runtime->report_);  // for their lines in the report
  return error(status);
} catch (...) {
  return error(status_of_exception(LogTopic::kApi));
}

void Runtime::end(Mutex& mutex) {
  Process& self = process();
  begin_change(self, Change::kEnding);
  self.references = 0;
  self.gate->close();
  {
    const MutexUnlock unlocked(mutex);  // a running handler may call the API; it receives NOT_INITIALIZED
    delete self.runtime;
  }
  self.runtime = current_ = nullptr;
}

Status Runtime::release() {
  Process& self = process();
  MutexLock lock(self.mutex);
  if (self.references == 0) return HSA_STATUS_ERROR_NOT_INITIALIZED;
  if (self.references > 1) {
    --self.references;
    return HSA_STATUS_SUCCESS;
  }
  if (self.change != Change::kNone)
    return HSA_STATUS_ERROR_NOT_INITIALIZED;  // the only reference belongs to a running hsa_init
  begin_change(self, Change::kEnding);
  lock.unlock();
  self.gate->leave();
  lock.lock();
  end(self.mutex);
  end_change(self);
  return HSA_STATUS_SUCCESS;
}

Status Runtime::start() {
  if (const Status status = configure(); status != HSA_STATUS_SUCCESS) return status;
  const Status discovered =
      Discovery(*this, environment_, config_, report_, support_, machine_, clocks_,
                {.signalled = {},
                 .exception_signalled = {},
                 .memory_fault = [this](const kfd_memory_exception& fault) { memory_fault(fault); },
                 .hardware_failed = [this](const kfd_hw_exception& why) { hardware_failed(why); }})
          .run();
  discovering_.store(false, std::memory_order_relaxed);
  if (discovered != HSA_STATUS_SUCCESS) return discovered;
  if (const Status status = suits_callers(); status != HSA_STATUS_SUCCESS) return status;
  add_heaps();
  start_services();
  return gpus() == nullptr ? HSA_STATUS_SUCCESS : gpus()->deliver();
}

Status Runtime::suits_callers() const {
  const auto& agents = machine_.agents();
  const bool has_gpu =
      std::any_of(agents.begin(), agents.end(), [](const Agent& agent) { return !agent.is_cpu(); });
  if (has_gpu || !has_hip_that_needs_a_gpu()) return HSA_STATUS_SUCCESS;
  return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
              "hsa_init: there is no GPU, and HIP up to 5.x crashes without one");
}

void Runtime::start_services() {
  shared_signals::use_server(&descriptors_);
  copies_ = std::make_unique<CopyEngine>(machine_.directory(), memory_.pointers);
  add_copiers();
  copy_batches_ = std::make_unique<CopyBatches>(machine_.directory(), driver_dispatcher_);
  images_ = std::make_unique<Images>(
      machine_, *copies_,
      HandleMemory::Source{[this](size_t size) { return memory_.heaps.allocate_system(size); },
                           [this](void* pointer) { memory_.heaps.free(pointer); }});
  code_targets_ = std::make_unique<AgentCodeTargets>(*this);
  executables_ = std::make_unique<ExecutableRegistry>(*code_targets_);
  queues_ =
      std::make_unique<Queues>(machine_, memory_.heaps, driver_dispatcher_, packet_tools(), queue_table_);
}

void Runtime::add_copiers() {
  const auto make_stage = [this](size_t size) {
    const auto stage = memory_.heaps.allocate_system(size);
    return stage ? *stage : nullptr;
  };
  for (const Agent& agent : machine_.agents()) {
    if (agent.is_cpu()) continue;
    if (agent.backend().has_copy()) {
      copies_->add_device(agent.handle(), std::make_unique<AgentCopier>(agent, memory_, make_stage));
    } else if (agent.backend().memory.copy != nullptr) {
      copies_->add_device(agent.handle(), std::make_unique<MemoryCopier>(agent, memory_.pointers));
    }
  }
}

Runtime::~Runtime() {
  // No code of the application runs from here on: first end callbacks, then the objects that it may use.
  for (const auto& [handle, entry] : queue_table_.clear()) entry.queue->close();
  dispatcher_.stop();
  images_.reset();
  copies_.reset();
  svm_.reset();
  executables_.reset();
  clocks_.stop();
  if (gpus() != nullptr) gpus()->stop_listening();
  fault_dispatcher_.stop();
  driver_dispatcher_.stop();
  shared_signals::use_server(nullptr);
}

void Runtime::queue_failed(uint64_t cookie, Status status) {
  struct Failed {
    QueueTable& queues;
    uint64_t cookie;
    Status status;
  };
  const std::string why = backend_report::take();
  if (!why.empty()) {
    log_message(LogLevel::kError, LogTopic::kQueue, "queue: stopped with status {:#x}: {}",
                static_cast<uint32_t>(status), why);
  }
  auto failed = std::make_unique<Failed>(Failed{queue_table_, cookie, status});
  const auto raise = [](void* argument) {
    const std::unique_ptr<Failed> what(static_cast<Failed*>(argument));
    if (const auto queue = what->queues.find_cookie(what->cookie)) queue->raise(what->status);
  };
  if (fault_dispatcher_.post(raise, failed.get()) == HSA_STATUS_SUCCESS) {
    failed.release();  // NOLINT(bugprone-unused-return-value): the posted function owns it now
  } else {
    log_message(LogLevel::kError, LogTopic::kQueue,
                "queue: stopped with status {:#x}; out of memory for its error callback",
                static_cast<uint32_t>(status));
  }
}

void Runtime::tell_scratch(hsabe_scratch_event_t& event) {
  // At the end, the queue may already be in destruction.
  if (event.ended == 0)
    event.host = reinterpret_cast<uint64_t>(queue_table_.handle_of_cookie(event.queue_cookie));
  const auto* const queue = reinterpret_cast<const hsa_queue_t*>(event.host);
  if (queue == nullptr) return;
  const InQueueCallback in_callback;  // the queue does not end before this has returned
  process().gate->tell_scratch(*queue, event);
}

}  // namespace rigel
