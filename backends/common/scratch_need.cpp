#include "backends/common/scratch_need.hpp"

#include <algorithm>

#include "api/support/page_size.hpp"

namespace rigel::gfx {
namespace {

constexpr uint32_t kWaveSizeShift = 12;

// Word 1 of a buffer resource.
constexpr uint32_t kAddressHighMask = 0xffff;
constexpr uint32_t kSwizzle = 1u << 31;
constexpr uint32_t kGfx11Swizzle = 1u << 30;  // one of two bits: 4 bytes of a lane at a time
// Word 3. Lanes of a wave are interleaved by dwords: index stride 64, thread id added.
constexpr uint32_t kSelectXyzw = 4u | 5u << 3 | 6u << 6 | 7u << 9;
constexpr uint32_t kAddThreadId = 1u << 23;
constexpr uint32_t kNumFormatUint = 4u << 12;
constexpr uint32_t kDataFormat32 = 4u << 15;
constexpr uint32_t kElementSize4 = 1u << 19;
constexpr uint32_t kIndexStride64 = 3u << 21;
constexpr uint32_t kHostPageTables = 1u << 24;
constexpr uint32_t kGfx10Format32Uint = 0x14u << 12;
constexpr uint32_t kGfx10ResourceLevel = 1u << 24;
constexpr uint32_t kGfx10NoBoundsCheck = 2u << 28;  // a swizzled access has no meaningful bounds

constexpr uint64_t divide_up(uint64_t value, uint64_t by) {
  return value / by + (value % by != 0 ? 1 : 0);
}

// Products of three 32-bit sizes that a packet may set to any value; everything above is limited later.
uint64_t saturating(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

// Number of work-groups that can be resident, for scratch. Engines receive work-groups in turn. If they have
// unequal numbers of compute units, the larger ones get more of a full device: each gets slots for the
// maximum.
uint64_t resident_groups(const ScratchDevice& device, uint64_t groups, uint64_t lanes_per_group) {
  const uint64_t cus = std::max(device.compute_units, 1u);
  const uint64_t surplus = cus % device.engines;  // compute units beyond an equal share
  const uint64_t rounds = groups / cus;
  const uint64_t even_groups = groups - rounds * surplus;
  uint64_t per_engine = divide_up(even_groups, device.engines) + (surplus != 0 ? rounds : 0);
  // From gfx10 on an engine receives 256 work-items or 16 work-groups before the next one does.
  constexpr uint64_t kRunLanes = 256, kRunGroups = 16;
  if (device.interleaves && per_engine < kRunGroups && lanes_per_group * per_engine < kRunLanes)
    per_engine = std::min(divide_up(kRunLanes, lanes_per_group), kRunGroups);
  return saturating(per_engine, device.engines);
}

}  // namespace

ScratchDevice scratch_device(const TmpringLayout& tmpring, const NodeFacts& facts) {
  return {.compute_units = facts.compute_units() / facts.xcc_count,
          .engines = std::max(facts.array_count / facts.xcc_count, 1u),
          .slots_per_cu = facts.max_scratch_slots_per_cu,
          .interleaves = facts.version.major >= 10,
          .xccs = facts.xcc_count,
          .tmpring = tmpring};
}

std::optional<ScratchNeed> scratch_need(const ScratchDevice& device, const ScratchDispatch& dispatch) {
  ScratchNeed need;
  const uint64_t lanes = dispatch.lanes_per_wave;
  need.lane_bytes = round_up(dispatch.private_bytes, device.tmpring.unit / lanes);
  need.wave_bytes = need.lane_bytes * lanes;
  if (need.wave_bytes > device.tmpring.wave_max()) return std::nullopt;

  uint64_t lanes_per_group = 1, groups = 1;
  for (size_t i = 0; i < 3; ++i) {
    const uint64_t size = std::max(dispatch.workgroup[i], 1u);
    lanes_per_group = saturating(lanes_per_group, size);
    groups = saturating(groups, divide_up(dispatch.grid[i], size));
  }
  const uint64_t waves_per_group = divide_up(lanes_per_group, lanes);
  need.waves_per_group = static_cast<uint32_t>(std::min<uint64_t>(waves_per_group, UINT32_MAX));
  need.device_waves = std::min(device.slots(), kScratchWavesMax / device.engines * device.engines);
  groups = divide_up(groups, device.xccs);
  const uint64_t resident = saturating(resident_groups(device, groups, lanes_per_group), waves_per_group);
  need.dispatch_waves = static_cast<uint32_t>(std::min<uint64_t>(resident, need.device_waves));
  need.xccs = device.xccs;
  need.device_bytes = need.bytes_of(need.device_waves);
  need.dispatch_bytes = need.bytes_of(need.dispatch_waves);
  return need;
}

uint32_t fewer_scratch_waves(const ScratchDevice& device, const ScratchNeed& need, uint32_t waves) {
  if (device.compute_units == 0 || waves == 0) return 0;
  const uint32_t group = std::max(need.waves_per_group, 1u);
  const uint64_t per_cu = waves / device.compute_units;
  // Whole work-groups on every compute unit.
  if (per_cu > group) {
    const uint64_t groups = (per_cu - 1) / group;
    return static_cast<uint32_t>(groups * group * device.compute_units);
  }
  // Not even one per compute unit: one wave less on every engine while it has the slots of a work-group. The
  // processor selects the engine of a work-group.
  const uint32_t per_engine = (waves - 1) / device.engines;
  return per_engine >= group ? per_engine * device.engines : 0;
}

uint32_t reachable_scratch_waves(const ScratchDevice& device, const ScratchNeed& need, uint32_t waves) {
  constexpr uint64_t kMost = uint64_t{1} << 32;
  while (waves * need.wave_bytes > kMost) waves = fewer_scratch_waves(device, need, waves);
  return waves;
}

ScratchResource scratch_resource_gfx8(const ScratchMemory& memory, bool host_page_tables) {
  return {static_cast<uint32_t>(memory.va),
          (static_cast<uint32_t>(memory.va >> 32) & kAddressHighMask) | kSwizzle,
          static_cast<uint32_t>(std::min<uint64_t>(memory.bytes, UINT32_MAX)),
          kSelectXyzw | kNumFormatUint | kDataFormat32 | kElementSize4 | kIndexStride64 | kAddThreadId |
              (host_page_tables ? kHostPageTables : 0)};
}

ScratchResource scratch_resource_gfx10(const ScratchMemory& memory, bool) {
  return {static_cast<uint32_t>(memory.va),
          (static_cast<uint32_t>(memory.va >> 32) & kAddressHighMask) | kSwizzle,
          static_cast<uint32_t>(std::min<uint64_t>(memory.bytes, UINT32_MAX)),
          kSelectXyzw | kGfx10Format32Uint | kAddThreadId | kGfx10ResourceLevel | kGfx10NoBoundsCheck};
}

ScratchResource scratch_resource_gfx11(const ScratchMemory& memory, bool) {
  return {static_cast<uint32_t>(memory.va),
          (static_cast<uint32_t>(memory.va >> 32) & kAddressHighMask) | kGfx11Swizzle,
          static_cast<uint32_t>(std::min<uint64_t>(memory.bytes, UINT32_MAX)),
          kSelectXyzw | kGfx10Format32Uint | kAddThreadId | kGfx10NoBoundsCheck};
}

uint32_t tmpring_size(const ScratchDevice& device, const ScratchMemory& memory) {
  if (memory.bytes == 0 || memory.wave_bytes == 0) return 0;
  uint64_t waves = memory.bytes / memory.wave_bytes;
  waves = std::min({waves, uint64_t{device.compute_units} * device.slots_per_cu, uint64_t{kScratchWavesMax}});
  waves -= waves % device.engines;  // an equal share for each engine
  if (device.tmpring.counts_engine) waves /= device.engines;
  return static_cast<uint32_t>(waves) | static_cast<uint32_t>(memory.wave_bytes / device.tmpring.unit)
                                            << kWaveSizeShift;
}

void set_scratch(amd_queue_t& queue, const ScratchMemory& memory, const ScratchResource& resource,
                 uint32_t tmpring, uint64_t location) {
  std::copy(resource.begin(), resource.end(), std::begin(queue.scratch_resource_descriptor));
  queue.compute_tmpring_size = tmpring;
  queue.scratch_backing_memory_location = location;
  queue.scratch_backing_memory_byte_size = memory.bytes;
  // Size for a lane if 64 of them share a wave's memory, for any wave size.
  queue.scratch_wave64_lane_byte_size = static_cast<uint32_t>(memory.wave_bytes / 64);
}

}  // namespace rigel::gfx
