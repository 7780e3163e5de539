// Checks of one resident work-group: bounds of accesses, data races, barriers (docs/guide/checking.md).
//
// Checked memory operations call the access functions through access.hpp before they access memory.
// A note_site micro-operation calls at() before each of these instructions and before barriers.
//
// Threads: the worker of the work-group, inside a scope of its memory. Findings are described outside.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/vgpu/check/allocations.hpp"
#include "plugins/vgpu/check/check_options.hpp"
#include "plugins/vgpu/check/problem.hpp"
#include "plugins/vgpu/cp/device_bus.hpp"
#include "plugins/vgpu/exec/check/access.hpp"
#include "plugins/vgpu/exec/check/init_checker.hpp"
#include "plugins/vgpu/exec/check/launch_races.hpp"
#include "plugins/vgpu/exec/check/lds_races.hpp"
#include "plugins/vgpu/exec/check/race_cells.hpp"
#include "plugins/vgpu/exec/profile/memory_counter.hpp"
#include "plugins/vgpu/exec/report/call_stack.hpp"
#include "plugins/vgpu/exec/report/work_items.hpp"
#include "plugins/vgpu/exec/wave.hpp"

namespace rigel::vgpu::check {
struct Finding;
class Findings;
struct Options;
}  // namespace rigel::vgpu::check

namespace rigel::vgpu::exec {

class Launch;
class TranslatedCode;

/// A mistake with a copy of the state that its description needs.
struct RawFinding {
  check::Tool tool{};
  check::Problem problem{};
  Severity severity = Severity::kError;
  std::string summary;
  uint64_t pc = 0;
  WorkItems items;
  uint64_t lanes = 0;
  bool has_addresses = false;
  uint64_t addresses[64];
  StoppedWave wave;
  std::string code;  ///< The instructions around `pc`
  /// The allocation that contains or precedes the address.
  bool has_allocation = false;
  check::Allocation allocation;
  /// The earlier access of a race, or the other barrier.
  struct Other {
    uint64_t pc = 0;  ///< 0: none
    std::string label;
    std::string who;
    std::shared_ptr<const Dispatch> dispatch;  ///< Null: the same kernel
    uint64_t launch = 0;
  } other;
  std::string hint;  ///< The order or size that would be correct
};

class GroupChecker final : private UndefinedUseListener {
 public:
  explicit GroupChecker(check::Findings& findings);

  /// Work-group `group` of `launch` starts.
  void start(const Launch& launch, WorkGroup& group);

  /// The wave is about to execute an instruction. `site`: kSite… bits.
  void at(const MicroOp* op, Wave& wave, uint64_t exec, uint32_t site);

  void access_memory(const Wave& wave, LaneAccesses& accesses);
  /// `limit`: bytes of LDS that the instruction can access. Lanes outside are removed from `accesses`.
  void access_lds(const Wave& wave, LaneAccesses& accesses, uint32_t limit);
  void access_private(const Wave& wave, const LaneAccesses& accesses);
  /// Accesses of compiled code within the bounds, at the instruction of `op` (note_site). `begin`: the
  /// address of the lane with the lowest offset. `data`: as in LaneAccesses.
  void access_pattern(const MicroOp* op, Wave& wave, uint64_t begin, const AccessPattern& pattern,
                      uint64_t exec, uint32_t pitch, const uint32_t* data);

  /// Accesses of compiled code at the instruction of `op`, to the lanes' addresses: `base` + `low` +
  /// (`high` << 32). `high` may be null. Accesses past the end of LDS have no effect.
  void access_rows(const MicroOp* op, Wave& wave, const RowAccesses& row_accesses, const uint32_t* low,
                   const uint32_t* high, uint64_t base, uint64_t exec, const uint32_t* data);

  /// The wave is about to execute an instruction with this rule.
  void at_rule(const MicroOp* op, Wave& wave, uint64_t exec, const InitRule& rule);
  bool observes_accesses() const {
    return counts_memory_ || (has_selected_checks_ && options_.observes_accesses());
  }
  MemoryCounter::Counts take_memory_counts() { return memory_counter_.take(); }
  /// Null: the check does not apply to the launch.
  InitChecker* init() { return has_selected_checks_ ? init_.get() : nullptr; }

  /// All waves that have not ended have arrived; `waves` (bits) continue.
  void release(uint32_t waves);

  bool has_findings() const { return !found_.empty(); }
  std::vector<RawFinding> take_findings() { return std::exchange(found_, {}); }

 private:
  // A range in which accesses of live memory need no look-up.
  struct KnownRange {
    uint64_t begin = 0, end = 0;
  };

