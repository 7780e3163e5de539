#include "plugins/vgpu/exec/check/group_checker.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/core.h>

#include "plugins/vgpu/check/findings.hpp"
#include "plugins/vgpu/exec/block.hpp"
#include "plugins/vgpu/exec/check/lane_sets.hpp"
#include "plugins/vgpu/exec/launch.hpp"
#include "plugins/vgpu/exec/report/place.hpp"
#include "plugins/vgpu/exec/translated_code.hpp"
#include "plugins/vgpu/exec/wave_memory.hpp"
#include "plugins/vgpu/isa/memory_shape.hpp"
#include "plugins/vgpu/isa/op_class.hpp"

namespace rigel::vgpu::exec {
namespace {

using check::Problem, check::Tool;
using enum check::Problem;

// Calls visit(dword, bytes of it as bits) for each dword of [at, at + bytes).
template <class Visit>
void for_each_dword(uint64_t at, uint32_t bytes, Visit visit) {
  const uint64_t end = at + bytes;
  while (at != end) {
    const uint64_t next = std::min(end, (at & ~uint64_t{3}) + 4);
    const uint32_t count = static_cast<uint32_t>(next - at);
    visit(at / 4, static_cast<uint8_t>(((1u << count) - 1) << at % 4));
    at = next;
  }
}

std::string_view verb_of(AccessKind kind) {
  constexpr std::string_view kVerbs[] = {"read", "write", "atomic operation"};
  return kVerbs[static_cast<size_t>(kind)];
}

std::string bytes_text(uint64_t bytes) {
  return bytes == 1 ? std::string("1 byte") : fmt::format("{} bytes", bytes);
}

}  // namespace

GroupChecker::GroupChecker(check::Findings& findings) : findings_(findings), options_(findings.options()) {
  if (options_.has(Tool::kInit))
    init_ = std::make_unique<InitChecker>(static_cast<UndefinedUseListener&>(*this));
}

void GroupChecker::start(const Launch& launch, WorkGroup& group) {
  launch_ = &launch;
  group_ = &group;
  has_selected_checks_ = launch.has_selected_checks();
  allocations_ = launch.allocations();
  counts_memory_ = launch.profile() != nullptr && launch.profile()->counts_memory();
  if (has(Tool::kRaces)) start_races(launch);
  start_group();
  if (has(Tool::kInit)) init_->start(group, {launch.initial_scalars(), launch.initial_rows(), allocations_});
}

void GroupChecker::start_races(const Launch& launch) {
  if (launch.races() == launch_races_ && launch.race_member() == member_) return;
  launch_races_ = launch.races();
  member_ = launch.race_member();
  std::fill(std::begin(known_sites_), std::end(known_sites_), KnownSite{});
  std::fill(std::begin(known_chunks_), std::end(known_chunks_), KnownChunk{});
  lds_races_.start(group_->lds_bytes);
  checks_memory_races_ = member_ != nullptr;
  if (!checks_memory_races_) {
    findings_.note_unchecked(
        fmt::format("races in global memory of kernels with more than {} work-groups", race::kMostGroups));
  }
}

// Also called for the work-groups of a wave batch.
void GroupChecker::start_group() {
  place_ = group_->place;
  number_ = (member_ != nullptr ? member_->groups.begin : 0) + place_;
  std::fill(std::begin(awaited_), std::end(awaited_), 0);
  if (!has(Tool::kRaces)) return;
  clocks_.start(group_->wave_count);
  arrived_ = 0;
  for (const uint64_t dword : dwords_of_locations_) location_of_dword_[dword] = 0;
  dwords_of_locations_.clear();
  lds_locations_.clear();
  synchronizes_ = false;
  std::fill(std::begin(has_loaded_), std::end(has_loaded_), false);
  lds_races_.start_group(member_ != nullptr);
}

void GroupChecker::use_lds_lines() {
  lds_races_.use_lines([&](uint32_t wave, uint32_t site) {
    return RaceAccess::record_of(number_, wave, clocks_.own(wave), site, false);
  });
}

// The first wave continues after a barrier.
void GroupChecker::pass_barrier() {
  const uint32_t waves = std::exchange(arrived_, 0);
  if (waves != group_->all_waves()) use_lds_lines();
  clocks_.join(waves);
  lds_races_.pass_barrier();
}

RawFinding* GroupChecker::find(Tool tool, Problem problem, Severity severity, const Wave& wave,
                               uint64_t lanes, uint64_t other_pc, uint64_t kind_pc) {
  const MicroOp* const op = sites_[wave.id_in_group];
  const uint64_t pc = pc_of(op);
  const uint64_t entry = launch_->dispatch().entry_va;
  const check::Kind kind = kind_pc != 0 ? check::kind_of(tool, problem, entry, kind_pc, 0)
                                        : check::kind_of(tool, problem, entry, pc, other_pc);
  if (!findings_.count(kind, severity)) return nullptr;
  RawFinding& raw = found_.emplace_back();
  raw.tool = tool;
  raw.problem = problem;
  raw.severity = severity;
  raw.pc = pc;
  raw.items = launch_->work_items(*group_, wave.id_in_group);
  raw.lanes = lanes;
  raw.wave = StoppedWave(wave, block_of(op).code->key().target, lanes);
  raw.code = code_around(op);
  raw.other.pc = other_pc;
  return &raw;
}

// Barriers
// ---------------------------------------------------------------------------------------------------

void GroupChecker::at(const MicroOp* op, Wave& wave, uint64_t exec, uint32_t site) {
  const uint32_t w = wave.id_in_group;
  if (group_->place != place_) start_group();
  if ((arrived_ >> w & 1) != 0) pass_barrier();
  sites_[w] = op;
  if (counts_memory_) memory_counter_.begin(pc_of(op));
  may_acquire_[w] = (site & kSiteAcquires) != 0;
  const bool completes_acquire = (site & kSiteInvalidates) != 0 && has_loaded_[w];
  if ((site & (kSiteAcquires | kSiteInvalidates)) != 0 && member_ != nullptr)
    member_->may_signal.store(true, std::memory_order_relaxed);
  if ((site & (kSiteIsBarrier | kSiteInvalidates)) != 0) has_loaded_[w] = false;
  if (may_acquire_[w] || completes_acquire) {
    if (!synchronizes_ && has(Tool::kRaces)) {
      findings_.note_unchecked(
          "races of waves after an atomic operation on memory or a load that bypasses the cache, because it "
          "may "
          "have ordered them");
    }
    synchronizes_ = true;
    use_lds_lines();
    clocks_.acquire_all(w);
  }
  // Lanes that missed a barrier and are active again had not ended: the barrier was divergent.
  if ((awaited_[w] & exec) != 0) {
    const uint64_t lanes = awaited_[w] & exec;
    awaited_[w] = 0;
    if (RawFinding* const raw =
            find(Tool::kSync, kPartialBarrier, Severity::kError, wave, lanes, pc_of(missed_[w]))) {
      raw->summary = "some work-items of a wave did not take part in a barrier and continue after it";
      raw->other.label = "barrier";
      raw->hint = "all work-items of a work-group must reach a barrier, or none";
    }
  }
  if ((site & kSiteIsBarrier) != 0) reach_barrier(op, wave, exec);
}

void GroupChecker::reach_barrier(const MicroOp* op, const Wave& wave, uint64_t exec) {
  const uint32_t w = wave.id_in_group;
  const MicroOp* const other = std::exchange(group_->barrier, op);
  if (has(Tool::kRaces)) arrived_ |= 1u << w;
  if (!has(Tool::kSync)) return;
  if (const uint64_t missing = wave.launched_exec & ~exec; missing != 0) {
    awaited_[w] |= missing;
    missed_[w] = op;
  }
  if (group_->at_barrier == 0 || pc_of(other) == pc_of(op)) return;
  if (RawFinding* const raw =
          find(Tool::kSync, kDifferentBarriers, Severity::kError, wave, wave.launched_exec, pc_of(other))) {
    raw->summary = fmt::format("wave {} and wave {} of a work-group wait at different barriers", w,
                               std::countr_zero(group_->at_barrier));
    raw->other.label = "other barrier";
    raw->hint = "all work-items of a work-group must reach the same barrier";
  }
}

void GroupChecker::release(uint32_t waves) {
  if (waves == group_->all_waves() || !has(Tool::kSync)) return;
  // The hardware continues if the other waves have ended, so programs that rely on it work on AMD GPUs.
  const auto w = static_cast<uint32_t>(std::countr_zero(waves));
  const Wave& wave = group_->waves[w];
  sites_[w] = group_->barrier;
  if (RawFinding* const raw =
          find(Tool::kSync, kMissedBarrier, Severity::kWarning, wave, wave.launched_exec)) {
    raw->summary = fmt::format("{} of the work-group's {} waves ended without reaching a barrier",
                               group_->wave_count - std::popcount(waves), group_->wave_count);
    raw->hint = "AMD GPUs continue; other GPUs may not";
  }
}

// Bounds
// ---------------------------------------------------------------------------------------------------

bool GroupChecker::is_known(const LaneAccesses& accesses) const {
  if (allocations_ == nullptr || allocations_->version() != version_) return false;
  if (accesses.lanes == 0) return true;
  const uint64_t first = accesses.at[std::countr_zero(accesses.lanes)];
  const auto lanes = static_cast<uint32_t>(std::bit_width(accesses.lanes));
  for (const KnownRange& range : known_) {
    const uint64_t size = range.end - range.begin;
    if (first - range.begin >= size || size < accesses.bytes) continue;
    // Without branches, because this is executed for each access.
    uint64_t outside = 0;
    for (uint32_t lane = 0; lane < lanes; ++lane)
      outside |= uint64_t{accesses.at[lane] - range.begin > size - accesses.bytes} << lane;
    return (outside & accesses.lanes) == 0;
  }
  return false;
}

void GroupChecker::check_bounds(const Wave& wave, const LaneAccesses& accesses) {
  if (allocations_ == nullptr || is_known(accesses)) return;
  if (const uint64_t version = allocations_->version(); version != version_) {
    version_ = version;
    std::fill(std::begin(known_), std::end(known_), KnownRange{});
  }
  uint64_t past_end = 0, freed = 0;
  check::Allocation first_past, first_freed;
  check::Allocation allocation;
  bool is_allocation = false;
  for_each_lane(accesses.lanes, [&](uint32_t lane) {
    const uint64_t va = accesses.at[lane];
    if (allocation.room_bytes == 0 || va - allocation.begin >= allocation.room_bytes) {
      is_allocation = allocations_->find(va, allocation);
      // Scalar loads read the dispatch packet and arguments, which are the runtime's memory.
      if (!is_allocation && !accesses.is_scalar) {
        findings_.note_unchecked(
            "bounds of memory that is not allocated by functions of the HSA API, such as global variables");
        wave.memory->allow_unknown_memory();
      }
      const bool may_use = !is_allocation || !allocation.is_freed;
      if (may_use) {
        const uint64_t bytes = is_allocation ? allocation.bytes : allocation.room_bytes;
        known_[next_known_++ % kKnownRanges] = {allocation.begin, allocation.begin + bytes};
      }
    }
    if (!is_allocation) return;
    const uint64_t offset = va - allocation.begin;
    if (allocation.is_freed) {
      if (freed == 0) first_freed = allocation;
      freed |= bit_of(lane);
    } else if (offset + accesses.bytes > allocation.bytes) {
      if (past_end == 0) first_past = allocation;
      past_end |= bit_of(lane);
    }
  });
  const auto report = [&](Problem problem, uint64_t lanes, const check::Allocation& of) {
    RawFinding* const raw = find(Tool::kMemory, problem, Severity::kError, wave, lanes);
    if (raw == nullptr) return;
    const uint64_t va = accesses.at[std::countr_zero(lanes)];
    raw->summary =
        fmt::format("{} {} of {} at {:#x}", problem == kFreed ? "use after free:" : "out-of-bounds",
                    verb_of(accesses.kind), bytes_text(accesses.bytes), va);
    raw->has_allocation = true;
    raw->allocation = of;
    raw->has_addresses = true;
    std::copy(std::begin(accesses.at), std::end(accesses.at), raw->addresses);
  };
  if (past_end != 0) report(kPastEnd, past_end, first_past);
  if (freed != 0) report(kFreed, freed, first_freed);
}

void GroupChecker::access_private(const Wave& wave, const LaneAccesses& accesses) {
  if (counts_memory_) memory_counter_.access_private(accesses);
  const uint64_t limit = launch_->dispatch().private_bytes;
  if (!has(Tool::kMemory) || limit == 0) return;
  uint64_t outside = 0;
  for_each_lane(accesses.lanes, [&](uint32_t lane) {
    if (accesses.at[lane] + accesses.bytes > limit) outside |= bit_of(lane);
  });
  if (outside == 0) return;
  if (RawFinding* const raw = find(Tool::kMemory, kOutsidePrivate, Severity::kError, wave, outside)) {
    raw->summary = fmt::format("out-of-bounds {} of {} at byte {} of a work-item's private memory of {}",
                               verb_of(accesses.kind), bytes_text(accesses.bytes),
                               accesses.at[std::countr_zero(outside)], bytes_text(limit));
  }
}

// Races
// ---------------------------------------------------------------------------------------------------

std::string GroupChecker::text_of_lane(uint32_t wave, uint32_t lane) const {
  const WorkItems items = launch_->work_items(*group_, wave);
  return fmt::format("work-item {}, local {}, wave {}", text_of(items.global(lane)),
                     text_of(items.local(lane)), wave);
}

void GroupChecker::report_race(const Wave& wave, const LaneAccesses& accesses, uint64_t dword, uint64_t lanes,
                               const EarlierAccess& earlier, bool is_lds) {
  const uint32_t other_group = race::group_of(earlier.record);
  const bool is_same_group = other_group == (number_ & race::kGroup);
  const LaunchRaces::Member* const other =
      is_same_group || member_ == nullptr ? member_ : &launch_races_->member_of(other_group);
  const bool is_same_launch = other == member_;
  // The other launch may have signalled the host, which then started this one.
  if (!is_same_launch && other->may_signal.load(std::memory_order_relaxed)) return;
  const bool is_earlier_atomic = race::is_atomic(earlier.record);
  const bool is_atomic = accesses.kind == AccessKind::kAtomic;
  const bool is_read = accesses.kind == AccessKind::kRead || !earlier.is_write;
  // A read of LDS may be an atomic load.
  const bool may_be_atomic = is_read && (is_earlier_atomic || is_atomic);
  // A loop that compares and swaps reads the expected value first.
  if (may_be_atomic && (accesses.compares || launch_races_->compares(race::site_of(earlier.record)))) return;
  const bool is_same_value = is_lds && writes_same_value(accesses, earlier, dword, lanes);
  const bool may_be_benign = is_same_value || may_be_atomic || !is_same_launch;
  const Severity severity = may_be_benign ? Severity::kWarning : Severity::kError;
  const uint64_t other_pc = launch_races_->pc_of_site(race::site_of(earlier.record));
  const Problem problem = is_lds            ? kLdsRace
                          : is_same_group   ? kMemoryRace
                          : !is_same_launch ? kKernelRace
                                            : kGroupRace;
  RawFinding* const raw = find(Tool::kRaces, problem, severity, wave, lanes, other_pc);
  if (raw == nullptr) return;
  const uint32_t other_wave = race::wave_of(earlier.record);
  raw->summary = fmt::format(
      "data race: {} of {} at {}, which {} accesses too", verb_of(accesses.kind), bytes_text(accesses.bytes),
      is_lds ? fmt::format("byte {} of LDS", dword * 4) : fmt::format("{:#x}", dword * 4),
      is_same_group    ? fmt::format("wave {}", other_wave)
      : is_same_launch ? "another work-group"
                       : "another kernel");
  if (is_same_value) raw->summary += "; both write the same value";
  if (may_be_atomic) raw->summary += "; none if the read is atomic, too";
  raw->other.label = fmt::format("earlier {}", is_earlier_atomic  ? "atomic operation"
                                               : earlier.is_write ? "write"
                                                                  : "read");
  if (is_same_group) {
    raw->other.who = race::has_lane(earlier.record) ? text_of_lane(other_wave, race::lane_of(earlier.record))
                                                    : fmt::format("wave {}", other_wave);
    raw->hint = "no barrier orders the two accesses";
  } else {
    raw->other.who = fmt::format("work-group {} in the order of the grid", other_group - other->groups.begin);
    raw->hint = "work-groups are unordered; use atomic operations or separate kernels";
  }
  if (!is_same_launch) {
    raw->other.dispatch = std::make_shared<const Dispatch>(other->dispatch);
    raw->other.launch = other->launch;
    raw->hint = "the kernels run at the same time: no barrier, stream or signal orders them";
  }
}

bool GroupChecker::writes_same_value(const LaneAccesses& accesses, const EarlierAccess& earlier,
                                     uint64_t dword, uint64_t lanes) const {
  return earlier.is_write && accesses.kind == AccessKind::kWrite && accesses.data != nullptr &&
         accesses.bytes == 4 && std::has_single_bit(lanes) &&
         std::memcmp(group_->lds + dword * 4, accesses.data + std::countr_zero(lanes), 4) == 0;
}

uint32_t GroupChecker::site_number(const MicroOp* op) {
  const uint64_t pc = pc_of(op);
  KnownSite& known = known_sites_[pc / 4 % kKnownSites];
  if (known.pc != pc) known = {pc, launch_races_->site(pc)};
  return known.number;
}

LaunchRaces::Page* GroupChecker::page_of(uint64_t va) {
  const uint64_t number = va / LaunchRaces::kChunkBytes;
  KnownChunk& known = known_chunks_[number % kKnownChunks];
  if (known.chunk == nullptr || known.number != number) known = {number, launch_races_->chunk(number)};
  if (known.chunk == nullptr) return nullptr;
  return LaunchRaces::page(*known.chunk, va % LaunchRaces::kChunkBytes / LaunchRaces::kPageBytes);
}

template <class NoteLine, class NoteBytes>
void GroupChecker::for_each_part(const LaneAccesses& accesses, uint64_t record, NoteLine note_line,
                                 NoteBytes note_bytes) {
  const uint32_t dwords = accesses.bytes / 4;
  // Dwords [begin, end). record_of(dword 0 of a line) returns the record of the line.
  const auto for_each_line = [&](uint64_t begin, uint64_t end, auto record_of) {
    for (uint64_t dword = begin; dword < end;) {
      const uint64_t line = dword / RaceLine::kDwords, start = line * RaceLine::kDwords;
      const uint64_t next = std::min(end, start + RaceLine::kDwords);
      const uint32_t mask = (1u << (next - start)) - (1u << (dword - start));
      note_line(line, static_cast<RaceLine::Mask>(mask), record_of(start));
      dword = next;
    }
  };
  const auto of_lane = [&](uint32_t lane) {
    return race::with_bytes(race::with_lane(record, lane), race::kBytes);
  };
  for (uint64_t remaining = accesses.lanes; remaining != 0;) {
    const auto first = static_cast<uint32_t>(std::countr_zero(remaining));
    const LaneRun run = known_run_from(accesses, first);
    remaining = run.end == 64 ? 0 : remaining & ~uint64_t{0} << run.end;
    if (accesses.pattern != nullptr && (accesses.pattern->repeated >> first & 1) != 0) continue;
    const uint64_t address = accesses.address(first);
    if (dwords == 0 || (accesses.bytes | address) % 4 != 0) {
      for_each_dword(address, accesses.bytes,
                     [&](uint64_t dword, uint8_t bytes) { note_bytes(dword, first, bytes); });
      continue;
    }
    uint64_t start = address / 4;
    const uint32_t step = run.end == first + 1 ? 0 : run.step;
    const uint64_t end = start + uint64_t{run.end - 1 - first} * step + dwords;
    if (step == 0) {
      for_each_line(start, end, [&](uint64_t) { return of_lane(first); });
      continue;
    }
    if (step != dwords) {  // Each lane accesses one dword more than the preceding one.
      for_each_line(start, start + dwords - 1, [&](uint64_t) { return of_lane(first); });
      start += dwords - 1;
    }
    const bool has_lanes = std::has_single_bit(step) && step <= 4 && start % step == 0;
    for_each_line(start, end, [&](uint64_t line_start) {
      if (!has_lanes) return race::without_lanes(record);
      const auto distance = static_cast<int64_t>(line_start - start) / static_cast<int64_t>(step);
      return race::with_step(of_lane(static_cast<uint32_t>(first + distance)), step);
    });
  }
}

template <bool kLds>
void GroupChecker::check_races(const Wave& wave, LaneAccesses& accesses) {
  if (accesses.lanes == 0) return;
  const uint32_t w = wave.id_in_group;
  const uint32_t site = site_number(sites_[w]);
  if (kLds && lds_races_.is_plain()) {
    if (lds_races_.note(accesses, w, site)) return;
    accesses.set_addresses();
    use_lds_lines();
  }
  if (accesses.compares) launch_races_->set_compares(site);
  const bool is_operation = accesses.kind == AccessKind::kAtomic;
  const bool is_read = accesses.kind == AccessKind::kRead;
  const bool is_atomic = is_operation || (!kLds && may_acquire_[w] && is_read);
  if (kLds && is_operation) synchronize(w, accesses, true);
  RaceAccess access;
  access.kind = accesses.kind;
  access.is_lds = kLds;
  access.may_be_ordered = synchronizes_;
  access.record = RaceAccess::record_of(number_, w, clocks_.own(w), site, is_atomic);
  access.clock = &clocks_.of(w);
  if (!kLds && !member_->completed.ranges.empty()) access.earlier_groups = &member_->completed;
  [[maybe_unused]] const bool skips_settled = is_read && !launch_races_->is_shared();
  [[maybe_unused]] LaunchRaces::LockedPage locked;
  [[maybe_unused]] LaunchRaces::Page* page = nullptr;
  [[maybe_unused]] uint64_t page_number = ~uint64_t{0};
  const auto with_line = [&](uint64_t number, auto visit) {
    if constexpr (kLds) {
      if (RaceLine* const found = lds_races_.line(number)) visit(*found);
    } else {
      if (number / LaunchRaces::kLines != page_number) {
        page_number = number / LaunchRaces::kLines;
        page = page_of(number * LaunchRaces::kLineBytes);
      }
      if (page == nullptr) return;
      const uint64_t index = number % LaunchRaces::kLines, bit = uint64_t{1} << index;
      if (skips_settled && (page->settled.load(std::memory_order_relaxed) & bit) != 0) return;
      locked.lock(page);
      RaceLine& line = page->line(index);
      visit(line);
      if (line.has_cells()) page->with_cells |= bit;
      const uint64_t others = page->settled.load(std::memory_order_relaxed) & ~bit;
      page->settled.store(others | (line.is_settled() ? bit : 0), std::memory_order_relaxed);
    }
  };
  const auto note_line = [&](uint64_t number, RaceLine::Mask mask, uint64_t record) {
    with_line(number, [&](RaceLine& line) {
      line.note(access, mask, record, [&](uint32_t dword, const EarlierAccess& earlier) {
        const uint64_t own = race::of_dword(record, dword);
        const uint64_t lanes = race::has_lane(own) ? bit_of(race::lane_of(own)) : accesses.lanes;
        report_race(wave, accesses, number * RaceLine::kDwords + dword, lanes, earlier, kLds);
      });
    });
  };
  const auto note_bytes = [&](uint64_t dword, uint32_t lane, uint8_t bytes) {
    const uint64_t record = race::with_bytes(race::with_lane(access.record, lane), bytes);
    with_line(dword / RaceLine::kDwords, [&](RaceLine& line) {
      const EarlierAccess earlier =
          line.note_bytes(access, static_cast<uint32_t>(dword % RaceLine::kDwords), record);
      if (earlier.record != 0) report_race(wave, accesses, dword, bit_of(lane), earlier, kLds);
    });
  };
  for_each_part(accesses, access.record, note_line, note_bytes);
  if (kLds && is_operation) synchronize(w, accesses, false);
}

// Before an atomic operation on LDS, acquires from its locations; after it, releases to them.
void GroupChecker::synchronize(uint32_t wave, const LaneAccesses& accesses, bool acquires) {
  for_each_lane(accesses.lanes, [&](uint32_t lane) {
    for_each_dword(accesses.at[lane], accesses.bytes, [&](uint64_t dword, uint8_t) {
      if (lds_races_.line(dword / RaceLine::kDwords) == nullptr) return;
      if (dword >= location_of_dword_.size()) location_of_dword_.resize(dword + 1);
      uint32_t& number = location_of_dword_[dword];
      if (number == 0) {
        lds_locations_.push_back({});
        dwords_of_locations_.push_back(dword);
        number = static_cast<uint32_t>(lds_locations_.size());
      }
      WaveClocks::Clock& location = lds_locations_[number - 1];
      acquires ? clocks_.acquire(wave, location) : clocks_.release(wave, location);
    });
  });
  if (!acquires) clocks_.advance(wave);
}

void GroupChecker::access_lds(const Wave& wave, LaneAccesses& accesses, uint32_t limit) {
  if (accesses.kind == AccessKind::kRead) has_loaded_[wave.id_in_group] = true;
  if (counts_memory_) memory_counter_.access_lds(accesses);
  uint64_t outside = 0;
  const uint32_t exact = std::min(limit, launch_->dispatch().lds_requested_bytes);
  for_each_lane(accesses.lanes, [&](uint32_t lane) {
    if (accesses.at[lane] + accesses.bytes > exact) outside |= bit_of(lane);
  });
  if (outside != 0 && has(Tool::kMemory)) {
    if (RawFinding* const raw = find(Tool::kMemory, kOutsideLds, Severity::kError, wave, outside)) {
      raw->summary = fmt::format("out-of-bounds {} of {} at byte {} of LDS; the work-group has {}",
                                 verb_of(accesses.kind), bytes_text(accesses.bytes),
                                 accesses.at[std::countr_zero(outside)], bytes_text(exact));
    }
  }
  if (!has(Tool::kRaces) || group_->wave_count == 1) return;
  accesses.lanes &= ~outside;
  check_races<true>(wave, accesses);
}

void GroupChecker::access_memory(const Wave& wave, LaneAccesses& accesses) {
  if (accesses.kind == AccessKind::kRead && !accesses.is_scalar) has_loaded_[wave.id_in_group] = true;
  if (counts_memory_) memory_counter_.access_memory(accesses);
  if (has(Tool::kMemory)) check_bounds(wave, accesses);
  if (checks_memory_races_) check_races<false>(wave, accesses);
}

void GroupChecker::access_pattern(const MicroOp* op, Wave& wave, uint64_t begin, const AccessPattern& pattern,
                                  uint64_t exec, uint32_t pitch, const uint32_t* data) {
  at(op, wave, exec, op->aux);
  const bool is_read = pattern.kind == AccessKind::kRead;
  if (is_read) has_loaded_[wave.id_in_group] = true;
  if (pattern.is_lds ? group_->wave_count == 1 : !checks_memory_races_) return;
  LaneAccesses accesses;
  accesses.kind = pattern.kind;
  accesses.bytes = pattern.bytes;
  accesses.lanes = exec;
  accesses.data = data;
  if (pitch == 0 && exec == wave.mask() && begin % 4 == 0) {
    accesses.pattern = &pattern;
    accesses.begin = begin;
  } else {
    for (uint32_t lane = 0; lane < 64; ++lane)
      accesses.at[lane] = begin + pattern.offsets[lane] + uint64_t{pitch} * pattern.pitches[lane];
  }
  pattern.is_lds ? check_races<true>(wave, accesses) : check_races<false>(wave, accesses);
}

void GroupChecker::access_rows(const MicroOp* op, Wave& wave, const RowAccesses& row_accesses,
                               const uint32_t* low, const uint32_t* high, uint64_t base, uint64_t exec,
                               const uint32_t* data) {
  at(op, wave, exec, op->aux);
  if (row_accesses.kind == AccessKind::kRead) has_loaded_[wave.id_in_group] = true;
  if (row_accesses.is_lds ? group_->wave_count == 1 : !checks_memory_races_) return;
  LaneAccesses accesses;
  accesses.kind = row_accesses.kind;
  accesses.bytes = row_accesses.bytes;
  accesses.lanes = exec;
  accesses.data = data;
  const uint32_t lanes = wave.layout.wave_size;
  if (high != nullptr) {
    for (uint32_t lane = 0; lane < lanes; ++lane)
      accesses.at[lane] = base + (low[lane] | uint64_t{high[lane]} << 32);
    return check_races<false>(wave, accesses);
  }
  for (uint32_t lane = 0; lane < lanes; ++lane) accesses.at[lane] = base + low[lane];
  if (!row_accesses.is_lds) return check_races<false>(wave, accesses);
  uint64_t last = 0;
  for_each_lane(exec, [&](uint32_t lane) { last = std::max(last, accesses.at[lane]); });
  if (last + accesses.bytes <= launch_->dispatch().lds_requested_bytes) check_races<true>(wave, accesses);
}

// Undefined values
// ---------------------------------------------------------------------------------------------------

void GroupChecker::at_rule(const MicroOp* op, Wave& wave, uint64_t exec, const InitRule& rule) {
  sites_[wave.id_in_group] = op;
  init_->execute(rule, wave, exec, pc_of(op));
}

void GroupChecker::undefined_use(const Wave& wave, UndefinedUse use, uint64_t lanes,
                                 const UndefinedOrigin& origin) {
  // All uses of the values that one instruction has loaded are one finding.
  RawFinding* const raw =
      find(Tool::kInit, kUndefinedUse, Severity::kError, wave, lanes, origin.pc, origin.pc);
  if (raw == nullptr) return;
  using From = UndefinedOrigin::From;
  const std::string place = origin.from == From::kMemory    ? fmt::format("{:#x}", origin.at)
                            : origin.from == From::kLds     ? fmt::format("byte {} of LDS", origin.at)
                            : origin.from == From::kPrivate ? std::string("private memory")
                                                            : std::string();
  switch (use) {
    case UndefinedUse::kBranch:
      raw->summary = "a branch depends on an uninitialized value";
      break;
    case UndefinedUse::kActiveLanes:
      raw->summary = "a condition depends on an uninitialized value";
      break;
    case UndefinedUse::kJump:
      raw->summary = "the target of a call or return depends on an uninitialized value";
      break;
    case UndefinedUse::kAddress:
      raw->summary = "an address depends on an uninitialized value";
      break;
    case UndefinedUse::kAtomic:
      raw->summary = fmt::format("atomic operation on uninitialized memory at {}", place);
      raw->other = {};
      break;
  }
  if (origin.pc == 0) {
    raw->hint = "the value was never written to a register";
  } else if (use != UndefinedUse::kAtomic) {
    raw->other.label = "read";
    raw->other.who = place;
  }
}

void apply_init_rule(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  wave->group->checker->at_rule(op, *wave, exec, *reinterpret_cast<const InitRule*>(op->imm));
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

void emit_note_site(const isa::Instruction& instruction, Emitter& out) {
  const isa::MemoryShape* const shape = isa::memory_shape(instruction.op);
  const bool is_barrier = isa::waits_at_barrier(instruction.op);
  const bool is_memory = !isa::is_scalar_alu(instruction.encoding) &&
                         !isa::is_vector_alu(instruction.encoding) && !is_lane_exchange(instruction.op);
  if (!is_memory && !is_barrier) return;
  uint32_t site = is_barrier ? kSiteIsBarrier : 0;
  if (shape == nullptr) {
    const bool is_data_share = isa::op_class(instruction.op) == isa::OpClass::kDataShare;
    if (is_memory && !is_data_share) site |= kSiteInvalidates;
  } else if (shape->verb == isa::Verb::kLoad) {
    site |= instruction.glc ? kSiteAcquires : 0;
  } else if (shape->verb == isa::Verb::kAtomic && shape->space != isa::Space::kLds) {
    site |= kSiteAcquires;
  }
  out.emit(note_site).aux = site;
}

namespace checks {

void access_memory(const Wave& wave, LaneAccesses& accesses) {
  if (GroupChecker* const checker = wave.group->checker) checker->access_memory(wave, accesses);
}

void access_lds(const Wave& wave, LaneAccesses& accesses, uint32_t limit) {
  if (GroupChecker* const checker = wave.group->checker) checker->access_lds(wave, accesses, limit);
}

void access_private(const Wave& wave, const LaneAccesses& accesses) {
  if (GroupChecker* const checker = wave.group->checker) checker->access_private(wave, accesses);
}

namespace {
InitChecker* init_of(const Wave& wave) {
  return wave.group->checker == nullptr ? nullptr : wave.group->checker->init();
}

bool stop_undefined(Wave& wave) {
  wave.stop = Stop::kUndefined;
  return false;
}
}  // namespace

bool move_memory(Wave& wave, const MovedData& moved, const uint64_t* at, const uint64_t* active,
                 uint64_t stride) {
  InitChecker* const init = init_of(wave);
  return init == nullptr || init->move_memory(wave, moved, at, active, stride) || stop_undefined(wave);
}

bool move_lds(Wave& wave, const MovedData& moved, const uint32_t* at, uint64_t lanes) {
  InitChecker* const init = init_of(wave);
  return init == nullptr || init->move_lds(wave, moved, at, lanes) || stop_undefined(wave);
}

bool move_scalars(Wave& wave, bool stores, uint64_t va, uint32_t dwords, uint32_t scalar) {
  InitChecker* const init = init_of(wave);
  return init == nullptr || init->move_scalars(wave, stores, va, dwords, scalar) || stop_undefined(wave);
}

void track_undefined(const Wave& wave) {
  if (InitChecker* const init = init_of(wave)) init->track(wave);
}

bool observes_accesses(const Wave& wave) {
  return wave.group->checker != nullptr && wave.group->checker->observes_accesses();
}

void define(const Wave& wave, uint64_t va, uint32_t bytes) {
  if (InitChecker* const init = init_of(wave)) init->define(wave, va, bytes);
}

}  // namespace checks

void note_site(const MicroOp* op, Wave* wave, std::byte* registers, uint64_t exec) {
  wave->group->checker->at(op, *wave, exec, op->aux);
  RIGEL_NEXT(op + 1, wave, registers, exec);
}

}  // namespace rigel::vgpu::exec
