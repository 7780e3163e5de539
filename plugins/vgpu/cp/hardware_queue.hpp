// One queue of a GPU, of any packet format: doorbells, stopping, and the reports of a step.
//
// Threads: step() is called by one thread at a time (an engine's worker, or a test). ring() and is_rung() may
// be called by any thread. A step runs inside one translation scope. Interrupts, faults, errors and
// dispatches are collected meanwhile and executed in order after the scope has ended.
//
// Lifetime: an engine owns its queues; a running dispatch shares ownership of its queue.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "plugins/vgpu/cp/bell.hpp"
#include "plugins/vgpu/cp/command_processor.hpp"
#include "plugins/vgpu/cp/dialect.hpp"
#include "plugins/vgpu/cp/gpu_memory.hpp"
#include "plugins/vgpu/cp/performance_counters.hpp"

namespace rigel::vgpu {

/// State that the queues of a device share.
struct QueueContext {
  DeviceConfig config;
  const Dialect& dialect;
  DeviceBus& bus;
  DispatchSink& sink;
  std::atomic<uint64_t> scratch_base{0};
  PerformanceCounters counters;

  QueueContext(const DeviceConfig& device, DeviceBus& device_bus, DispatchSink& device_sink)
      : config(device),
        dialect(*find_dialect(device.gfx_target_version)),
        bus(device_bus),
        sink(device_sink),
        counters(dialect.event_numbers, {device.xcc_count, device.shader_engines, device.arrays_per_engine,
                                         device.processors_per_array, device.units_per_array}) {}
};

/// Result of a step.
enum class Outcome : uint8_t {
  kProgress,  ///< Something was executed; there may be more.
  kIdle,      ///< Nothing to do until the next doorbell.
  kPolling,   ///< Waits for memory to change: step again soon.
  kAsleep,    ///< Waits for a dispatch to complete, which wakes the engine.
  kStopped    ///< Stopped by an error.
};

class HardwareQueue {
 public:
  HardwareQueue(QueueContext& context, const QueueConfig& config)
      : context_(context), config_(config), memory_(context.bus, config.queue_id), bell_(bells.take()) {}
  virtual ~HardwareQueue();
  HardwareQueue(const HardwareQueue&) = delete;
  HardwareQueue& operator=(const HardwareQueue&) = delete;

  /// Length of the pieces in which long copies and fills are done.
  static constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

  /// Executes up to `budget` packets, or one piece of a long one, then delivers interrupts, faults and log
  /// lines.
  Outcome step(uint32_t budget);

  /// Handles a doorbell write with the value as stored.
  virtual void ring(uint64_t value) noexcept = 0;

  /// Whether a step may find work: a new ring, or unfinished work. Cheap. Only the thread that steps calls
  /// it.
  bool has_work() {
    take_doorbell();
    return look_at_write_pointer_ || ready();
  }

  /// Whether the doorbell slot or the bell holds a ring. Any thread.
  bool is_rung() const noexcept;

  /// The queue's bell; null if all bells were in use.
  Bell* bell() const { return bell_; }

  /// Marks the queue as mapped (again). The next step reads the write pointer from memory, because rings were
  /// lost while the queue was not mapped.
  void remap() { look_at_write_pointer_ = true; }

  /// Sets a new ring while the queue is not being stepped. Indices continue, as on hardware.
  virtual void set_ring(uint64_t va, uint64_t bytes) {
    config_.ring_va = va;
    config_.ring_bytes = bytes;
  }

  /// See CommandProcessor::set_cu_mask. Called while the queue is not being stepped.
  virtual void set_cu_mask(std::shared_ptr<const std::vector<uint32_t>> /*mask*/) {}

  /// Whether a kernel of the queue runs. Only the thread that steps calls it.
  virtual bool runs_kernels() const { return false; }

  /// Describes the queue's position and what it waits for. Called outside of scopes, while it is not being
  /// stepped.
  virtual std::string describe() = 0;

  /// Ends work that runs outside of steps, and waits for it. Called after the last step.
  virtual void drain() {}

  uint32_t id() const { return config_.queue_id; }
  uint32_t priority() const { return config_.priority; }
  void set_priority(uint32_t priority) { config_.priority = priority; }
  bool stopped() const { return stopped_; }

 protected:
  virtual bool ready() const = 0;
  virtual Outcome run(uint32_t budget) = 0;
  /// Reads the write pointer from memory and rings with it, unless it is not newer. Returns false on a fault.
  virtual bool read_write_pointer() = 0;
  /// Handles a ring from the doorbell slot or the bell, where it may have replaced earlier rings.
  virtual void ring_from_slot(uint64_t value) noexcept { ring(value); }
  /// Delivers reports and dispatches of the derived class's step. Called outside of scopes.
  virtual void deliver();

  // Collected during a step, delivered after it.
  void interrupt(InterruptSource source, uint32_t context_id) { interrupts_.push_back({source, context_id}); }
  void stop(std::string reason);
  void stop_fault(const VmFault& fault, std::string_view what);
  /// `report` is the complete reason.
  void stop_fault_of_kernel(const VmFault& fault, std::string report);
  Outcome fault_here(std::string_view what) {
    stop_fault(memory_.fault(), what);
    return Outcome::kStopped;
  }

  /// Whether a step should end early: it has moved about one piece, and other queues and unmaps wait for it.
  bool has_moved_a_piece() const { return memory_.moved() >= kPieceBytes / 2; }
  bool has_interrupts() const { return !interrupts_.empty(); }

  bool faulted() const { return faulted_; }

  bool tracing(TraceTopic topic) const { return context_.bus.trace_enabled(topic); }
  template <class... Args>
  void trace(TraceTopic topic, fmt::format_string<Args...> format, Args&&... args) {
    if (!tracing(topic)) return;
    trace_line(topic, fmt::format(format, std::forward<Args>(args)...));
  }

  const Dialect& dialect() const { return context_.dialect; }

  QueueContext& context_;
  QueueConfig config_;
  GpuMemory memory_;

 private:
  Bell* const bell_;

  struct Interrupt {
    InterruptSource source;
    uint32_t context_id;
  };

  void take_doorbell() noexcept;
  void trace_line(TraceTopic topic, std::string line);
  void tell();
  void raise_interrupts();

  bool look_at_write_pointer_ = true;
  bool stopped_ = false;
  bool stop_reported_ = false;
  bool faulted_ = false;
  VmFault fault_;
  std::string reason_;
  std::vector<Interrupt> interrupts_;
  std::vector<std::pair<TraceTopic, std::string>> lines_;
};

}  // namespace rigel::vgpu