  void reach_barrier(const MicroOp* op, const Wave& wave, uint64_t exec);
  bool is_known(const LaneAccesses& accesses) const;
  void check_bounds(const Wave& wave, const LaneAccesses& accesses);
  void start_races(const Launch& launch);
  void start_group();
  template <bool kLds>
  void check_races(const Wave& wave, LaneAccesses& accesses);
  /// Calls note_line(number, dwords of it, record of the line) for parts of lines, and note_bytes(dword,
  /// lane, bytes) for accesses to parts of dwords.
  template <class NoteLine, class NoteBytes>
  static void for_each_part(const LaneAccesses& accesses, uint64_t record, NoteLine note_line,
                            NoteBytes note_bytes);
  void synchronize(uint32_t wave, const LaneAccesses& accesses, bool acquires);
  bool writes_same_value(const LaneAccesses& accesses, const EarlierAccess& earlier, uint64_t dword,
                         uint64_t lanes) const;
  /// The waves are ordered by more than barriers of all waves.
  void use_lds_lines();
  void pass_barrier();
  uint32_t site_number(const MicroOp* op);
  LaunchRaces::Page* page_of(uint64_t va);
  /// Whether a check applies to the launch.
  bool has(check::Tool tool) const { return has_selected_checks_ && options_.has(tool); }
  /// Counts a finding at the wave's present instruction, or at `kind_pc`. Returns a new RawFinding to be
  /// completed, or null if it is known.
  RawFinding* find(check::Tool tool, check::Problem problem, Severity severity, const Wave& wave,
                   uint64_t lanes, uint64_t other_pc = 0, uint64_t kind_pc = 0);
  void report_race(const Wave& wave, const LaneAccesses& accesses, uint64_t dword, uint64_t lanes,
                   const EarlierAccess& earlier, bool is_lds);
  std::string text_of_lane(uint32_t wave, uint32_t lane) const;
  void undefined_use(const Wave& wave, UndefinedUse use, uint64_t lanes,
                     const UndefinedOrigin& origin) override;

  check::Findings& findings_;
  const check::Options& options_;
  const Launch* launch_ = nullptr;
  WorkGroup* group_ = nullptr;
  check::Allocations* allocations_ = nullptr;
  uint64_t version_ = 0;
  static constexpr uint32_t kKnownRanges = 4;
  KnownRange known_[kKnownRanges];
  uint32_t next_known_ = 0;

  const MicroOp* sites_[WaveClocks::kMost] = {};   // the present instructions
  bool may_acquire_[WaveClocks::kMost] = {};       // whether they may acquire
  bool has_loaded_[WaveClocks::kMost] = {};        // since the last barrier or invalidation
  bool synchronizes_ = false;                      // an instruction of this work-group may have acquired
  uint64_t awaited_[WaveClocks::kMost] = {};       // lanes that have missed a barrier
  const MicroOp* missed_[WaveClocks::kMost] = {};  // the barrier

  uint32_t place_ = 0;    // of the work-group
  uint32_t arrived_ = 0;  // waves (bits) that have reached a barrier and not executed an instruction after it
  bool checks_memory_races_ = false;
  WaveClocks clocks_;
  LdsRaces lds_races_;
  std::vector<WaveClocks::Clock> lds_locations_;  // of atomic operations
  std::vector<uint32_t> location_of_dword_;       // index in lds_locations_ + 1; 0: none
  std::vector<uint64_t> dwords_of_locations_;
  std::shared_ptr<LaunchRaces> launch_races_;
  LaunchRaces::Member* member_ = nullptr;  // null: records have no numbers for the work-groups
  uint32_t number_ = 0;                    // of the work-group in records
  struct KnownSite {
    uint64_t pc = 0;
    uint32_t number = 0;
  };
  static constexpr size_t kKnownSites = 64;
  KnownSite known_sites_[kKnownSites];
  struct KnownChunk {
    uint64_t number = 0;
    LaunchRaces::Chunk* chunk = nullptr;
  };
  static constexpr size_t kKnownChunks = 64;
  KnownChunk known_chunks_[kKnownChunks];

  bool has_selected_checks_ = false;   // of the launch
  std::unique_ptr<InitChecker> init_;  // null: not selected

  bool counts_memory_ = false;  // for the launch's profile
  MemoryCounter memory_counter_;

  std::vector<RawFinding> found_;
};

/// Returns the text of a finding. Called outside scopes and without locks: it reads debugging information.
check::Finding describe_finding(const RawFinding& raw, const Launch& launch, DeviceBus& bus);

/// Reports the missing waits of a kernel (analysis/wait_check.hpp). Called outside scopes and without locks.
void check_waits(TranslatedCode& code, const Launch& launch, DeviceBus& bus);

/// Handler of the micro-operation that calls GroupChecker::at(). `aux`: kSite… bits.
void note_site(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec);

/// Emits note_site before an instruction that accesses memory, and before a barrier.
void emit_note_site(const isa::Instruction& instruction, Emitter& out);

/// Handler of the micro-operation that calls GroupChecker::at_rule(). `imm`: the InitRule.
void apply_init_rule(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec);

}  // namespace rigel::vgpu::exec
