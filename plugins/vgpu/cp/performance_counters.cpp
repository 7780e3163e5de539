#include "plugins/vgpu/cp/performance_counters.hpp"

#include <span>

namespace rigel::vgpu {
namespace {

// Addresses in dwords; equal on all chips.
constexpr uint32_t kGrbmIndex = 0xc200, kCounterLow = 0xd1c0, kControl = 0xd808, kSelect = 0xd9c0;
constexpr uint32_t kStateMask = 0xf, kStateReset = 0, kStateStart = 1;
constexpr uint32_t kEventMask = 0x1ff;  // PERF_SEL of SQ_PERFCOUNTERn_SELECT

// Returns part `index` of `parts` parts of a sum, which differ by at most one.
uint64_t share(uint64_t sum, uint64_t parts, uint64_t index) {
  return sum / parts + (index < sum % parts ? 1 : 0);
}

struct Event {
  uint32_t number;
  WaveEvent event;
};

// gfx8 and later chips of AMD Instinct: basic_counters.xml of rocprofiler. gfx9: vega10_enum.h.
constexpr Event kVolcanicIslandsEvents[] = {
    {4, WaveEvent::kWaves},   {14, WaveEvent::kItems},        {25, WaveEvent::kInstructions},
    {26, WaveEvent::kVector}, {27, WaveEvent::kVectorWrite},  {28, WaveEvent::kVectorRead},
    {30, WaveEvent::kScalar}, {31, WaveEvent::kScalarMemory}, {32, WaveEvent::kFlat},
    {34, WaveEvent::kLds},    {35, WaveEvent::kGds},          {36, WaveEvent::kExport},
    {38, WaveEvent::kBranch}, {39, WaveEvent::kMessage},      {89, WaveEvent::kVectorLanes},
};
constexpr Event kVegaEvents[] = {
    {4, WaveEvent::kWaves},   {14, WaveEvent::kItems},        {25, WaveEvent::kInstructions},
    {26, WaveEvent::kVector}, {27, WaveEvent::kVectorWrite},  {28, WaveEvent::kVectorRead},
    {30, WaveEvent::kScalar}, {31, WaveEvent::kScalarMemory}, {32, WaveEvent::kFlat},
    {34, WaveEvent::kLds},    {35, WaveEvent::kGds},          {36, WaveEvent::kExport},
    {38, WaveEvent::kBranch}, {39, WaveEvent::kMessage},      {85, WaveEvent::kVectorLanes},
};
constexpr Event kMi100Events[] = {
    {4, WaveEvent::kWaves},   {14, WaveEvent::kItems},        {25, WaveEvent::kInstructions},
    {26, WaveEvent::kVector}, {28, WaveEvent::kVectorWrite},  {29, WaveEvent::kVectorRead},
    {31, WaveEvent::kScalar}, {32, WaveEvent::kScalarMemory}, {33, WaveEvent::kFlat},
    {35, WaveEvent::kLds},    {36, WaveEvent::kGds},          {37, WaveEvent::kExport},
    {39, WaveEvent::kBranch}, {40, WaveEvent::kMessage},      {86, WaveEvent::kVectorLanes},
};
constexpr Event kMi200Events[] = {
    {4, WaveEvent::kWaves},   {14, WaveEvent::kItems},        {25, WaveEvent::kInstructions},
    {26, WaveEvent::kVector}, {53, WaveEvent::kVectorWrite},  {54, WaveEvent::kVectorRead},
    {56, WaveEvent::kScalar}, {57, WaveEvent::kScalarMemory}, {58, WaveEvent::kFlat},
    {60, WaveEvent::kLds},    {61, WaveEvent::kGds},          {63, WaveEvent::kExport},
    {64, WaveEvent::kBranch}, {65, WaveEvent::kMessage},      {113, WaveEvent::kVectorLanes},
};
constexpr Event kMi300Events[] = {
    {4, WaveEvent::kWaves},   {14, WaveEvent::kItems},        {25, WaveEvent::kInstructions},
    {26, WaveEvent::kVector}, {57, WaveEvent::kVectorWrite},  {58, WaveEvent::kVectorRead},
    {60, WaveEvent::kScalar}, {61, WaveEvent::kScalarMemory}, {62, WaveEvent::kFlat},
    {65, WaveEvent::kLds},    {66, WaveEvent::kGds},          {68, WaveEvent::kExport},
    {69, WaveEvent::kBranch}, {70, WaveEvent::kMessage},      {118, WaveEvent::kVectorLanes},
};
// navi10_enum.h.
constexpr Event kNaviEvents[] = {
    {0x04, WaveEvent::kWaves},       {0x05, WaveEvent::kWaves32},      {0x06, WaveEvent::kWaves64},
    {0x08, WaveEvent::kItems},       {0x31, WaveEvent::kInstructions}, {0x32, WaveEvent::kBranch},
    {0x37, WaveEvent::kGds},         {0x38, WaveEvent::kExport},       {0x39, WaveEvent::kFlat},
    {0x3b, WaveEvent::kLds},         {0x3c, WaveEvent::kScalar},       {0x3d, WaveEvent::kScalarMemory},
    {0x3f, WaveEvent::kMessage},     {0x40, WaveEvent::kVector},       {0x45, WaveEvent::kVectorRead},
    {0x46, WaveEvent::kVectorWrite},
};

// soc21_enum.h.
constexpr Event kNavi3Events[] = {
    {0x04, WaveEvent::kWaves},       {0x05, WaveEvent::kWaves32},      {0x06, WaveEvent::kWaves64},
    {0x08, WaveEvent::kItems},       {0x30, WaveEvent::kInstructions}, {0x31, WaveEvent::kBranch},
    {0x36, WaveEvent::kGds},         {0x37, WaveEvent::kExport},       {0x38, WaveEvent::kFlat},
    {0x39, WaveEvent::kLds},         {0x3a, WaveEvent::kScalar},       {0x3b, WaveEvent::kScalarMemory},
    {0x3d, WaveEvent::kMessage},     {0x3e, WaveEvent::kVector},       {0x42, WaveEvent::kVectorRead},
    {0x43, WaveEvent::kVectorWrite},
};

// soc24_enum.h. The chip has no GDS.
constexpr Event kNavi4Events[] = {
    {0x04, WaveEvent::kWaves},  {0x05, WaveEvent::kWaves32},      {0x06, WaveEvent::kWaves64},
    {0x08, WaveEvent::kItems},  {0x27, WaveEvent::kInstructions}, {0x28, WaveEvent::kBranch},
    {0x2b, WaveEvent::kExport}, {0x2c, WaveEvent::kFlat},         {0x2d, WaveEvent::kLds},
    {0x2e, WaveEvent::kScalar}, {0x2f, WaveEvent::kScalarMemory}, {0x31, WaveEvent::kMessage},
    {0x32, WaveEvent::kVector}, {0x36, WaveEvent::kVectorRead},   {0x37, WaveEvent::kVectorWrite},
};

std::span<const Event> events_of(SequencerEvents numbers) {
  switch (numbers) {
    case SequencerEvents::kVolcanicIslands:
      return kVolcanicIslandsEvents;
    case SequencerEvents::kVega:
      return kVegaEvents;
    case SequencerEvents::kMi100:
      return kMi100Events;
    case SequencerEvents::kMi200:
      return kMi200Events;
    case SequencerEvents::kMi300:
      return kMi300Events;
    case SequencerEvents::kNavi:
      return kNaviEvents;
    case SequencerEvents::kNavi3:
      return kNavi3Events;
    case SequencerEvents::kNavi4:
      return kNavi4Events;
  }
  return {};
}

}  // namespace

std::optional<WaveEvent> sequencer_event(SequencerEvents numbers, uint32_t number) {
  for (const Event& event : events_of(numbers)) {
    if (event.number == number) return event.event;
  }
  return std::nullopt;
}

bool PerformanceCounters::has_register(uint32_t address) {
  return address == kGrbmIndex || address == kControl ||
         (address >= kSelect && address < kSelect + kCounters) ||
         (address >= kCounterLow && address < kCounterLow + 2 * kCounters);
}

std::optional<uint32_t> PerformanceCounters::write(uint32_t address, uint32_t value) {
  const MutexLock lock(mutex_);
  if (address == kGrbmIndex) {
    index_ = value;
  } else if (address == kControl) {
    control_ = value;
    if ((value & kStateMask) == kStateReset) events_ = {};
    is_running_ = (value & kStateMask) == kStateStart;
  } else if (address >= kSelect) {
    selected_[address - kSelect] = value;
    const uint32_t number = value & kEventMask;
    if (number != 0 && !sequencer_event(numbers_, number)) return number;
  }
  return std::nullopt;
}

uint64_t PerformanceCounters::value(uint32_t counter, uint32_t die) const {
  const uint32_t select = counts_processors() ? 2 * counter : counter;
  if (select >= kCounters) return 0;
  const auto event = sequencer_event(numbers_, selected_[select] & kEventMask);
  if (!event) return 0;
  const uint32_t engine = index_ >> 16 & 0xff;  // SE_INDEX; 0 if SE_BROADCAST_WRITES is set
  const bool is_broadcast = index_ >> 31 != 0;
  if (!is_broadcast && engine >= units_.engines) return 0;
  const uint64_t place = uint64_t{die} * units_.engines + (is_broadcast ? 0 : engine);
  const uint64_t of_engine = share(events_[*event], uint64_t{units_.engines} * units_.dies, place);
  return counts_processors() ? share_of_processors(of_engine) : of_engine;
}

// Returns the part of the selected array and processor; broadcasts select all.
uint64_t PerformanceCounters::share_of_processors(uint64_t of_engine) const {
  const uint32_t array = index_ >> 8 & 0xff, processor = index_ >> 2 & 0x3f;
  const bool all_arrays = (index_ >> 29 & 1) != 0, all_processors = (index_ >> 30 & 1) != 0;
  uint64_t sum = 0;
  for (uint32_t a = 0; a < units_.arrays; ++a) {
    for (uint32_t p = 0; p < units_.processors; ++p) {
      const bool is_selected = (all_arrays || a == array) && (all_processors || p == processor);
      const uint64_t place = uint64_t{a} * units_.processors + p;
      if (is_selected) sum += share(of_engine, uint64_t{units_.arrays} * units_.processors, place);
    }
  }
  return sum;
}

uint32_t PerformanceCounters::read(uint32_t address, uint32_t die) const {
  const MutexLock lock(mutex_);
  if (address == kGrbmIndex) return index_;
  if (address == kControl) return control_;
  if (address >= kSelect) return selected_[address - kSelect];
  const uint64_t count = value((address - kCounterLow) / 2, die);
  return static_cast<uint32_t>((address & 1) != 0 ? count >> 32 : count);
}

bool PerformanceCounters::is_running() const {
  const MutexLock lock(mutex_);
  return is_running_;
}

void PerformanceCounters::add(const WaveEvents& events) {
  const MutexLock lock(mutex_);
  events_ += events;
}

}  // namespace rigel::vgpu
