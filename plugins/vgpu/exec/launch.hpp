// A dispatch in the shader cores: the initial state of its waves, its progress, its result.
//
// Threads: the command processor's thread creates a Launch and calls the set_ functions. All other functions:
// any worker. The initial state of waves is constant.
//
// Errors: the result of the first fail() counts; later ones are dropped.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/check/allocations.hpp"
#include "plugins/vgpu/cp/dialect.hpp"
#include "plugins/vgpu/cp/dispatch.hpp"
#include "plugins/vgpu/cp/schedule.hpp"
#include "plugins/vgpu/devices/board.hpp"
#include "plugins/vgpu/exec/check/launch_races.hpp"
#include "plugins/vgpu/exec/core.hpp"
#include "plugins/vgpu/exec/global_data_share.hpp"
#include "plugins/vgpu/exec/global_wave_sync.hpp"
#include "plugins/vgpu/exec/group_shape.hpp"
#include "plugins/vgpu/exec/profile/launch_profile.hpp"
#include "plugins/vgpu/exec/report/failure.hpp"
#include "plugins/vgpu/exec/report/work_items.hpp"
#include "plugins/vgpu/exec/scratch_slots.hpp"
#include "plugins/vgpu/exec/translated_code.hpp"
#include "plugins/vgpu/images/surface.hpp"

namespace rigel::vgpu::exec {

/// Maximum number of waves in a work-group: 1,024 work-items in waves of 32. WorkGroup's sets have 32 bits.
constexpr uint32_t kMostWaves = 32;

/// Properties of the GPU that launches need.
struct Device {
  isa::Target target;
  /// In the order of the bits of a compute unit mask.
  std::vector<Board::ComputeUnit> compute_units{{0, 0, 0}};
  uint32_t waves_per_compute_unit = 40;
  uint32_t lds_bytes_per_compute_unit = 65536;
  uint32_t simds_per_compute_unit = 4;
  bool has_unit_pairs = false;  ///< In WGP mode a work-group has both compute units of a pair.
  SimdLevel level = SimdLevel::kBaseline;
  Tracer* tracer = nullptr;  ///< Receives every instruction, on the thread that executes it; may be null
  Compilation compilation = Compilation::kNone;  ///< When whole kernels are compiled
  Schedule schedule;
  images::TilingConfig tiling;
  // Shared by copies of Device, hence by all dispatches.
  std::shared_ptr<GlobalWaveSync> sync = std::make_shared<GlobalWaveSync>();
  std::shared_ptr<GlobalDataShare> share = std::make_shared<GlobalDataShare>();
  std::shared_ptr<GroupShapes> shapes = std::make_shared<GroupShapes>();
};

class Launch final : public Core {
 public:
  /// `device` and `bus` must outlive the launch.
  Launch(const Device& device, DeviceBus& bus, const Dispatch& dispatch,
         std::shared_ptr<ScratchSlots> scratch);

  /// Sets the function that finish() calls. Call before the launch is shared.
  void set_done(DispatchSink::Done done) noexcept { done_ = std::move(done); }

  const Dispatch& dispatch() const { return dispatch_; }
  const RegisterLayout& layout() const { return layout_; }
  uint64_t groups() const { return groups_; }
  uint32_t waves_per_group() const { return waves_per_group_; }
  profile::Occupancy occupancy() const;
  /// The properties of the chip's queues and waves; null for an unknown chip.
  const Dialect* dialect() const;
  /// Whether its waves report their accesses, to the checks or to a profile of memory. set_checked(): call
  /// before the launch is shared.
  bool is_checked() const { return is_checked_; }
  void set_checked();
  /// Number of the launch in the process, from 1; 0 if nothing is checked.
  uint64_t number() const { return number_; }
  void set_number(uint64_t number) { number_ = number; }
  /// The record of the program's allocations, or null if there is none.
  check::Allocations* allocations() const { return allocations_; }
  /// The record if bounds are checked, otherwise null.
  check::Allocations* bounds() const { return checks_bounds_ ? allocations_ : nullptr; }
  /// Whether the checks that the user selected apply. is_checked() is also true if only its memory operations
  /// are counted.
  bool has_selected_checks() const { return has_selected_checks_; }
  /// Whether undefined values are checked.
  bool tracks_undefined() const { return tracks_undefined_; }
  /// The accesses of its work-groups; null if races are not checked. set_races(): call before the launch is
  /// shared. `running`: those of a launch that has not completed, or null.
  const std::shared_ptr<LaunchRaces>& races() const { return races_; }
  LaunchRaces::Member* race_member() const { return race_member_; }
  void set_races(const std::shared_ptr<LaunchRaces>& running);
  /// It completes: launches that start later are ordered after it.
  void end_races() {
    if (race_member_ != nullptr) race_member_->is_complete.store(true, std::memory_order_relaxed);
  }
  /// The counts of its instructions, or null. set_profiled(): call before the launch is shared.
  LaunchProfile* profile() const { return profile_.get(); }
  void set_profiled(LaunchProfile::Purpose purpose) {
    profile_ = std::make_unique<LaunchProfile>(purpose);
    is_checked_ |= profile_->counts_memory();  // Checked memory operations report their accesses.
  }
  const Schedule& schedule() const { return device_.schedule; }
  /// Where its waves yield. Waves of work-groups with one wave never yield.
  analysis::Yields yields() const;
  /// Number of its work-groups that can be resident on the GPU at once.
  uint64_t resident_limit() const { return resident_limit_; }
  ScratchSlots* scratch() { return scratch_.get(); }

