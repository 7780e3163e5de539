// A queue of one of the device's copy engines.
//
// Not safe for threads: its owner's lock guards it. A submission is written in one piece. Order:
// packets before the write index, the write index before the doorbell (release); the engine's read index is
// loaded with acquire before its part of the ring is written again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backends/common/gpu_device.hpp"
#include "backends/common/sdma.hpp"

namespace rigel::gfx {

class SdmaQueue {
 public:
  static constexpr uint64_t kRingBytes = 256 * 1024;
  /// What one submission can have.
  static constexpr size_t kDwordsMax = kRingBytes / 4 / 4;

  /// Null if the driver has none to give: other processes may have them all.
  static std::unique_ptr<SdmaQueue> create(Device& device);
  ~SdmaQueue();
  SdmaQueue(const SdmaQueue&) = delete;

  const SdmaEncoder& encoder() const { return encoder_; }

  /// Where to put up to `dwords` dwords, or null if there is no room now.
  uint32_t* begin(size_t dwords);
  /// Has the engine read the dwords that were put there. Returns where they begin.
  uint64_t submit(size_t dwords);

  /// Where the last submission ends, and how far the engine has read. In bytes; both only grow.
  uint64_t written() const { return written_; }
  uint64_t read();
  /// As far as is known without looking: the engine writes that memory all the time.
  uint64_t known_read() const { return read_; }

  /// Whether the engine has read everything.
  bool idle() { return read() == written_; }

 private:
  /// Apart from the read index: the engine and the host write one each.
  static constexpr uint64_t kWriteIndexAt = 128;

  explicit SdmaQueue(Device& device);

  Device& device_;
  const SdmaEncoder encoder_;
  const SdmaRing indices_;
  Block ring_;
  Block pointers_;  // the read index, and kWriteIndexAt further the write index
  void* doorbell_ = nullptr;
  uint32_t queue_id_ = 0;
  bool created_ = false;
  uint64_t written_ = 0;
  uint64_t read_ = 0;
};

}  // namespace rigel::gfx
