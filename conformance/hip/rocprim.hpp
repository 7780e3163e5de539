// Shared by the programs that use rocPRIM.
#pragma once

#include <algorithm>
#include <rocprim/rocprim.hpp>

#include "check.hpp"

/// Calls a rocPRIM function twice: to query the size of its temporary memory, and with the memory.
template <typename Call>
void with_storage(Call call) {
  size_t bytes = 0;
  HIP_OK(call(nullptr, bytes));
  const DeviceArray<char> storage(std::max<size_t>(bytes, 1));
  HIP_OK(call(storage.data(), bytes));
  HIP_FINISH();
}

template <typename K>
std::vector<K> random_keys(unsigned count) {
  Random random(count + sizeof(K));
  std::vector<K> keys(count);
  for (K& key : keys) {
    if constexpr (std::is_floating_point_v<K>) {
      key = static_cast<K>(random.real(-1000, 1000));
    } else {
      key = static_cast<K>(random.bits());
    }
  }
  return keys;
}
