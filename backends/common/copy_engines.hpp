// What a device copies and fills with: its copy engines where they serve, kernels where they do not.
//
// Engines and the queue for kernels are made when they are first needed. An engine that cannot be had (there
// are a handful, for all processes) is no error: kernels copy then, and the engine is asked for again now and
// then. Any thread, several at a time.
//
// Waiting. A queue goes in order, so a copy that waits in it holds up those behind it, perhaps the very one
// that it waits for. What another copy has promised to signal, and has been submitted, comes by itself: any
// queue may wait for that. For everything else (a kernel, the host) an engine waits as well, one such copy at
// a time, an open wait: until it is over, only copies that depend on it go behind it, and all others take
// another way. The queue of kernels never waits openly. A copy for which there is no place is refused, and
// the runtime waits.
//
// Failure. When a queue fails, every copy that it had and may not have done ends with a negative signal, and
// the queue is made anew when it is next needed. An engine has done what it has read. A processor has only
// begun it, so whether a kernel is done its signal says: it is no longer positive, or has been stamped, which
// shows also when the program has stored to it again since. A signal that an engine waits for and that turns
// negative ends what is behind it the same way; a thread, which there is from the first open wait on, looks
// after that every few milliseconds.
//
// Memory. What a submission needs is taken before anything is handed to a queue: a submission that fails has not
// happened.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
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

  // As hsabe_copy_ops_t has them.
  hsabe_status_t submit(const hsabe_copy_t& copy);
  hsabe_status_t fill(uint64_t destination, uint32_t value, uint64_t count, uint64_t completion);
  void engines(uint32_t* all, uint32_t* idle);
  void abandon(hsa_status_t status);

  /// Of a submission that finds a ring full: after so many pauses without a move of the engine it is taken
  /// for hung, and its copies fail. For tests.
  void set_pauses_until_hung(uint32_t pauses) { pauses_until_hung_ = pauses; }

  /// Drops what processors have cached of code; returns when that is done.
  hsabe_status_t invalidate_code();

 private:
  static constexpr size_t kEngines = 2;  ///< one for each direction
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<StoreLock>;

  struct Engine {
    std::unique_ptr<CopyQueue> queue;
    CopiesUnderway copies;
    uint64_t large_end = 0;     ///< where the last copy ends that takes long
    Clock::time_point asked{};  ///< when the driver last had none
  };
  struct Wait {
    uint64_t signal;
    int64_t value;
  };
  /// What a copy waits for, as far as it is not there yet.
  struct Waits {
    std::vector<Wait> signals;
    bool open = false;    ///< for something that no copy has promised
    uint32_t behind = 0;  ///< for copies behind the open waits of these engines
    uint32_t on = 0;      ///< for copies of these engines
    bool failed = false;  ///< for something that has gone wrong
  };
  enum class Result { kDone, kNoRoom, kNoService, kNotThisWay };

  bool submit_plain(const hsabe_copy_t& copy);
  hsabe_status_t submit_folded(const hsabe_copy_t& copy);

  // With the lock.
  Waits waits_of(const hsabe_copy_t& copy);
  Engine* engine(size_t number);
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

  /// Half a minute, in which the thread runs: a debugger may stop it and the engine together. Long after the
  /// kernel would have reset an engine (amdgpu's lockup_timeout, 10 s).
  static constexpr uint32_t kPausesUntilHung = 30'000;

  Device& device_;
  const bool engines_usable_;
  uint32_t pauses_until_hung_ = kPausesUntilHung;

  Mutex making_;  // held while the queue for kernels is made or destroyed; guards blit_code_
  Block blit_code_;

  // Never held while a queue for kernels is made or destroyed: who stops one may hold locks that this takes.
  StoreLock mutex_;  // guards what follows
  std::array<Engine, kEngines> engines_;
  std::shared_ptr<ServiceQueue> service_;
  CopiesUnderway service_copies_{ServiceQueue::kLag};
  std::vector<std::shared_ptr<ServiceQueue>> stopped_;  // which somebody else than their handler must destroy
  bool ending_ = false;
  bool looking_ = false;  // the watcher does not sleep for good
  std::condition_variable_any look_;
  std::thread watcher_;

  Mutex control_mutex_;
  std::shared_ptr<ServiceQueue> control_
      RIGEL_GUARDED_BY(control_mutex_);  // where nothing waits for the program; made when needed
};

}  // namespace rigel::gfx