  /// Sets the code, which must match memory. Call once, before the launch is shared, outside of translation
  /// scopes, because it may wait for a compiler.
  void set_code(std::shared_ptr<TranslatedCode> code);

  const TranslatedCode::Usage& usage() const { return *usage_; }

  /// Consecutive work-groups [begin, end).
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
    bool empty() const { return begin >= end; }
    uint64_t size() const { return empty() ? 0 : end - begin; }
  };
  /// Takes the next work-groups in order, at most `most`, and fewer near the end, so that each of `sharers`
  /// workers gets some. Empty if all have been taken.
  Range take(uint64_t most, uint32_t sharers);
  /// Returns work-groups that were taken and have not started; they are taken next. Returns false if the
  /// launch has been stopped: the caller then counts them as ended.
  bool untake(Range range);
  bool all_taken() const {
    return next_.load(std::memory_order_relaxed) >= groups_ && !has_untaken_.load(std::memory_order_relaxed);
  }

  /// Number of work-groups that a worker should take at once. It doubles whenever a run of work-groups ends
  /// without waiting, because interleaved workers slow down streams of memory. After a work-group has waited,
  /// perhaps for one in another worker's run, it stays short.
  uint64_t run_length() const {
    return waits_.load(std::memory_order_relaxed) ? kShortRun : run_length_.load(std::memory_order_relaxed);
  }
  void run_went_through() noexcept;
  void work_group_waits() noexcept;

  /// Initialises the state that all work-groups of the launch share. `group.lds` and the waves' registers
  /// must be set. `slots`: the waves' scratch slots, or null.
  void prepare_group(WorkGroup& group, const uint32_t* slots);
  WorkItems work_items(const WorkGroup& group, uint32_t wave) const;
  /// Number of SGPRs, and of VGPRs, that waves start with.
  uint32_t initial_scalars() const;
  uint32_t initial_rows() const { return id_rows_; }
  /// Initialises the waves of work-group `index`. A wave batch may continue up to `end` (exclusive).
  void start_group(WorkGroup& group, uint64_t index, uint64_t end);
  /// Counts executed instructions; compiles the kernel when it is hot. Call inside a translation scope.
  void executed(uint64_t instructions) {
    if (code_->becomes_hot(*usage_, instructions)) TranslatedCode::compile_aside(code_, *usage_);
  }
  /// Loads or compiles newly called functions. Call outside of translation scopes.
  void supply_code() {
    if (code_->has_to_supply()) code_->supply();
  }

  /// Stops the launch: no more work-groups start. Returns true if all have ended; the caller then calls
  /// finish().
  bool fail(DispatchResult result);
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

  /// Calls `report` for the first trap that a wave has taken, once per launch. Waits for a report by another
  /// thread.
  void report_trap(const std::function<void(const Trap&)>& report);

  /// Counts work-groups that have ended. Returns true if all have; the caller then calls finish().
  bool groups_ended(uint64_t count, uint64_t instructions);
  /// Passes the result to the function of set_done().
  void finish();
  uint64_t instructions() const { return instructions_.load(std::memory_order_relaxed); }
  uint64_t groups_done() const { return ended_.load(std::memory_order_relaxed); }
  /// Time since construction, with a resolution of some milliseconds.
  double seconds() const;

