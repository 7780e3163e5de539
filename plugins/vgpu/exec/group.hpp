// A resident work-group: the memory of its waves, registers and LDS, and the loop that runs its waves.
//
// Threads: one worker at a time. The scheduler's lock orders the accesses of successive workers.
//
// Errors: std::bad_alloc from the constructor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "plugins/vgpu/exec/check/group_checker.hpp"
#include "plugins/vgpu/exec/float_environment.hpp"
#include "plugins/vgpu/exec/launch.hpp"
#include "plugins/vgpu/exec/profile/counters.hpp"
#include "plugins/vgpu/exec/profile/group_sampler.hpp"
#include "plugins/vgpu/exec/report/activity.hpp"
#include "plugins/vgpu/exec/wave.hpp"
#include "plugins/vgpu/exec/wave_memory.hpp"

namespace rigel::vgpu::exec {

/// Time slice of a wave, in instructions.
constexpr int64_t kTurn = 1 << 14;
/// Time slices after which a wave batch returns to the worker.
constexpr int64_t kSlicesPerBatch = 4;

class Group {
 public:
  explicit Group(const Launch& launch);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Whether its memory has the size that the launch's work-groups need.
  bool fits(const Launch& launch) const;

  /// Assigns the group to a launch and takes its scratch slots. Returns false if there are not enough.
  bool reserve(std::shared_ptr<Launch> launch);

  /// Starts work-group `index` of the launch. A wave batch in run() may continue with the next ones, up to
  /// `end` (exclusive). Call inside a translation scope, because it may translate code.
  void start(uint64_t index, uint64_t end);
  bool started() const { return started_; }
  void set_unstarted() { started_ = false; }

  enum class Outcome : uint8_t {
    kEnded,     ///< All waves of all work-groups up to index() have ended.
    kTurnOver,  ///< The time slice has ended.
    kSleeping,  ///< All waves that could run wait for something (s_sleep).
    kHalted,    ///< The remaining waves are halted until the launch is cancelled.
    kFailed     ///< A wave has failed: failed_wave().
  };
  /// Runs its waves for about `time_slice` instructions each. Call inside a scope of `memory`.
  Outcome run(WaveMemory& memory, FloatEnvironment& environment, int64_t time_slice = kTurn);

  void end();

  Launch& launch() const { return *launch_; }
  const std::shared_ptr<Launch>& shared_launch() const { return launch_; }
  /// Index of the present or last work-group in the grid.
  uint64_t index() const { return index_; }
  /// Number of work-groups that ended in the last run().
  uint64_t ended() const { return ended_; }
  WorkGroup& work_group() { return work_group_; }
  /// Null: its waves are not checked.
  GroupChecker* checker() { return work_group_.checker; }
  GroupCounters& counters() { return counters_; }
  /// Null: its waves are not sampled.
  GroupSampler* sampler() { return counters_.sampler; }
  const Wave& failed_wave() const { return *failed_; }
  /// Appends the positions of the waves that have not ended. Not during run().
  void append_waves(std::vector<WaveAt>& to) const;
  /// Instructions of its waves since start(), and in the last run().
  uint64_t instructions() const { return instructions_; }
  uint64_t last_instructions() const { return last_instructions_; }

 private:
  void run_batch(WaveMemory& memory, FloatEnvironment& environment, int64_t time_slice);
  void end_batch();
  Outcome run_waves(WaveMemory& memory, FloatEnvironment& environment, int64_t time_slice);
  /// Adds a stopped wave to the set for its reason. Waves that can run go to `next_pass`.
  void sort_stopped(const Wave& wave, uint32_t& next_pass);
  /// Runs each ready wave once; with Schedule::Order::kRandom, waves in random order.
  void pass_split_barrier();
  void run_pass(WaveMemory& memory, FloatEnvironment& environment, int64_t time_slice);
  uint64_t random();

  size_t bytes_ = 0;  // of memory_
  std::unique_ptr<std::byte, decltype(&std::free)> memory_{nullptr, std::free};
  RegisterLayout layout_;
  uint32_t lds_room_ = 0;  // bytes of LDS with margins
  bool has_undefined_lds_ = false;
  std::vector<Wave> waves_;
  std::vector<uint32_t> slots_;  // scratch slots by wave
  WorkGroup work_group_;
  GroupCounters counters_;
  GroupSampler sampler_;
  std::unique_ptr<GroupChecker> checker_;  // created for the first launch that is checked
  std::shared_ptr<Launch> launch_;
  uint64_t index_ = 0;
  uint64_t ended_ = 0;
  bool has_slots_ = false;
  bool started_ = false;
  const Wave* failed_ = nullptr;
  uint64_t random_state_ = 0;
  int64_t executed_ = 0;  // instructions in this run()
  uint64_t instructions_ = 0;
  uint64_t last_instructions_ = 0;
};

}  // namespace rigel::vgpu::exec
