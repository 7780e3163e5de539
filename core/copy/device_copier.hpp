// How a device moves bytes: the copy engine's side of a device whose memory the host may not reach. The
// runtime makes one for each device that can copy; whatever knowledge of a device is needed sits behind it.
//
// Called from any thread, several calls at a time.
#pragma once

#include <hsa/hsa.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/status.hpp"
#include "core/copy/box.hpp"
#include "core/signal/signal.hpp"

namespace rigel {

/// What is known of where a copy's sides are.
struct CopySides {
  bool known = false;
  bool from_host = false;
  bool to_host = false;
  bool direct = false;  ///< devices address both as the host does
};

/// An asynchronous copy as a device that can wait for signals by itself gets it. Valid during the call.
struct DeviceCopyRequest {
  const Box& box;  ///< a plain copy is one row
  std::span<Signal* const> dependencies;
  Signal* completion = nullptr;
  uint32_t engines = 0;  ///< exactly one hsa_amd_sdma_engine_id_t; 0: the device chooses
  bool profiled =
      false;        ///< the completion signal's copy_start_ts and copy_end_ts are wanted, in system time
  CopySides sides;  ///< spares looking
};

class DeviceCopier {
 public:
  virtual ~DeviceCopier() = default;

  /// Copies, and returns when it is done. Either side may be host memory or this device's, or another's that
  /// this device reaches.
  virtual Status copy(void* destination, const void* source, size_t size) = 0;

  /// The same for a box. One row after the other unless the device knows better.
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

  /// Fills, and returns when it is done and visible to the host.
  virtual Status fill(void* destination, uint32_t value, size_t count) = 0;

  /// Takes an asynchronous copy over: waits for its dependencies, copies, and completes or fails its signal,
  /// all without a thread of the host. False if the device cannot do that for this copy; a thread then calls
  /// `copy`.
  virtual Result<bool> submit(const DeviceCopyRequest&) { return false; }

  /// The same for what most copies are, at the price of a few registers: one row that waits for nothing, by
  /// whichever engine, and untimed. `sides` are known. False: ask `submit`.
  virtual Result<bool> submit_row([[maybe_unused]] void* destination, [[maybe_unused]] const void* source,
                                  [[maybe_unused]] size_t size, [[maybe_unused]] CopySides sides,
                                  [[maybe_unused]] Signal& completion) {
    return false;
  }

  /// hsa_amd_sdma_engine_id_t bits for copies between these agents: all, those free now, and the best.
  struct Engines {
    uint32_t all = 0;
    uint32_t free = 0;
    uint32_t preferred = 0;
  };
  virtual Engines engines(hsa_agent_t, hsa_agent_t) { return {}; }

  /// The device stamps times of its own clock: what one of them is in system time.
  virtual uint64_t to_system_time(uint64_t ticks) const { return ticks; }
};

}  // namespace rigel
