#include "plugins/vgpu/exec/check/init_checker.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "plugins/vgpu/exec/block.hpp"
#include "plugins/vgpu/exec/check/lane_sets.hpp"
#include "plugins/vgpu/exec/wave_memory.hpp"

namespace rigel::vgpu::exec {
namespace {

using File = RuleOperand::File;
using Kind = InitRule::Kind;
using From = UndefinedOrigin::From;
namespace code = isa::code;

constexpr uint32_t kNoRow = ~0u;

uint64_t selected(uint64_t bits, const RulePart& part) {
  bits = bits >> part.shift & low_bits(part.width);
  if (!part.is_signed) return bits;
  const unsigned unused = 64 - part.width;
  return static_cast<uint64_t>(static_cast<int64_t>(bits << unused) >> unused);
}

bool is_exec(uint32_t scalar) {
  return scalar == code::kExecLo || scalar == code::kExecHi;
}

// The undefined bits of a register after a load of less than a dword.
uint32_t extended(const isa::MemoryShape& shape, uint32_t undefined) {
  if (shape.bytes >= 4) return undefined;
  const unsigned unused = 32 - 8u * shape.bytes;
  if (shape.sign) undefined = static_cast<uint32_t>(static_cast<int32_t>(undefined << unused) >> unused);
  if (!shape.d16) return undefined;
  return shape.high ? undefined << 16 : undefined & 0xffff;
}

}  // namespace

// State
// ---------------------------------------------------------------------------------------------------

void InitChecker::start(WorkGroup& group, const Start& start) {
  const RegisterLayout& layout = group.waves[0].layout;
  wave_size_ = layout.wave_size;
  rows_ = layout.vgprs + layout.agprs;
  allocations_ = start.allocations;
  lds_ = group.lds_undefined;
  lds_bytes_ = group.lds_bytes;
  if (lds_bytes_ != 0) std::memset(lds_, 0xff, lds_bytes_);
  if (waves_.size() < group.wave_count) waves_.resize(group.wave_count);
  for (uint32_t w = 0; w < group.wave_count; ++w) {
    WaveShadow& shadow = waves_[w];
    Wave& wave = group.waves[w];
    if (shadow.is_tracked || shadow.bits.size() != kScalarSlots + size_t{rows_} * wave_size_) forget(shadow);
    std::memset(&shadow.defined, 0xff, sizeof shadow.defined);
    wave.defined = &shadow.defined;
    shadow.is_tracked = false;
    std::fill_n(shadow.in_private.begin(), shadow.used_private, std::byte{0xff});
    shadow.used_private = 0;
    const bool is_compiled = wave.op != nullptr && block_of(wave.op).ops == nullptr;
    if (is_compiled) continue;
    // Special registers, and lanes that do not exist, count as defined.
    for (uint32_t i = start.scalars; i < kFlatScratchSgpr; ++i)
      shadow.defined.scalars[i / 64] &= ~(uint64_t{1} << i % 64);
    for (uint32_t i = start.rows; i < std::min(rows_, 256u); ++i)
      shadow.defined.rows[i] = ~wave.launched_exec;
    for (uint32_t i = 256; i < rows_; ++i) set_undefined(shadow, i, wave.launched_exec);
    shadow.defined.scc = 0;
    track(wave);
  }
}

void InitChecker::set_undefined(WaveShadow& shadow, uint32_t number, uint64_t lanes) {
  uint32_t* const bits = row(shadow, number);
  for_each_lane(lanes, [&](uint32_t lane) { bits[lane] = ~0u; });
  set_clean(shadow, kScalarSlots + number, lanes == 0);
  shadow.origins[kScalarSlots + number] = {};
}

void InitChecker::track(const Wave& wave) {
  WaveShadow& shadow = waves_[wave.id_in_group];
  if (std::exchange(shadow.is_tracked, true)) return;
  const DefinedRegisters& defined = shadow.defined;
  for (uint32_t i = 0; i < kFlatScratchSgpr; ++i) {
    if ((defined.scalars[i / 64] >> i % 64 & 1) != 0) continue;
    shadow.bits[i] = ~0u;
    set_clean(shadow, i, false);
    shadow.origins[i] = {};
  }
  for (uint32_t i = 0; i < std::min(rows_, 256u); ++i) {
    if (const uint64_t lanes = ~defined.rows[i] & wave.launched_exec; lanes != 0)
      set_undefined(shadow, i, lanes);
  }
  shadow.scc = defined.scc == 0;
  shadow.scc_origin = {};
}

void InitChecker::set_undefined_scalar(uint32_t wave, uint32_t scalar, uint32_t bits) {
  waves_[wave].bits[scalar] = bits;
  set_clean(waves_[wave], scalar, bits == 0);
}

void InitChecker::set_undefined_row(uint32_t wave, uint32_t number, uint32_t lane, uint32_t bits) {
  row(waves_[wave], number)[lane] = bits;
  finish_row(waves_[wave], number, {});
}

void InitChecker::forget(WaveShadow& shadow) {
  shadow.bits.assign(kScalarSlots + size_t{rows_} * wave_size_, 0);
  std::fill(std::begin(shadow.unclean), std::end(shadow.unclean), 0);
  shadow.scc = false;
}

// Registers
// ---------------------------------------------------------------------------------------------------

bool InitChecker::find_row(const Wave& wave, const RuleOperand& operand, uint32_t& row) const {
  row = operand.number;
  if (operand.index_mask == 0) return row + operand.dwords <= rows_;
  uint32_t index;
  std::memcpy(&index, wave.registers + scalar_offset(code::kM0), sizeof index);
  index &= operand.index_mask;
  const bool exists = index < rows_ && row + index + operand.dwords <= rows_;
  row = exists ? row + index : 0;  // Past the last row, the first one is read.
  return exists;
}

bool InitChecker::is_clean(const Wave& wave, const WaveShadow& shadow, const RuleOperand& operand) const {
  switch (operand.file) {
    case File::kNone:
    case File::kConstant:
      return true;
    case File::kScc:
      return !shadow.scc;
    case File::kScalars:
    case File::kMask:
    case File::kRows:
      break;
  }
  uint32_t first = operand.number;
  if (operand.file == File::kRows) {
    find_row(wave, operand, first);
    if (first + operand.dwords > rows_) return true;
    first += kScalarSlots;
  }
  bool clean = true;
  for (uint32_t i = 0; i < operand.dwords; ++i) clean &= is_clean(shadow, first + i);
  return clean;
}

const UndefinedOrigin& InitChecker::origin_of(const Wave& wave, const WaveShadow& shadow,
                                              const RuleOperand& operand) const {
  if (operand.file == File::kScc) return shadow.scc_origin;
  uint32_t first = operand.number;
  if (operand.file == File::kRows) {
    find_row(wave, operand, first);
    first += kScalarSlots;
  }
  for (uint32_t i = 0; i < operand.dwords; ++i) {
    if (!is_clean(shadow, first + i)) return shadow.origins[first + i];
  }
  return shadow.origins[first];
}

const UndefinedOrigin& InitChecker::origin_of(const Wave& wave, const WaveShadow& shadow,
                                              const InitRule& rule) const {
  for (const RuleOperand& source : rule.sources) {
    if (!is_clean(wave, shadow, source)) return origin_of(wave, shadow, source);
  }
  return shadow.scc_origin;
}

Bits InitChecker::read(const Wave& wave, WaveShadow& shadow, const RuleOperand& operand, uint32_t lane,
                       const RulePart& part) const {
  Bits bits;
  switch (operand.file) {
    case File::kNone:
      return {};
    case File::kConstant:
      bits.value = operand.constant;
      break;
    case File::kScc:
      bits = {wave.scc, shadow.scc ? uint64_t{1} : 0};
      break;
    case File::kScalars:
    case File::kMask:
      for (uint32_t i = operand.dwords; i-- != 0;) {
        uint32_t value;
        std::memcpy(&value, wave.registers + scalar_offset(operand.number + i), sizeof value);
        bits = {bits.value << 32 | value, bits.undefined << 32 | shadow.bits[operand.number + i]};
      }
      if (operand.file == File::kMask) return {bits.value >> lane & 1, bits.undefined >> lane & 1};
      break;
    case File::kRows: {
      uint32_t first;
      find_row(wave, operand, first);
      if (first + operand.dwords > rows_) return {};
      for (uint32_t i = operand.dwords; i-- != 0;) {
        uint32_t value;
        std::memcpy(&value, wave.registers + wave.layout.vgpr_offset(first + i) + lane * 4, sizeof value);
        bits = {bits.value << 32 | value, bits.undefined << 32 | row(shadow, first + i)[lane]};
      }
      break;
    }
  }
  return {selected(bits.value, part), selected(bits.undefined, part)};
}

void InitChecker::finish_row(WaveShadow& shadow, uint32_t number, const UndefinedOrigin& origin) const {
  const uint32_t* const bits = row(shadow, number);
  uint32_t any = 0;
  for (uint32_t lane = 0; lane < wave_size_; ++lane) any |= bits[lane];
  set_clean(shadow, kScalarSlots + number, any == 0);
  if (any != 0) shadow.origins[kScalarSlots + number] = origin;
}

void InitChecker::write_scalars(const Wave& wave, WaveShadow& shadow, const RuleOperand& result,
                                uint64_t undefined, const UndefinedOrigin& origin) {
  if (result.file != File::kScalars && result.file != File::kMask) return;
  if (is_exec(result.number)) {
    const uint64_t lanes = undefined << (result.number == code::kExecHi ? 32 : 0) & wave.launched_exec;
    if (lanes != 0) listener_.undefined_use(wave, UndefinedUse::kActiveLanes, lanes, origin);
    return;
  }
  for (uint32_t i = 0; i < result.dwords; ++i) {
    const uint32_t number = result.number + i;
    const auto bits = static_cast<uint32_t>(i < 2 ? undefined >> 32 * i : 0);
    shadow.bits[number] = bits;
    set_clean(shadow, number, bits == 0);
    if (bits != 0) shadow.origins[number] = origin;
  }
}

// Instructions
// ---------------------------------------------------------------------------------------------------

void InitChecker::execute(const InitRule& rule, Wave& wave, uint64_t exec, uint64_t pc) {
  WaveShadow& shadow = waves_[wave.id_in_group];
  shadow.pc = pc;
  switch (rule.kind) {
    case Kind::kNone:
      return;
    case Kind::kLanes:
      return compute_lanes(rule, wave, shadow, exec);
    case Kind::kScalar:
      return compute_scalar(rule, wave, shadow);
    case Kind::kReadLane:
    case Kind::kWriteLane:
    case Kind::kPermuteRows:
    case Kind::kPermute:
    case Kind::kPermuteBack:
    case Kind::kSwap:
      return exchange_lanes(rule, wave, shadow, exec);
    case Kind::kBranch:
      return decide(rule, wave, shadow, UndefinedUse::kBranch);
    case Kind::kJump:
      decide(rule, wave, shadow, UndefinedUse::kJump);
      return write_scalars(wave, shadow, rule.results[0], 0, {});
    case Kind::kMemory:
      check_addresses(rule, wave, shadow, exec);
      if (rule.results[0].file == File::kRows) return define_rows(rule, wave, shadow, exec);
      return write_scalars(wave, shadow, rule.results[0], 0, {});
    case Kind::kForget:
      return forget(shadow);
  }
}

// Results of `lanes` become defined.
void InitChecker::define_rows(const InitRule& rule, const Wave& wave, WaveShadow& shadow, uint64_t lanes) {
  const RuleOperand& result = rule.results[0];
  uint32_t first = result.number, selected = ~0u;
  if (rule.is_block) {
    std::memcpy(&selected, wave.registers + scalar_offset(code::kM0), sizeof selected);
  } else if (is_clean(wave, shadow, result) || !find_row(wave, result, first)) {
    return;
  }
  const uint64_t written = low_bits(result.part.width) << result.part.shift;
  const auto kept = static_cast<uint32_t>(rule.keeps_rest ? ~written : 0);
  for (uint32_t i = 0; i < result.dwords; ++i) {
    if ((selected >> i & 1) == 0 || first + i >= rows_ || is_clean(shadow, kScalarSlots + first + i))
      continue;
    uint32_t* const bits = row(shadow, first + i);
    for_each_lane(lanes, [&](uint32_t lane) { bits[lane] &= kept; });
    finish_row(shadow, first + i, shadow.origins[kScalarSlots + first + i]);
  }
}

uint64_t InitChecker::result_of_lane(const InitRule& rule, const Wave& wave, WaveShadow& shadow,
                                     uint32_t lane, const Bits* mapped, bool& any) const {
  Bits sources[4], high[3];
  for (uint32_t i = 0; i < 4; ++i) {
    const bool is_mapped = mapped != nullptr && i == rule.mapped;
    const RuleOperand& source = rule.sources[i];
    if (!source.exists()) continue;
    if (is_mapped) {
      sources[i] = {selected(mapped[lane].value, source.part), selected(mapped[lane].undefined, source.part)};
      if (rule.is_packed)
        high[i] = {selected(mapped[lane].value, rule.high[i]),
                   selected(mapped[lane].undefined, rule.high[i])};
      continue;
    }
    sources[i] = read(wave, shadow, source, lane, source.part);
    if (rule.is_packed && i < 3) high[i] = read(wave, shadow, source, lane, rule.high[i]);
  }
  auto& [a, b, c, implied] = sources;
  if (rule.counts_below) {
    const uint32_t bits = lane > rule.first_lane ? std::min(lane - rule.first_lane, 32u) : 0;
    a.undefined = (a.undefined & low_bits(bits)) != 0 ? 1 : 0;
  }
  any = (a.undefined | b.undefined | c.undefined | implied.undefined) != 0;
  if (rule.is_packed) {
    return apply(rule.bits, a, b, c, 16).undefined | apply(rule.bits, high[0], high[1], high[2], 16).undefined
                                                         << 16;
  }
  if (rule.is_pair)
    return apply(rule.bits, a, {}, {}, 16).undefined | apply(rule.bits, b, {}, {}, 16).undefined << 16;
  if (implied.undefined != 0) return low_bits(rule.width);
  const uint64_t sign = rule.changes_sign && c.undefined != 0 ? uint64_t{1} << (rule.width - 1) : 0;
  return apply(rule.bits, a, b, c, rule.width).undefined | sign;
}

void InitChecker::compute_lanes(const InitRule& rule, const Wave& wave, WaveShadow& shadow, uint64_t exec) {
  const RuleOperand& result = rule.results[0];
  Bits mapped[64];
  const LaneMap* const map = rule.lanes;
  if (map != nullptr) {
    uint64_t available = map->available;
    for (uint32_t lane = 0; lane < wave_size_ && !map->reads_inactive; ++lane) {
      if ((exec >> map->source[lane] & 1) == 0) available &= ~bit_of(lane);
    }
    exec &= map->writes & (map->reads_zero ? ~uint64_t{0} : available);
    const RuleOperand& source = rule.sources[rule.mapped];
    const RulePart whole{0, static_cast<uint8_t>(std::min<uint32_t>(source.dwords, 2) * 32)};
    for_each_lane(exec & available, [&](uint32_t lane) {
      mapped[lane] = read(wave, shadow, source, map->source[lane], whole);
    });
  }
  bool clean = true;
  for (const RuleOperand& source : rule.sources) clean &= is_clean(wave, shadow, source);
  uint32_t first = 0;
  const bool writes_rows = result.file == File::kRows && find_row(wave, result, first);
  if (clean) {
    if (writes_rows) define_rows(rule, wave, shadow, exec);
    write_scalars(wave, shadow, result, 0, {});
    return write_scalars(wave, shadow, rule.results[1], 0, {});
  }
  const UndefinedOrigin origin = origin_of(wave, shadow, rule);
  uint64_t mask = 0, any_mask = 0;
  const uint64_t written = low_bits(result.part.width) << result.part.shift;
  uint64_t results[64];
  for_each_lane(exec, [&](uint32_t lane) {
    bool any = false;
    const uint64_t undefined =
        result_of_lane(rule, wave, shadow, lane, map == nullptr ? nullptr : mapped, any);
    if (undefined != 0) mask |= bit_of(lane);
    if (any) any_mask |= bit_of(lane);
    results[lane] = undefined;
  });
  if (writes_rows) {
    for_each_lane(exec, [&](uint32_t lane) {
      const RulePart part{0, result.part.width, result.part.is_signed};
      const uint64_t bits = selected(results[lane], part) << result.part.shift;
      for (uint32_t i = 0; i < result.dwords; ++i) {
        uint32_t& to = row(shadow, first + i)[lane];
        const auto kept = static_cast<uint32_t>(rule.keeps_rest ? to & ~(written >> 32 * i) : 0);
        to = kept | static_cast<uint32_t>(bits >> 32 * i);
      }
    });
    for (uint32_t i = 0; i < result.dwords; ++i) finish_row(shadow, first + i, origin);
  }
  write_scalars(wave, shadow, result, mask, origin);
  write_scalars(wave, shadow, rule.results[1], writes_rows ? any_mask : mask, origin);
}

void InitChecker::compute_scalar(const InitRule& rule, const Wave& wave, WaveShadow& shadow) {
  bool clean = true;
  for (const RuleOperand& source : rule.sources) clean &= is_clean(wave, shadow, source);
  if (clean) {
    if (!is_clean(wave, shadow, rule.results[0])) write_scalars(wave, shadow, rule.results[0], 0, {});
    if (!is_clean(wave, shadow, rule.results[1])) write_scalars(wave, shadow, rule.results[1], 0, {});
    if (rule.scc != InitRule::Scc::kStays) shadow.scc = false;
    return;
  }
  const UndefinedOrigin origin = origin_of(wave, shadow, rule);
  Bits sources[3];
  for (uint32_t i = 0; i < 3; ++i) sources[i] = read(wave, shadow, rule.sources[i], 0, rule.sources[i].part);
  const auto& [a, b, c] = sources;
  Bits bits = apply(rule.bits, a, b, c, rule.width);
  if (rule.is_pair)
    bits = {0, apply(rule.bits, a, {}, {}, 16).undefined | apply(rule.bits, b, {}, {}, 16).undefined << 16};
  write_scalars(wave, shadow, rule.results[0], bits.undefined, origin);
  // Undefined bits of lanes have been reported.
  const uint64_t left = rule.has_equal_results ? bits.undefined & ~wave.launched_exec : 0;
  write_scalars(wave, shadow, rule.results[1], left, origin);
  if (rule.scc == InitRule::Scc::kStays) return;
  shadow.scc = rule.scc == InitRule::Scc::kOfResult    ? bits.undefined != 0
               : rule.scc == InitRule::Scc::kNonzero   ? is_zero_undefined(bits)
               : rule.scc == InitRule::Scc::kLowestBit ? (bits.undefined & 1) != 0
                                                       : false;
  if (shadow.scc) shadow.scc_origin = origin;
}

void InitChecker::exchange_lanes(const InitRule& rule, const Wave& wave, WaveShadow& shadow, uint64_t exec) {
  const RuleOperand& source = rule.sources[0];
  const RuleOperand& result = rule.results[0];
  bool clean = is_clean(wave, shadow, result);
  for (const RuleOperand& operand : rule.sources) clean &= is_clean(wave, shadow, operand);
  if (clean) return;
  const UndefinedOrigin origin = origin_of(wave, shadow, rule);
  const auto value = [&](const RuleOperand& operand, uint32_t lane) {
    return read(wave, shadow, operand, lane, operand.part);
  };
  if (rule.kind == Kind::kReadLane) {
    const Bits lane = rule.sources[1].exists()
                          ? value(rule.sources[1], 0)
                          : Bits{static_cast<uint64_t>(exec == 0 ? 0 : std::countr_zero(exec))};
    Bits bits = value(source, static_cast<uint32_t>(lane.value) & (wave_size_ - 1));
    // The first lane of no lanes is read by code whose result is not used.
    if (!rule.sources[1].exists() && exec == 0) bits = {};
    if (lane.undefined != 0) bits.undefined = ~0u;
    return write_scalars(wave, shadow, result, bits.undefined, origin);
  }
  uint32_t to = 0;
  if (!find_row(wave, result, to)) return;
  uint32_t* const bits = row(shadow, to);
  uint32_t results[64] = {};
  uint64_t writes = exec;
  switch (rule.kind) {
    case Kind::kWriteLane: {
      const Bits index = value(rule.sources[1], 0);
      const uint32_t lane = static_cast<uint32_t>(index.value) & (wave_size_ - 1);
      results[lane] = static_cast<uint32_t>(value(source, 0).undefined);
      writes = bit_of(lane);
      if (index.undefined == 0) break;
      writes = wave.mask();
      std::fill(std::begin(results), std::end(results), ~0u);
      break;
    }
    case Kind::kSwap: {
      uint32_t from = 0;
      if (!find_row(wave, source, from)) return;
      uint32_t* const other = row(shadow, from);
      for_each_lane(exec, [&](uint32_t lane) {
        results[lane] = other[lane];
        other[lane] = bits[lane];
      });
      finish_row(shadow, from, origin);
      break;
    }
    case Kind::kPermuteRows: {
      const Bits low = value(rule.sources[1], 0), high = value(rule.sources[2], 0);
      const uint64_t selectors = (low.value & 0xffffffff) | high.value << 32;
      for_each_lane(exec, [&](uint32_t lane) {
        const uint32_t other_row = (lane & ~15u) ^ (rule.reads_other_row ? 16 : 0);
        const uint32_t from = other_row | static_cast<uint32_t>(selectors >> (lane & 15) * 4 & 15);
        const bool readable = rule.reads_inactive || (exec >> from & 1) != 0;
        if (readable) results[lane] = static_cast<uint32_t>(value(source, from).undefined);
        if (!readable && !rule.reads_zero) writes &= ~bit_of(lane);
        if ((low.undefined | high.undefined) == 0) return;
        results[lane] = ~0u;
        writes |= bit_of(lane);
      });
      break;
    }
    default: {
      const uint32_t index_bits = rule.within_halves ? 31 : wave_size_ - 1;
      for_each_lane(exec, [&](uint32_t lane) {
        const Bits address = value(rule.sources[1], lane);
        const uint32_t index = ((static_cast<uint32_t>(address.value) + rule.offset) >> 2 & index_bits) |
                               (rule.within_halves ? lane & 32 : 0);
        if (rule.kind == Kind::kPermute) {
          results[index] = static_cast<uint32_t>(value(source, lane).undefined);
        } else if ((exec >> index & 1) != 0) {
          results[lane] =
              address.undefined != 0 ? ~0u : static_cast<uint32_t>(value(source, index).undefined);
        }
      });
    }
  }
  for_each_lane(writes, [&](uint32_t lane) { bits[lane] = results[lane]; });
  finish_row(shadow, to, origin);
}

// Uses
// ---------------------------------------------------------------------------------------------------

void InitChecker::decide(const InitRule& rule, const Wave& wave, WaveShadow& shadow, UndefinedUse use) {
  const RuleOperand& source = rule.sources[0];
  if (is_clean(wave, shadow, source)) return;
  const Bits bits = read(wave, shadow, source, 0, source.part);
  // Branches test whether a mask is 0.
  const bool decides = use == UndefinedUse::kJump ? bits.undefined != 0 : is_zero_undefined(bits);
  if (!decides) return;
  listener_.undefined_use(wave, use, wave.launched_exec, origin_of(wave, shadow, source));
  if (source.file == File::kScc) {
    shadow.scc = false;
  } else {
    write_scalars(wave, shadow, source, 0, {});
  }
}

void InitChecker::check_addresses(const InitRule& rule, const Wave& wave, WaveShadow& shadow, uint64_t exec) {
  for (const RuleOperand& source : rule.sources) {
    if (is_clean(wave, shadow, source)) continue;
    const UndefinedOrigin origin = origin_of(wave, shadow, source);
    if (source.file == File::kScalars) {
      uint32_t any = 0;
      for (uint32_t i = 0; i < source.dwords; ++i) any |= shadow.bits[source.number + i];
      if (any == 0) continue;
      listener_.undefined_use(wave, UndefinedUse::kAddress, wave.launched_exec, origin);
      write_scalars(wave, shadow, source, 0, {});
      continue;
    }
    uint64_t lanes = 0;
    for (uint32_t i = 0; i < source.dwords; ++i) {
      uint32_t* const bits = row(shadow, source.number + i);
      for_each_lane(exec, [&](uint32_t lane) {
        if (bits[lane] != 0) lanes |= bit_of(lane);
        bits[lane] = 0;
      });
      finish_row(shadow, source.number + i, origin);
    }
    if (lanes != 0) listener_.undefined_use(wave, UndefinedUse::kAddress, lanes, origin);
  }
}

// Memory
// ---------------------------------------------------------------------------------------------------

struct InitChecker::LdsMemory {
  InitChecker& checker;

