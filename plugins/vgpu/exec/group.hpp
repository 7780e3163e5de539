// A resident work-group: its waves, their registers, its LDS; and how it is run.
//
// One worker at a time has a group; the scheduler's lock orders one worker's turn before the next one's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "plugins/vgpu/exec/float_environment.hpp"
#include "plugins/vgpu/exec/launch.hpp"
#include "plugins/vgpu/exec/report/activity.hpp"
#include "plugins/vgpu/exec/wave.hpp"
#include "plugins/vgpu/exec/wave_memory.hpp"

namespace rigel::vgpu::exec {

/// Instructions that a wave executes before the others get a turn.
constexpr int64_t kTurn = 1 << 14;
/// So many turns' instructions after which waves in a row give control back.
constexpr int64_t kTurnsOfRow = 4;

class Group {
 public:
  /// Room for work-groups like the launch's.
  explicit Group(const Launch& launch);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Whether this has the room that the launch's work-groups need.
  bool fits(const Launch& launch) const;

  /// Takes what a work-group of the launch needs. False: there is no scratch for its waves now.
  bool reserve(std::shared_ptr<Launch> launch);

  /// Takes on work-group `index` of the launch. Once it has ended, run() may go on with those behind it that are less than
  /// `end`, where compiled code does that by itself. On a worker, inside a scope: code may have to be translated.
  void start(uint64_t index, uint64_t end);
  bool started() const { return started_; }
  void set_unstarted() { started_ = false; }

  enum class Outcome : uint8_t {
    kEnded,     ///< All waves have ended, of all work-groups up to index().
    kTurnOver,  ///< A wave has had its turn; there is more to do.
    kSleeping,  ///< All waves that could go on wait for something (s_sleep).
    kHalted,    ///< The waves that are left have been halted: only cancelling helps.
    kFailed     ///< A wave failed: `failed_wave()`.
  };
  /// A turn of at most about `turn` instructions a wave, on this thread. Inside a scope of `memory`.
  Outcome run(WaveMemory& memory, FloatEnvironment& environment, int64_t turn = kTurn);

  /// Gives up what it holds for its launch.
  void end();

  Launch& launch() const { return *launch_; }
  const std::shared_ptr<Launch>& shared_launch() const { return launch_; }
  /// The work-group that it is, or was last.
  uint64_t index() const { return index_; }
  /// How many have ended in the last run().
  uint64_t ended() const { return ended_; }
  WorkGroup& work_group() { return work_group_; }
  const Wave& failed_wave() const { return *failed_; }
  /// Adds where those of its waves are that have not ended. While nobody runs it.
  void note_waves(std::vector<WaveAt>& to) const;
  /// Instructions that its waves have executed since start(), and those of the last run().
  uint64_t instructions() const { return instructions_; }
  uint64_t last_instructions() const { return last_instructions_; }

 private:
  void run_row(WaveMemory& memory, FloatEnvironment& environment, int64_t turn);
  void leave_row();
  Outcome run_waves(WaveMemory& memory, FloatEnvironment& environment, int64_t turn);
  /// Puts a wave that has stopped into the set for its reason. Waves that go on in the next pass go into `again`.
  void take_stop(const Wave& wave, uint32_t& again);
  /// Runs each ready wave once, or with Schedule::kRandom any of them.
  void run_pass(WaveMemory& memory, FloatEnvironment& environment, int64_t turn);
  uint64_t random();

  size_t bytes_ = 0;
  std::unique_ptr<std::byte, decltype(&std::free)> memory_{nullptr, std::free};
  RegisterLayout layout_;
  uint32_t lds_room_ = 0;
  std::vector<Wave> waves_;
  std::vector<uint32_t> slots_;
  WorkGroup work_group_;
  std::shared_ptr<Launch> launch_;
  uint64_t index_ = 0;
  uint64_t ended_ = 0;
  bool has_slots_ = false;
  bool started_ = false;
  const Wave* failed_ = nullptr;
  uint64_t random_state_ = 0;
  int64_t executed_ = 0;  // in this run()
  uint64_t instructions_ = 0;
  uint64_t last_instructions_ = 0;
};

}  // namespace rigel::vgpu::exec
