#include "plugins/vgpu/cp/pm4_queue.hpp"

#include <algorithm>

namespace rigel::vgpu {

Pm4Queue::Pm4Queue(QueueContext& context, const QueueConfig& config, std::function<void()> wake)
    : ComputeQueue(context, config, std::move(wake)), interpreter_(*this) {
  interpreter_.begin_ring(config.ring_va, ring_dwords(), 0);
}

void Pm4Queue::set_ring(uint64_t va, uint64_t bytes) {
  HardwareQueue::set_ring(va, bytes);
  interpreter_.move_ring(va, ring_dwords());
}

void Pm4Queue::ring(uint64_t value) noexcept {
  rung_.store(value, std::memory_order_release);
}

bool Pm4Queue::read_write_pointer() {
  if (!dialect().has_wide_indices) {
    uint32_t value = 0;
    if (!memory_.load(config_.write_pointer_va, value)) return false;
    if (value != 0) ring(value);
    return true;
  }
  uint64_t value = 0;
  if (!memory_.load(config_.write_pointer_va, value)) return false;
  if (value > rung_.load(std::memory_order_relaxed)) ring(value);
  return true;
}

bool Pm4Queue::ready() const {
  if (has_finished()) return true;
  if (stopped()) return false;
  if (interpreter_.in_buffer()) return true;
  const uint64_t rung = rung_.load(std::memory_order_acquire);
  if (starved_ && rung == starved_at_) return false;
  const uint64_t position = interpreter_.ring_position();
  return dialect().has_wide_indices ? rung > position : ((rung - position) & (ring_dwords() - 1)) != 0;
}

Outcome Pm4Queue::run(uint32_t budget) {
  for (Finished& finished : take_finished()) {
    if (finished.result.kind == DispatchResult::Kind::kFault) {
      stop_fault_of_kernel(finished.result.fault, finished.result.reason);
    } else if (finished.result.kind == DispatchResult::Kind::kError) {
      stop(fmt::format("PM4 dispatch: {}", finished.result.reason));
    }
  }
  if (stopped()) return Outcome::kStopped;
  const uint64_t rung = rung_.load(std::memory_order_acquire);
  const uint64_t position = interpreter_.ring_position();
  uint64_t end = std::max(rung, position);  // write pointers that go back are ignored
  if (!dialect().has_wide_indices) end = position + ((rung - position) & (ring_dwords() - 1));
  if (end - position > ring_dwords()) {
    stop(fmt::format("PM4: invalid write pointer {}: more than a ring past the read pointer {}", rung,
                     position));
    return Outcome::kStopped;
  }
  interpreter_.set_ring_end(end);
  starved_ = false;
  Outcome outcome = Outcome::kIdle;
  bool progress = false;
  for (; budget != 0 && !interpreter_.at_end(); --budget) {
    outcome = interpreter_.run_packet();
    if (outcome == Outcome::kIdle) starved_ = true, starved_at_ = rung;
    if (outcome != Outcome::kProgress) break;
    progress = true;
    if (has_moved_a_piece() || has_interrupts()) break;
  }
  if (const uint64_t now = interpreter_.ring_position(); now != reported_) {
    reported_ = now;
    const auto wrapped = static_cast<uint32_t>(now & (ring_dwords() - 1));
    if (config_.read_pointer_va != 0 && !memory_.store<uint32_t>(config_.read_pointer_va, wrapped)) {
      return fault_here("the read pointer");
    }
  }
  if (stopped()) return Outcome::kStopped;
  return progress ? Outcome::kProgress : outcome;
}

}  // namespace rigel::vgpu
