// Chapter 3 of rules.inc: waits, and signals that are destroyed while in use. Signals of packets are checked
// in in_flight.cpp.
#include <list>

#include <fmt/core.h>

#include "api/support/mutex.hpp"
#include "plugins/validate/tool.hpp"
#include "plugins/validate/validator.hpp"

namespace validate {
namespace {

// --- Waits -------------------------------------------------------------------------------------------------

void begin_wait(Validator& validator, const hsatool_call_t& call, std::vector<uint64_t> signals,
                uint64_t timeout) {
  for (const uint64_t signal : signals) validator.registry.count_waiter(signal, 1);
  // The timeout counts ticks of the system clock, at most 10^9 per second. A timeout beyond a year counts as
  // infinite.
  constexpr uint64_t kYear = uint64_t{365} * 24 * 3600 * 1'000'000'000;
  validator.waits.begin({std::string(hsatool::view(call.function->name)), std::move(signals), 0,
                         validator.host.now(), timeout > kYear, false});
}

void waiting(Validator& validator, hsatool_call_t& call) {
  begin_wait(validator, call, {word(call, 0)}, word(call, 3));
}

template <class Arguments>
void waiting_for_several(Validator& validator, hsatool_call_t& call) {
  const auto& arguments = hsatool::arguments<Arguments>(call);
  std::vector<uint64_t> signals;
  for (uint32_t i = 0; arguments.signals != nullptr && i < arguments.signal_count; ++i)
    signals.push_back(arguments.signals[i].handle);
  begin_wait(validator, call, std::move(signals), arguments.timeout_hint);
}

void waited(Validator& validator, hsatool_call_t&) {
  for (const uint64_t signal : validator.waits.end()) validator.registry.count_waiter(signal, -1);
}

// --- Handlers ----------------------------------------------------------------------------------------------

// A running handler may change the signals that threads wait for. The tool therefore registers wrappers that
// report when a handler runs.
struct Handler {
  hsa_amd_signal_handler of_signal = nullptr;
  void (*function)(void*) = nullptr;
  void* argument = nullptr;
  std::list<Handler>::iterator place = {};
};

// The program's handlers that may still be called. Handlers of destroyed signals are never called and stay in
// the list.
// *Lifetime:* outlives the tool, as a runtime thread may call a handler after the tool is unloaded.
class Handlers {
 public:
  explicit Handlers(const Handlers* of_parent) : of_parent_(of_parent) {}
  Handler* add(const Handler& handler) {
    const rigel::MutexLock lock(mutex_);
    handlers_.push_back(handler);
    handlers_.back().place = std::prev(handlers_.end());
    return &handlers_.back();
  }
  void remove(const Handler& handler) {
    const rigel::MutexLock lock(mutex_);
    handlers_.erase(handler.place);
  }

 private:
  rigel::Mutex mutex_;
  std::list<Handler> handlers_ RIGEL_GUARDED_BY(mutex_);
  [[maybe_unused]] const Handlers* const of_parent_;  // leaked, but reachable for leak checkers
};

constinit Handlers* handlers = nullptr;

// Marks the calling thread as running a handler. The tool may be unloaded while the handler runs.
class RunningHandler {
 public:
  RunningHandler() {
    if (const Use use; use) added_thread_ = use->waits.begin_handler();
  }
  ~RunningHandler() {
    if (!added_thread_) return;
    if (const Use use; use) use->waits.end_handler(use->host.now());
  }
  RunningHandler(const RunningHandler&) = delete;
  RunningHandler& operator=(const RunningHandler&) = delete;

 private:
  bool added_thread_ = false;
};

bool handle_signal(hsa_signal_value_t value, void* data) {
  const auto& handler = *static_cast<const Handler*>(data);
  const RunningHandler running;
  const bool again = handler.of_signal(value, handler.argument);
  if (!again) handlers->remove(handler);
  return again;
}

void call_function(void* data) {
  const auto& handler = *static_cast<const Handler*>(data);
  const RunningHandler running;
  handler.function(handler.argument);
  handlers->remove(handler);
}

void adding_handler(Validator&, hsatool_call_t& call) {
  auto& arguments = hsatool::arguments<hsatool_hsa_amd_signal_async_handler_args_t>(call);
  if (arguments.handler == nullptr) return;
  arguments.arg = handlers->add({.of_signal = arguments.handler, .argument = arguments.arg});
  arguments.handler = handle_signal;
}

void adding_function(Validator&, hsatool_call_t& call) {
  auto& arguments = hsatool::arguments<hsatool_hsa_amd_async_function_args_t>(call);
  if (arguments.callback == nullptr) return;
  arguments.arg = handlers->add({.function = arguments.callback, .argument = arguments.arg});
  arguments.callback = call_function;
}

// A rejected handler is never called. An accepted handler may have run and removed itself already.
void added_handler(Validator&, hsatool_call_t& call) {
  const auto& arguments = hsatool::arguments<hsatool_hsa_amd_signal_async_handler_args_t>(call);
  if (!succeeded(call) && arguments.handler == handle_signal)
    handlers->remove(*static_cast<const Handler*>(arguments.arg));
}

void added_function(Validator&, hsatool_call_t& call) {
  const auto& arguments = hsatool::arguments<hsatool_hsa_amd_async_function_args_t>(call);
  if (!succeeded(call) && arguments.callback == call_function)
    handlers->remove(*static_cast<const Handler*>(arguments.arg));
}

// --- Destruction -------------------------------------------------------------------------------------------

void destroying(Validator& validator, hsatool_call_t& call) {
  const uint64_t signal = word(call, 0);
  const auto object = validator.registry.find(Kind::kSignal, signal);
  if (!object || !object->live || object->parent != 0 || object->references > 1) return;
  if (object->waiters > 0) {
    validator.report(
        Rule::kSignalInUse, call,
        fmt::format("{} threads wait for {}", object->waiters, validator.describe(Kind::kSignal, signal)));
  }
  if (const std::string user = validator.in_flight.user_of_signal(signal); !user.empty()) {
    validator.report(Rule::kSignalInUse, call,
                     fmt::format("{} uses {}", user, validator.describe(Kind::kSignal, signal)));
  }
}

}  // namespace

void prepare_handlers(bool in_forked_child) {
  // In the parent, another thread may have been modifying the list during the fork.
  if (handlers == nullptr || in_forked_child) handlers = new Handlers(handlers);
}

std::span<const Hooks> signal_hooks() {
  static constexpr Hooks kHooks[] = {
      {HSATOOL_ID_hsa_signal_wait_relaxed, waiting, waited},
      {HSATOOL_ID_hsa_signal_wait_scacquire, waiting, waited},
      {HSATOOL_ID_hsa_amd_signal_wait_any, waiting_for_several<hsatool_hsa_amd_signal_wait_any_args_t>,
       waited},
      {HSATOOL_ID_hsa_amd_signal_wait_all, waiting_for_several<hsatool_hsa_amd_signal_wait_all_args_t>,
       waited},
      {HSATOOL_ID_hsa_amd_signal_async_handler, adding_handler, added_handler},
      {HSATOOL_ID_hsa_amd_async_function, adding_function, added_function},
      {HSATOOL_ID_hsa_signal_destroy, destroying, nullptr},
  };
  return kHooks;
}

}  // namespace validate
