#include "core/signal/signal_group.hpp"

#include "core/signal/signal_arguments.hpp"
#include "core/signal/wait.hpp"

namespace rigel {

Status SignalGroups::create(uint32_t signal_count, const hsa_signal_t* signals, uint32_t consumer_count,
                            const hsa_agent_t* consumers, hsa_signal_group_t* group) noexcept try {
  if (signal_count == 0 || signals == nullptr || consumer_count == 0 || consumers == nullptr ||
      group == nullptr) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                "hsa_signal_group_create: invalid argument ({} signals at {}, {} consumers at {}, group {})",
                signal_count, static_cast<const void*>(signals), consumer_count,
                static_cast<const void*>(consumers), static_cast<const void*>(group));
  }
  if (has_repeated_handle(signals, signal_count) || has_repeated_handle(consumers, consumer_count)) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT,
                "hsa_signal_group_create: a signal or consumer is listed twice");
  }
  auto members = std::make_shared<Group>();
  members->reserve(signal_count);
  for (uint32_t i = 0; i < signal_count; ++i) {
    Signal* signal = Signal::from_handle(signals[i]);
    if (signal == nullptr) {
      return fail(HSA_STATUS_ERROR_INVALID_SIGNAL, "hsa_signal_group_create: signal {}: invalid handle {:#x}",
                  i, signals[i].handle);
    }
    members->push_back({signal, signal->generation.load(std::memory_order_acquire)});
  }
  group->handle = groups_.insert(std::move(members));
  return HSA_STATUS_SUCCESS;
} catch (...) {
  return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "hsa_signal_group_create: out of memory for {} signals",
              signal_count);
}

Status SignalGroups::destroy(hsa_signal_group_t group) noexcept {
  return groups_.remove(group.handle) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP;
}

Status SignalGroups::wait_any(hsa_signal_group_t group, const hsa_signal_condition_t* conditions,
                              const hsa_signal_value_t* compare_values, hsa_wait_state_t hint,
                              hsa_signal_t* signal, hsa_signal_value_t* value) noexcept try {
  if (conditions == nullptr || compare_values == nullptr || signal == nullptr || value == nullptr) {
    return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_signal_group_wait: an argument is NULL");
  }
  const auto members = groups_.find(group.handle);
  if (members == nullptr) return HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP;
  std::vector<WaitTerm> terms;
  terms.reserve(members->size());
  for (size_t i = 0; i < members->size(); ++i) {
    const Member& member = (*members)[i];
    const SignalCondition condition = condition_of(conditions[i]);
    if (condition > HSA_SIGNAL_CONDITION_GTE) {
      return fail(HSA_STATUS_ERROR_INVALID_ARGUMENT, "hsa_signal_group_wait: invalid condition {}",
                  condition);
    }
    const bool alive = member.signal->generation.load(std::memory_order_acquire) == member.generation;
    terms.push_back({alive ? member.signal : nullptr, condition, compare_values[i], member.generation});
  }
  const uint32_t index = rigel::wait_any(terms.data(), static_cast<uint32_t>(terms.size()), kWaitForever,
                                         Spin::hinted(hint), value);
  if (index == kWaitTimedOut) {
    return fail(HSA_STATUS_ERROR_INVALID_SIGNAL,
                "hsa_signal_group_wait: all signals of the group were destroyed");
  }
  *signal = (*members)[index].signal->handle();
  return HSA_STATUS_SUCCESS;
} catch (...) {
  return fail(HSA_STATUS_ERROR_OUT_OF_RESOURCES, "hsa_signal_group_wait: out of memory");
}

void SignalGroups::clear() noexcept {
  groups_.clear([](Group&) {});
}

}  // namespace rigel
