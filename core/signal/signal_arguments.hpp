// Checks and conversions of arguments of the API's signal functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/signal/signal.hpp"

namespace rigel {

/// Returns the number in an enumeration, which need not be an enumerator: C programs may pass any.
inline SignalCondition condition_of(const hsa_signal_condition_t& condition) noexcept {
  SignalCondition number;
  static_assert(sizeof number == sizeof condition);
  std::memcpy(&number, &condition, sizeof number);
  return number;
}

/// Whether a list of handles (hsa_agent_t, hsa_signal_t) contains an element twice. Throws std::bad_alloc.
template <class Handle>
bool has_repeated_handle(const Handle* handles, uint32_t count) {
  std::vector<uint64_t> sorted;
  sorted.reserve(count);
  for (uint32_t i = 0; i < count; ++i) sorted.push_back(handles[i].handle);
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) != sorted.end();
}

}  // namespace rigel
