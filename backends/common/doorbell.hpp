// Rings a backend's own queue: by a store to its register, or by a doorbell call if the device is software.
//
// *Threads:* any thread.
// *Memory order:* earlier writes are visible to the device or the called function. A store costs one
// well-predicted branch.
#pragma once

#include <hsa_backend/hsa_backend.h>

#include <atomic>
#include <cstdint>

#include "api/support/device_barrier.hpp"

namespace rigel::gfx {

class Doorbell {
 public:
  Doorbell() = default;
  /// `kind` is HSABE_DOORBELL_INDEX64 or HSABE_DOORBELL_INDEX32_LEGACY; `bell.ring` may be null.
  Doorbell(uint32_t kind, void* address, const hsabe_bell_t& bell)
      : how_(bell.ring != nullptr             ? How::kCall
             : kind == HSABE_DOORBELL_INDEX64 ? How::kStore64
                                              : How::kStore32),
        address_(address),
        ring_(bell.ring),
        context_(bell.context) {}

  void ring(uint64_t value) const {
    order_stores_before_register();
    if (how_ == How::kStore64) [[likely]] {
      std::atomic_ref(*static_cast<uint64_t*>(address_)).store(value, std::memory_order_relaxed);
    } else if (how_ == How::kCall) {
      ring_(context_, value);
    } else {
      std::atomic_ref(*static_cast<uint32_t*>(address_))
          .store(static_cast<uint32_t>(value), std::memory_order_relaxed);
    }
  }

 private:
  enum class How : uint8_t { kStore64, kStore32, kCall };
  How how_ = How::kStore64;
  void* address_ = nullptr;
  void (*ring_)(void* context, uint64_t value) = nullptr;
  void* context_ = nullptr;
};

/// Returns the runtime's call for a doorbell's address. Empty for runtimes before 1.3.
inline hsabe_bell_t doorbell_call_of(const hsabe_host_t* host, void* doorbell) {
  hsabe_bell_t bell{sizeof bell, nullptr, nullptr};
  if (HSABE_HAS(host->driver, hsabe_host_driver_t, bell)) host->driver->bell(host->self, doorbell, &bell);
  return bell;
}

}  // namespace rigel::gfx
