#include "plugins/vgpu/exec/scheduler.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "api/support/program_signals.hpp"
#include "plugins/vgpu/check/findings.hpp"
#include "plugins/vgpu/cp/host_fault.hpp"
#include "plugins/vgpu/cp/own_calls.hpp"
#include "plugins/vgpu/exec/native/perf_map.hpp"
#include "plugins/vgpu/exec/report/failure.hpp"
#include "plugins/vgpu/exec/report/thread_name.hpp"

namespace rigel::vgpu::exec {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kSlice = 1 << 16;  // instructions in one translation scope
constexpr uint64_t kGroupCost = 16;   // overhead of a work-group, in instructions
constexpr auto kSpin = 30us;          // before an idle worker sleeps
constexpr size_t kSpareGroups = 4;    // cached by each worker
constexpr auto kPauseTimeout = 2s;

// Limits of the caller of start().
constexpr uint64_t kInlineWaves = 8;        // up to this many waves, it starts the dispatch
constexpr uint64_t kFirstInlineWaves = 64;  // the same, if all workers sleep
constexpr uint64_t kInlineSlice = 1 << 12;  // instructions of all work-groups in a slice
constexpr uint64_t kInlineGroup = 1 << 13;  // instructions of one work-group
constexpr int64_t kInlineTurn = 1 << 11;    // instructions of one wave
constexpr auto kWakeUpTime = 50us;          // maximum time in bridge_wake_up()

uint32_t default_workers() {
  if (const char* const text = std::getenv("VGPU_THREADS")) {
    const long count = std::strtol(text, nullptr, 10);
    if (count > 0 && count <= 1024) return static_cast<uint32_t>(count);
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(1u, static_cast<uint32_t>(CPU_COUNT(&set)));
  return std::max(1u, std::thread::hardware_concurrency());
}

// The result has no text if there is no memory for it.
DispatchResult no_memory() noexcept {
  DispatchResult result;
  result.kind = DispatchResult::Kind::kError;
  result.error = QueueError::kGroupMemory;
  try {
    result.reason = "not enough host memory for the dispatch's work-groups or code";
  } catch (const std::bad_alloc&) {
  }
  return result;
}

// The result has no text if there is no memory for it.
DispatchResult result_of(Failure failure, DeviceBus& bus) noexcept {
  DispatchResult result;
  result.kind = failure.result.kind;
  result.error = failure.result.error;
  result.fault = failure.result.fault;
  try {
    return describe_failure(std::move(failure), bus);
  } catch (const std::bad_alloc&) {
    return result;
  }
}

// Returns the options if there are checks, otherwise null.
const check::Options* check_options() {
  static const check::Options& options = check::Findings::of_process().options();
  return options.tools == 0 ? nullptr : &options;
}

// Numbers the launch. Returns whether the user wants it to be checked.
bool select_launch(const check::Options& options, Launch& launch, DeviceBus& bus) {
  check::Findings& findings = check::Findings::of_process();
  launch.set_number(findings.number_launch());
  const bool is_selected = options.selects(
      launch.number(), options.kernel.empty() ? std::string() : kernel_of(launch.dispatch(), bus));
  if (!is_selected) findings.note_unselected_launch();
  return is_selected;
}

void describe_findings(std::vector<RawFinding> found, const Launch& launch, DeviceBus& bus) {
  for (const RawFinding& raw : found) {
    check::Findings::of_process().add(describe_finding(raw, launch, bus), bus, launch.dispatch().queue_id);
  }
}

void pause_cpu() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

struct Scheduler::Executor {
  Executor(DeviceBus& bus, bool worker) : memory(bus), is_worker(worker) { spare.reserve(kSpareGroups); }

  GroupPointer take_group(const Launch& launch) {
    for (auto it = spare.begin(); it != spare.end(); ++it) {
      if (!(*it)->fits(launch)) continue;
      GroupPointer found = std::move(*it);
      spare.erase(it);
      return found;
    }
    return std::make_unique<Group>(launch);
  }
  void recycle(GroupPointer group) {
    if (spare.size() == kSpareGroups) spare.erase(spare.begin());
    spare.push_back(std::move(group));
  }

  WaveMemory memory;
  const bool is_worker;  // otherwise it belongs to callers of start() and lend_thread()
  std::vector<GroupPointer> spare;
  uint32_t idle_slices = 0;  // consecutive slices in which waves only waited
  // The thread's name.
  const Launch* named_launch = nullptr;
  std::string kernel;
};

Scheduler::Scheduler(const Device& device, DeviceBus& bus, const SchedulerOptions& options)
    : device_(device),
      bus_(bus),
      worker_count_(options.workers != 0 ? options.workers : default_workers()),
      inline_(options.inline_dispatches),
      codes_(bus),
      names_threads_(thread_names_wanted()) {}

Scheduler::~Scheduler() {
  cancel_if([](const Launch&) { return true; });
  MutexLock lock(mutex_);
  stop_ = true;
  work_epoch_.fetch_add(1);
  woken_.notify_all();
  std::vector<std::thread> workers = std::move(workers_);
  lock.unlock();
  for (std::thread& worker : workers) worker.join();
}

// Starting dispatches
// ---------------------------------------------------------------------------------------------------

std::shared_ptr<ScratchSlots> Scheduler::slots_for(const Dispatch& dispatch) {
  if (dispatch.scratch_va == 0 || dispatch.private_bytes == 0 || dispatch.scratch_waves == 0) return nullptr;
  const MutexLock lock(slots_mutex_);
  std::erase_if(slots_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<ScratchSlots>& known = slots_[{dispatch.scratch_va, dispatch.scratch_waves}];
  std::shared_ptr<ScratchSlots> slots = known.lock();
  if (slots == nullptr) {
    slots = std::make_shared<ScratchSlots>(dispatch.scratch_waves);
    known = slots;
  }
  return slots;
}

std::shared_ptr<TranslatedCode> Scheduler::code_for(const Launch& launch) {
  CodeKey key{launch.dispatch().entry_va, device_.target,     launch.layout(), device_.level,
              device_.tracer != nullptr,  device_.compilation};
  key.target.wave32 = launch.layout().wave_size == 32;
  key.yields = launch.yields();
  key.checked = launch.is_checked();
  key.reports_accesses = key.checked && check::Findings::of_process().options().observes_accesses();
  key.counted = launch.profile() != nullptr;
  // Compiled code reports only the accesses that the checks need.
  if (key.counted && launch.profile()->counts_memory()) key.compilation = Compilation::kNone;
  key.sampled = key.counted && launch.profile()->sampling().interval != 0;
  if (key.sampled) key.compilation = Compilation::kNone;
  key.tracks_undefined = launch.tracks_undefined();
  if (key.tracks_undefined) key.start = {launch.initial_scalars(), launch.initial_rows()};
  return codes_.get(key, compiler::perf_map_wanted() ? kernel_of(launch.dispatch(), bus_) : "");
}

std::shared_ptr<Launch> Scheduler::make_launch(const Dispatch& dispatch, Done& done) {
  uint64_t items = 1;
  for (const uint32_t size : dispatch.work_group_size) items *= size;
  const uint32_t waves = static_cast<uint32_t>((items + dispatch.wave_size - 1) / dispatch.wave_size);
  const auto reject = [&](std::string reason) {
    DispatchResult result;
    result.kind = DispatchResult::Kind::kError;
    result.error = QueueError::kBadPacket;
    result.reason = std::move(reason);
    done(std::move(result));
    return nullptr;
  };
  if (waves > kMostWaves)
    return reject(fmt::format("a work-group has {} waves, maximum {}", waves, kMostWaves));
  auto slots = slots_for(dispatch);
  if (slots != nullptr && dispatch.scratch_waves < waves) {
    // Hardware would wait forever.
    return reject(
        fmt::format("scratch for {} waves, but a work-group has {}", dispatch.scratch_waves, waves));
  }
  const auto launch = std::make_shared<Launch>(device_, bus_, dispatch, std::move(slots));
  const check::Options* const checks = check_options();
  const bool is_selected = checks != nullptr && select_launch(*checks, *launch, bus_);
  if (is_selected && checks->observes_waves()) launch->set_checked();
  if (const auto purpose = LaunchProfile::purpose_of(dispatch, bus_); purpose.is_any())
    launch->set_profiled(purpose);
  const std::shared_ptr<TranslatedCode> code = code_for(*launch);
  if (is_selected && checks->has(check::Tool::kWaits) && code->begin_wait_check())
    check_waits(*code, *launch, bus_);
  launch->set_code(code);
  const MutexLock lock(mutex_);
  if (is_selected && checks->has(check::Tool::kRaces)) {
    // The launches on which the packet depends have completed, so nothing orders it after one that runs.
    std::shared_ptr<LaunchRaces> running;
    for (const LaunchPointer& other : live_) running = other->races() != nullptr ? other->races() : running;
    launch->set_races(running);
  }
  live_.push_back(launch);
  launch->set_done(std::move(done));
  return launch;
}

std::shared_ptr<TranslatedCode> Scheduler::prepare(const Dispatch& dispatch) {
  Launch launch(device_, bus_, dispatch, nullptr);
  std::shared_ptr<TranslatedCode> code = code_for(launch);
  launch.set_code(code);
  return code;
}

void Scheduler::start(const Dispatch& dispatch, Done done) {
  LaunchPointer launch;
  try {
    launch = make_launch(dispatch, done);
  } catch (const std::bad_alloc&) {
    return done(no_memory());
  }
  if (launch == nullptr) return;
  try {
    begin(launch);
  } catch (const std::bad_alloc&) {
    stop_launch(launch, no_memory());
  }
}

void Scheduler::begin(const LaunchPointer& launch) {
  const uint64_t size = launch->groups() * launch->waves_per_group();
  // Inline, a launch would end before the next one of another queue can start: no race would be found.
  const bool begin = inline_ && launch->races() == nullptr &&
                     (size <= kInlineWaves || (size <= kFirstInlineWaves && workers_sleep()));
  if (begin && run_inline(launch) == Inline::kAll) return;
  std::string shortage;
  {
    const MutexLock lock(mutex_);
    shortage = start_workers();
    offer(launch);
    for (uint64_t i = 1; i < launch->groups() && i < sleeping_; ++i) woken_.notify_one();
  }
  if (!shortage.empty()) bus_.report(Severity::kWarning, {}, shortage);
  if (inline_) bridge_wake_up(launch);
}

void Scheduler::offer(const LaunchPointer& launch) {
  if (std::find(launches_.begin(), launches_.end(), launch) == launches_.end()) launches_.push_back(launch);
  notify_worker();
}

void Scheduler::notify_worker() {
  work_epoch_.fetch_add(1);
  if (sleeping_ != 0) woken_.notify_one();
}

Scheduler::Inline Scheduler::run_inline(const LaunchPointer& launch) {
  if (!inline_mutex_.try_lock()) return Inline::kNothing;
  const MutexLock inline_lock(inline_mutex_, std::adopt_lock);
  if (inline_executor_ == nullptr) inline_executor_ = std::make_unique<Executor>(bus_, false);
  Executor& executor = *inline_executor_;
  MutexLock lock(mutex_);
  GroupPointer group = reserve_group(executor, launch);
  lock.unlock();
  if (group == nullptr) return Inline::kNothing;
  const auto time_slice = static_cast<int64_t>(kInlineGroup / launch->waves_per_group());
  run_slice(executor, std::move(group), std::min(time_slice, kInlineTurn), kInlineSlice);
  return launch->all_taken() ? Inline::kAll : Inline::kSome;
}

bool Scheduler::workers_sleep() {
  const MutexLock lock(mutex_);
  return sleeping_ == workers_.size();
}

// Many dispatches take less time than a worker needs to wake up.
void Scheduler::bridge_wake_up(const LaunchPointer& launch) {
  const auto deadline = Clock::now() + kWakeUpTime;
  while (workers_sleep() && run_inline(launch) == Inline::kSome && Clock::now() < deadline) continue;
}

bool Scheduler::lend_thread() {
  if (!inline_mutex_.try_lock()) return false;
  const MutexLock inline_lock(inline_mutex_, std::adopt_lock);
  try {
    if (inline_executor_ == nullptr) inline_executor_ = std::make_unique<Executor>(bus_, false);
  } catch (const std::bad_alloc&) {
    return false;  // The next call tries again.
  }
  GroupPointer group;
  {
    MutexLock lock(mutex_);
    if (!workers_.empty() || stop_) return false;
    group = pick(*inline_executor_);
  }
  if (group == nullptr) return false;
  run_slice(*inline_executor_, std::move(group), kInlineTurn, kInlineSlice);
  return true;
}

void Scheduler::cancel(uint32_t queue_id) {
  cancel_if([&](const Launch& launch) { return launch.dispatch().queue_id == queue_id; });
}

// Ending dispatches
// ---------------------------------------------------------------------------------------------------

void Scheduler::cancel_if(const std::function<bool(const Launch&)>& matches) {
  std::vector<LaunchPointer> found;
  {
    const MutexLock lock(mutex_);
    for (const LaunchPointer& launch : live_) {
      if (matches(*launch)) found.push_back(launch);
    }
  }
  for (const LaunchPointer& launch : found) {
    DispatchResult result;
    result.kind = DispatchResult::Kind::kCancelled;
    stop_launch(launch, std::move(result));
  }
}

void Scheduler::stop_launch(const LaunchPointer& launch, DispatchResult result) {
  bool last = launch->fail(std::move(result));
  while (const GroupPointer group = take_parked(*launch)) {
    last |= launch->groups_ended(1, group->instructions());
    group->end();
  }
  if (last) finish(launch);
}

Scheduler::GroupPointer Scheduler::take_parked(Launch& launch) {
  const MutexLock lock(mutex_);
  const auto take = [&](auto& groups) {
    GroupPointer group;
    const auto found = std::find_if(groups.begin(), groups.end(),
                                    [&](const GroupPointer& parked) { return &parked->launch() == &launch; });
    if (found == groups.end()) return group;
    group = std::move(*found);
    groups.erase(found);
    --launch.resident;
    return group;
  };
  GroupPointer group = take(suspended_);
  return group != nullptr ? std::move(group) : take(halted_);
}

void Scheduler::finish(const LaunchPointer& launch) {
  {
    const MutexLock lock(mutex_);
    launch->end_races();
    std::erase(live_, launch);
    std::erase(launches_, launch);
  }
  if (bus_.trace_enabled(TraceTopic::kDispatch)) bus_.trace(TraceTopic::kDispatch, describe_end(*launch));
  launch->finish();
}

// Workers
// ---------------------------------------------------------------------------------------------------

// Creates up to worker_count_ workers. If it can create none, the next call tries again.
std::string Scheduler::start_workers() {
  if (!workers_.empty() || stop_) return {};
  std::string shortage;
  const ProgramSignalsBlocked signals;
  try {
    while (workers_.size() < worker_count_) {
      if (executors_.size() == workers_.size()) executors_.push_back(std::make_unique<Executor>(bus_, true));
      workers_.emplace_back([this, executor = executors_.back().get()] { work(*executor); });
      pthread_setname_np(workers_.back().native_handle(), kIdleThreadName);
    }
  } catch (const std::bad_alloc&) {
  } catch (const std::system_error& error) {
    if (!std::exchange(warned_of_shortage_, true)) {
      const std::string where =
          workers_.empty() ? "the queues' threads" : fmt::format("{} threads", workers_.size());
      shortage = fmt::format("cannot start {} threads: {}; kernels run on {}", worker_count_,
                             error.code().message(), where);
    }
  }
  wants_thread_.store(workers_.empty(), std::memory_order_relaxed);
  return shortage;
}

void Scheduler::work(Executor& executor) {
  const OwnCalls ours;
  MutexLock lock(mutex_);
  while (!stop_) {
    const uint64_t seen = work_epoch_.load();
    GroupPointer group = pick(executor);
    if (group != nullptr) {
      lock.unlock();
      run_slice(executor, std::move(group), kTurn, kSlice);
      lock.lock();
      continue;
    }
    if (work_epoch_.load() != seen) continue;
    lock.unlock();
    const auto deadline = Clock::now() + kSpin;
    while (work_epoch_.load(std::memory_order_relaxed) == seen && Clock::now() < deadline) {
      for (int i = 0; i < 16; ++i) pause_cpu();
    }
    lock.lock();
    if (work_epoch_.load() != seen || stop_) continue;
    if (std::exchange(executor.named_launch, nullptr) != nullptr) set_thread_name(kIdleThreadName);
    ++sleeping_;
    while (!stop_ && work_epoch_.load() == seen) woken_.wait(lock);
    --sleeping_;
  }
}

Scheduler::GroupPointer Scheduler::pick(Executor& executor) {
  if (pauses_ != 0) return nullptr;
  // Alternates, so that waiting work-groups cannot starve those that they wait for.
  resume_next_ = !resume_next_;
  if (!resume_next_ || suspended_.empty()) {
    if (GroupPointer group = pick_new(executor)) return group;
  }
  if (suspended_.empty()) return nullptr;
  GroupPointer group = std::move(suspended_.front());
  suspended_.pop_front();
  ++executing_;
  return group;
}

Scheduler::GroupPointer Scheduler::pick_new(Executor& executor) {
  for (size_t tries = launches_.size(); tries > 0 && !launches_.empty(); --tries) {
    const LaunchPointer launch = launches_.front();
    if (launch->all_taken()) {
      launches_.pop_front();
      continue;
    }
    launches_.splice(launches_.end(), launches_, launches_.begin());  // round robin
    if (GroupPointer group = reserve_group(executor, launch)) return group;
  }
  return nullptr;
}

Scheduler::GroupPointer Scheduler::reserve_group(Executor& executor, const LaunchPointer& launch) {
  if (pauses_ != 0 || launch->resident >= launch->resident_limit()) return nullptr;
  ++launch->resident;
  ++executing_;
  GroupPointer group;
  bool reserved = false;
  {
    const MutexUnlock meanwhile(mutex_);
    try {
      group = executor.take_group(*launch);
      reserved = group->reserve(launch);
      if (!reserved) executor.recycle(std::move(group));
    } catch (const std::bad_alloc&) {
      stop_launch(launch, no_memory());
    }
  }
  if (reserved) return group;
  --launch->resident;
  end_execution();
  return nullptr;
}

void Scheduler::name_thread(Executor& executor, const Launch& launch, uint64_t group) {
  if (!executor.is_worker) return;  // the thread belongs to the caller
  if (std::exchange(executor.named_launch, &launch) != &launch) {
    executor.kernel = kernel_of(launch.dispatch(), executor.memory);
  }
  set_thread_name(thread_name(executor.kernel, group));
}

struct Scheduler::Slice {
  Group::Outcome outcome = Group::Outcome::kEnded;
  uint64_t ended = 0, ended_instructions = 0, executed = 0;
  Launch::Range range;  // work-groups that have been taken and not started
  Failure failure;
};

void Scheduler::run_groups(Executor& executor, Group& group, int64_t time_slice, uint64_t slice,
                           Slice& result) {
  Launch& launch = group.launch();
  FloatEnvironment environment(device_.level != SimdLevel::kBaseline);
  uint64_t max_taken = 1;  // work-groups to take at once: the number that fits the slice
  Launch::Range& range = result.range;
  // Runs all that has been taken, unless that takes more than two slices.
  for (uint64_t spent = 0; spent < slice || (!range.empty() && spent < 2 * slice);) {
    const bool starts = !group.started();
    if (starts) {
      if (range.empty()) range = launch.take(max_taken, worker_count_);
      if (range.empty() || launch.stopped()) break;
      group.start(range.begin, names_threads_ ? range.begin + 1 : range.end);
    }
    if (names_threads_) name_thread(executor, launch, group.index());
    result.outcome = group.run(executor.memory, environment, time_slice);
    if (starts) range.begin = group.index() + 1;
    result.executed += group.last_instructions() + kGroupCost * group.ended();
    result.ended += group.ended();
    if (result.outcome != Group::Outcome::kEnded) {
      launch.work_group_waits();
      break;
    }
    if (range.empty() && max_taken > 1) launch.run_went_through();
    result.ended_instructions += group.instructions();
    group.set_unstarted();
    const uint64_t cost = group.last_instructions() / group.ended() + kGroupCost;
    spent += cost * group.ended();
    max_taken = spent < slice ? std::clamp<uint64_t>((slice - spent) / cost, 1, launch.run_length()) : 1;
  }
  launch.executed(result.executed);
  if (result.outcome == Group::Outcome::kFailed && group.failed_wave().stop != Stop::kNoMemory)
    result.failure = examine_failure(group, executor.memory);
}

void Scheduler::run_slice(Executor& executor, GroupPointer group, int64_t time_slice, uint64_t slice) {
  const LaunchPointer launch = group->shared_launch();
  Slice run;
  bool has_memory = true;
  {
    const WaveMemory::Scope scope(executor.memory);
    executor.memory.set_bounds(launch->bounds(),
                               launch->tracks_undefined() ? launch->allocations() : nullptr);
    try {
      run_groups(executor, *group, time_slice, slice, run);
    } catch (const std::bad_alloc&) {
      has_memory = false;
      // The group that failed to start is the first of the range; it is counted as started.
      if (group->started() && !run.range.empty() && group->index() == run.range.begin) ++run.range.begin;
    }
  }
  auto& [outcome, ended, ended_instructions, executed, range, failure] = run;
  if (outcome == Group::Outcome::kFailed) has_memory &= group->failed_wave().stop != Stop::kNoMemory;
  if (!has_memory) outcome = Group::Outcome::kFailed;

  try {
    if (group->checker() != nullptr && group->checker()->has_findings())
      describe_findings(group->checker()->take_findings(), *launch, bus_);
    if (launch->profile() != nullptr) {
      launch->profile()->add(group->counters());
      if (group->sampler() != nullptr) launch->profile()->add(*group->sampler());
      if (group->checker() != nullptr) launch->profile()->add(group->checker()->take_memory_counts());
    }
  } catch (const std::bad_alloc&) {
    has_memory = false;
  }

  bool last = launch->groups_ended(ended, ended_instructions);
  if (outcome == Group::Outcome::kFailed) {
    stop_launch(launch, has_memory ? result_of(std::move(failure), bus_) : no_memory());
  }
  try {
    launch->report_trap([&](const Trap& trap) {
      bus_.report(Severity::kError, launch->dispatch().queue_id, describe_trap(trap, *launch, bus_));
    });
    launch->supply_code();
    if (!range.empty() && launch->untake(range)) {
      range = {};
      const MutexLock lock(mutex_);
      offer(launch);
    }
  } catch (const std::bad_alloc&) {
    stop_launch(launch, no_memory());
  }
  if (!range.empty()) last |= launch->groups_ended(range.size(), 0);
  if (!group->started() || outcome == Group::Outcome::kFailed || launch->stopped()) {
    if (group->started()) last |= launch->groups_ended(1, group->instructions());
    release_group(executor, std::move(group));
    executor.idle_slices = 0;
    if (last) finish(launch);
    return;
  }
  if (outcome == Group::Outcome::kHalted && bus_.trace_enabled(TraceTopic::kDispatch)) {
    bus_.trace(TraceTopic::kDispatch, describe_halt(*group));
  }
  const bool waits = outcome == Group::Outcome::kSleeping;
  bool alone = false;
  std::string shortage;
  {
    const MutexLock lock(mutex_);
    end_execution();
    // Under the lock: stop_launch() on another thread either finds the group in a list, or is noticed here.
    if (launch->stopped()) {
      last |= launch->groups_ended(1, group->instructions());
      group->end();
      --launch->resident;
    } else {
      try {
        alone = outcome != Group::Outcome::kHalted && suspended_.empty();
        if (outcome == Group::Outcome::kHalted) {
          halted_.push_back(std::move(group));
        } else {
          suspended_.push_back(std::move(group));
          shortage = start_workers();  // needed after an inline dispatch
          if (!alone || !executor.is_worker) notify_worker();
        }
      } catch (const std::bad_alloc&) {
        if (group != nullptr) {
          last |= launch->groups_ended(1, group->instructions());
          group->end();
          --launch->resident;
        }
        has_memory = false;
      }
    }
  }
  if (!has_memory) stop_launch(launch, no_memory());
  if (!shortage.empty()) bus_.report(Severity::kWarning, {}, shortage);
  if (last) finish(launch);
  if (!executor.is_worker) return;
  // If waves only wait, the worker yields the CPU to the threads that they may wait for.
  executor.idle_slices = alone ? executor.idle_slices + 1 : 0;
  if (executor.idle_slices > (waits ? 64 : 16)) sched_yield();
  if (waits && executor.idle_slices > 1024) std::this_thread::sleep_for(20us);
}

void Scheduler::release_group(Executor& executor, GroupPointer group) {
  const LaunchPointer launch = group->shared_launch();
  group->end();
  executor.recycle(std::move(group));
  const MutexLock lock(mutex_);
  --launch->resident;
  end_execution();
  // Another group may start now: of this launch, or of one that shares its scratch.
  if (!launch->all_taken() || launch->scratch() != nullptr) notify_worker();
}

// Inspection
// ---------------------------------------------------------------------------------------------------

void Scheduler::end_execution() {
  if (--executing_ == 0 && pauses_ != 0) all_paused_.notify_all();
}

double Scheduler::longest_running() {
  const MutexLock lock(mutex_);
  double seconds = 0;
  for (const LaunchPointer& launch : live_) seconds = std::max(seconds, launch->seconds());
  return seconds;
}

std::vector<DispatchSink::Running> Scheduler::describe_running() {
  std::vector<Activity> activities;
  {
    // Set before taking the lock, because spinning workers contend for it.
    ++pauses_;
    MutexLock lock(mutex_);
    const auto deadline = Clock::now() + kPauseTimeout;
    while (executing_ != 0 && all_paused_.wait_until(lock, deadline) != std::cv_status::timeout) continue;
    for (const LaunchPointer& launch : live_) {
      Activity activity{launch, launch->seconds(), {}, launch->resident};
      const auto note = [&](const auto& groups) {
        for (const GroupPointer& group : groups) {
          if (&group->launch() != launch.get()) continue;
          group->append_waves(activity.waves);
          --activity.restless;
        }
      };
      note(suspended_);
      note(halted_);
      activities.push_back(std::move(activity));
    }
    --pauses_;
    work_epoch_.fetch_add(1);
    woken_.notify_all();
  }
  std::vector<Running> all;
  for (const Activity& activity : activities) {
    all.push_back(
        {activity.launch->dispatch().queue_id, activity.seconds, describe_activity(activity, bus_)});
  }
  return all;
}

}  // namespace rigel::vgpu::exec
