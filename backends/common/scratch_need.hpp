// Scratch: how much memory the private segments of a kernel need, and how a queue is told where it is.
//
// A device has a fixed number of wave slots with scratch. Memory for all of them can stay with a queue;
// memory for fewer limits how many waves of a kernel run at a time. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <hsa/amd_hsa_queue.h>

#include "backends/common/node_facts.hpp"

namespace rigel::gfx {

constexpr uint64_t kScratchUnit = 1024;                    ///< what a wave's scratch is counted in
constexpr uint64_t kScratchWaveMax = 8191 * kScratchUnit;  ///< 13 bits
constexpr uint32_t kScratchWavesMax = 4095;                ///< 12 bits

/// What the formulas need of a device.
struct ScratchDevice {
  uint32_t compute_units = 0;
  uint32_t engines = 1;  ///< shader arrays: work-groups are dealt to them in turn
  uint32_t slots_per_cu = 0;
  bool interleaves = false;  ///< gfx10: an engine takes small work-groups in runs

  /// Slots, with those that an asymmetric harvest leaves out of use.
  uint32_t slots() const { return (compute_units + engines - 1) / engines * engines * slots_per_cu; }
};

ScratchDevice scratch_device(const NodeFacts& facts);

/// What a dispatch packet says.
struct ScratchDispatch {
  std::array<uint32_t, 3> grid{1, 1, 1};       ///< work-items
  std::array<uint32_t, 3> workgroup{1, 1, 1};  ///< work-items
  uint32_t private_bytes = 0;                  ///< of a work-item
  uint32_t lanes_per_wave = 64;
};

struct ScratchNeed {
  uint64_t lane_bytes = 0;  ///< rounded up so that a wave's are whole granules
  uint64_t wave_bytes = 0;
  uint32_t waves_per_group = 0;
  uint32_t device_waves = 0;    ///< slots of the device
  uint32_t dispatch_waves = 0;  ///< of these, what this dispatch can fill
  uint64_t device_bytes = 0;    ///< for every slot: may stay with the queue
  uint64_t dispatch_bytes = 0;  ///< for this dispatch at full speed
};

/// None if a wave would need more than hardware can say.
std::optional<ScratchNeed> scratch_need(const ScratchDevice& device, const ScratchDispatch& dispatch);

/// With less memory fewer waves run at a time: the next smaller number of waves below `waves` with which this
/// dispatch still makes progress, or 0. Whole work-groups on each compute unit as long as possible, then fewer
/// on each engine, down to one work-group there: every engine has the same share of the slots.
uint32_t fewer_scratch_waves(const ScratchDevice& device, const ScratchNeed& need, uint32_t waves);

/// As many of `waves` as find their scratch: they do so by 32 bits, the offset in a scalar register and the records of the
/// descriptor. 0: with so few, the dispatch makes no progress.
uint32_t reachable_scratch_waves(const ScratchDevice& device, const ScratchNeed& need, uint32_t waves);

/// Memory that a queue is given.
struct ScratchMemory {
  uint64_t va = 0;  ///< 0: none
  uint64_t bytes = 0;
  uint64_t wave_bytes = 0;  ///< from ScratchNeed
  uint32_t lanes_per_wave = 64;
};

/// Words of the buffer resource through which buffer instructions reach scratch.
using ScratchResource = std::array<uint32_t, 4>;
ScratchResource scratch_resource_gfx8(const ScratchMemory& memory, bool host_page_tables);  ///< gfx8 and gfx9
ScratchResource scratch_resource_gfx10(const ScratchMemory& memory);

/// COMPUTE_TMPRING_SIZE: how many waves, and how much for each. 0 for no memory.
uint32_t tmpring_size(const ScratchDevice& device, const ScratchMemory& memory);

/// Puts the memory into the queue's structure; the caller has made sure that nothing of the queue runs.
/// `location` is what flat scratch begins at: the address, or (gfx8) the offset from the pool that
/// SET_SCRATCH_BACKING_VA was told of.
void set_scratch(amd_queue_t& queue, const ScratchMemory& memory, const ScratchResource& resource,
                 uint32_t tmpring, uint64_t location);

}  // namespace rigel::gfx
