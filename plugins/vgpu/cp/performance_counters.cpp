#include "plugins/vgpu/cp/performance_counters.hpp"

#include <algorithm>
#include <iterator>

namespace rigel::vgpu {
namespace {

// Addresses in dwords; equal on all chips.
constexpr uint32_t kGrbmIndex = 0xc200, kControl = 0xd808;
constexpr uint32_t kStateMask = 0xf, kStateReset = 0, kStateStart = 1;
constexpr uint32_t kInstanceBroadcast = 1u << 30, kArrayBroadcast = 1u << 29, kEngineBroadcast = 1u << 31;

struct Registers {
  uint32_t first, count;

  constexpr bool has(uint32_t address) const { return address >= first && address - first < count; }
};
constexpr Registers kSequencerCounts{0xd1c0, 32}, kSequencerSelects{0xd9c0, 16};
constexpr Registers kLauncherCounts{0xd180, 12}, kLauncherSelects{0xd980, 10};  // HI precedes LO
constexpr Registers kAddresserCounts{0xd2c0, 4}, kAddresserSelects{0xdac0, 4};

constexpr uint32_t event_mask(CounterBlock block) {
  return block == CounterBlock::kSequencer ? 0x1ff : 0x3ff;
}

// Returns part `index` of `parts` parts of a sum, which differ by at most one.
uint64_t share(uint64_t sum, uint64_t parts, uint64_t index) {
  return sum / parts + (index < sum % parts ? 1 : 0);
}

// The number of an event on chips with each EventNumbers; 0: the chip has no such event, or its number is not
// public. Events of cycles follow a model: LDS as in exec/profile/memory_counter.hpp; an instruction of VALU
// or SALU works for four cycles, the unit of these events. VALUUtilization of AMD's profilers is thus the
// percentage of active lanes.
struct Event {
  CounterBlock block;
  WaveEvent event;
  uint16_t numbers[static_cast<size_t>(EventNumbers::kCount)];
};
constexpr auto kSq = CounterBlock::kSequencer, kTa = CounterBlock::kAddresser, kSpi = CounterBlock::kLauncher;
constexpr Event kEvents[] = {
    // clang-format off
    // SQ_PERF_SEL                   gfx8 gfx9 MI100 200 300 gfx10 gfx11 gfx12
    {kSq, WaveEvent::kWaves,           {4,   4,   4,   4,   4,   4,   4,   4}},
    {kSq, WaveEvent::kWaves32,         {0,   0,   0,   0,   0,   5,   5,   5}},
    {kSq, WaveEvent::kWaves64,         {0,   0,   0,   0,   0,   6,   6,   6}},
    {kSq, WaveEvent::kItems,          {14,  14,  14,  14,  14,   8,   8,   8}},
    {kSq, WaveEvent::kInstructions,   {25,  25,  25,  25,  25,  49,  48,  39}},
    {kSq, WaveEvent::kInstructions32,  {0,   0,   0,   0,   0,  84,  82,  70}},
    {kSq, WaveEvent::kInstructions64,  {0,   0,   0,   0,   0,  85,  83,  71}},
    {kSq, WaveEvent::kVector,         {26,  26,  26,  26,  26,  64,  62,  50}},
    {kSq, WaveEvent::kMatrix,          {0,   0,  27,  52,  56,   0,   0,   0}},
    {kSq, WaveEvent::kVectorWrite,    {27,  27,  28,  53,  57,  70,  67,  55}},
    {kSq, WaveEvent::kVectorRead,     {28,  28,  29,  54,  58,  69,  66,  54}},
    {kSq, WaveEvent::kVectorMemory,   {29,  29,  30,  55,  59,   0,   0,   0}},
    {kSq, WaveEvent::kScalar,         {30,  30,  31,  56,  60,  60,  58,  46}},
    {kSq, WaveEvent::kScalarMemory,   {31,  31,  32,  57,  61,  61,  59,  47}},
    {kSq, WaveEvent::kFlat,           {32,  32,  33,  58,  62,  57,  56,  44}},
    {kSq, WaveEvent::kLds,            {34,  34,  35,  60,  65,  59,  57,  45}},
    {kSq, WaveEvent::kGds,            {35,  35,  36,  61,  66,  55,  54,   0}},
    {kSq, WaveEvent::kExport,         {36,  36,  37,   0,   0,  56,  55,  43}},
    {kSq, WaveEvent::kExportOrGds,    {37,  37,  38,  63,  68,  54,  53,   0}},
    {kSq, WaveEvent::kBranch,         {38,  38,  39,  64,  69,  50,  49,  40}},
    {kSq, WaveEvent::kMessage,        {39,  39,  40,  65,  70,  63,  61,  49}},
    {kSq, WaveEvent::kVector,         {69,  71,  72,  99, 104,   0,   0,   0}},  // ACTIVE_INST_VALU
    {kSq, WaveEvent::kScalar,         {86,  84,  85, 112, 117,   0,   0,   0}},  // INST_CYCLES_SALU
    {kSq, WaveEvent::kVectorLanes,    {89,  85,  86, 113, 118,   0,   0,   0}},  // THREAD_CYCLES_VALU
    {kSq, WaveEvent::kLdsConflicts,   {97,  93,  94, 121, 126, 285, 256, 288}},
    {kSq, WaveEvent::kLdsCycles,     {102,  98,  99, 126, 131, 290, 261, 293}},
    // TA_PERFCOUNT_SEL
    {kTa, WaveEvent::kAddressed,      {32,  32,  32,  32,  29,  32,  32,  32}},
    {kTa, WaveEvent::kBuffer,         {44,  44,  44,  44,  32,  44,  44,  44}},
    {kTa, WaveEvent::kBufferRead,     {45,  45,  45,  45,  33,  45,  45,  45}},
    {kTa, WaveEvent::kBufferWrite,    {46,  46,  46,  46,  34,  46,  46,  46}},
    {kTa, WaveEvent::kBufferAtomic,   {47,  47,  47,  47,  35,  47,  47,  47}},
    {kTa, WaveEvent::kFlatAddressed, {100, 100, 100, 100,  51, 100, 100, 100}},
    {kTa, WaveEvent::kFlatRead,      {101, 101, 101, 101,  52, 101, 101, 101}},
    {kTa, WaveEvent::kFlatWrite,     {102, 102, 102, 102,  53, 102, 102, 102}},
    {kTa, WaveEvent::kFlatAtomic,    {103, 103, 103, 103,  54, 103, 103, 103}},
    // SPI_PERFCNT_SEL: CSN_NUM_THREADGROUPS, CSN_WAVE
    {kSpi, WaveEvent::kWorkGroups,    {65,  65,  49,  49,  49,  49,  46,  47}},
    {kSpi, WaveEvent::kWaves,         {68,  68,  52,  52,  52,  52,  49,  50}},
    // clang-format on
};

constexpr std::string_view name_of(CounterBlock block) {
  switch (block) {
    case CounterBlock::kSequencer:
      return "SQ";
    case CounterBlock::kAddresser:
      return "TA";
    case CounterBlock::kLauncher:
      return "SPI";
  }
  return {};
}

// SELECT registers of blocks whose events measure times and caches. Event 0 of GRBM counts clocks; other
// blocks have no event 0.
struct OtherBlock {
  Registers selects;
  std::string_view name;
  uint32_t event_mask = 0x3ff;
  bool counts_with_0 = false;
};
constexpr OtherBlock kOtherBlocks[] = {
    {{0xd800, 8}, "CP"},        {{0xd809, 1}, "CP"},        {{0xd840, 9}, "GRBM", 0x3f, true},
    {{0xda00, 3}, "EA"},        {{0xda20, 3}, "EA"},        {{0xda40, 4}, "SX"},
    {{0xda80, 4}, "GDS"},       {{0xdb00, 3}, "TD"},        {{0xdb40, 6}, "TCP"},
    {{0xdb80, 7}, "TCC, GL2C"}, {{0xdb90, 7}, "TCA, GL2A"}, {{0xdba0, 7}, "GL1C"},
    {{0xdcc1, 2}, "RLC"},       {{0xdd60, 3}, "GCR"},       {{0xddc0, 7}, "GL1A"},
};

}  // namespace

std::optional<WaveEvent> counted_event(EventNumbers numbers, CounterBlock block, uint32_t number) {
  if (number == 0) return std::nullopt;
  for (const Event& event : kEvents) {
    if (event.block == block && event.numbers[static_cast<size_t>(numbers)] == number) return event.event;
  }
  return std::nullopt;
}

bool PerformanceCounters::has_register(uint32_t address) {
  return address == kGrbmIndex || address == kControl || kSequencerSelects.has(address) ||
         kSequencerCounts.has(address) || kLauncherSelects.has(address) || kLauncherCounts.has(address) ||
         kAddresserSelects.has(address) || kAddresserCounts.has(address);
}

std::optional<UnknownEvent> PerformanceCounters::selected_elsewhere(uint32_t address, uint32_t value) {
  for (const OtherBlock& block : kOtherBlocks) {
    if (!block.selects.has(address)) continue;
    const uint32_t number = value & block.event_mask;
    if (number == 0 && !block.counts_with_0) return std::nullopt;
    return UnknownEvent{block.name, number};
  }
  return std::nullopt;
}

std::optional<UnknownEvent> PerformanceCounters::select(CounterBlock block, uint32_t value) const {
  const uint32_t number = value & event_mask(block);
  if (number == 0 || counted_event(numbers_, block, number)) return std::nullopt;
  return UnknownEvent{name_of(block), number};
}

std::optional<UnknownEvent> PerformanceCounters::write(uint32_t address, uint32_t value) {
  const MutexLock lock(mutex_);
  if (address == kGrbmIndex) {
    index_ = value;
  } else if (address == kControl) {
    const bool was_reset = (control_ & kStateMask) == kStateReset;
    control_ = value;
    if ((value & kStateMask) == kStateReset) {
      events_ = {};
      if (!was_reset) selected_since_reset_ = 0;
    }
    is_running_ = (value & kStateMask) == kStateStart;
  } else if (kSequencerSelects.has(address)) {
    sequencer_selects_[address - kSequencerSelects.first] = value;
    selected_since_reset_ |= 1u << (address - kSequencerSelects.first);
    return select(CounterBlock::kSequencer, value);
  } else if (kLauncherSelects.has(address)) {
    launcher_selects_[address - kLauncherSelects.first] = value;
    return select(CounterBlock::kLauncher, value);
  } else if (kAddresserSelects.has(address)) {
    const uint32_t place = address - kAddresserSelects.first;
    if ((index_ & kInstanceBroadcast) == 0) {
      addresser_selects_[index_ & 0xff][place] = value;
    } else {
      for (AddresserSelects& selects : addresser_selects_) selects[place] = value;
    }
    return select(CounterBlock::kAddresser, value);
  }
  return std::nullopt;
}

std::optional<WaveEvent> PerformanceCounters::event_of_sequencer(uint32_t counter) const {
  const uint32_t place = counts_processors() ? 2 * counter : counter;
  if (place >= kSequencerCounters) return std::nullopt;
  return counted_event(numbers_, kSq, sequencer_selects_[place] & event_mask(kSq));
}

// Up to gfx11, the registers of the last two counters follow four that extend those of the first ones.
std::optional<WaveEvent> PerformanceCounters::event_of_launcher(uint32_t counter) const {
  const uint32_t place = counter < 4 || numbers_ == EventNumbers::kNavi4 ? counter : counter + 4;
  return counted_event(numbers_, kSpi, launcher_selects_[place] & event_mask(kSpi));
}

// Returns the part of the selected shader engine; with broadcast, of the first one. 0 if it does not exist.
uint64_t PerformanceCounters::of_engine(WaveEvent event, uint32_t die) const {
  const bool is_broadcast = (index_ & kEngineBroadcast) != 0;
  const uint32_t engine = is_broadcast ? 0 : index_ >> 16 & 0xff;
  if (engine >= units_.engines) return 0;
  const uint64_t place = uint64_t{die} * units_.engines + engine;
  return share(events_[event], uint64_t{units_.engines} * units_.dies, place);
}

uint64_t PerformanceCounters::of_sequencer(uint32_t counter, uint32_t die) const {
  const auto event = event_of_sequencer(counter);
  if (!event) return 0;
  const uint64_t count = of_engine(*event, die);
  return counts_processors() ? share_of_processors(count) : count;
}

uint64_t PerformanceCounters::of_launcher(uint32_t counter, uint32_t die) const {
  const auto event = event_of_launcher(counter);
  return event ? of_engine(*event, die) : 0;
}

bool PerformanceCounters::selects_array(uint32_t array) const {
  return (index_ & kArrayBroadcast) != 0 || (index_ >> 8 & 0xff) == array;
}

// Returns the part of the selected array and processor; broadcasts select all.
uint64_t PerformanceCounters::share_of_processors(uint64_t of_engine) const {
  const uint32_t processor = index_ >> 2 & 0x3f;
  const bool all_processors = (index_ & kInstanceBroadcast) != 0;
  uint64_t sum = 0;
  for (uint32_t a = 0; a < units_.arrays; ++a) {
    for (uint32_t p = 0; p < units_.processors; ++p) {
      const bool is_selected = selects_array(a) && (all_processors || p == processor);
      const uint64_t place = uint64_t{a} * units_.processors + p;
      if (is_selected) sum += share(of_engine, uint64_t{units_.arrays} * units_.processors, place);
    }
  }
  return sum;
}

uint32_t PerformanceCounters::instance_of_unit(uint32_t unit) const {
  return numbers_ == EventNumbers::kNavi4 ? unit / 2 << 2 | unit % 2 : unit;
}

uint64_t PerformanceCounters::of_addressers(uint32_t counter, uint32_t die) const {
  const bool all_units = (index_ & kInstanceBroadcast) != 0;
  uint64_t sum = 0;
  for (uint32_t a = 0; a < units_.arrays; ++a) {
    for (uint32_t unit = 0; unit < units_.compute_units; ++unit) {
      const uint32_t instance = instance_of_unit(unit);
      const bool is_selected = selects_array(a) && (all_units || instance == (index_ & 0xff));
      if (!is_selected || instance >= kInstances) continue;
      const uint32_t number = addresser_selects_[instance][size_t{2} * counter] & event_mask(kTa);
      const auto event = counted_event(numbers_, kTa, number);
      if (!event) continue;
      const uint64_t place = uint64_t{a} * units_.compute_units + unit;
      sum += share(of_engine(*event, die), uint64_t{units_.arrays} * units_.compute_units, place);
    }
  }
  return sum;
}

uint32_t PerformanceCounters::read(uint32_t address, uint32_t die) const {
  const auto half = [](uint64_t count, bool is_high) {
    return static_cast<uint32_t>(is_high ? count >> 32 : count);
  };
  const MutexLock lock(mutex_);
  if (kSequencerSelects.has(address)) return sequencer_selects_[address - kSequencerSelects.first];
  if (kLauncherSelects.has(address)) return launcher_selects_[address - kLauncherSelects.first];
  if (kAddresserSelects.has(address))
    return addresser_selects_[index_ & 0xff][address - kAddresserSelects.first];
  if (kSequencerCounts.has(address)) {
    const uint32_t place = address - kSequencerCounts.first;
    return half(of_sequencer(place / 2, die), place % 2 != 0);
  }
  if (kLauncherCounts.has(address)) {
    const uint32_t place = address - kLauncherCounts.first;
    return half(of_launcher(place / 2, die), place % 2 == 0);
  }
  if (kAddresserCounts.has(address)) {
    const uint32_t place = address - kAddresserCounts.first;
    return half(of_addressers(place / 2, die), place % 2 != 0);
  }
  return address == kGrbmIndex ? index_ : control_;
}

bool PerformanceCounters::is_running() const {
  const MutexLock lock(mutex_);
  return is_running_;
}

bool PerformanceCounters::selects_lds() const {
  const MutexLock lock(mutex_);
  for (uint32_t counter = 0; counter < kSequencerCounters; ++counter) {
    const uint32_t place = counts_processors() ? 2 * counter : counter;
    if (place >= kSequencerCounters || (selected_since_reset_ >> place & 1) == 0) continue;
    const auto event = event_of_sequencer(counter);
    if (event && needs_lds_counts(*event)) return true;
  }
  return false;
}

void PerformanceCounters::add(const WaveEvents& events) {
  const MutexLock lock(mutex_);
  events_ += events;
}

}  // namespace rigel::vgpu