  uint32_t load(uint64_t at, uint32_t bytes) const {
    uint32_t undefined = 0;
    if (at + bytes <= checker.lds_bytes_) std::memcpy(&undefined, checker.lds_ + at, bytes);
    return undefined;
  }
  void store(uint64_t at, uint32_t bytes, uint32_t undefined, uint32_t) const {
    if (at + bytes <= checker.lds_bytes_) std::memcpy(checker.lds_ + at, &undefined, bytes);
  }
  From from(uint64_t) const { return From::kLds; }
};

// Device memory and private memory.
struct InitChecker::AnyMemory {
  InitChecker& checker;
  const Wave& wave;
  WaveShadow& shadow;

  uint32_t load(uint64_t at, uint32_t bytes) const {
    const std::byte* const place = checker.private_shadow(wave, shadow, at, bytes);
    if (place == nullptr) return checker.load_memory(wave, at, bytes);
    uint32_t undefined = 0;
    std::memcpy(&undefined, place, bytes);
    return undefined;
  }
  void store(uint64_t at, uint32_t bytes, uint32_t undefined, uint32_t value) const {
    std::byte* const place = checker.private_shadow(wave, shadow, at, bytes);
    if (place == nullptr) return checker.store_memory(wave, at, bytes, undefined, value);
    std::memcpy(place, &undefined, bytes);
  }
  From from(uint64_t at) const {
    return checker.private_shadow(wave, shadow, at, 1) == nullptr ? From::kMemory : From::kPrivate;
  }
};

// Private memory of a wave is one range of the queue's scratch.
std::byte* InitChecker::private_shadow(const Wave& wave, WaveShadow& shadow, uint64_t va,
                                       uint32_t bytes) const {
  const uint64_t size = uint64_t{wave.scratch_lane_bytes} * wave_size_;
  const uint64_t at = va - wave.private_va;
  if (wave.private_va == 0 || size < bytes || at > size - bytes) return nullptr;
  if (shadow.in_private.size() < size) shadow.in_private.resize(size, std::byte{0xff});
  shadow.used_private = std::max<size_t>(shadow.used_private, at + bytes);
  return shadow.in_private.data() + at;
}

bool InitChecker::is_filled(uint64_t va) {
  if (allocations_ == nullptr) return false;
  if (va - range_->begin < range_->end - range_->begin) return range_->fill != 0;
  for (Filled& range : ranges_) {
    if (va - range.begin >= range.end - range.begin) continue;
    range_ = &range;
    return range.fill != 0;
  }
  range_ = &ranges_[next_range_++ % kRanges];
  check::Allocation allocation;
  const bool is_allocation = allocations_->find(va, allocation);
  const uint64_t end = allocation.begin + allocation.bytes,
                 room_end = allocation.begin + allocation.room_bytes;
  if (!is_allocation || allocation.is_freed) {
    *range_ = {allocation.begin, room_end};
  } else if (va >= end) {
    *range_ = {end, room_end};  // padding
  } else {
    *range_ = {allocation.begin, end, allocation.serial, allocation.fill};
    if (allocations_->is_initialized(va, range_->begin, range_->end)) range_->fill = 0;
  }
  return range_->fill != 0;
}

uint32_t InitChecker::content(const Wave& wave, uint64_t va) const {
  uint32_t content = 0;
  VmFault fault;
  wave.memory->read(va, &content, sizeof content, fault);
  return content;
}

MemoryShadow::Page* InitChecker::page_of(const Wave& wave, uint64_t va) {
  if (!is_filled(va)) return nullptr;
  const uint64_t number = va / MemoryShadow::kPage;
  CachedPage& cached = pages_[number % kPages];
  if (cached.number == number && cached.page->allocation() == range_->serial) return cached.page;
  uint32_t contents[MemoryShadow::kDwords];
  cached.number = number;
  cached.page =
      &MemoryShadow::of_process().page(number, range_->serial, range_->fill, [&]() -> const uint32_t* {
        VmFault fault;
        return wave.memory->read(number * MemoryShadow::kPage, contents, sizeof contents, fault) ? contents
                                                                                                 : nullptr;
      });
  return cached.page;
}

uint32_t InitChecker::load_memory(const Wave& wave, uint64_t va, uint32_t bytes) {
  MemoryShadow::Page* page = page_of(wave, va);
  if (page == nullptr || page->is_defined()) return 0;
  uint64_t undefined = 0;
  const uint64_t first = va & ~uint64_t{3};
  for (uint64_t at = first; at < va + bytes; at += 4) {
    if (at % MemoryShadow::kPage == 0) page = page_of(wave, at);
    if (page == nullptr) break;
    const auto dword = static_cast<uint32_t>(at % MemoryShadow::kPage / 4);
    undefined |= uint64_t{page->undefined(dword, content(wave, at))} << 8 * (at - first);
  }
  return static_cast<uint32_t>(undefined >> 8 * (va - first) & low_bits(8 * bytes));
}

void InitChecker::store_memory(const Wave& wave, uint64_t va, uint32_t bytes, uint32_t undefined,
                               uint32_t value) {
  MemoryShadow::Page* page = page_of(wave, va);
  if (page == nullptr || (page->is_defined() && undefined == 0)) return;
  const uint64_t first = va & ~uint64_t{3};
  const uint64_t shift = 8 * (va - first);
  for (uint64_t at = first; at < va + bytes; at += 4) {
    if (at % MemoryShadow::kPage == 0) page = page_of(wave, at);
    if (page == nullptr) break;
    const auto part = [&](uint64_t bits) { return static_cast<uint32_t>(bits << shift >> 8 * (at - first)); };
    // Lanes that store parts of one dword are adjacent, and memory still has its old content.
    const uint32_t before = at == written_va_ ? written_content_ : content(wave, at);
    const uint32_t written = part(low_bits(8 * bytes));
    written_va_ = at;
    written_content_ = (before & ~written) | (part(value) & written);
    page->store(static_cast<uint32_t>(at % MemoryShadow::kPage / 4), before, written_content_, written,
                part(undefined));
  }
  if (undefined != 0) wave.memory->forget_defined();
}

uint32_t InitChecker::row_at(uint32_t offset) const {
  const uint32_t number = (offset - kScalarBytes) / (wave_size_ * 4);
  return offset < kScalarBytes || number >= rows_ ? kNoRow : number;
}

template <class Memory>
bool InitChecker::move(const Wave& wave, const MovedData& moved, const uint64_t* at, const uint64_t* active,
                       uint64_t stride, Memory memory) {
  const isa::MemoryShape& shape = *moved.shape;
  if (shape.verb == isa::Verb::kAtomic) return move_atomic(wave, moved, at, active[0], stride, memory);
  WaveShadow& shadow = waves_[wave.id_in_group];
  const bool stores = shape.verb == isa::Verb::kStore;
  const uint32_t first = row_at(stores ? moved.data : moved.result);
  const uint32_t bytes = std::min<uint32_t>(shape.bytes, 4);
  if (!stores && first == kNoRow) return true;
  for (uint32_t d = 0; d < shape.dwords(); ++d) {
    const bool has_row = first != kNoRow && first + d < rows_;
    if (stores) {
      const bool clean = !has_row || is_clean(shadow, kScalarSlots + first + d);
      const uint32_t half = shape.bytes < 4 && shape.high ? 16 : 0;
      for_each_lane(active[d], [&](uint32_t lane) {
        uint32_t value;
        std::memcpy(&value, wave.registers + moved.data + (d * wave_size_ + lane) * 4, sizeof value);
        const uint32_t undefined = clean ? 0 : row(shadow, first + d)[lane] >> half;
        memory.store(at[lane] + d * stride, bytes, undefined & static_cast<uint32_t>(low_bits(8 * bytes)),
                     value >> half);
      });
    } else if (has_row) {
      bool any = false;
      UndefinedOrigin origin;
      for_each_lane(active[d], [&](uint32_t lane) {
        const uint32_t undefined = memory.load(at[lane] + d * stride, bytes);
        if (undefined == 0) return;
        if (!shadow.is_tracked) {
          any = true;
          return;
        }
        row(shadow, first + d)[lane] |= extended(shape, undefined);
        if (!any) origin = {memory.from(at[lane]), shadow.pc, at[lane] + d * stride};
        any = true;
      });
      if (any && !shadow.is_tracked) return false;
      if (any) finish_row(shadow, first + d, origin);
    }
  }
  return true;
}

// A transposing load. The result counts as defined before.
bool InitChecker::move_transposed(const Wave& wave, const MovedData& moved, const uint64_t* at,
                                  uint64_t lanes) {
  WaveShadow& shadow = waves_[wave.id_in_group];
  const AnyMemory memory{*this, wave, shadow};
  const uint32_t bytes = moved.shape->bytes / isa::kTransposedParts, first = row_at(moved.result);
  uint32_t loaded[64][isa::kTransposedParts] = {}, any = 0;
  UndefinedOrigin origin;
  for_each_lane(lanes, [&](uint32_t lane) {
    for (uint32_t part = 0; part < isa::kTransposedParts; ++part) {
      const uint64_t va = at[lane] + uint64_t{part} * bytes;
      loaded[lane][part] = memory.load(va, bytes);
      if (any == 0 && loaded[lane][part] != 0) origin = {memory.from(va), shadow.pc, va};
      any |= loaded[lane][part];
    }
  });
  if (any == 0) return true;
  if (!shadow.is_tracked) return false;
  for_each_lane(lanes, [&](uint32_t lane) {
    for (uint32_t part = 0; part < isa::kTransposedParts; ++part) {
      const isa::ElementPart source = isa::transposed_from(bytes, lane, part);
      row(shadow, first + part * bytes / 4)[lane] |= loaded[source.lane][source.part] << part * bytes % 4 * 8;
    }
  });
  for (uint32_t d = 0; d < moved.shape->dwords(); ++d) finish_row(shadow, first + d, origin);
  return true;
}

template <class Memory>
bool InitChecker::move_atomic(const Wave& wave, const MovedData& moved, const uint64_t* at, uint64_t lanes,
                              uint64_t stride, Memory memory) {
  WaveShadow& shadow = waves_[wave.id_in_group];
  const isa::MemoryShape& shape = *moved.shape;
  const bool swaps = shape.atomic == isa::Atomic::kSwap;
  const uint32_t dwords = shape.dwords();
  const uint32_t data = row_at(moved.data), result = moved.returns ? row_at(moved.result) : kNoRow;
  if (!shadow.is_tracked) {
    uint32_t undefined = 0;
    for_each_lane(lanes, [&](uint32_t lane) {
      const uint64_t va = at[lane] & ~uint64_t{shape.bytes - 1u};
      for (uint32_t d = 0; d < dwords; ++d) undefined |= memory.load(va + d * stride, 4);
    });
    return undefined == 0;
  }
  uint64_t undefined_lanes = 0;
  UndefinedOrigin origin;
  for_each_lane(lanes, [&](uint32_t lane) {
    const uint64_t va = at[lane] & ~uint64_t{shape.bytes - 1u};
    uint32_t old[2] = {~0u, ~0u};
    bool all = true;
    for (uint32_t d = 0; d < dwords; ++d) {
      old[d] = memory.load(va + d * stride, 4);
      all &= old[d] == ~0u;
    }
    if (all && !swaps) {
      if (undefined_lanes == 0) origin = {memory.from(va), shadow.pc, va};
      undefined_lanes |= bit_of(lane);
    }
    for (uint32_t d = 0; d < dwords; ++d) {
      uint32_t value = 0, undefined = 0;
      if (swaps && data != kNoRow) {
        std::memcpy(&value, wave.registers + moved.data + (d * wave_size_ + lane) * 4, sizeof value);
        undefined = row(shadow, data + d)[lane];
      }
      memory.store(va + d * stride, 4, undefined, value);
      if (result == kNoRow || old[d] == 0 || (all && !swaps)) continue;
      row(shadow, result + d)[lane] |= old[d];
      finish_row(shadow, result + d, {memory.from(va), shadow.pc, va});
    }
  });
  if (undefined_lanes != 0) listener_.undefined_use(wave, UndefinedUse::kAtomic, undefined_lanes, origin);
  return true;
}

void InitChecker::begin_instruction() {
  written_va_ = 0;
  if (allocations_ == nullptr || allocations_->version() == version_) return;
  version_ = allocations_->version();
  std::fill(std::begin(ranges_), std::end(ranges_), Filled{});
}

bool InitChecker::move_memory(const Wave& wave, const MovedData& moved, const uint64_t* at,
                              const uint64_t* active, uint64_t stride) {
  begin_instruction();
  const bool is_transposed = moved.shape->transposes && row_at(moved.result) != kNoRow;
  if (is_transposed) return move_transposed(wave, moved, at, active[0]);
  return move(wave, moved, at, active, stride, AnyMemory{*this, wave, waves_[wave.id_in_group]});
}

bool InitChecker::move_lds(const Wave& wave, const MovedData& moved, const uint32_t* at, uint64_t lanes) {
  uint64_t wide[64];
  for_each_lane(lanes, [&](uint32_t lane) { wide[lane] = at[lane]; });
  const uint64_t active[4] = {lanes, lanes, lanes, lanes};
  return move(wave, moved, wide, active, 4, LdsMemory{*this});
}

bool InitChecker::move_scalars(const Wave& wave, bool stores, uint64_t va, uint32_t dwords, uint32_t scalar) {
  begin_instruction();
  WaveShadow& shadow = waves_[wave.id_in_group];
  const AnyMemory memory{*this, wave, shadow};
  for (uint32_t i = 0; i < dwords; ++i) {
    const uint32_t number = scalar + i;
    if (number >= code::kExecLo) return true;
    if (stores) {
      uint32_t value;
      std::memcpy(&value, wave.registers + scalar_offset(number), sizeof value);
      memory.store(va + i * 4, 4, shadow.bits[number], value);
      continue;
    }
    const uint32_t undefined = memory.load(va + i * 4, 4);
    if (!shadow.is_tracked) {
      if (undefined != 0) return false;
      continue;
    }
    shadow.bits[number] = undefined;
    set_clean(shadow, number, undefined == 0);
    if (undefined != 0) shadow.origins[number] = {memory.from(va), shadow.pc, va + i * 4};
  }
  return true;
}

void InitChecker::define(const Wave& wave, uint64_t va, uint32_t bytes) {
  WaveShadow& shadow = waves_[wave.id_in_group];
  if (std::byte* const place = private_shadow(wave, shadow, va, bytes))
    std::fill_n(place, bytes, std::byte{0});
}

}  // namespace rigel::vgpu::exec
