// Chapter 3: waits, and signals that are destroyed while something uses them. What packets do with signals is in
// in_flight.cpp.
#include <fmt/core.h>

#include "plugins/validate/validator.hpp"

namespace validate {
namespace {

void begin_wait(Validator& validator, const hsatool_call_t& call, std::vector<uint64_t> signals,
                uint64_t timeout) {
  for (const uint64_t signal : signals) validator.registry.count_waiter(signal, 1);
  // The hint counts ticks of the system's clock, which has no more than a billion in a second: a year of them is
  // longer than anybody waits.
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

std::span<const Hooks> signal_hooks() {
  static constexpr Hooks kHooks[] = {
      {HSATOOL_ID_hsa_signal_wait_relaxed, waiting, waited},
      {HSATOOL_ID_hsa_signal_wait_scacquire, waiting, waited},
      {HSATOOL_ID_hsa_amd_signal_wait_any, waiting_for_several<hsatool_hsa_amd_signal_wait_any_args_t>,
       waited},
      {HSATOOL_ID_hsa_amd_signal_wait_all, waiting_for_several<hsatool_hsa_amd_signal_wait_all_args_t>,
       waited},
      {HSATOOL_ID_hsa_signal_destroy, destroying, nullptr},
  };
  return kHooks;
}

}  // namespace validate
