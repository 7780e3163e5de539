// One life of the tool: what it knows of the program, and the rules for each function of the API.
//
// The rules are in files by chapter (rules.inc): handles.cpp, packets.cpp, signals.cpp, memory.cpp, concurrent_calls.cpp,
// shutdown.cpp. A chapter gives a list of hooks: what to do before and after a call of certain functions.
#pragma once

#include <hsa_plugin/hsa_tool.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/validate/in_flight.hpp"
#include "plugins/validate/kernels.hpp"
#include "plugins/validate/memory.hpp"
#include "plugins/validate/object_registry.hpp"
#include "plugins/validate/options.hpp"
#include "plugins/validate/queues.hpp"
#include "plugins/validate/reporter.hpp"
#include "plugins/validate/waits.hpp"

namespace validate {

class Validator;

using Hook = void (*)(Validator&, hsatool_call_t&);
struct Hooks {
  uint32_t function;  // HSATOOL_ID_
  Hook enter;         // may be null
  Hook exit;          // may be null
};
std::span<const Hooks> handle_hooks();
std::span<const Hooks> packet_hooks();
std::span<const Hooks> signal_hooks();
/// Before there is a validator whose hooks are called.
void prepare_handlers(bool in_forked_child);
std::span<const Hooks> memory_hooks();
std::span<const Hooks> thread_hooks();
std::span<const Hooks> shutdown_hooks();

/// A parameter that is a handle, or a pointer to as many as another parameter says.
struct HandleParameter {
  uint32_t parameter;
  Kind kind;
  uint32_t count = UINT32_MAX;  ///< the parameter that says how many; UINT32_MAX: it is one handle
};

class Validator {
 public:
  /// Throws a std::runtime_error that says what is wrong with the options.
  Validator(hsatool::Host its_host, const Options& its_options);
  /// Says what is left, and what nothing was said of.
  void finish();

  bool wants(const hsatool_function_t& function) const { return !plans_[function.index].empty(); }
  void enter(hsatool_call_t& call);
  void exit(hsatool_call_t& call);
  void queue_created(const hsatool_queue_t& queue);
  void submit(const hsatool_queue_t& queue, std::span<const hsatool::Packet> packets, uint64_t index);
  void done(const hsatool_activity_t& activity);

  /// A queue takes no packets any more, and what is in it will never be done.
  void stop(Queue& queue);

  /// A rule is broken by a call, or by what `who` says.
  void report(Rule rule, const hsatool_call_t& call, std::string_view text);
  void report(Rule rule, std::string_view who, std::string_view text) { reporter.report(rule, who, text); }

  /// Checks a handle that was given to `who`: 101, 102, 104. True: its object lives.
  bool check_handle(Kind kind, uint64_t handle, std::string_view who);
  /// "signal 0x7f… \n  made by …": what is known of an object.
  std::string describe(Kind kind, uint64_t handle);
  std::string describe(const Event& event, std::string_view verb) const;
  Event event(const hsatool_call_t& call) { return {call.function, places.here()}; }

  /// Nothing: it does not live.
  std::optional<int64_t> value_of_signal(uint64_t signal);

  const hsatool::Host host;
  const Options options;
  Places places;
  Reporter reporter;
  Registry registry;
  Topology topology;
  MemoryMap memory;
  Kernels kernels;
  Queues queues;
  InFlight in_flight;
  Waits waits;

 private:
  struct Plan {
    std::vector<HandleParameter> handles;
    std::vector<Hook> enter;
    std::vector<Hook> exit;
    bool empty() const { return handles.empty() && enter.empty() && exit.empty(); }
  };
  std::vector<Plan> plans_;  // by hsatool_function_t.index
};

/// The parameters of a function that are handles.
std::vector<HandleParameter> handle_parameters(const hsatool_function_t& function);

/// A packet on its way: rules 102, 104, 203, 204, 207 to 214, 302, 303, 402, 403.
void check_packet(Validator& validator, Queue& queue, const hsatool::Packet& packet, uint64_t index);

// Arguments by the place of the parameter.
const void* argument(const hsatool_call_t& call, uint32_t parameter);
uint64_t word(const hsatool_call_t& call, uint32_t parameter);  // at most eight bytes; the rest is 0
bool succeeded(const hsatool_call_t& call);                     // a call that returns a status

}  // namespace validate
