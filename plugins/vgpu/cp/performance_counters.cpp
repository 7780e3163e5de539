#include "plugins/vgpu/cp/performance_counters.hpp"

#include <algorithm>
#include <iterator>

namespace rigel::vgpu {
namespace {

// Addresses in dwords; equal on all chips.
constexpr uint32_t kGrbmIndex = 0xc200, kCounterLow = 0xd1c0, kControl = 0xd808, kSelect = 0xd9c0;
constexpr uint32_t kStateMask = 0xf, kStateReset = 0, kStateStart = 1;
constexpr uint32_t kEventMask = 0x1ff;  // PERF_SEL of SQ_PERFCOUNTERn_SELECT

struct Event {
  uint32_t number;
  WaveEvent event;
};

// gfx8 and gfx9: vega10_enum.h. gfx8 has the same numbers (basic_counters.xml of rocprofiler).
constexpr Event kVegaEvents[] = {
    {0x04, WaveEvent::kWaves},  {0x0e, WaveEvent::kItems},        {0x19, WaveEvent::kInstructions},
    {0x1a, WaveEvent::kVector}, {0x1b, WaveEvent::kVectorWrite},  {0x1c, WaveEvent::kVectorRead},
    {0x1e, WaveEvent::kScalar}, {0x1f, WaveEvent::kScalarMemory}, {0x20, WaveEvent::kFlat},
    {0x22, WaveEvent::kLds},    {0x23, WaveEvent::kGds},          {0x24, WaveEvent::kExport},
    {0x26, WaveEvent::kBranch}, {0x27, WaveEvent::kMessage},      {0x55, WaveEvent::kVectorLanes},
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

template <size_t kSize>
std::optional<WaveEvent> find(const Event (&events)[kSize], uint32_t number) {
  const auto* const found = std::find_if(std::begin(events), std::end(events),
                                         [&](const Event& event) { return event.number == number; });
  if (found == std::end(events)) return std::nullopt;
  return found->event;
}

}  // namespace

std::optional<WaveEvent> sequencer_event(SequencerEvents numbers, uint32_t number) {
  switch (numbers) {
    case SequencerEvents::kVega:
      return find(kVegaEvents, number);
    case SequencerEvents::kNavi:
      return find(kNaviEvents, number);
    case SequencerEvents::kNavi3:
      return find(kNavi3Events, number);
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
  const auto event = sequencer_event(numbers_, selected_[counter] & kEventMask);
  if (!event) return 0;
  const uint32_t engine = index_ >> 16 & 0xff;  // SE_INDEX; 0 if SE_BROADCAST_WRITES is set
  const bool is_broadcast = index_ >> 31 != 0;
  if (!is_broadcast && engine >= engines_) return 0;
  const uint64_t sum = events_[*event], all = uint64_t{engines_} * dies_;
  const uint64_t place = uint64_t{die} * engines_ + (is_broadcast ? 0 : engine);
  return sum / all + (place < sum % all ? 1 : 0);
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
