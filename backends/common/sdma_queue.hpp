// A queue of one of the device's copy engines.
//
// Any thread submits; a submission is written in one piece. Order: packets before the write index, the write
// index before the doorbell (release); the engine's read index is loaded with acquire before its part of the
// ring is written again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "backends/common/gpu_device.hpp"
#include "backends/common/sdma.hpp"

namespace rigel::gfx {

class SdmaQueue {
 public:
  static constexpr uint64_t kRingBytes = 256 * 1024;
  /// What one submission can have; copies that need more make several.
  static constexpr size_t kDwordsMax = kRingBytes / 4 / 4;

  /// Null if the driver has none to give: other processes may have them all.
  static std::unique_ptr<SdmaQueue> create(Device& device);
  ~SdmaQueue();
  SdmaQueue(const SdmaQueue&) = delete;

  const SdmaEncoder& encoder() const { return encoder_; }

  /// Waits for room, has `write` put exactly `dwords` dwords, and rings.
  void submit(size_t dwords, const std::function<void(uint32_t*)>& write);

  /// Whether the engine has read everything.
  bool idle() const;

 private:
  explicit SdmaQueue(Device& device);
  uint64_t reported() const;

  Device& device_;
  const SdmaEncoder encoder_;
  const SdmaRing indices_;
  Block ring_;
  Block pointers_;  // read index, then write index
  void* doorbell_ = nullptr;
  uint32_t queue_id_ = 0;
  bool created_ = false;

  mutable std::mutex mutex_;  // guards what follows, and the ring
  uint64_t written_ = 0;
  mutable uint64_t read_ = 0;
};

}  // namespace rigel::gfx
