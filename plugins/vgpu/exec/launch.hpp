// A dispatch on its way through the shader cores: what its waves start with, how far it has come, what became
// of it.
//
// Threads. A Launch is made by the processor's thread and then shared: take() and the rest by any worker.
// What waves start with does not change. The first failure is kept; others are dropped.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "api/support/mutex.hpp"
#include "plugins/vgpu/cp/dispatch.hpp"
#include "plugins/vgpu/cp/schedule.hpp"
#include "plugins/vgpu/devices/board.hpp"
#include "plugins/vgpu/exec/core.hpp"
#include "plugins/vgpu/exec/global_data_share.hpp"
#include "plugins/vgpu/exec/global_wave_sync.hpp"
#include "plugins/vgpu/exec/group_shape.hpp"
#include "plugins/vgpu/exec/report/failure.hpp"
#include "plugins/vgpu/exec/report/work_items.hpp"
#include "plugins/vgpu/exec/scratch_slots.hpp"
#include "plugins/vgpu/exec/translated_code.hpp"
#include "plugins/vgpu/images/surface.hpp"

namespace rigel::vgpu::exec {

/// Waves of a work-group: a bit for each in sets of WorkGroup. It is 1,024 work-items in waves of 32.
constexpr uint32_t kMostWaves = 32;

/// What launches need to know of the GPU.
struct Device {
  isa::Target target;
  /// In the order of a mask's bits.
  std::vector<Board::ComputeUnit> compute_units{{0, 0, 0}};
  uint32_t waves_per_compute_unit = 40;
  uint32_t lds_bytes_per_compute_unit = 65536;
  bool has_unit_pairs = false;  ///< In WGP mode a work-group has both compute units of a pair.
  SimdLevel level = SimdLevel::kBaseline;
  Tracer* tracer = nullptr;  ///< Sees every instruction, on the thread that executes it; or none.
  Compilation compilation = Compilation::kNone;  ///< Of whole kernels, where a compiler can be had.
  Schedule schedule;
  images::TilingConfig tiling;
  /// Shared by copies of this description, and so by all dispatches.
  std::shared_ptr<GlobalWaveSync> sync = std::make_shared<GlobalWaveSync>();
  std::shared_ptr<GlobalDataShare> share = std::make_shared<GlobalDataShare>();
  std::shared_ptr<GroupShapes> shapes = std::make_shared<GroupShapes>();
};

class Launch final : public Core {
 public:
  /// `device` and `bus` outlive it.
  Launch(const Device& device, DeviceBus& bus, const Dispatch& dispatch,
         std::shared_ptr<ScratchSlots> scratch);

  /// Whom finish() tells. Set before others know of the launch.
  void set_done(DispatchSink::Done done) noexcept { done_ = std::move(done); }

  const Dispatch& dispatch() const { return dispatch_; }
  const RegisterLayout& layout() const { return layout_; }
  uint64_t groups() const { return groups_; }
  uint32_t waves_per_group() const { return waves_per_group_; }
  const Schedule& schedule() const { return device_.schedule; }
  /// Where its waves yield. A wave that is alone in its work-group never does.
  analysis::Yields yields() const;
  /// How many work-groups the GPU has room for at once.
  uint64_t resident_limit() const { return resident_limit_; }
  ScratchSlots* scratch() { return scratch_.get(); }

  /// The code, checked against memory. Set once, before others know of the launch. May wait for a compiler:
  /// outside of scopes.
  void set_code(std::shared_ptr<TranslatedCode> code);

  /// Work-groups one after the other.
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
    bool empty() const { return begin >= end; }
    uint64_t size() const { return empty() ? 0 : end - begin; }
  };
  /// The next work-groups, in order, `most` of them at most and a part of what there is for
  /// each of `sharers`; empty when all have started.
  Range take(uint64_t most, uint32_t sharers);
  /// Those that were taken and could not be started: they are the next ones. False if the launch has been
  /// stopped and they count as ended.
  bool give_back(Range range);
  bool all_taken() const {
    return next_.load(std::memory_order_relaxed) >= groups_ && !has_returned_.load(std::memory_order_relaxed);
  }

  /// How many work-groups a worker should take at once. Runs become longer as long as they go through:
  /// workers that take turns at a stream of memory are in each other's way. Once a work-group has had to
  /// wait, perhaps for one of another worker's run, they are short again, and stay so.
  uint64_t run_length() const {
    return waits_.load(std::memory_order_relaxed) ? kShortRun : run_length_.load(std::memory_order_relaxed);
  }
  void run_went_through() noexcept;
  void work_group_waits() noexcept;

  /// Makes a work-group's memory one of this launch. `group.lds` and the waves' registers are set; `slots`
  /// are their slots of scratch, or null.
  void prepare_group(WorkGroup& group, const uint32_t* slots);
  /// Who the lanes of a wave of such a work-group are.
  WorkItems work_items(const WorkGroup& group, uint32_t wave) const;
  /// Gives a work-group's waves their initial registers. Those behind it, less than `end`, may follow in a row.
  void start_group(WorkGroup& group, uint64_t index, uint64_t end);
  /// Waves of it have executed so many instructions: their kernel is compiled once there have been enough. Inside a scope.
  void executed(uint64_t instructions) {
    if (code_->becomes_hot(instructions)) TranslatedCode::compile_aside(code_, variant_of_mode(mode_));
  }
  /// Functions that its waves have called for the first time come from disk, or are compiled. Outside of
  /// scopes.
  void supply_code() {
    if (code_->has_to_supply()) code_->supply();
  }

