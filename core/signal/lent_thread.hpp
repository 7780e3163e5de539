// What a thread does between two looks at a signal, where the device computes on processors of the host: some
// of the device's work (hsa_plugin/hsa_driver.h).
//
// Any thread.
#pragma once

#include <atomic>

#include <hsa_plugin/hsa_driver.h>

namespace rigel {

/// Null where devices have processors of their own. Stays callable once it is set.
inline constinit std::atomic<hsa_driver_lend_thread_v1_fn> lend_thread_to_device{nullptr};

inline bool device_computes_on_host() noexcept {
  return lend_thread_to_device.load(std::memory_order_relaxed) != nullptr;
}

/// True if there was something to do.
inline bool lend_thread() noexcept {
  const auto lend = lend_thread_to_device.load(std::memory_order_acquire);
  return lend != nullptr && lend() != 0;
}

}  // namespace rigel
