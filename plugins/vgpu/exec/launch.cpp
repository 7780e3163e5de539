#include "plugins/vgpu/exec/launch.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <ctime>
#include <new>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "plugins/vgpu/check/findings.hpp"
#include "plugins/vgpu/exec/profile/occupancy.hpp"
#include "plugins/vgpu/isa/instruction.hpp"

namespace rigel::vgpu::exec {
namespace {

// DX10_CLAMP of MODE, which kernels of gfx12 do not see.
constexpr uint32_t kClampsNaN = 1u << 8;

// Limit of the number of work-groups, so that sums do not overflow. Running them would take years.
constexpr uint64_t kMostGroups = uint64_t{1} << 56;

// MODE at launch, from COMPUTE_PGM_RSRC1 and 2.
uint32_t initial_mode(const Dispatch& dispatch, const isa::Target& target) {
  const uint32_t rsrc1 = dispatch.pgm_rsrc1;
  uint32_t mode = rsrc1 >> 12 & 0xff;
  if (isa::traits_of(target).has_ieee_mode) {
    if ((rsrc1 >> 21 & 1) != 0) mode |= kClampsNaN;
    mode |= (rsrc1 >> 23 & 1) << 9;  // IEEE
  } else {
    mode |= kClampsNaN;
  }
  mode |= dispatch.pgm_rsrc2 >> 24 << kExceptionEnableShift & kExceptionEnables;
  if (isa::traits_of(target).has_finite_halves) mode |= (rsrc1 >> 26 & 1) << 23;  // FP16_OVFL
  return mode;
}

// Sets the numbers of VGPRs and AGPRs. gfx908 has as many AGPRs as VGPRs. On later CDNA chips AGPRs are the
// registers from ACCUM_OFFSET on, in units of four (COMPUTE_PGM_RSRC3).
void allocate_rows(const Dispatch& dispatch, const isa::Target& target, RegisterLayout& layout) {
  constexpr uint32_t kMostOfFile = 256;
  const isa::Traits& traits = isa::traits_of(target);
  const uint32_t granule = dispatch.wave_size == 32 ? 8 : traits.vgpr_granule;
  const uint32_t rows = ((dispatch.pgm_rsrc1 & 0x3f) + 1) * granule;
  layout.vgprs = std::min(rows, kMostOfFile);
  if (traits.has_unified_vgprs) {
    layout.vgprs = std::min(layout.vgprs, ((dispatch.pgm_rsrc3 & 0x3f) + 1) * 4);
    layout.agprs = std::min(rows - layout.vgprs, kMostOfFile);
  } else if (traits.has_agprs) {
    layout.agprs = layout.vgprs;
  }
}

uint32_t allocated_sgprs(const Dispatch& dispatch, const isa::Target& target) {
  if (!isa::traits_of(target).allocates_sgprs) return kAllSgprs;
  const uint32_t eights = (dispatch.pgm_rsrc1 >> 6 & 0xf) + 1;
  return std::min((eights + 1) / 2 * 16, kAllSgprs);
}

// Has a resolution of some milliseconds and costs a few nanoseconds.
int64_t coarse_time_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Copies lines of 64 bytes; `to` is aligned to 64 bytes.
void copy_lines(std::byte* to, const std::byte* from, uint32_t lines) {
  std::memcpy(to, from, lines * size_t{64});
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] void copy_wide_lines(std::byte* to, const std::byte* from, uint32_t lines) {
  for (uint32_t i = 0; i < lines; ++i) {
    _mm512_store_si512(to + i * size_t{64}, _mm512_loadu_si512(from + i * size_t{64}));
  }
}
#endif

}  // namespace

Launch::Launch(const Device& device, DeviceBus& bus, const Dispatch& dispatch,
               std::shared_ptr<ScratchSlots> scratch)
    : device_(device),
      bus_(bus),
      dispatch_(dispatch),
      scratch_(std::move(scratch)),
      begin_ns_(coarse_time_ns()) {
  layout_.wave_size = dispatch_.wave_size;
  allocate_rows(dispatch_, device_.target, layout_);
  layout_.sgprs = allocated_sgprs(dispatch_, device_.target);
  id_rows_ = isa::traits_of(device_.target).packs_work_item_ids
                 ? 1
                 : std::min((dispatch_.pgm_rsrc2 >> 11 & 3) + 1, 3u);
  mode_ = initial_mode(dispatch_, device_.target);
  copy_lines_ = copy_lines;
#if defined(__x86_64__)
  if (device_.level == SimdLevel::kAvx512) copy_lines_ = copy_wide_lines;
#endif
  // An installed trap handler applies to all queues.
  traps_ = dispatch_.trap_handler || bus_.trap_handler().code_va != 0;
  groups_ = 1;
  for (int i = 0; i < 3; ++i) {
    group_count_[i] = static_cast<uint32_t>(
        (uint64_t{dispatch_.grid_size[i]} + dispatch_.work_group_size[i] - 1) / dispatch_.work_group_size[i]);
    groups_ = groups_ > kMostGroups / group_count_[i] ? kMostGroups : groups_ * group_count_[i];
    ragged_ = ragged_ || dispatch_.grid_size[i] % dispatch_.work_group_size[i] != 0;
  }
  full_ = shape_of(dispatch_.work_group_size);
  const bool has_batches = device_.schedule.order != Schedule::Order::kRandom;
  starts_alike_ = has_batches && (dispatch_.pgm_rsrc2 & (1 | 1u << 10)) == 0;
  waves_per_group_ = full_->waves;

  const uint32_t span = unit_span();
  uint32_t room = std::max(span * device_.waves_per_compute_unit / waves_per_group_, 1u);
  if (dispatch_.lds_bytes != 0)
    room = std::min(room, std::max(span * device_.lds_bytes_per_compute_unit / dispatch_.lds_bytes, 1u));
  if (const auto& mask = dispatch_.cu_mask; mask != nullptr) {
    for (size_t i = 0; i < device_.compute_units.size() && i / 32 < mask->size(); ++i) {
      if (((*mask)[i / 32] >> i % 32 & 1) != 0) units_.push_back(static_cast<uint16_t>(i));
    }
  }
  const size_t units = units_.empty() ? device_.compute_units.size() : units_.size();
  resident_limit_ = std::max<uint64_t>(units / span, 1) * room;
}

const Dialect* Launch::dialect() const {
  const isa::Target& target = device_.target;
  return find_dialect(target.major * 10000u + target.minor * 100u + target.stepping);
}

profile::Occupancy Launch::occupancy() const {
  const Dialect* const dialect = this->dialect();
  if (dialect == nullptr) return {};
  OccupancyInputs inputs;
  inputs.simds = device_.simds_per_compute_unit;
  inputs.max_waves = device_.waves_per_compute_unit / inputs.simds;
  inputs.lds_bytes = device_.lds_bytes_per_compute_unit;
  inputs.units = unit_span();
  inputs.rsrc1 = dispatch_.pgm_rsrc1;
  inputs.sgprs = layout_.sgprs;
  inputs.waves_of_group = waves_per_group_;
  inputs.lds_bytes_of_group = dispatch_.lds_bytes;
  if (dispatch_.private_bytes != 0)
    inputs.scratch_slots =
        std::max(dispatch_.scratch_waves / static_cast<uint32_t>(device_.compute_units.size()), 1u);
  return occupancy_of(*dialect, inputs);
}

void Launch::set_checked() {
  check::Findings& findings = check::Findings::of_process();
  const check::Options& options = findings.options();
  is_checked_ = has_selected_checks_ = true;
  checks_bounds_ = options.has(check::Tool::kMemory);
  tracks_undefined_ = options.has(check::Tool::kInit);
  if (!checks_bounds_ && !tracks_undefined_) return;
  allocations_ = check::find_allocations();
  if (allocations_ == nullptr) {
    findings.note_unchecked(
        "allocations: the HSA runtime has not loaded libvgpu_check.so; use vgpu-run --check");
  }
}

void Launch::set_races(const std::shared_ptr<LaunchRaces>& running) {
  races_ = running;
  if (races_ != nullptr) race_member_ = races_->join(dispatch_, number_, groups_);
  if (race_member_ != nullptr) return;
  races_ = std::make_shared<LaunchRaces>();
  race_member_ = races_->join(dispatch_, number_, groups_);
}

std::shared_ptr<const GroupShape> Launch::shape_of(const uint32_t (&size)[3]) const {
  return device_.shapes->get({.size = {size[0], size[1], size[2]},
                              .wave_size = layout_.wave_size,
                              .id_rows = id_rows_,
                              .packed_ids = isa::traits_of(device_.target).packs_work_item_ids});
}

void Launch::prepare_group(WorkGroup& group, const uint32_t* slots) {
  group.usual_shape = full_.get();
  group.lds_bytes = dispatch_.lds_bytes;
  group.exact_lds_bytes =
      checks_bounds_ ? std::min(dispatch_.lds_bytes, dispatch_.lds_requested_bytes) : dispatch_.lds_bytes;
  std::copy(dispatch_.user_sgprs.begin(), dispatch_.user_sgprs.end(), group.scalars);
  for (uint32_t w = 0; w < waves_per_group_; ++w) {
    Wave& wave = group.waves[w];
    wave.group = &group;
    wave.core = this;
    wave.layout = layout_;
    wave.shared_aperture_hi = static_cast<uint32_t>(dispatch_.flat_group_base >> 32);
    wave.private_aperture_hi = static_cast<uint32_t>(dispatch_.flat_private_base >> 32);
    wave.id_in_group = w;
    wave.scratch_offset = slots == nullptr ? 0 : slots[w] * dispatch_.scratch_wave_bytes;
    wave.private_va = slots == nullptr ? 0 : dispatch_.scratch_va + wave.scratch_offset;
    wave.scratch_base = dispatch_.scratch_base;
    wave.scratch_lane_bytes = dispatch_.scratch_wave_bytes / layout_.wave_size;
    wave.exact_private_bytes = wave.scratch_lane_bytes;
    if (checks_bounds_ && dispatch_.private_bytes != 0)
      wave.exact_private_bytes = std::min(wave.scratch_lane_bytes, dispatch_.private_bytes);
    if (isa::traits_of(device_.target).has_ids_in_ttmps) wave.scalars()[kTtmp8] = w << kWaveNumberShift;
    // Kernels cannot change it.
    if (isa::traits_of(device_.target).has_launched_flat_scratch)
      std::memcpy(wave.scalars() + kFlatScratchSlot, &wave.private_va, sizeof wave.private_va);
  }
}

void Launch::place_group(WorkGroup& group, uint64_t index) const {
  group.place = static_cast<uint32_t>(index);
  if (index < group_count_[0]) {  // always in one-dimensional grids
    group.id[0] = static_cast<uint32_t>(index);
    group.id[1] = group.id[2] = 0;
  } else {
    group.id[0] = static_cast<uint32_t>(index % group_count_[0]);
    const uint64_t rest = index / group_count_[0];
    group.id[1] = static_cast<uint32_t>(rest % group_count_[1]);
    group.id[2] = static_cast<uint32_t>(rest / group_count_[1]);
  }
}

uint32_t Launch::group_size(const WorkGroup& group, int dimension) const {
  const uint32_t full_size = dispatch_.work_group_size[dimension];
  const uint64_t first = uint64_t{group.id[dimension]} * full_size;
  return static_cast<uint32_t>(std::min<uint64_t>(full_size, dispatch_.grid_size[dimension] - first));
}

analysis::Yields Launch::yields() const {
  if (waves_per_group_ == 1) return analysis::Yields::kNone;
  switch (device_.schedule.order) {
    case Schedule::Order::kWaits:
      return analysis::Yields::kBeforeStores;
    case Schedule::Order::kBarriers:
      return analysis::Yields::kNone;
    case Schedule::Order::kRandom:
      return analysis::Yields::kAtWaits;
  }
  return analysis::Yields::kNone;
}

WorkItems Launch::work_items(const WorkGroup& group, uint32_t wave) const {
  WorkItems items;
  for (int i = 0; i < 3; ++i) {
    const auto place = static_cast<size_t>(i);
    items.group[place] = group.id[i];
    items.group_size[place] = dispatch_.work_group_size[i];
    items.this_group_size[place] = group_size(group, i);
  }
  items.wave = wave;
  items.wave_size = layout_.wave_size;
  return items;
}

void Launch::start_group(WorkGroup& group, uint64_t index, uint64_t end) {
  place_group(group, index);
  // At the ends of the grid work-groups may be smaller.
  std::shared_ptr<const GroupShape> smaller;
  const GroupShape* shape = full_.get();
  if (ragged_ && (group.id[0] + 1 == group_count_[0] || group.id[1] + 1 == group_count_[1] ||
                  group.id[2] + 1 == group_count_[2])) {
    uint32_t size[3];
    for (int i = 0; i < 3; ++i) size[i] = group_size(group, i);
    if (!std::equal(size, size + 3, full_->key.size)) {
      smaller = shape_of(size);
      shape = smaller.get();
    }
  }
  start_waves(group, *shape, smaller == nullptr ? end - index - 1 : 0);
}

// followers: number of work-groups after this one that a wave batch may run if they have the same shape.
void Launch::start_waves(WorkGroup& group, const GroupShape& shape, uint64_t followers) {
  group.wave_count = shape.waves;
  group.ready = group.all_waves();
  group.yielded = group.at_barrier = group.halted = group.signalled = group.passed = 0;

  const uint32_t rsrc2 = dispatch_.pgm_rsrc2;
  const TranslatedCode::StartPoint begin = code_->begin(*usage_, shape, starts_alike_);
  const uint32_t status = (shape.waves > 1 ? 1u << 11 : 0) | (traps_ ? 1u << 6 : 0);
  uint32_t next = dispatch_.user_sgpr_count;
  const bool in_ttmps = isa::traits_of(device_.target).has_ids_in_ttmps;
  const bool has_first_id = !in_ttmps && (rsrc2 >> 7 & 1) != 0;
  group.row = {};
  if (begin.fills_registers) {
    const uint32_t first = group.id[0], last = group_count_[0] - (ragged_ ? 1 : 0);
    const auto most =
        static_cast<uint32_t>(std::min<uint64_t>(followers, last > first ? last - first - 1 : 0));
    group.row = {first, first + most + 1, has_first_id ? next : kMostStartScalars, begin.op};
  }
  if (in_ttmps) {
    group.scalars[kScalarOfTtmp9] = group.id[0];
    group.scalars[kScalarOfTtmp7] = (group.id[1] & 0xffff) | group.id[2] << 16;
  } else {
    for (uint32_t i = 0; i < 3; ++i) {
      if ((rsrc2 >> (7 + i) & 1) != 0) group.scalars[next++] = group.id[i];
    }
  }
  for (uint32_t w = 0; w < shape.waves; ++w) {
    Wave& wave = group.waves[w];
    wave.op = begin.op;
    wave.scc = 0;
    wave.mode = mode_;
    wave.sync_round = 0;
    wave.status = status;
    wave.trap_status = 0;
    wave.stop = Stop::kRunning;
    wave.left_in_handler = false;
    wave.launched_exec = shape.lanes[w];
    wave.start_ids = shape.row(w, 0);
    if (!begin.fills_registers) fill_registers(wave, next, w);
  }
}

void Launch::fill_registers(Wave& wave, uint32_t scalar_count, uint32_t index) const {
  const uint32_t rsrc2 = dispatch_.pgm_rsrc2;
  uint32_t* const s = wave.scalars();
  // Copies the whole array: a constant size is faster. Scalars past the last one are undefined.
  std::memcpy(s, wave.group->scalars, sizeof wave.group->scalars);
  uint32_t next = scalar_count;
  if (isa::traits_of(device_.target).has_ids_in_ttmps) {
    s[kTtmp9] = wave.group->scalars[kScalarOfTtmp9];
    s[kTtmp7] = wave.group->scalars[kScalarOfTtmp7];
  } else if ((rsrc2 >> 10 & 1) != 0)
    s[next++] = wave.group->wave_count | (index == 0 ? 1u << 31 : 0);
  if ((rsrc2 & 1) != 0 && !isa::traits_of(device_.target).has_launched_flat_scratch)
    s[next++] = wave.scratch_offset;
  const uint64_t zero = 0;
  std::memcpy(s + isa::code::kVccLo, &zero, 8);
  std::memcpy(s + isa::code::kExecLo, &wave.launched_exec, 8);
  copy_lines_(wave.registers + layout_.vgpr_offset(0), reinterpret_cast<const std::byte*>(wave.start_ids),
              layout_.row_bytes() * id_rows_ / 64);
}

// Work-groups are assigned to units round robin by their place in the grid, independent of timing.
const Board::ComputeUnit& Launch::unit_of(const WorkGroup& group) const {
  const std::vector<Board::ComputeUnit>& all = device_.compute_units;
  return units_.empty() ? all[group.place % all.size()] : all[units_[group.place % units_.size()]];
}

uint32_t Launch::hardware_id(const Wave& wave) {
  const uint32_t w = wave.id_in_group, place = wave.group->place;
  const Board::ComputeUnit& at = unit_of(*wave.group);
  if (isa::traits_of(device_.target).has_wave_placement_ids) {
    // A work-group processor has two units of two SIMDs. In WGP mode a work-group uses all four.
    const bool both_units = (dispatch_.pgm_rsrc1 >> 29 & 1) != 0;
    const uint32_t simd = both_units ? w & 3 : (w & 1) | (at.unit & 1u) << 1;
    return (w & 31) | simd << 8 | (at.unit / 2 & 15u) << 10 | (at.array & 1u) << 16 | (at.engine & 3u) << 18;
  }
  return (w & 15) | (w & 3) << 4 | (at.unit & 15u) << 8 | (at.array & 1u) << 12 | (at.engine & 3u) << 13 |
         (place & 15) << 16 | (dispatch_.queue_id & 7) << 24;
}

uint32_t Launch::hardware_id2(const Wave& wave) {
  return (dispatch_.queue_id & 15) | (wave.group->place & 31) << 16;
}

uint32_t Launch::initial_scalars() const {
  if (isa::traits_of(device_.target).has_ids_in_ttmps) return dispatch_.user_sgpr_count;
  constexpr uint32_t kIds = 7u << 7, kWaveCount = 1u << 10, kScratchOffset = 1;
  return dispatch_.user_sgpr_count +
         static_cast<uint32_t>(std::popcount(dispatch_.pgm_rsrc2 & (kIds | kWaveCount | kScratchOffset)));
}

Launch::Range Launch::take(uint64_t most, uint32_t sharers) {
  if (has_untaken_.load(std::memory_order_relaxed)) [[unlikely]] {
    const MutexLock lock(mutex_);
    if (!untaken_.empty()) {
      // The lowest range first, because other work-groups may wait for it. Only one if they do.
      const auto range = std::min_element(untaken_.begin(), untaken_.end(),
                                          [](const Range& a, const Range& b) { return a.begin < b.begin; });
      const bool waits = waits_.load(std::memory_order_relaxed);
      const uint64_t count = waits ? 1 : std::min(most, range->size() / (4 * uint64_t{sharers}) + 1);
      const Range first{range->begin, range->begin + count};
      range->begin = first.end;
      if (range->empty()) untaken_.erase(range);
      has_untaken_.store(!untaken_.empty(), std::memory_order_relaxed);
      return first;
    }
  }
  const uint64_t taken = next_.load(std::memory_order_relaxed);
  if (taken >= groups_) return {};
  // Leaves some for the other workers at the end.
  const uint64_t count = std::min(most, (groups_ - taken) / (4 * uint64_t{sharers}) + 1);
  const uint64_t begin = next_.fetch_add(count, std::memory_order_relaxed);
  return {begin, std::min(begin + count, groups_)};
}

bool Launch::untake(Range range) {
  const MutexLock lock(mutex_);
  if (stopped_.load(std::memory_order_relaxed)) return false;
  untaken_.push_back(range);
  has_untaken_.store(true, std::memory_order_relaxed);
  return true;
}

// If two workers call this at once, one doubling may be lost.
void Launch::run_went_through() noexcept {
  const uint32_t length = run_length_.load(std::memory_order_relaxed);
  if (length < kLongestRun) run_length_.store(2 * length, std::memory_order_relaxed);
}

void Launch::work_group_waits() noexcept {
  // The test avoids writes to a cache line that all workers read.
  if (!waits_.load(std::memory_order_relaxed)) waits_.store(true, std::memory_order_relaxed);
}

void Launch::set_code(std::shared_ptr<TranslatedCode> code) {
  usage_ = &code->usage(variant_of_mode(mode_), full_);
  code->prepare(*usage_);
  code_ = std::move(code);
  if ((mode_ & kExceptionEnables) != 0) code_->warn_of_exceptions();
}

bool Launch::fail(DispatchResult result) {
  uint64_t dropped = 0;
  {
    const MutexLock lock(mutex_);
    if (stopped_.load(std::memory_order_relaxed)) return false;
    result_ = std::move(result);
    stopped_.store(true, std::memory_order_relaxed);
    for (const Range& range : untaken_) dropped += range.size();
    untaken_.clear();
    has_untaken_.store(false, std::memory_order_relaxed);
  }
  // Work-groups that never start count as ended.
  const uint64_t started = std::min(next_.exchange(groups_, std::memory_order_relaxed), groups_);
  dropped += groups_ - started;
  return dropped != 0 && ended_.fetch_add(dropped, std::memory_order_acq_rel) + dropped == groups_;
}

bool Launch::groups_ended(uint64_t count, uint64_t instructions) {
  instructions_.fetch_add(instructions, std::memory_order_relaxed);
  return count != 0 && ended_.fetch_add(count, std::memory_order_acq_rel) + count == groups_;
}

double Launch::seconds() const {
  return static_cast<double>(coarse_time_ns() - begin_ns_) * 1e-9;
}

void Launch::finish() {
  DispatchResult result;
  {
    const MutexLock lock(mutex_);
    result = std::move(result_);
  }
  result.instructions = instructions();
  if (profile_ != nullptr) profile_->finish(*this, *code_, bus_, result);
  const DispatchSink::Done done = std::move(done_);
  done(std::move(result));
}

uint64_t Launch::shader_clock() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void Launch::send_interrupt(Wave&, uint32_t payload) {
  bus_.raise_interrupt(InterruptSource::kWaveMessage, payload, dispatch_.queue_id);
}

// Many waves of a kernel may trap; only the first is reported. Trap 3 (llvm.debugtrap) is for debuggers and
// is not reported. Until the trap has been reported, all waves that trap wait.
bool Launch::trap_taken(Wave& wave, uint32_t id, uint64_t pc, uint64_t exec) {
  constexpr uint32_t kDebugTrap = 3;
  if (id == kDebugTrap || trap_state_.load(std::memory_order_acquire) == kTrapReported) return false;
  const MutexLock lock(mutex_);
  if (trap_state_.load(std::memory_order_relaxed) == kNoTrap) {
    try {
      trap_ = Trap{id, pc, work_items(*wave.group, wave.id_in_group),
                   StoppedWave(wave, code_->key().target, exec)};
    } catch (const std::bad_alloc&) {  // The handler runs without a report.
      trap_state_.store(kTrapReported, std::memory_order_release);
      return false;
    }
    trap_state_.store(kTrapNoted, std::memory_order_release);
  }
  return true;
}

void Launch::report_trap(const std::function<void(const Trap&)>& report) {
  if (trap_state_.load(std::memory_order_acquire) != kTrapNoted) return;
  const MutexLock lock(report_mutex_);
  if (trap_state_.load(std::memory_order_relaxed) != kTrapNoted) return;
  report(*trap_);
  trap_state_.store(kTrapReported, std::memory_order_release);
}

uint64_t Launch::index_of(const WorkGroup& group) const {
  return group.id[0] + uint64_t{group_count_[0]} * (group.id[1] + uint64_t{group_count_[1]} * group.id[2]);
}

bool Launch::is_ordered_turn(Wave& wave) {
  return ordered_turn_.load(std::memory_order_acquire) >= index_of(*wave.group);
}

void Launch::end_ordered_turn(Wave& wave) {
  ordered_turn_.store(index_of(*wave.group) + 1, std::memory_order_release);
}

void Launch::invalidate_instructions(Wave&) {
  code_->renew();
}

}  // namespace rigel::vgpu::exec
