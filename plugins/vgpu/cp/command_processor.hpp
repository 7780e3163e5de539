// The command processors of one GPU: the micro engine that runs AQL and PM4 compute queues, and the SDMA
// engines. kfd's queue ioctls create, change and destroy queues here; doorbells make them run.
//
// Threads. In threaded mode the micro engine and each SDMA engine have one worker thread, started with the
// first queue; a worker serves its queues in turns (higher priority first, round robin within a priority) and
// sleeps when there is nothing to do. A queue that waits (barrier, poll, scratch, a running kernel) gives way
// to the others. In manual mode there are no threads: step() does one step of one runnable queue, chosen by a
// seeded generator, so that a test can go through orders and repeat them. All functions are safe from any
// thread; in manual mode a test serialises step() itself.
//
// Memory order: see device_bus.hpp. Ownership: the bus and the sink outlive this object; host doorbell slots
// outlive their queue.
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
  /// As in KFD's topology: 80003, 90006, 100300, …; of a chip that find_dialect() knows (dialect.hpp).
  uint32_t gfx_target_version = 90000;
  uint32_t sdma_engines = 2;
  uint32_t shader_engines = 4;
  uint32_t max_lds_bytes = 65536;       ///< Of a work-group.
  uint32_t max_work_group_size = 1024;  ///< In work-items.
  uint64_t flat_group_base = 0;         ///< lds_base of GET_PROCESS_APERTURES_NEW.
  uint64_t flat_private_base = 0;       ///< scratch_base of the same.
  bool threads = true;                  ///< False: manual mode.
  uint64_t seed = 0;                    ///< Manual mode: chooses the order of queues.
};

enum class QueueKind : uint8_t { kPm4, kSdma, kAql };

struct QueueConfig {
  uint32_t queue_id = 0;  ///< Unique on this GPU; chosen by the caller.
  QueueKind kind = QueueKind::kAql;
  uint64_t ring_va = 0;
  uint64_t ring_bytes = 0;       ///< As in CREATE_QUEUE: a power of two; twice the real ring for AQL on gfx8.
  uint64_t read_pointer_va = 0;  ///< Where the read index is reported; for AQL it also finds the amd_queue_t.
  uint64_t write_pointer_va = 0;  ///< Where the write index is looked up when the queue is (re)mapped.
  uint32_t sdma_engine = 0;
  uint32_t priority = 7;      ///< 0 … 15, higher first.
  uint32_t percentage = 100;  ///< 0: suspended.
  /// Host address of the doorbell slot if the program stores to memory: 4 bytes on gfx8, 8 from gfx9 on, all
  /// ones while nobody rings. Null if every ring arrives by ring_doorbell(). A worker that is awake takes a
  /// value out of the slot by an atomic exchange with all ones, so that no later ring looks like an old one;
  /// whoever watches while workers sleep (DeviceBus::watch_doorbells) calls wake() when a slot is not all
  /// ones. Memory keeps only the last of several rings: for AQL from gfx9 on, where several producers may
  /// ring in any order, a ring that is taken from memory therefore also looks at the write index.
  void* doorbell = nullptr;
  /// AQL on gfx8: doorbells take the end of the packets as an offset in dwords, not as an index (Tonga).
  bool doorbell_in_dwords = false;
};

/// Why a queue cannot be created or changed. kNone is success.
enum class QueueRequestError : uint8_t {
  kNone,
  kNoSuchQueue,
  kIdInUse,
  kBadRing,
  kNoSuchEngine,
  kBadValue,
  kNoThread  ///< The process may not have another.
};

class CommandProcessor {
 public:
  CommandProcessor(const DeviceConfig& config, DeviceBus& bus, DispatchSink& sink);
  /// Stops the workers; queues that still exist are destroyed.
  ~CommandProcessor();
  CommandProcessor(const CommandProcessor&) = delete;
  CommandProcessor& operator=(const CommandProcessor&) = delete;

  QueueRequestError create_queue(const QueueConfig& config);

  /// UPDATE_QUEUE: percentage 0 suspends (synchronously: on return no packet of the queue is being read),
  /// anything else resumes. A new ring takes effect at once; ring_bytes 0 keeps the old one.
  QueueRequestError update_queue(uint32_t queue_id, uint64_t ring_va, uint64_t ring_bytes, uint32_t priority,
                                 uint32_t percentage);

  /// SET_CU_MASK: which compute units the dispatches may have that start from now on, a bit for each. Of those
  /// that run, waves stay where they are.
  QueueRequestError set_cu_mask(uint32_t queue_id, std::vector<uint32_t> mask);

  /// On return no processor touches the queue, its ring or its pointers any more, whatever it was doing; a
  /// kernel that still ran has been cancelled. Packets not yet executed are not executed.
  QueueRequestError destroy_queue(uint32_t queue_id);

  /// A doorbell write, with the value that the program stored. A queue id that does not exist is ignored, as
  /// a write to a doorbell that no queue owns is.
  void ring_doorbell(uint32_t queue_id, uint64_t value) noexcept;

  /// How to ring it from now on with less: see Bell, which outlives the queue, this object and all else. Null
  /// if there is no such queue, or no more bells.
  Bell* bell(uint32_t queue_id) noexcept;

  /// Makes sleeping workers look at the doorbell slots and at what their queues wait for.
  void wake() noexcept;

  /// The same for one: 0 is the micro engine, from 1 on the SDMA engines. A number that none has is ignored.
  void wake(uint32_t engine) noexcept;
  static constexpr uint32_t engine_of(QueueKind kind, uint32_t sdma_engine) {
    return kind == QueueKind::kSdma ? sdma_engine + 1 : 0;
  }

  /// SET_SCRATCH_BACKING_VA: where gfx8 scratch offsets count from.
  void set_scratch_base(uint64_t va) noexcept;

  /// Every queue, and what runs of it where: lines, each of which ends with a newline. Stops the processors for
  /// moments; may take seconds. Any thread that is outside of translation scopes and holds no lock.
  std::string describe();

  /// How long the dispatch that has run longest has been running, in seconds; 0: none runs. Cheap.
  double longest_running();

  /// Manual mode: one step (a packet, a part of a copy, a look at a wait) of one queue. False if no queue
  /// made progress: all are empty, stopped, suspended, or wait for something outside.
  bool step();

  /// Manual mode: steps until nothing makes progress, at most `limit` times. Returns the number of steps.
  uint64_t run(uint64_t limit = UINT64_MAX);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rigel::vgpu
