// Copies and fills of a device: by its copy engines if they are usable, otherwise by kernels.
//
// The queues of engines and the queue for kernels are created on first use. The engines' queues are shared by
// all processes, so the driver may have none left. This is not an error: kernels copy meanwhile, and the
// queue is requested again later.
//
// *Threads:* any thread, also concurrently.
//
// *Waiting:* a queue executes in order, so a copy that waits delays all later copies in its queue, perhaps
// the one that it waits for. If a copy waits only for signals that submitted copies will change, any queue
// may take it. If it waits for another signal, which a kernel or the host changes, it is an *open wait*. An
// engine's queue can have one open wait at a time. Until it ends, only copies that depend on it are queued
// after it; all others use another queue. The queue for kernels never has an open wait. A copy without a
// suitable queue is rejected, and the runtime waits for its dependencies.
//
// *Failure:* when a queue fails, the signals of its incomplete copies become negative, and the queue is
// created again on the next use. An engine has completed all copies that it has read. A processor may only
// have started a kernel that it has read. The kernel is complete if its signal is not positive or has a new
// end time; the end time shows it even if the program has stored to the signal since. If a signal of an open
// wait becomes negative, the engine's queue fails, too. A thread, started by the first open wait, checks for
// this every few milliseconds.
//
// *Memory:* a submission allocates all memory before it writes to a queue. If an allocation fails, the
// submission has no effect.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "api/support/mutex.hpp"
#include "backends/common/copies_underway.hpp"
#include "backends/common/copy_queue.hpp"
#include "backends/common/gpu_device.hpp"
#include "backends/common/service_queue.hpp"
#include "backends/common/store_lock.hpp"

namespace rigel::gfx {

class CopyEngines {
 public:
  explicit CopyEngines(Device& device);
  ~CopyEngines();
  CopyEngines(const CopyEngines&) = delete;

  // The functions of hsabe_copy_ops_t.
  hsabe_status_t submit(const hsabe_copy_t& copy);
  hsabe_status_t fill(uint64_t destination, uint32_t value, uint64_t count, uint64_t completion);
  void engines(uint32_t* all, uint32_t* idle);
  void abandon(hsa_status_t status);

  /// Sets the number of pauses of a submission that finds a ring full, without progress of the engine, after
  /// which the engine counts as hung and its copies fail. For tests.
  void set_pauses_until_hung(uint32_t pauses) { pauses_until_hung_ = pauses; }

  /// Invalidates the processors' caches of code, and waits for the end.
  hsabe_status_t invalidate_code();

 private:
  /// One for each direction between host and device, then those for XGMI: bits of hsa_amd_sdma_engine_id_t.
  static constexpr size_t kMaxEngines = 16;
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<StoreLock>;

  struct Engine {
    std::unique_ptr<CopyQueue> queue;
    CopiesUnderway copies;
    uint64_t large_end = 0;     ///< index in the queue of the end of the last long copy
    Clock::time_point asked{};  ///< time when the driver rejected the queue; 0 if it did not
  };
  struct Wait {
    uint64_t signal;
    int64_t value;
  };
  /// Unsatisfied dependencies of a copy.
  struct Waits {
    std::vector<Wait> signals;
    bool open = false;    ///< whether one is a signal that no submitted copy will change
    uint32_t behind = 0;  ///< engines (bits) with an open wait before a copy that will change one of them
    uint32_t on = 0;      ///< engines (bits) with a copy that will change one of them
    bool failed = false;  ///< whether one is negative: its operation has failed
  };
  /// kNoRoom: the queue is full. kNoService: the queue for kernels must be created first. kNotThisWay: the
  /// engine, or kernels, cannot take this copy.
  enum class Result { kDone, kNoRoom, kNoService, kNotThisWay };

  bool submit_plain(const hsabe_copy_t& copy);
  hsabe_status_t submit_folded(const hsabe_copy_t& copy);

  // Under the lock:
  Waits waits_of(const hsabe_copy_t& copy);
  Engine* engine(size_t number);
  /// The engines of the device; most do not have a queue.
  std::span<Engine> engines() { return std::span(engines_).first(engine_count_); }
  Engine* engine_for(const hsabe_copy_t& copy, const Waits& waits);
  bool may_take(size_t number, const Waits& waits);
  ServiceQueue* service();
  static void make_room(Engine& engine);
  void make_room(const ServiceQueue& queue);
  static void note(Engine& engine, const hsabe_copy_t& copy);
  Result plain_by_engine(Engine& engine, const hsabe_copy_t& copy);
  Result by_engine(Engine& engine, const hsabe_copy_t& copy, const Waits& waits);
  Result by_kernel(const hsabe_copy_t& copy, const Waits& waits);
  bool start_watcher();
  void look_after_open_waits();
  void drop(Engine& engine, hsa_status_t status);
  void end_service(hsa_status_t status);

  void look_after(Lock lock);
  hsabe_status_t make_service(std::shared_ptr<ServiceQueue>* out = nullptr);
  void service_stopped(hsa_status_t status);

  /// Half a minute of the thread's running time: a debugger may stop it and the engine together. Much longer
  /// than the kernel's time until it resets an engine (amdgpu's lockup_timeout, 10 s).
  static constexpr uint32_t kPausesUntilHung = 30'000;

  Device& device_;
  const bool engines_usable_;
  const size_t engine_count_;
  uint32_t pauses_until_hung_ = kPausesUntilHung;

  Mutex making_;  // held while the queue for kernels is created or destroyed; guards blit_code_
  Block blit_code_;

  // Not held while a queue for kernels is created or destroyed: the thread that stops one may hold locks that
  // this takes.
  StoreLock mutex_;  // guards the following members
  std::array<Engine, kMaxEngines> engines_;
  std::shared_ptr<ServiceQueue> service_;
  CopiesUnderway service_copies_{ServiceQueue::kLag};
  // failed queues; a queue must not be destroyed by the thread that reports its failure
  std::vector<std::shared_ptr<ServiceQueue>> stopped_;
  bool ending_ = false;
  bool looking_ = false;  // whether the watcher checks at intervals; if not, it must be woken
  std::condition_variable_any look_;
  std::thread watcher_;

  Mutex control_mutex_;
  std::shared_ptr<ServiceQueue> control_
      RIGEL_GUARDED_BY(control_mutex_);  // for operations without waits on the program; created on first use
};

}  // namespace rigel::gfx
