// The shader cores of one GPU: worker threads that run the waves of dispatches.
//
// Order: the work-groups of a dispatch start in order. Workers take runs of consecutive work-groups; those
// that a worker cannot start are taken next. A work-group runs on one worker for a slice. If it has not
// ended, it is suspended and continues later on any worker. Thus waves that spin, for another work-group,
// another dispatch or the host, do not block others. The board limits the number of resident work-groups.
// Workers alternate between starting and resuming.
//
// Threads: start(), cancel() and lend_thread(): any thread, outside of translation scopes. The caller of
// start() runs the first slice of a small dispatch; while the workers wake up it continues for up to 50 us.
// Workers run the rest, and all other dispatches. They are created for the first dispatch that needs them,
// spin briefly when idle, then sleep. If the process cannot create enough threads, there are fewer workers.
// If it can create none, the queues' threads run the waves through lend_thread(). A warning reports both.
// `done` is called outside of translation scopes and without locks that other threads wait for; it must not
// call start().
//
// A pause stops the workers at the end of their slices, so that describe_running() can inspect the waves.
//
// Memory order: waves see all stores that precede start(). The receiver of `done` sees all their stores.
//
// Errors: if the host has no memory for a launch, it ends with QueueError::kGroupMemory.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/cp/dispatch.hpp"
#include "plugins/vgpu/exec/group.hpp"
#include "plugins/vgpu/exec/launch.hpp"
#include "plugins/vgpu/exec/translated_codes.hpp"

namespace rigel::vgpu::exec {

struct SchedulerOptions {
  /// Number of workers; 0: VGPU_THREADS, or one per CPU that the process may use.
  uint32_t workers = 0;
  /// Whether the caller of start() may run waves.
  bool inline_dispatches = true;
};

class Scheduler final : public DispatchSink {
 public:
  Scheduler(const Device& device, DeviceBus& bus, const SchedulerOptions& options = {});
  ~Scheduler() override;

  void start(const Dispatch& dispatch, Done done) override;
  /// Prepares the code of a dispatch as start() does: compiles it or loads it from the cache, if the device
  /// is set so. Runs nothing.
  std::shared_ptr<TranslatedCode> prepare(const Dispatch& dispatch);
  void cancel(uint32_t queue_id) override;
  bool wants_thread() const noexcept override { return wants_thread_.load(std::memory_order_relaxed); }
  bool lend_thread() override;
  std::vector<Running> describe_running() override;
  double longest_running() override;

 private:
  struct Executor;
  using LaunchPointer = std::shared_ptr<Launch>;
  using GroupPointer = std::unique_ptr<Group>;

  std::shared_ptr<TranslatedCode> code_for(const Launch& launch);
  std::shared_ptr<ScratchSlots> slots_for(const Dispatch& dispatch);
  enum class Inline : uint8_t { kNothing, kSome, kAll };
  /// Runs work-groups of a dispatch on this thread. kAll: all have started.
  Inline run_inline(const LaunchPointer& launch);
  bool workers_sleep();
  /// Runs work-groups of a dispatch on this thread while the workers wake up.
  void bridge_wake_up(const LaunchPointer& launch);
  /// Adds a launch to those with work-groups to start.
  void offer(const LaunchPointer& launch) RIGEL_REQUIRES(mutex_);
  /// Wakes a worker, because pick() may return a group.
  void notify_worker() RIGEL_REQUIRES(mutex_);

  /// Returns a warning to be reported after the lock has been released, or an empty string.
  [[nodiscard]] std::string start_workers() RIGEL_REQUIRES(mutex_);
  void work(Executor& executor);
  /// Returns the next group to run, new or suspended, or null.
  GroupPointer pick(Executor& executor) RIGEL_REQUIRES(mutex_);
  GroupPointer pick_new(Executor& executor) RIGEL_REQUIRES(mutex_);
  /// Returns a group that is reserved for a launch, or null. Releases the lock temporarily.
  GroupPointer reserve_group(Executor& executor, const LaunchPointer& launch) RIGEL_REQUIRES(mutex_);
  /// Runs a group, and work-groups after it, for `slice` instructions. Then suspends or releases it.
  void run_slice(Executor& executor, GroupPointer group, int64_t time_slice, uint64_t slice);
  struct Slice;
  /// The part of run_slice() inside the translation scope.
  void run_groups(Executor& executor, Group& group, int64_t time_slice, uint64_t slice, Slice& result);
  void begin(const LaunchPointer& launch);
  /// Returns null after calling `done` if the dispatch is rejected.
  std::shared_ptr<Launch> make_launch(const Dispatch& dispatch, Done& done);
  void release_group(Executor& executor, GroupPointer group);
  void cancel_if(const std::function<bool(const Launch&)>& matches);
  /// Ends a launch early, and those of its groups that are not running.
  void stop_launch(const LaunchPointer& launch, DispatchResult result);
  /// Removes and returns a suspended or halted group of a launch, or null.
  GroupPointer take_parked(Launch& launch);
  void finish(const LaunchPointer& launch);
  /// Names the worker's thread after the kernel and work-group. Call inside a translation scope.
  void name_thread(Executor& executor, const Launch& launch, uint64_t group);

  /// Counts a group that a thread has stopped executing.
  void end_execution() RIGEL_REQUIRES(mutex_);

  const Device device_;
  DeviceBus& bus_;
  const uint32_t worker_count_;
  const bool inline_;
  TranslatedCodes codes_;
  const bool names_threads_;

  Mutex mutex_;
  Condition woken_;
  std::list<LaunchPointer> launches_ RIGEL_GUARDED_BY(mutex_);  // those with work-groups to start
  std::vector<LaunchPointer> live_ RIGEL_GUARDED_BY(mutex_);    // all that have not ended
  std::deque<GroupPointer> suspended_ RIGEL_GUARDED_BY(mutex_);
  std::vector<GroupPointer> halted_ RIGEL_GUARDED_BY(mutex_);
  bool stop_ RIGEL_GUARDED_BY(mutex_) = false;
  uint32_t sleeping_ RIGEL_GUARDED_BY(mutex_) = 0;     // workers
  uint32_t executing_ RIGEL_GUARDED_BY(mutex_) = 0;    // groups that threads execute
  std::atomic<uint32_t> pauses_{0};                    // if not 0, pick() returns null
  Condition all_paused_;                               // executing_ is 0 in a pause
  bool resume_next_ RIGEL_GUARDED_BY(mutex_) = false;  // pick() resumes a group next, or starts one
  std::vector<std::unique_ptr<Executor>> executors_ RIGEL_GUARDED_BY(mutex_);
  std::vector<std::thread> workers_ RIGEL_GUARDED_BY(mutex_);
  bool warned_of_shortage_ RIGEL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> wants_thread_{false};  // no worker could be created
  std::atomic<uint64_t> work_epoch_{0};    // changes when pick() may have a new result

  Mutex slots_mutex_;
  std::map<std::pair<uint64_t, uint32_t>, std::weak_ptr<ScratchSlots>> slots_ RIGEL_GUARDED_BY(slots_mutex_);

  Mutex inline_mutex_;
  std::unique_ptr<Executor> inline_executor_ RIGEL_GUARDED_BY(inline_mutex_);
};

}  // namespace rigel::vgpu::exec
