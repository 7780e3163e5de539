// The tool between load and unload: the state of the program, and the checks of each API function.
//
// The checks are in one file per chapter of rules.inc: handles.cpp, packets.cpp, signals.cpp, memory.cpp,
// concurrent_calls.cpp, shutdown.cpp. Each chapter provides hooks that run before or after certain functions.
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
/// Must be called before a validator is created.
void prepare_handlers(bool in_forked_child);
std::span<const Hooks> memory_hooks();
std::span<const Hooks> thread_hooks();
std::span<const Hooks> shutdown_hooks();

/// A parameter that is a handle, or a pointer to an array of handles.
struct HandleParameter {
  uint32_t parameter;
  Kind kind;
  uint32_t count =
      UINT32_MAX;  ///< index of the parameter with the array's length; UINT32_MAX: a single handle
};

class Validator {
 public:
  /// Throws std::runtime_error if an option is invalid.
  Validator(hsatool::Host tool_host, const Options& tool_options);
  /// Reports leaks and the number of omitted reports.
  void finish();

  bool wants(const hsatool_function_t& function) const { return !plans_[function.index].empty(); }
  void enter(hsatool_call_t& call);
  void exit(hsatool_call_t& call);
  void queue_created(const hsatool_queue_t& queue);
  void submit(const hsatool_queue_t& queue, std::span<const hsatool::Packet> packets, uint64_t index);
  void done(const hsatool_activity_t& activity);

  /// Marks a queue as stopped: its packets will never complete.
  void stop(Queue& queue);

  /// Reports that a call broke a rule, or that `who` did: the name of a function, packet or doorbell.
  void report(Rule rule, const hsatool_call_t& call, std::string_view text);
  void report(Rule rule, std::string_view who, std::string_view text) { reporter.report(rule, who, text); }

  /// Checks a handle that was passed to `who` (rules 101, 102, 104). Returns whether its object is live.
  bool check_handle(Kind kind, uint64_t handle, std::string_view who);
  /// Describes an object with the calls that created and destroyed it: "signal 0x7f… \n  created by …".
  std::string describe(Kind kind, uint64_t handle);
  std::string describe(const Event& event, std::string_view verb) const;
  Event event(const hsatool_call_t& call) { return {call.function, places.here()}; }

  /// Returns std::nullopt if the signal is not live.
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

/// Returns the parameters of a function that are handles.
std::vector<HandleParameter> handle_parameters(const hsatool_function_t& function);

/// Checks a submitted packet: rules 102, 104, 203, 204, 207 to 214, 302, 303, 402, 403.
void check_packet(Validator& validator, Queue& queue, const hsatool::Packet& packet, uint64_t index);

// Arguments by parameter index.
const void* argument(const hsatool_call_t& call, uint32_t parameter);
uint64_t word(const hsatool_call_t& call, uint32_t parameter);  // up to 8 bytes, zero-extended
bool succeeded(const hsatool_call_t& call);                     // only for calls that return a status

}  // namespace validate
