// A copy-engine queue: SDMA version 3 (gfx8), 4 (gfx9) or 5 (gfx10).
//
// Indices are in bytes. Version 3 has 32 bits, wrapped into the ring; versions 4 and 5 have 64 bits that only
// grow. Long copies and fills are done in pieces of 1 MiB, one per step. Queues of an engine thus share it, a
// queue can be stopped within a fraction of a millisecond, and memory can be unmapped between pieces. A step
// also ends after an interrupt, because interrupts are delivered at its end.
#pragma once

#include <array>

#include "plugins/vgpu/cp/hardware_queue.hpp"
#include "plugins/vgpu/cp/sdma_packets.hpp"

namespace rigel::vgpu {

class SdmaQueue final : public HardwareQueue {
 public:
  SdmaQueue(QueueContext& context, const QueueConfig& config);

  void ring(uint64_t value) noexcept override;
  std::string describe() override {
    return fmt::format("SDMA engine {}: write pointer {}, read pointer {} (bytes)", config_.sdma_engine,
                       rung_.load(std::memory_order_relaxed), position_);
  }

 private:
  using Words = std::array<uint32_t, sdma::kMaxFixedDwords>;

  bool ready() const override;
  Outcome run(uint32_t budget) override;
  bool read_write_pointer() override;

  Outcome run_packet();
  Outcome execute(const Words& words, uint32_t code);
  Outcome copy_linear(const Words& words);
  Outcome copy_sub_window(const Words& words);
  Outcome write_linear(const Words& words);
  Outcome const_fill(const Words& words);
  Outcome poll(const Words& words);
  Outcome atomic(const Words& words);
  Outcome cond_exe(const Words& words);

  bool report_read_pointer();
  bool fetch(uint64_t offset, uint32_t count, uint32_t* to);
  uint64_t left_dwords() const;
  void advance(uint64_t dwords);
  uint32_t packet_dwords(uint32_t header) const;
  Outcome fail(std::string reason);
  Outcome memory_fault(uint32_t code);
  void describe(const Words& words, uint32_t code, uint64_t dwords);

  uint64_t copied_bytes(const Words& words) const;  // size of a COPY_LINEAR

  std::atomic<uint64_t> rung_{0};
  uint64_t position_ = 0;  // bytes; only grows, on all versions
  uint64_t limit_ = 0;
  uint64_t reported_ = 0;
  bool starved_ = false;  // the ring ended within a packet when the write pointer was starved_at_
  uint64_t starved_at_ = 0;

  bool in_buffer_ = false;
  uint64_t buffer_va_ = 0;
  uint64_t buffer_dwords_ = 0;
  uint64_t buffer_position_ = 0;

  uint64_t done_ = 0;         // bytes or rows of the current packet that are done
  bool unfinished_ = false;   // the current packet has more pieces
  uint64_t tail_dwords_ = 0;  // dwords after the fixed part: WRITE data, NOP filler, or skipped by COND_EXE
};

}  // namespace rigel::vgpu
