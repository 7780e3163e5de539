// A GPU without a driver, for tests: queues in fake memory, signals, and functions that build packets.
#pragma once

#include <initializer_list>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "plugins/vgpu/cp/aql_packets.hpp"
#include "plugins/vgpu/cp/command_processor.hpp"
#include "plugins/vgpu/cp/fake_bus.hpp"

namespace rigel::vgpu::testing {

constexpr uint32_t kGfx8 = 80003, kGfx9 = 90006, kGfx90a = 90010, kGfx101 = 100100, kGfx103 = 100300,
                   kGfx11 = 110000, kGfx12 = 120001;

/// Name of a test for a version: "gfx101" for 100100.
inline std::string generation_name(const ::testing::TestParamInfo<uint32_t>& version) {
  if (version.param == kGfx90a) return "gfx90a";
  const uint32_t major = version.param / 10000, minor = version.param / 100 % 100;
  return "gfx" + std::to_string(major) + (major < 10 ? "" : std::to_string(minor));
}

inline DeviceConfig manual(uint32_t gfx, uint64_t seed = 0) {
  DeviceConfig config;
  config.gfx_target_version = gfx;
  config.threads = false;
  config.seed = seed;
  return config;
}

inline DeviceConfig threaded(uint32_t gfx) {
  DeviceConfig config;
  config.gfx_target_version = gfx;
  return config;
}

/// A dispatch sink that keeps dispatches until the test ends them.
class HeldDispatches : public DispatchSink {
 public:
  void start(const Dispatch& dispatch, Done done) override {
    std::lock_guard lock(mutex_);
    held_.push_back({dispatch, std::move(done)});
  }
  void cancel(uint32_t queue_id) override {
    std::vector<Held> ended;
    {
      std::lock_guard lock(mutex_);
      std::erase_if(held_, [&](Held& held) {
        if (held.dispatch.queue_id != queue_id) return false;
        ended.push_back(std::move(held));
        return true;
      });
    }
    DispatchResult cancelled;
    cancelled.kind = DispatchResult::Kind::kCancelled;
    for (Held& held : ended) held.done(cancelled);
  }
  size_t count() const {
    std::lock_guard lock(mutex_);
    return held_.size();
  }
  Dispatch get(size_t i) const {
    std::lock_guard lock(mutex_);
    return held_.at(i).dispatch;
  }
  void end(size_t i, DispatchResult result = {}) {
    Held held;
    {
      std::lock_guard lock(mutex_);
      held = std::move(held_.at(i));
      held_.erase(held_.begin() + static_cast<ptrdiff_t>(i));
    }
    held.done(std::move(result));
  }

 private:
  struct Held {
    Dispatch dispatch;
    Done done;
  };
  mutable std::mutex mutex_;
  std::vector<Held> held_;
};

/// amd_signal_t objects in fake memory.
class Signals {
 public:
  Signals(FakeBus& bus, size_t count) : buffer_(bus.allocate(count * sizeof(amd_signal_t))) {}

  uint64_t handle(size_t i) const { return buffer_.va + i * sizeof(amd_signal_t); }
  amd_signal_t& operator[](size_t i) const { return buffer_.at<amd_signal_t>()[i]; }
  int64_t value(size_t i) const { return std::atomic_ref<int64_t>(raw(i)).load(std::memory_order_acquire); }
  void set(size_t i, int64_t value) const {
    std::atomic_ref<int64_t>(raw(i)).store(value, std::memory_order_release);
  }

