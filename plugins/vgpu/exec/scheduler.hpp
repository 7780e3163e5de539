// The shader cores of one GPU: workers that run the waves of dispatches.
//
// Order. Work-groups of a dispatch start in order, but for runs of them that a worker has taken to go through
// one after the other; what it cannot start at once it gives back, and they are the next ones. A work-group
// runs on one worker until its waves have had their turn; what is not done by then is set aside and goes on
// later, on any worker, so that waves that spin (for another work-group, another dispatch, the host) never
// keep others from running. As many work-groups as the board has room for are resident; workers alternate
// between starting one and resuming one.
//
// Threads. A dispatch that is small is begun by the caller of start(), who has the time for a short turn;
// what is left of it, and all others, are the workers'. As long as these sleep the caller goes on, for some
// 50 us. Workers are made with the first dispatch that needs them, spin for a moment when there is nothing to
// do, then sleep. Where the process may not have as many threads there are fewer, and where it may have none
// the processors lend theirs; a warning says so. start(), cancel(), lend_thread(): any thread, outside of
// translation scopes. `done` is called outside of scopes and with no lock that anybody waits for; it does not
// call start().
//
// A pause stops the workers at the end of their slices, so that somebody can look where the waves are.
//
// Host memory. A launch for which there is none ends with an error of its queue (QueueError::kGroupMemory).
//
// Memory order. What happened before start() is seen by the waves; what waves wrote is seen by whoever `done`
// tells. Scopes last for a turn or a few, and nobody here waits for anything in a scope but for the
// translation of code.
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
  /// Threads that run waves; 0: one for each processor of the machine, or VGPU_THREADS of the
  /// environment.
  uint32_t workers = 0;
  /// Whether the caller of start() may run waves.
  bool inline_dispatches = true;
};

class Scheduler final : public DispatchSink {
 public:
  Scheduler(const Device& device, DeviceBus& bus, const SchedulerOptions& options = {});
  /// Cancels what runs.
  ~Scheduler() override;

  void start(const Dispatch& dispatch, Done done) override;
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
  /// Runs work-groups of a dispatch on this thread. kAll: there is none left to be started.
  Inline run_inline(const LaunchPointer& launch);
  bool workers_sleep();
  void help(const LaunchPointer& launch);
  void offer(const LaunchPointer& launch) RIGEL_REQUIRES(mutex_);
  /// A worker has something to pick.
  void announce() RIGEL_REQUIRES(mutex_);

  /// What to warn of when the lock has been let go, if anything.
  [[nodiscard]] std::string start_workers() RIGEL_REQUIRES(mutex_);
  void work(Executor& executor);
  /// The next group to run, to be started or set aside before; null if there is none.
  GroupPointer pick(Executor& executor) RIGEL_REQUIRES(mutex_);
  GroupPointer pick_new(Executor& executor) RIGEL_REQUIRES(mutex_);
  /// Room for one of a launch's groups, to be started; null if there is none. Lets the lock go for a while.
  GroupPointer reserve_group(Executor& executor, const LaunchPointer& launch) RIGEL_REQUIRES(mutex_);
  /// Runs a group and, when it ends, those after it, until a slice is over; then puts it where it belongs.
  void run_slice(Executor& executor, GroupPointer group, int64_t turn, uint64_t slice);
  struct Slice;
  /// Runs them. Inside a scope.
  void run_groups(Executor& executor, Group& group, int64_t turn, uint64_t slice, Slice& result);
  void begin(const LaunchPointer& launch);
  std::shared_ptr<Launch> make_launch(const Dispatch& dispatch, Done& done);
  void let_go(Executor& executor, GroupPointer group);
  void cancel_all(const std::function<bool(const Launch&)>& which);
  /// Ends a launch early, with the groups of it that are not running.
  void stop_launch(const LaunchPointer& launch, DispatchResult result);
  GroupPointer take_parked(Launch& launch);
  void finish(const LaunchPointer& launch);
  /// What this worker's thread is called from now on, if threads have such names. Inside a scope.
  void name_thread(Executor& executor, const Launch& launch, uint64_t group);

  /// A group is not executed any more, until it is picked again.
  void comes_to_rest() RIGEL_REQUIRES(mutex_);

  const Device device_;
  DeviceBus& bus_;
  const uint32_t worker_count_;
  const bool inline_;
  TranslatedCodes codes_;
  const bool names_threads_;

  Mutex mutex_;
  Condition woken_;
  std::list<LaunchPointer> launches_ RIGEL_GUARDED_BY(mutex_);  // with work-groups to be started
  std::vector<LaunchPointer> live_ RIGEL_GUARDED_BY(mutex_);    // all that have not ended
  std::deque<GroupPointer> aside_ RIGEL_GUARDED_BY(mutex_);
  std::vector<GroupPointer> halted_ RIGEL_GUARDED_BY(mutex_);
  bool stop_ RIGEL_GUARDED_BY(mutex_) = false;
  uint32_t sleeping_ RIGEL_GUARDED_BY(mutex_) = 0;
  uint32_t executing_ RIGEL_GUARDED_BY(mutex_) = 0;    // groups that a thread has
  std::atomic<uint32_t> pauses_{0};                    // not 0: none is picked
  Condition at_rest_;                                  // executing_ is 0 in a pause
  bool resume_next_ RIGEL_GUARDED_BY(mutex_) = false;  // whose turn it is: start a group or resume one
  std::vector<std::unique_ptr<Executor>> executors_ RIGEL_GUARDED_BY(mutex_);
  std::vector<std::thread> workers_ RIGEL_GUARDED_BY(mutex_);
  bool warned_of_shortage_ RIGEL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> wants_thread_{false};  // there could be no worker
  std::atomic<uint64_t> news_{0};          // changes when there may be something to pick

  Mutex slots_mutex_;
  std::map<std::pair<uint64_t, uint32_t>, std::weak_ptr<ScratchSlots>> slots_ RIGEL_GUARDED_BY(slots_mutex_);

  Mutex inline_mutex_;
  std::unique_ptr<Executor> inline_executor_ RIGEL_GUARDED_BY(inline_mutex_);
};

}  // namespace rigel::vgpu::exec
