#include "plugins/vgpu/cp/hardware_queue.hpp"

namespace rigel::vgpu {

HardwareQueue::~HardwareQueue() {
  if (bell_ == nullptr) return;
  bell_->end();
  bells.give(bell_);
}

Outcome HardwareQueue::step(uint32_t budget) {
  take_doorbell();
  if (!look_at_write_pointer_ && !ready()) return stopped_ ? Outcome::kStopped : Outcome::kIdle;
  Outcome outcome;
  {
    GpuMemory::Scope scope(memory_);
    if (look_at_write_pointer_) {
      look_at_write_pointer_ = false;
      if (config_.write_pointer_va != 0 && !read_write_pointer()) {
        stop_fault(memory_.fault(), "the write pointer");
      }
    }
    outcome = run(budget);
  }
  tell();
  return outcome;
}

void HardwareQueue::take_doorbell() noexcept {
  if (bell_ != nullptr) {
    if (const uint64_t value = bell_->take(); value != Bell::kNone) ring_from_slot(value);
  }
  if (config_.doorbell == nullptr) return;
  if (!dialect().has_wide_indices) {
    std::atomic_ref<uint32_t> slot(*static_cast<uint32_t*>(config_.doorbell));
    if (slot.load(std::memory_order_relaxed) == UINT32_MAX) return;
    ring_from_slot(slot.exchange(UINT32_MAX, std::memory_order_acq_rel));
  } else {
    std::atomic_ref<uint64_t> slot(*static_cast<uint64_t*>(config_.doorbell));
    if (slot.load(std::memory_order_relaxed) == UINT64_MAX) return;
    ring_from_slot(slot.exchange(UINT64_MAX, std::memory_order_acq_rel));
  }
}

bool HardwareQueue::is_rung() const noexcept {
  if (bell_ != nullptr && bell_->rung()) return true;
  if (config_.doorbell == nullptr) return false;
  if (!dialect().has_wide_indices) {
    return std::atomic_ref(*static_cast<uint32_t*>(config_.doorbell)).load(std::memory_order_relaxed) !=
           UINT32_MAX;
  }
  return std::atomic_ref(*static_cast<uint64_t*>(config_.doorbell)).load(std::memory_order_relaxed) !=
         UINT64_MAX;
}

void HardwareQueue::stop(std::string reason) {
  if (stopped_) return;  // the first reason is the cause
  stopped_ = true;
  reason_ = std::move(reason);
}

void HardwareQueue::stop_fault_of_kernel(const VmFault& fault, std::string report) {
  if (stopped_) return;
  faulted_ = true;
  fault_ = fault;
  fault_.queue_id = id();
  stop(std::move(report));
}

void HardwareQueue::stop_fault(const VmFault& fault, std::string_view what) {
  static constexpr std::string_view kReasons[] = {"", "not mapped", "read-only", "not executable"};
  static constexpr std::string_view kAccesses[] = {"reading", "writing", "executing"};
  stop_fault_of_kernel(
      fault, fmt::format("memory fault {} {:#x} ({}): {}", kAccesses[static_cast<unsigned>(fault.access)],
                         fault.va, kReasons[static_cast<unsigned>(fault.reason)], what));
}

void HardwareQueue::tell() {
  for (const auto& [topic, line] : lines_) context_.bus.trace(topic, line);
  lines_.clear();
  raise_interrupts();  // before kernels start, which may run here while a thread sleeps until the interrupt
  deliver();
  raise_interrupts();
  if (stopped_ && !stop_reported_) {
    stop_reported_ = true;
    if (tracing(TraceTopic::kQueue)) {
      context_.bus.trace(TraceTopic::kQueue, fmt::format("queue {}: stopped: {}", id(), reason_));
    }
    context_.bus.queue_stopped(id(), reason_);
    if (faulted_) context_.bus.report_fault(fault_);
  }
}

void HardwareQueue::raise_interrupts() {
  for (const Interrupt& raised : interrupts_) {
    context_.bus.raise_interrupt(raised.source, raised.context_id, id());
  }
  interrupts_.clear();
}

void HardwareQueue::deliver() {}

void HardwareQueue::trace_line(TraceTopic topic, std::string line) {
  lines_.emplace_back(topic, fmt::format("queue {}: {}", id(), line));
}

}  // namespace rigel::vgpu