 private:
  int64_t& raw(size_t i) const { return *buffer_.at<int64_t>(i * sizeof(amd_signal_t) + 8); }
  Buffer buffer_;
};

/// An AQL queue as a runtime creates it.
class TestAqlQueue {
 public:
  TestAqlQueue(FakeBus& bus, CommandProcessor& cp, uint32_t gfx, uint32_t id, uint32_t packets = 64,
               uint32_t priority = 7, void* doorbell = nullptr, bool doorbell_in_dwords = false)
      : cp_(cp), gfx_(gfx), id_(id), packets_(packets) {
    const uint64_t bytes = packets * 64;
    const bool doubled = gfx < 90000;
    ring_ = bus.allocate(doubled ? 2 * std::max(bytes, kPage) : bytes);
    if (doubled) {  // both halves have the same memory
      const Buffer half{ring_.va, ring_.host, std::max(bytes, kPage)};
      packets_ = static_cast<uint32_t>(half.bytes / 64);
      bus.unmap(ring_);
      bus.alias(ring_.va, half);
      bus.alias(ring_.va + half.bytes, half);
    }
    for (uint32_t i = 0; i < packets_; ++i) *ring_.at<uint16_t>(i * 64ull) = aql::kInvalidHeader;
    queue_ = bus.allocate(sizeof(amd_queue_t));
    amd().read_dispatch_id_field_base_byte_offset = aql::kQueueReadIndex;
    config_.queue_id = id;
    config_.kind = QueueKind::kAql;
    config_.ring_va = ring_.va;
    config_.ring_bytes = doubled ? packets_ * 128ull : bytes;
    config_.read_pointer_va = queue_.va + offsetof(amd_queue_t, read_dispatch_id);
    config_.write_pointer_va =
        queue_.va + (doubled ? offsetof(amd_queue_t, max_legacy_doorbell_dispatch_id_plus_1)
                             : offsetof(amd_queue_t, write_dispatch_id));
    config_.priority = priority;
    config_.doorbell = doorbell;
    config_.doorbell_in_dwords = doorbell_in_dwords;
    EXPECT_EQ(cp.create_queue(config_), QueueRequestError::kNone);
  }

  amd_queue_t& amd() const { return *queue_.at<amd_queue_t>(); }
  uint64_t queue_va() const { return queue_.va; }
  uint64_t slot_va(uint64_t index) const { return ring_.va + index % packets_ * 64; }
  const QueueConfig& config() const { return config_; }
  uint32_t id() const { return id_; }
  uint32_t capacity() const { return packets_; }

  uint64_t read_index() const {
    return std::atomic_ref<uint64_t>(*queue_.at<uint64_t>(offsetof(amd_queue_t, read_dispatch_id)))
        .load(std::memory_order_acquire);
  }
  uint16_t header(uint64_t index) const {
    return std::atomic_ref<uint16_t>(*slot(index)).load(std::memory_order_acquire);
  }

  /// Writes a packet without ringing, first dword last. Returns its index.
  uint64_t write(const aql::Packet& packet) {
    const uint64_t index = next_++;
    auto* words = reinterpret_cast<uint32_t*>(slot(index));
    std::memcpy(words + 1, packet.words + 1, 60);
    std::atomic_ref<uint64_t>(*queue_.at<uint64_t>(offsetof(amd_queue_t, write_dispatch_id))).store(next_);
    std::atomic_ref<uint32_t>(words[0]).store(packet.words[0], std::memory_order_release);
    return index;
  }
  void ring(uint64_t index) {
    if (config_.doorbell_in_dwords) {
      cp_.ring_doorbell(id_, (index + 1) % (2 * packets_) * 16);
    } else {
      cp_.ring_doorbell(id_, gfx_ < 90000 ? static_cast<uint32_t>(index + 1) : index);
    }
  }
  uint64_t submit(const aql::Packet& packet) {
    const uint64_t index = write(packet);
    ring(index);
    return index;
  }

 private:
  uint16_t* slot(uint64_t index) const { return ring_.at<uint16_t>(index % packets_ * 64); }

