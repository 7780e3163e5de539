// The device of the fuzz targets, in manual mode. It has 64 KiB of memory at a low address, so that random
// packets sometimes hit it. The input is used as packets and as that memory's content.
#pragma once

#include <algorithm>
#include <cstring>
#include <iterator>

#include "plugins/vgpu/cp/aql_packets.hpp"
#include "plugins/vgpu/cp/command_processor.hpp"
#include "plugins/vgpu/cp/fake_bus.hpp"

namespace rigel::vgpu::testing {

class FuzzDevice {
 public:
  static constexpr uint64_t kData = 0x10000, kDataBytes = 0x10000;
  static constexpr uint64_t kRing = 0x100000, kRingBytes = 0x2000;
  static constexpr uint64_t kQueue = 0x200000;

  /// The input's first byte selects the generation, the second seeds the order of steps.
  FuzzDevice(const uint8_t* data, size_t size)
      : config_(configure(size > 0 ? data[0] : 0, size > 1 ? data[1] : 0)), cp_(config_, bus_, none_) {
    memory_ = bus_.map_at(kData, kDataBytes);
    ring_ = bus_.map_at(kRing, kRingBytes);
    queue_ = bus_.map_at(kQueue, kPage);
    bus_.map_at(0x300000, kPage, false);
    bus_.traces = true;  // covers the formatting of packets
    words_ = size > 2 ? data + 2 : nullptr;
    bytes_ = size > 2 ? size - 2 : 0;
    for (size_t at = 0; bytes_ != 0 && at < kDataBytes; at += bytes_) {
      std::memcpy(memory_.host + at, words_, std::min(bytes_, kDataBytes - at));
    }
  }

  bool gfx8() const { return config_.gfx_target_version < 90000; }

  void run_words(QueueKind kind) {
    const uint64_t bytes = std::min<uint64_t>(bytes_, kRingBytes - 4) / 4 * 4;
    if (bytes != 0) std::memcpy(ring_.host, words_, bytes);
    QueueConfig config;
    config.queue_id = 1;
    config.kind = kind;
    config.ring_va = kRing;
    config.ring_bytes = kRingBytes;
    config.read_pointer_va = kQueue;
    config.write_pointer_va = kQueue + 8;
    cp_.create_queue(config);
    cp_.ring_doorbell(1, kind == QueueKind::kSdma ? bytes : bytes / 4);
    run();
  }

  void run_aql() {
    constexpr uint64_t kSlots = kRingBytes / aql::kPacketBytes;
    for (uint64_t i = 0; i < kSlots; ++i) *ring_.at<uint16_t>(i * 64) = aql::kInvalidHeader;
    const uint64_t packets = std::min<uint64_t>(bytes_ / 64, gfx8() ? kSlots / 2 : kSlots);
    if (packets != 0) std::memcpy(ring_.host, words_, packets * 64);
    *queue_.at<uint32_t>(aql::kQueueReadIndexOffset) = aql::kQueueReadIndex;
    *queue_.at<uint64_t>(aql::kQueueInactiveSignal) = kData + 0x8000;
    *queue_.at<uint32_t>(aql::kQueueProperties) = bytes_ % 2 != 0 ? aql::kPropertyProfiling : 0;
    QueueConfig config;
    config.queue_id = 1;
    config.ring_va = kRing;
    config.ring_bytes = kRingBytes;
    config.read_pointer_va = kQueue + aql::kQueueReadIndex;
    config.write_pointer_va = kQueue + 0x38;
    cp_.create_queue(config);
    if (packets != 0) cp_.ring_doorbell(1, gfx8() ? packets : packets - 1);
    run();
  }

 private:
  static DeviceConfig configure(uint8_t generation, uint8_t seed) {
    constexpr uint32_t kVersions[] = {80003, 90006, 100100, 100300};
    DeviceConfig config;
    config.gfx_target_version = kVersions[generation % 4];
    config.threads = false;
    config.seed = seed;
    return config;
  }

  void run() {
    cp_.run(300);
    // Release waiting packets: signals at 0, then at all ones.
    std::memset(memory_.host, 0, kDataBytes);
    cp_.run(100);
    std::memset(memory_.host, 0xff, kDataBytes);
    cp_.run(100);
    disturb();
    cp_.destroy_queue(1);
  }

  // Sends random doorbells, moves and resizes the ring, suspends and resumes the queue.
  void disturb() {
    constexpr uint64_t kSizes[] = {256, 1024, kRingBytes, kRingBytes * 4, uint64_t{1} << 32};
    for (size_t at = 0; at + 8 <= std::min<size_t>(bytes_, 32); at += 8) {
      uint64_t value = 0;
      std::memcpy(&value, words_ + at, 8);
      cp_.ring_doorbell(1, at % 16 == 0 ? value : value % (2 * kRingBytes));
      cp_.run(50);
      const uint64_t va = value % 8 == 0 ? value & ~uint64_t{255} : kRing;
      cp_.update_queue(1, va, kSizes[value % std::size(kSizes)], 7, value % 3 == 0 ? 0 : 100);
      std::memcpy(queue_.host + value % 16 * 8, &value, 8);
      cp_.run(50);
      cp_.update_queue(1, 0, 0, value % 16, 100);
      cp_.run(50);
    }
  }

  const DeviceConfig config_;
  FakeBus bus_;
  NoShaderCores none_;
  CommandProcessor cp_;
  Buffer memory_, ring_, queue_;
  const uint8_t* words_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace rigel::vgpu::testing