  /// Ends it early: no other work-group starts. The first result counts. True: there was no work-group left
  /// that has not ended, and the caller calls finish().
  bool fail(DispatchResult result);
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

  /// Has the first trap that a wave of it took told, once. Returns when that is done, whoever does it.
  void tell_trap(const std::function<void(const Trap&)>& tell);

  /// Work-groups are through. True if the last one is among them: the caller then calls finish().
  bool groups_ended(uint64_t count, uint64_t instructions);
  void finish();
  uint64_t instructions() const { return instructions_.load(std::memory_order_relaxed); }
  uint64_t groups_done() const { return ended_.load(std::memory_order_relaxed); }
  /// Since it was made, to some milliseconds.
  double seconds() const;

  // Core
  uint64_t reference_clock() override { return bus_.gpu_clock(); }
  uint64_t shader_clock() override;
  void trace(Wave& wave, uint64_t pc) override { device_.tracer->before(wave, pc); }
  void send_interrupt(Wave& wave, uint32_t payload) override;
  void invalidate_instructions(Wave& wave) override;
  TrapHandler trap_handler() override { return bus_.trap_handler(); }
  bool trap_taken(Wave& wave, uint32_t id, uint64_t pc, uint64_t exec) override;
  uint32_t doorbell_index(Wave&) override { return bus_.doorbell_index(dispatch_.queue_id); }
  uint32_t hardware_id(const Wave& wave) override;
  uint32_t hardware_id2(const Wave& wave) override;
  const images::TilingConfig* tiling() override { return &device_.tiling; }
  GlobalWaveSync* global_wave_sync() override { return device_.sync.get(); }
  GlobalDataShare* global_data_share() override { return device_.share.get(); }
  bool is_ordered_turn(Wave& wave) override;
  void end_ordered_turn(Wave& wave) override;

  /// Work-groups that have started and not ended. Under the scheduler's lock.
  uint64_t resident = 0;

 private:
  static constexpr uint32_t kShortRun = 16, kLongestRun = 256;  // work-groups

  std::shared_ptr<const GroupShape> shape_of(const uint32_t (&size)[3]) const;
  uint64_t index_of(const WorkGroup& group) const;
  /// Where a work-group runs.
  const Board::ComputeUnit& unit_of(const WorkGroup& group) const;
  /// At the far ends of the grid less than elsewhere.
  uint32_t group_size(const WorkGroup& group, int dimension) const;
  void place_group(WorkGroup& group, uint64_t index) const;
  void start_waves(WorkGroup& group, const GroupShape& shape, uint64_t followers);
  /// The registers that a wave starts with; `scalar_count` of the scalars are all waves'.
  void fill_registers(Wave& wave, uint32_t scalar_count, uint32_t number) const;

  const Device& device_;
  DeviceBus& bus_;
  const Dispatch dispatch_;
  DispatchSink::Done done_;
  const std::shared_ptr<ScratchSlots> scratch_;
  RegisterLayout layout_;
  uint32_t id_rows_ = 1;  // VGPRs that hold work-item ids
  uint32_t mode_ = 0;
  bool traps_ = false;
  bool starts_alike_ = false;  // no SGPR tells a wave which one it is
  uint32_t group_count_[3] = {};
  bool ragged_ = false;  // work-groups at the far ends of the grid may be smaller
  uint64_t groups_ = 0;
  uint32_t waves_per_group_ = 0;
  uint64_t resident_limit_ = 0;
  std::vector<uint16_t> units_;  // of the device's, if it may not have all
  const int64_t begin_ns_;
  std::shared_ptr<const GroupShape> full_;  // of work-groups that are not at the far ends of the grid
  std::shared_ptr<TranslatedCode> code_;
  void (*copy_lines_)(std::byte* to, const std::byte* from, uint32_t lines) = nullptr;

  Mutex mutex_;
  DispatchResult result_ RIGEL_GUARDED_BY(mutex_);

  std::vector<Range> returned_ RIGEL_GUARDED_BY(mutex_);  // see give_back()
  Mutex telling_;                                         // held while the trap is told
  std::optional<Trap> trap_;                              // under mutex_ until it is noted; the first

  // What workers write all the time, a line of the cache apart from what they only read. (Not aligned to
  // lines: the allocator takes several times as long for memory that is.)
  struct Apart {
    std::byte line[64];
  };
  [[maybe_unused]] Apart before_next_;
  std::atomic<uint64_t> next_{0};
  [[maybe_unused]] Apart before_ended_;
  std::atomic<uint64_t> ended_{0};
  std::atomic<uint64_t> ordered_turn_{0};  // the work-group whose turn it is
  std::atomic<uint64_t> instructions_{0};
  [[maybe_unused]] Apart before_stopped_;
  std::atomic<bool> stopped_{false};
  enum : uint8_t { kNoTrap, kTrapNoted, kTrapTold };
  std::atomic<uint8_t> trap_state_{kNoTrap};
  std::atomic<bool> waits_{false};
  std::atomic<uint32_t> run_length_{kShortRun};
  std::atomic<bool> has_returned_{false};
};

}  // namespace rigel::vgpu::exec