  CommandProcessor& cp_;
  const uint32_t gfx_;
  const uint32_t id_;
  uint32_t packets_;
  Buffer ring_;
  Buffer queue_;
  QueueConfig config_;
  uint64_t next_ = 0;
};

inline void set_quad(aql::Packet& packet, size_t word, uint64_t value) {
  packet.words[word] = static_cast<uint32_t>(value);
  packet.words[word + 1] = static_cast<uint32_t>(value >> 32);
}

inline aql::Packet barrier_packet(std::initializer_list<uint64_t> dependencies, uint64_t completion = 0,
                                  bool barrier_bit = false, uint32_t type = HSA_PACKET_TYPE_BARRIER_AND) {
  aql::Packet packet{};
  packet.words[0] = type | (barrier_bit ? 1u << 8 : 0) | 2u << 9 | 2u << 11;
  size_t word = 2;
  for (const uint64_t dependency : dependencies) set_quad(packet, word, dependency), word += 2;
  set_quad(packet, 14, completion);
  return packet;
}

/// A PM4 or SDMA queue that tests fill with words.
class TestWordQueue {
 public:
  TestWordQueue(FakeBus& bus, CommandProcessor& cp, uint32_t gfx, QueueKind kind, uint32_t id,
                uint64_t ring_bytes = 4096, uint32_t engine = 0)
      : cp_(cp), gfx_(gfx), kind_(kind), id_(id), ring_(bus.allocate(ring_bytes)), bytes_(ring_bytes) {
    pointers_ = bus.allocate(64);
    QueueConfig config;
    config.queue_id = id;
    config.kind = kind;
    config.ring_va = ring_.va;
    config.ring_bytes = ring_bytes;
    config.read_pointer_va = pointers_.va;
    config.write_pointer_va = pointers_.va + 8;
    config.sdma_engine = engine;
    EXPECT_EQ(cp.create_queue(config), QueueRequestError::kNone);
  }

  void write(std::initializer_list<uint32_t> words) {
    for (const uint32_t word : words) write_word(word);
  }
  void write_word(uint32_t word) {
    *ring_.at<uint32_t>(written_ * 4 % bytes_) = word;
    ++written_;
  }
  /// Rings with the write pointer in the format of the queue and generation.
  void ring() {
    uint64_t value = written_ * (kind_ == QueueKind::kSdma ? 4 : 1);
    if (gfx_ < 90000) value &= (kind_ == QueueKind::kSdma ? bytes_ : bytes_ / 4) - 1;
    cp_.ring_doorbell(id_, value);
  }
  void submit(std::initializer_list<uint32_t> words) {
    write(words);
    ring();
  }
  /// Whether the reported read pointer is the write pointer.
  bool drained() const {
    const uint64_t unit = kind_ == QueueKind::kSdma ? 4 : 1;
    const bool wide = kind_ == QueueKind::kSdma && gfx_ >= 90000;
    if (wide) return std::atomic_ref<uint64_t>(*pointers_.at<uint64_t>()).load() == written_ * 4;
    const uint64_t wrap = kind_ == QueueKind::kSdma ? bytes_ : bytes_ / 4;
    return std::atomic_ref<uint32_t>(*pointers_.at<uint32_t>()).load() == (written_ * unit & (wrap - 1));
  }
  uint32_t id() const { return id_; }
  uint64_t ring_va() const { return ring_.va; }
  std::byte* ring_at(uint64_t offset) const { return ring_.host + offset; }
  uint64_t written() const { return written_; }  ///< In dwords.

 private:
  CommandProcessor& cp_;
  const uint32_t gfx_;
  const QueueKind kind_;
  const uint32_t id_;
  Buffer ring_;
  Buffer pointers_;
  const uint64_t bytes_;
  uint64_t written_ = 0;  // dwords
};

inline uint32_t low(uint64_t value) {
  return static_cast<uint32_t>(value);
}
inline uint32_t high(uint64_t value) {
  return static_cast<uint32_t>(value >> 32);
}

/// Waits up to ten seconds for a condition that worker threads fulfil. Returns whether it holds.
template <class Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 100000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return condition();
}

}  // namespace rigel::vgpu::testing
