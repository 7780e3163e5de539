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
  allocations_ = launch.allocations();
  if (options_.has(Tool::kRaces)) start_races(launch);
  start_group();
  if (init_ != nullptr) init_->start(group, {launch.initial_scalars(), launch.initial_rows(), allocations_});
}

void GroupChecker::start_races(const Launch& launch) {
  const std::shared_ptr<LaunchRaces> races = launch.races();
  if (races == launch_races_) return;
  launch_races_ = races;
  std::fill(std::begin(known_sites_), std::end(known_sites_), KnownSite{});
  std::fill(std::begin(known_chunks_), std::end(known_chunks_), KnownChunk{});
  lds_races_.start(group_->lds_bytes);
  const bool has_number = launch.groups() <= race::kMostGroups;
  if (!has_number) {
    findings_.note_unchecked(
        fmt::format("races in global memory of kernels with more than {} work-groups", race::kMostGroups));
  }
  checks_memory_races_ = has_number && (launch.groups() > 1 || group_->wave_count > 1);
}

// Also called for the work-groups of a wave batch.
void GroupChecker::start_group() {
  place_ = group_->place;
  std::fill(std::begin(awaited_), std::end(awaited_), 0);
  if (!options_.has(Tool::kRaces)) return;
  clocks_.start(group_->wave_count);
  arrived_ = 0;
  lds_locations_.clear();
  synchronizes_ = false;
  std::fill(std::begin(has_loaded_), std::end(has_loaded_), false);
  lds_races_.start_group(launch_->groups() <= race::kMostGroups);
}

