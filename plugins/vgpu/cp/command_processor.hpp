// The command processors of one GPU: the micro engine, which runs AQL and PM4 compute queues, and the SDMA
// engines. The queue ioctls (plugins/vgpu/kfd) create, change and destroy queues here. Doorbells start their
// work.
//
// Threads: in threaded mode the micro engine and each SDMA engine have one worker thread, started with the
// first queue. A worker steps its queues by priority, round robin within a priority, and sleeps if there is
// nothing to do. A queue that waits (barrier, poll, scratch, running kernel) does not block the others. In
// manual mode there are no threads: step() does one step of one runnable queue. A seeded generator selects
// the queue, so that a test can try many orders and repeat them. All functions are thread-safe; in manual
// mode a test serialises step().
//
// Memory order: see device_bus.hpp.
//
// Lifetime: the bus and the sink outlive this object. Host doorbell slots outlive their queue.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plugins/vgpu/cp/bell.hpp"
#include "plugins/vgpu/cp/device_bus.hpp"
#include "plugins/vgpu/cp/dispatch.hpp"

namespace rigel::vgpu {

struct DeviceConfig {
  /// The version as in KFD's topology (80003, 90006, 100300, …). find_dialect() must know it.
  uint32_t gfx_target_version = 90000;
  uint32_t sdma_engines = 2;
  /// Dies that work as one device. Each has its share of the scratch of a queue.
  uint32_t xcc_count = 1;
  uint32_t arrays_per_engine = 1;
  uint32_t processors_per_array = 1;  ///< Work-group processors
  uint32_t units_per_array = 1;       ///< Compute units
  uint32_t shader_engines = 1;     ///< Number per die; each has performance counters and, on gfx11, scratch.
  uint32_t max_lds_bytes = 65536;  ///< Maximum of a work-group.
  uint32_t max_work_group_size = 1024;  ///< In work-items.
  uint64_t flat_group_base = 0;         ///< lds_base of GET_PROCESS_APERTURES_NEW.
  uint64_t flat_private_base = 0;       ///< scratch_base of GET_PROCESS_APERTURES_NEW.
  bool threads = true;                  ///< False: manual mode.
  uint64_t seed = 0;                    ///< Manual mode: seed of the order of queues.
};

enum class QueueKind : uint8_t { kPm4, kSdma, kAql };

struct QueueConfig {
  uint32_t queue_id = 0;  ///< Unique on this GPU; chosen by the caller.
  QueueKind kind = QueueKind::kAql;
  uint64_t ring_va = 0;
  uint64_t ring_bytes = 0;  ///< As in CREATE_QUEUE: a power of two; twice the real ring for AQL on gfx8.
  /// Address of the reported read index. For AQL, the amd_queue_t is found from it.
  uint64_t read_pointer_va = 0;
  uint64_t write_pointer_va = 0;  ///< Address of the write index, read when the queue is mapped.
  uint32_t sdma_engine = 0;
  uint32_t priority = 7;      ///< 0 … 15, higher first.
  uint32_t percentage = 100;  ///< 0: suspended.
  /// Host address of the doorbell slot if the program rings by storing to memory; null if it rings by
  /// ring_doorbell() only. A slot has 4 bytes on gfx8 and 8 from gfx9 on. All ones mean that there is no
  /// ring. A worker that is awake takes the value with an atomic exchange with all ones. While workers sleep,
  /// the watcher (DeviceBus::watch_doorbells) calls wake() if a slot is not all ones. Memory keeps only the
  /// last of several rings. From gfx9 on, AQL producers may ring in any order, so a ring taken from memory
  /// also makes the queue read the write index.
  void* doorbell = nullptr;
  /// AQL on Tonga (gfx8): doorbells hold the end of the packets as an offset in dwords, not an index.
  bool doorbell_in_dwords = false;
};

/// Why a queue cannot be created or changed.
enum class QueueRequestError : uint8_t {
  kNone,
  kNoSuchQueue,
  kIdInUse,
  kBadRing,
  kNoSuchEngine,
  kBadValue,
  kNoThread  ///< The process cannot create another thread.
};

class CommandProcessor {
 public:
  CommandProcessor(const DeviceConfig& config, DeviceBus& bus, DispatchSink& sink);
  /// Stops the workers and destroys the remaining queues.
  ~CommandProcessor();
  CommandProcessor(const CommandProcessor&) = delete;
  CommandProcessor& operator=(const CommandProcessor&) = delete;

  QueueRequestError create_queue(const QueueConfig& config);

  /// Implements UPDATE_QUEUE. Percentage 0 suspends the queue: on return its packets are not being read. Any
  /// other value resumes it. A new ring takes effect immediately; ring_bytes 0 keeps the ring.
  QueueRequestError update_queue(uint32_t queue_id, uint64_t ring_va, uint64_t ring_bytes, uint32_t priority,
                                 uint32_t percentage);

  /// Implements SET_CU_MASK: one bit per compute unit that later dispatches may use. Running dispatches are
  /// not moved.
  QueueRequestError set_cu_mask(uint32_t queue_id, std::vector<uint32_t> mask);

  /// Destroys the queue and cancels its running kernels. On return the engine does not access the queue, its
  /// ring or its pointers. Remaining packets are not executed.
  QueueRequestError destroy_queue(uint32_t queue_id);

  /// Handles a doorbell write of `value`. An unknown queue id is ignored, like a write to an unused doorbell.
  void ring_doorbell(uint32_t queue_id, uint64_t value) noexcept;

  /// Returns the queue's bell, which is cheaper to ring than ring_doorbell() and outlives the queue and this
  /// object. Null if the queue is unknown or all bells are in use.
  Bell* bell(uint32_t queue_id) noexcept;

  /// Wakes sleeping workers, which then check doorbell slots and waiting queues.
  void wake() noexcept;

  /// Wakes one engine: 0 is the micro engine, SDMA engines start at 1. An unknown number is ignored.
  void wake(uint32_t engine) noexcept;
  static constexpr uint32_t engine_of(QueueKind kind, uint32_t sdma_engine) {
    return kind == QueueKind::kSdma ? sdma_engine + 1 : 0;
  }

  /// Implements SET_SCRATCH_BACKING_VA: the address from which gfx8 scratch offsets count.
  void set_scratch_base(uint64_t va) noexcept;

  /// Describes every queue and its running dispatches, in lines that end with a newline. Briefly stops the
  /// engines; may take seconds. Call outside of translation scopes and without locks.
  std::string describe();

  /// Returns the seconds for which the oldest dispatch has been running, or 0 if there is none. Cheap.
  double longest_running();

  /// Manual mode: does one step (a packet, a part of a copy, a check of a wait) of one queue. Returns false
  /// if no queue made progress: all are empty, stopped, suspended, or wait for something outside.
  bool step();

  /// Manual mode: steps until there is no progress, at most `limit` times. Returns the number of steps.
  uint64_t run(uint64_t limit = UINT64_MAX);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rigel::vgpu
