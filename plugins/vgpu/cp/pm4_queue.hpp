// A compute queue whose ring holds PM4. Indices are in dwords: 32 bits, wrapped into the ring, on gfx8; 64
// bits that only grow from gfx9 on. The reported read index has 32 bits and wraps on all chips.
#pragma once

#include "plugins/vgpu/cp/pm4_interpreter.hpp"

namespace rigel::vgpu {

class Pm4Queue final : public ComputeQueue {
 public:
  Pm4Queue(QueueContext& context, const QueueConfig& config, std::function<void()> wake);

  void ring(uint64_t value) noexcept override;
  void set_ring(uint64_t va, uint64_t bytes) override;
  std::string describe() override {
    return fmt::format("PM4: write pointer {}, read pointer {} (dwords)",
                       rung_.load(std::memory_order_relaxed), interpreter_.ring_position());
  }

 private:
  bool ready() const override;
  Outcome run(uint32_t budget) override;
  bool read_write_pointer() override;

  uint64_t ring_dwords() const { return config_.ring_bytes / 4; }

  Pm4Interpreter interpreter_;
  std::atomic<uint64_t> rung_{0};
  uint64_t reported_ = 0;
  bool starved_ = false;  // the ring ended within a packet when the write pointer was starved_at_
  uint64_t starved_at_ = 0;
};

}  // namespace rigel::vgpu
