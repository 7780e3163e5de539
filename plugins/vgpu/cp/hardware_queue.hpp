// One queue of a GPU, whatever its packets: doorbells, stopping, and what a step leaves to tell.
//
// Threads. step() is called by one thread at a time (an engine's worker, or a test that steps); ring() and
// the hooks that say so by any thread. A step runs inside one translation scope; what it has to tell
// (interrupts, faults, errors, dispatches to start) is collected and told after the scope has ended, in
// order.
//
// Ownership: an engine owns its queues; a running dispatch shares in its own.
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

namespace rigel::vgpu {

/// What queues share of the device that they are part of.
struct QueueContext {
  DeviceConfig config;
  const Dialect& dialect;
  DeviceBus& bus;
  DispatchSink& sink;
  std::atomic<uint64_t> scratch_base{0};

  QueueContext(const DeviceConfig& device, DeviceBus& device_bus, DispatchSink& device_sink)
      : config(device),
        dialect(*find_dialect(device.gfx_target_version)),
        bus(device_bus),
        sink(device_sink) {}
};

/// What a step came to.
enum class Outcome : uint8_t {
  kProgress,  ///< Something was done; there may be more.
  kIdle,      ///< Nothing to do until the next doorbell.
  kPolling,   ///< Waits for memory to change: look again soon.
  kAsleep,    ///< Waits for a dispatch to end, which wakes the engine.
  kStopped    ///< Stopped for good by an error.
};

class HardwareQueue {
 public:
  HardwareQueue(QueueContext& context, const QueueConfig& config)
      : context_(context), config_(config), memory_(context.bus, config.queue_id), bell_(bells.take()) {}
  virtual ~HardwareQueue();
  HardwareQueue(const HardwareQueue&) = delete;
  HardwareQueue& operator=(const HardwareQueue&) = delete;

  /// Long copies and fills are done in pieces of so much.
  static constexpr uint64_t kPieceBytes = uint64_t{1} << 20;

  /// Does up to `budget` packets, or one piece of a long one, and tells what there is to tell.
  Outcome step(uint32_t budget);

  /// A doorbell write, with the value as it was written.
  virtual void ring(uint64_t value) noexcept = 0;

  /// Whether a step might find something to do: a ring that no step has seen, work that is left. Cheap; may
  /// be called from the thread that may call step() only.
  bool has_work() {
    take_doorbell();
    return look_at_write_pointer_ || ready();
  }

  /// Whether its doorbell slot or its bell holds a ring. From any thread.
  bool is_rung() const noexcept;

  /// Where calls ring; null if there was none left.
  Bell* bell() const { return bell_; }

  /// The queue is (again) mapped: the next step looks up the write pointer in memory, because rings while it
  /// was not mapped were lost.
  void remap() { look_at_write_pointer_ = true; }

  /// A new ring; the queue is not being stepped. Indices go on from where they are, as on hardware.
  virtual void set_ring(uint64_t va, uint64_t bytes) {
    config_.ring_va = va;
    config_.ring_bytes = bytes;
  }

  /// See CommandProcessor::set_cu_mask. The queue is not being stepped.
  virtual void set_cu_mask(std::shared_ptr<const std::vector<uint32_t>> /*mask*/) {}

  /// Whether a kernel of the queue runs. From the thread that may call step() only.
  virtual bool runs_kernels() const { return false; }

  /// How far it has come and what it waits for, in words. While it is not being stepped; outside of scopes.
  virtual std::string describe() = 0;

  /// Ends what runs on behalf of this queue outside of steps, and waits for it. No step runs, nor will one.
  virtual void drain() {}

  uint32_t id() const { return config_.queue_id; }
  uint32_t priority() const { return config_.priority; }
  void set_priority(uint32_t priority) { config_.priority = priority; }
  bool stopped() const { return stopped_; }

 protected:
  virtual bool ready() const = 0;
  virtual Outcome run(uint32_t budget) = 0;
  /// The write pointer's value in memory, looked up at (re)mapping; ring() with it unless it means nothing
  /// new.
  virtual bool read_write_pointer() = 0;
  /// A ring was taken from the doorbell slot or the bell; others may have been overwritten there.
  virtual void ring_from_slot(uint64_t value) noexcept { ring(value); }
  /// Tells what a step of the derived class left; called outside of scopes.
  virtual void deliver();

  // What a step may leave to tell.
  void interrupt(InterruptSource source, uint32_t context_id) { interrupts_.push_back({source, context_id}); }
  void stop(std::string reason);
  void stop_fault(const VmFault& fault, std::string_view what);
  /// `report` says it all.
  void stop_fault_of_kernel(const VmFault& fault, std::string report);
  Outcome fault_here(std::string_view what) {
    stop_fault(memory_.fault(), what);
    return Outcome::kStopped;
  }

  /// Whether a step ends before its budget: it has moved a piece, or the rest of a copy that is nearly one, and others wait
  /// for the scope or the engine.
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
  bool stop_told_ = false;
  bool faulted_ = false;
  VmFault fault_;
  std::string reason_;
  std::vector<Interrupt> interrupts_;
  std::vector<std::pair<TraceTopic, std::string>> lines_;
};

}  // namespace rigel::vgpu