void GroupChecker::use_lds_lines() {
  lds_races_.use_lines([&](uint32_t wave, uint32_t site) {
    return RaceAccess::record_of(group_->place, wave, clocks_.own(wave), site, false);
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
  may_acquire_[w] = (site & kSiteAcquires) != 0;
  const bool completes_acquire = (site & kSiteInvalidates) != 0 && has_loaded_[w];
  if ((site & (kSiteIsBarrier | kSiteInvalidates)) != 0) has_loaded_[w] = false;
  if (may_acquire_[w] || completes_acquire) {
    if (!synchronizes_ && options_.has(Tool::kRaces)) {
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
  if (options_.has(Tool::kRaces)) arrived_ |= 1u << w;
  if (!options_.has(Tool::kSync)) return;
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
  if (waves == group_->all_waves() || !options_.has(Tool::kSync)) return;
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
  const uint64_t limit = launch_->dispatch().private_bytes;
  if (!options_.has(Tool::kMemory) || limit == 0) return;
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

void GroupChecker::report_race(const Wave& wave, const LaneAccesses& accesses, uint64_t dword, uint32_t lane,
                               const EarlierAccess& earlier, bool is_lds) {
  const bool is_same_group = race::group_of(earlier.record) == (group_->place & race::kGroup);
  const bool is_earlier_atomic = race::is_atomic(earlier.record);
  const bool is_atomic = accesses.kind == AccessKind::kAtomic;
  const bool is_read = accesses.kind == AccessKind::kRead || !earlier.is_write;
  // A read of LDS may be an atomic load.
  const bool may_be_atomic = is_read && (is_earlier_atomic || is_atomic);
  // A loop that compares and swaps reads the expected value first.
  if (may_be_atomic && (accesses.compares || launch_races_->compares(race::site_of(earlier.record)))) return;
  const bool is_same_value = is_lds && writes_same_value(accesses, earlier, dword, lane);
  const Severity severity = is_same_value || may_be_atomic ? Severity::kWarning : Severity::kError;
  const uint64_t other_pc = launch_races_->pc_of_site(race::site_of(earlier.record));
  const Problem problem = is_lds ? kLdsRace : is_same_group ? kMemoryRace : kGroupRace;
  RawFinding* const raw = find(Tool::kRaces, problem, severity, wave, bit_of(lane), other_pc);
  if (raw == nullptr) return;
  const uint32_t other_wave = race::wave_of(earlier.record);
  raw->summary = fmt::format(
      "data race: {} of {} at {}, which {} accesses too", verb_of(accesses.kind), bytes_text(accesses.bytes),
      is_lds ? fmt::format("byte {} of LDS", dword * 4) : fmt::format("{:#x}", dword * 4),
      is_same_group ? fmt::format("wave {}", other_wave) : "another work-group");
  if (is_same_value) raw->summary += "; both write the same value";
  if (may_be_atomic) raw->summary += "; none if the read is atomic, too";
  raw->other.label = fmt::format("earlier {}", is_earlier_atomic  ? "atomic operation"
                                               : earlier.is_write ? "write"
                                                                  : "read");
  if (is_same_group) {
    raw->other.who = text_of_lane(other_wave, race::lane_of(earlier.record));
    raw->hint = "no barrier orders the two accesses";
  } else {
    raw->other.who = fmt::format("work-group {} in the order of the grid", race::group_of(earlier.record));
    raw->hint = "work-groups are unordered; use atomic operations or separate kernels";
  }
}

bool GroupChecker::writes_same_value(const LaneAccesses& accesses, const EarlierAccess& earlier,
                                     uint64_t dword, uint32_t lane) const {
  return earlier.is_write && accesses.kind == AccessKind::kWrite && accesses.data != nullptr &&
         accesses.bytes == 4 && std::memcmp(group_->lds + dword * 4, accesses.data + lane, 4) == 0;
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

namespace {

// Lanes [first, end) that access the same dwords, or adjacent ones.
struct LaneRun {
  uint32_t end = 0;
  bool is_same = false;
};

// Returns the longest run that starts with the active lane `first`.
LaneRun run_from(const LaneAccesses& accesses, uint32_t first) {
  const uint64_t start = accesses.at[first], active = accesses.lanes >> first;
  const auto most = first + static_cast<uint32_t>(std::countr_one(active));
  if (first + 1 == most || accesses.bytes % 4 != 0 || start % 4 != 0) return {first + 1, false};
  const bool is_same = accesses.at[first + 1] == start;
  const uint64_t step = is_same ? 0 : accesses.bytes;
  const auto matches = [&](uint32_t lane) { return accesses.at[lane] == start + (lane - first) * step; };
  constexpr uint32_t kBlock = 8;
  uint32_t end = first + 1;
  for (; end + kBlock <= most; end += kBlock) {
    uint64_t expected[kBlock], differences = 0;  // in a form that GCC vectorizes
    for (uint32_t i = 0; i < kBlock; ++i) expected[i] = start + (end - first + i) * step;
    for (uint32_t i = 0; i < kBlock; ++i) differences |= accesses.at[end + i] ^ expected[i];
    if (differences != 0) break;
  }
  while (end < most && matches(end)) ++end;
  return {end, is_same};
}

}  // namespace

template <class NoteDword, class NoteLine>
void GroupChecker::for_each_part(const LaneAccesses& accesses, NoteDword note_dword, NoteLine note_line) {
  const uint32_t dwords = accesses.bytes / 4;
  for (uint64_t remaining = accesses.lanes; remaining != 0;) {
    const auto first = static_cast<uint32_t>(std::countr_zero(remaining));
    const LaneRun run = run_from(accesses, first);
    remaining = run.end == 64 ? 0 : remaining & ~uint64_t{0} << run.end;
    const bool is_one = run.end == first + 1;
    if (is_one && (accesses.bytes < RaceLine::kDwords * 4 || accesses.at[first] % 4 != 0)) {
      for_each_dword(accesses.at[first], accesses.bytes,
                     [&](uint64_t dword, uint8_t bytes) { note_dword(dword, first, bytes); });
      continue;
    }
    const bool is_same = run.is_same || is_one;
    const uint64_t start = accesses.at[first] / 4;
    const uint64_t end = start + (is_same ? dwords : uint64_t{run.end - first} * dwords);
    const auto lane_at = [&](uint64_t dword) {
      return is_same ? first : first + static_cast<uint32_t>((dword - start) / dwords);
    };
    const uint32_t step = !is_same && (dwords == 1 || dwords == 2 || dwords == 4) ? dwords : 0;
    for (uint64_t dword = start; dword != end;) {
      if (dword % RaceLine::kDwords == 0 && end - dword >= RaceLine::kDwords) {
        note_line(dword, lane_at(dword), step);
        dword += RaceLine::kDwords;
      } else {
        note_dword(dword, lane_at(dword), uint8_t{0xf});
        ++dword;
      }
    }
  }
}

template <bool kLds>
void GroupChecker::check_races(const Wave& wave, const LaneAccesses& accesses) {
  if (accesses.lanes == 0) return;
  const uint32_t w = wave.id_in_group;
  const uint32_t site = site_number(sites_[w]);
  if (kLds && lds_races_.is_plain()) {
    if (lds_races_.note(accesses, w, site)) return;
    use_lds_lines();
  }
  if (accesses.compares) launch_races_->set_compares(site);
  const bool is_operation = accesses.kind == AccessKind::kAtomic;
  const bool is_atomic = is_operation || (!kLds && may_acquire_[w] && accesses.kind == AccessKind::kRead);
  if (kLds && is_operation) synchronize(w, accesses, true);
  RaceAccess access;
  access.kind = accesses.kind;
  access.is_lds = kLds;
  access.may_be_ordered = synchronizes_;
  access.record = RaceAccess::record_of(group_->place, w, clocks_.own(w), site, is_atomic);
  access.clock = &clocks_.of(w);
  [[maybe_unused]] LaunchRaces::LockedPage locked;
  const auto with_line = [&](uint64_t dword, auto visit) {
    const uint64_t line = dword / RaceLine::kDwords;
    if constexpr (kLds) {
      if (RaceLine* const found = lds_races_.line(line)) visit(*found);
    } else {
      constexpr uint64_t kLines = LaunchRaces::kPageBytes / LaunchRaces::kLineBytes;
      LaunchRaces::Page* const page = page_of(dword * 4);
      locked.lock(page);
      if (page != nullptr) visit(page->lines[line % kLines]);
    }
  };
  const auto note_dword = [&](uint64_t dword, uint32_t lane, uint8_t bytes) {
    EarlierAccess earlier;
    with_line(dword, [&](RaceLine& line) {
      earlier = line.note(access, static_cast<uint32_t>(dword % RaceLine::kDwords),
                          race::with_bytes(race::with_lane(access.record, lane), bytes));
    });
    if (earlier.record != 0) report_race(wave, accesses, dword, lane, earlier, kLds);
  };
  for_each_part(accesses, note_dword, [&](uint64_t dword, uint32_t lane, uint32_t step) {
    struct {
      uint32_t dword = 0;
      EarlierAccess earlier;
    } found[RaceLine::kDwords];
    uint32_t count = 0;
    const uint64_t record =
        race::with_step(race::with_bytes(race::with_lane(access.record, lane), 0xf), step);
    with_line(dword, [&](RaceLine& line) {
      line.note_all(access, record, [&](uint32_t i, const EarlierAccess& earlier) {
        found[count++] = {i, earlier};
      });
    });
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t own_lane = race::lane_of(race::of_dword(record, found[i].dword));
      report_race(wave, accesses, dword + found[i].dword, own_lane, found[i].earlier, kLds);
    }
  });
  if (kLds && is_operation) synchronize(w, accesses, false);
}

// Before an atomic operation on LDS, acquires from its locations; after it, releases to them.
void GroupChecker::synchronize(uint32_t wave, const LaneAccesses& accesses, bool acquires) {
  for_each_lane(accesses.lanes, [&](uint32_t lane) {
    for_each_dword(accesses.at[lane], accesses.bytes, [&](uint64_t dword, uint8_t) {
      if (lds_races_.line(dword / RaceLine::kDwords) == nullptr) return;
      WaveClocks::Clock& location = lds_locations_[dword];
      acquires ? clocks_.acquire(wave, location) : clocks_.release(wave, location);
    });
  });
  if (!acquires) clocks_.advance(wave);
}

void GroupChecker::access_lds(const Wave& wave, const LaneAccesses& accesses, uint32_t limit) {
  if (accesses.kind == AccessKind::kRead) has_loaded_[wave.id_in_group] = true;
  uint64_t outside = 0;
  const uint32_t exact = std::min(limit, launch_->dispatch().lds_requested_bytes);
  for_each_lane(accesses.lanes, [&](uint32_t lane) {
    if (accesses.at[lane] + accesses.bytes > exact) outside |= bit_of(lane);
  });
  if (outside != 0 && options_.has(Tool::kMemory)) {
    if (RawFinding* const raw = find(Tool::kMemory, kOutsideLds, Severity::kError, wave, outside)) {
      raw->summary = fmt::format("out-of-bounds {} of {} at byte {} of LDS; the work-group has {}",
                                 verb_of(accesses.kind), bytes_text(accesses.bytes),
                                 accesses.at[std::countr_zero(outside)], bytes_text(exact));
    }
  }
  if (!options_.has(Tool::kRaces) || group_->wave_count == 1) return;
  if (outside == 0) return check_races<true>(wave, accesses);
  LaneAccesses inside = accesses;
  inside.lanes &= ~outside;
  check_races<true>(wave, inside);
}

void GroupChecker::access_memory(const Wave& wave, const LaneAccesses& accesses) {
  if (accesses.kind == AccessKind::kRead && !accesses.is_scalar) has_loaded_[wave.id_in_group] = true;
  if (options_.has(Tool::kMemory)) check_bounds(wave, accesses);
  if (checks_memory_races_) check_races<false>(wave, accesses);
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
  const bool is_barrier = instruction.op == isa::Op::s_barrier;
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

void access_memory(const Wave& wave, const LaneAccesses& accesses) {
  if (GroupChecker* const checker = wave.group->checker) checker->access_memory(wave, accesses);
}

void access_lds(const Wave& wave, const LaneAccesses& accesses, uint32_t limit) {
  if (GroupChecker* const checker = wave.group->checker) checker->access_lds(wave, accesses, limit);
}

void access_private(const Wave& wave, const LaneAccesses& accesses) {
  if (GroupChecker* const checker = wave.group->checker) checker->access_private(wave, accesses);
}

namespace {
InitChecker* init_of(const Wave& wave) {
  return wave.group->checker == nullptr ? nullptr : wave.group->checker->init();
}
}  // namespace

void move_memory(const Wave& wave, const MovedData& moved, const uint64_t* at, const uint64_t* active,
                 uint64_t stride) {
  if (InitChecker* const init = init_of(wave)) init->move_memory(wave, moved, at, active, stride);
}

void move_lds(const Wave& wave, const MovedData& moved, const uint32_t* at, uint64_t lanes) {
  if (InitChecker* const init = init_of(wave)) init->move_lds(wave, moved, at, lanes);
}

void move_scalars(const Wave& wave, bool stores, uint64_t va, uint32_t dwords, uint32_t scalar) {
  if (InitChecker* const init = init_of(wave)) init->move_scalars(wave, stores, va, dwords, scalar);
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
