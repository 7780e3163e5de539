// Copies of a device: the copy engine's interface to a device whose memory the host may be unable to access.
// The runtime creates one for each device that can copy; everything device-specific is in its
// implementations.
//
// *Threads:* any thread, also concurrently.
#pragma once

#include <hsa/hsa.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "api/support/status.hpp"
#include "core/copy/box.hpp"
#include "core/signal/signal.hpp"

namespace rigel {

/// Known properties of the addresses of a copy.
struct CopySides {
  bool known = false;
  bool from_host = false;
  bool to_host = false;
  bool direct = false;  ///< whether devices use the host's addresses for both sides
};

/// An asynchronous copy for a device that waits for signals itself. Valid during the call.
struct DeviceCopyRequest {
  const Box& box;  ///< a plain copy is one row
  std::span<Signal* const> dependencies;
  Signal* completion = nullptr;
  uint32_t engines = 0;   ///< one hsa_amd_sdma_engine_id_t; 0: the device chooses
  bool profiled = false;  ///< record system times in the completion signal's copy_start_ts and copy_end_ts
  CopySides sides;        ///< avoids lookups
};

class DeviceCopier {
 public:
  virtual ~DeviceCopier() = default;

  /// Copies and waits for the end. Each side may be host memory, memory of this device, or accessible memory
  /// of another device.
  virtual Status copy(void* destination, const void* source, size_t size) = 0;

  /// Copies a box and waits for the end. By default, copies row by row.
  virtual Status copy_box(const Box& box) {
    for (size_t layer = 0; layer < box.depth; ++layer) {
      for (size_t row = 0; row < box.height; ++row) {
        const Status status =
            copy(box.destination.start + layer * box.destination.slice + row * box.destination.pitch,
                 box.source.start + layer * box.source.slice + row * box.source.pitch, box.width);
        if (status != HSA_STATUS_SUCCESS) return status;
      }
    }
    return HSA_STATUS_SUCCESS;
  }

  /// Fills, and waits until the result is visible to the host.
  virtual Status fill(void* destination, uint32_t value, size_t count) = 0;

  /// Takes over an asynchronous copy: waits for its dependencies, copies, and completes or fails its signal,
  /// without a thread of the host. Returns false if the device does not support this copy; a thread then
  /// calls `copy`.
  virtual Result<bool> submit(const DeviceCopyRequest&) { return false; }

  /// A fast path for most copies: one row without dependencies, on any engine, untimed, with known `sides`.
  /// If it returns false, `submit` must be called.
  virtual Result<bool> submit_row([[maybe_unused]] void* destination, [[maybe_unused]] const void* source,
                                  [[maybe_unused]] size_t size, [[maybe_unused]] CopySides sides,
                                  [[maybe_unused]] Signal& completion) {
    return false;
  }

  /// hsa_amd_sdma_engine_id_t bits for copies between these agents: all, the idle ones, and the recommended
  /// ones.
  struct Engines {
    uint32_t all = 0;
    uint32_t free = 0;
    uint32_t preferred = 0;
  };
  virtual Engines engines(hsa_agent_t, hsa_agent_t) { return {}; }

  /// Converts a time stamp of the device's clock to system time.
  virtual uint64_t to_system_time(uint64_t ticks) const { return ticks; }
};

}  // namespace rigel
