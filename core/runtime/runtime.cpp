#include "core/runtime/runtime.hpp"

#include <hsa/hsa_ext_amd.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <type_traits>
#include <utility>

#include "api/support/environment.hpp"
#include "api/support/fence.hpp"
#include "api/support/log.hpp"
#include "api/support/mutex.hpp"
#include "core/runtime/agent_copier.hpp"
#include "core/runtime/caller_quirks.hpp"
#include "core/runtime/fork_registry.hpp"
#include "core/runtime/memory_copier.hpp"
#include "core/runtime/sampling_driver.hpp"
#include "core/signal/handler_thread.hpp"
#include "core/signal/shared_signals.hpp"
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

void before_fork() RIGEL_ACQUIRE(process().mutex) {
  process().mutex.lock();
  fork_registry::before_fork();
}

void after_fork() RIGEL_RELEASE(process().mutex) {
  fork_registry::after_fork();
  process().mutex.unlock();
}

void after_fork_in_child() RIGEL_RELEASE(process().mutex) {
  Process& self = process();
  if (self.gate != nullptr) self.gate->abandon();
  // The parent's runtime is leaked: the threads that hold its locks do not exist in this process.
  self.runtime = nullptr;
  self.references = 0;
  self.change = Change::kNone;
  ++self.forks;
  fork_registry::reset_child();
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
    if (const Status status = current_->foundation_->suits_callers(); status != HSA_STATUS_SUCCESS)
      return status;
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
  auto made = make(gate);
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

Result<std::unique_ptr<Runtime>> Runtime::make(const ApiGate& gate) noexcept try {
  auto foundation = std::make_unique<Foundation>(gate.notify_scratch);
  Status status = foundation->configure();
  if (status == HSA_STATUS_SUCCESS) status = foundation->discover();
  if (status != HSA_STATUS_SUCCESS) {
    // for their lines in the report
    open_plugins(foundation->config, foundation->loader_environment, foundation->report);
    return error(status);
  }
  std::unique_ptr<Runtime> runtime(new Runtime(std::move(foundation)));
  if (runtime->gpus() != nullptr) status = runtime->gpus()->deliver();
  if (status != HSA_STATUS_SUCCESS) return error(status);
  return runtime;
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

Runtime::Runtime(std::unique_ptr<Foundation> foundation)
    : foundation_(std::move(foundation)),
      code_targets_(machine(), memory().heaps, copies_),
      queues_(machine(), memory().heaps, driver_dispatcher(), packet_tools(), foundation_->queue_table),
      stop_{*foundation_},
      executables_(code_targets_),
      svm_(gpus() == nullptr ? nullptr : KfdSvm::create(gpus()->agents(), machine().directory())),
      copies_(machine().directory(), memory().pointers),
      images_(machine(), copies_,
              HandleMemory::Source{[this](size_t size) { return memory().heaps.allocate_system(size); },
                                   [this](void* pointer) { memory().heaps.free(pointer); }}),
      pc_sampling_(machine(), make_sampling_driver(gpus())) {
  add_copiers();
  shared_signals::use_server(&foundation_->descriptors);
}

void Runtime::add_copiers() {
  const auto make_stage = [this](size_t size) {
    const auto stage = memory().heaps.allocate_system(size);
    return stage ? *stage : nullptr;
  };
  for (const Agent& agent : machine().agents()) {
    if (agent.is_cpu()) continue;
    if (agent.backend().has_copy()) {
      copies_.add_device(agent.handle(), std::make_unique<AgentCopier>(agent, memory(), make_stage));
    } else if (agent.backend().memory.copy != nullptr) {
      copies_.add_device(agent.handle(), std::make_unique<MemoryCopier>(agent, memory().pointers));
    }
  }
}

Runtime::~Runtime() {
  // First end callbacks, then the objects that they may use. No code of the application runs afterwards.
  pc_sampling_.end();
  for (const auto& [handle, entry] : foundation_->queue_table.clear()) entry.queue->close();
  dispatcher_.stop();
}

Runtime::Stop::~Stop() {
  foundation.stop();
  shared_signals::use_server(nullptr);
}

}  // namespace rigel
