// Lends a waiting thread to a device that computes on CPUs of the host (hsa_plugin/hsa_driver.h).
//
// *Threads:* any thread.
#pragma once

#include <atomic>

#include <hsa_plugin/hsa_driver.h>

namespace rigel {

/// Null if devices have processors. Stays callable once it is set.
inline constinit std::atomic<hsa_driver_lend_thread_v1_fn> lend_thread_to_device{nullptr};

inline bool device_computes_on_host() noexcept {
  return lend_thread_to_device.load(std::memory_order_relaxed) != nullptr;
}

/// Returns true if the device had work.
inline bool lend_thread() noexcept {
  const auto lend = lend_thread_to_device.load(std::memory_order_acquire);
  return lend != nullptr && lend() != 0;
}

}  // namespace rigel