  // Core
  uint64_t reference_clock() override { return bus_.gpu_clock(); }
  uint64_t shader_clock() override;
  void trace(Wave& wave, uint64_t pc) override { device_.tracer->before(wave, pc); }
  void send_interrupt(Wave& wave, uint32_t payload) override;
  void invalidate_instructions(Wave& wave) override;
  TrapHandler trap_handler() override { return bus_.trap_handler(); }
  bool trap_taken(Wave& wave, uint32_t id, uint64_t pc, uint64_t exec) override;
  void exceptions_enabled(Wave&) override { code_->warn_of_exceptions(); }
  uint32_t doorbell_index(Wave&) override { return bus_.doorbell_index(dispatch_.queue_id); }
  uint32_t hardware_id(const Wave& wave) override;
  uint32_t hardware_id2(const Wave& wave) override;
  const images::TilingConfig* tiling() override { return &device_.tiling; }
  GlobalWaveSync* global_wave_sync() override { return device_.sync.get(); }
  GlobalDataShare* global_data_share() override { return device_.share.get(); }
  bool is_ordered_turn(Wave& wave) override;
  void end_ordered_turn(Wave& wave) override;

  /// Number of resident work-groups. Guarded by the scheduler's lock.
  uint64_t resident = 0;

 private:
  static constexpr uint32_t kShortRun = 16, kLongestRun = 256;  // work-groups

  std::shared_ptr<const GroupShape> shape_of(const uint32_t (&size)[3]) const;
  uint64_t index_of(const WorkGroup& group) const;
  /// Number of compute units that a work-group may use: 2 in WGP mode.
  uint32_t unit_span() const {
    return device_.has_unit_pairs && (dispatch_.pgm_rsrc1 >> 29 & 1) != 0 ? 2 : 1;
  }
  const Board::ComputeUnit& unit_of(const WorkGroup& group) const;
  /// Returns the size of a work-group, which may be smaller at the ends of the grid.
  uint32_t group_size(const WorkGroup& group, int dimension) const;
  void place_group(WorkGroup& group, uint64_t index) const;
  void start_waves(WorkGroup& group, const GroupShape& shape, uint64_t followers);
  /// Initialises a wave's registers. `scalar_count`: number of SGPRs that all waves share.
  void fill_registers(Wave& wave, uint32_t scalar_count, uint32_t index) const;

  const Device& device_;
  DeviceBus& bus_;
  const Dispatch dispatch_;
  DispatchSink::Done done_;
  const std::shared_ptr<ScratchSlots> scratch_;
  RegisterLayout layout_;
  uint32_t id_rows_ = 1;  // VGPRs that hold work-item ids
  uint32_t mode_ = 0;
  bool traps_ = false;
  bool starts_alike_ = false;  // all waves of a work-group have the same initial SGPRs
  uint32_t group_count_[3] = {};
  bool ragged_ = false;  // work-groups at the ends of the grid are smaller
  uint64_t groups_ = 0;
  uint32_t waves_per_group_ = 0;
  uint64_t resident_limit_ = 0;
  bool is_checked_ = false;
  bool has_selected_checks_ = false;
  uint64_t number_ = 0;
  check::Allocations* allocations_ = nullptr;
  bool checks_bounds_ = false;
  bool tracks_undefined_ = false;
  std::shared_ptr<LaunchRaces> races_;
  LaunchRaces::Member* race_member_ = nullptr;
  std::unique_ptr<LaunchProfile> profile_;
  std::vector<uint16_t> units_;  // compute units in the mask; empty: all
  const int64_t begin_ns_;
  std::shared_ptr<const GroupShape> full_;  // shape of work-groups that are not at the ends of the grid
  std::shared_ptr<TranslatedCode> code_;
  TranslatedCode::Usage* usage_ = nullptr;  // of code_
  void (*copy_lines_)(std::byte* to, const std::byte* from, uint32_t lines) = nullptr;

  Mutex mutex_;
  DispatchResult result_ RIGEL_GUARDED_BY(mutex_);

  std::vector<Range> untaken_ RIGEL_GUARDED_BY(mutex_);  // see untake()
  Mutex report_mutex_;                                   // held during the report of the trap
  std::optional<Trap> trap_;                             // the first; guarded by mutex_ until kTrapNoted

  // Members that workers write often are on separate cache lines. Padding is used because aligned allocation
  // takes several times as long.
  struct Padding {
    std::byte line[64];
  };
  [[maybe_unused]] Padding before_next_;
  std::atomic<uint64_t> next_{0};
  [[maybe_unused]] Padding before_ended_;
  std::atomic<uint64_t> ended_{0};
  std::atomic<uint64_t> ordered_turn_{0};  // the next work-group for ds_ordered_count
  std::atomic<uint64_t> instructions_{0};
  [[maybe_unused]] Padding before_stopped_;
  std::atomic<bool> stopped_{false};
  enum : uint8_t { kNoTrap, kTrapNoted, kTrapReported };
  std::atomic<uint8_t> trap_state_{kNoTrap};
  std::atomic<bool> waits_{false};
  std::atomic<uint32_t> run_length_{kShortRun};
  std::atomic<bool> has_untaken_{false};
};

}  // namespace rigel::vgpu::exec
