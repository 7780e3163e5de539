// Scratch: size of the memory for a kernel's private segments, and its description for a queue.
//
// A device has a fixed number of wave slots with scratch. Memory for all of them can stay with a queue;
// memory for fewer limits the number of concurrent waves. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <hsa/amd_hsa_queue.h>

#include "backends/common/node_facts.hpp"

namespace rigel::gfx {

constexpr uint32_t kScratchWavesMax = 4095;  ///< 12 bits of COMPUTE_TMPRING_SIZE

/// COMPUTE_TMPRING_SIZE of a generation. The defaults are those up to gfx10.
struct TmpringLayout {
  uint32_t unit = 1024;        ///< granularity of a wave's scratch, in bytes
  uint32_t size_bits = 13;     ///< width of the field for a wave's scratch
  bool counts_engine = false;  ///< the number of waves is that of an engine, not of the XCC

  uint64_t wave_max() const { return ((uint64_t{1} << size_bits) - 1) * unit; }
};

/// The compute units, engines and slots are those of an XCC. All XCCs are alike, receive work-groups
/// round-robin, and have equal shares of a queue's memory.
struct ScratchDevice {
  uint32_t compute_units = 0;
  uint32_t engines = 1;  ///< shader arrays, which receive work-groups round-robin
  uint32_t slots_per_cu = 0;
  bool interleaves = false;  ///< an engine receives several small work-groups at a time (from gfx10 on)
  uint32_t xccs = 1;
  TmpringLayout tmpring{};

  /// Slots, including those that an asymmetric harvest leaves unused.
  uint32_t slots() const { return (compute_units + engines - 1) / engines * engines * slots_per_cu; }
};

ScratchDevice scratch_device(const TmpringLayout& tmpring, const NodeFacts& facts);

struct ScratchDispatch {
  std::array<uint32_t, 3> grid{1, 1, 1};       ///< work-items
  std::array<uint32_t, 3> workgroup{1, 1, 1};  ///< work-items
  uint32_t private_bytes = 0;                  ///< per work-item
  uint32_t lanes_per_wave = 64;
};

struct ScratchNeed {
  uint64_t lane_bytes = 0;  ///< rounded up so that wave_bytes is a multiple of the unit
  uint64_t wave_bytes = 0;
  uint32_t waves_per_group = 0;
  uint32_t device_waves = 0;    ///< slots of an XCC
  uint32_t dispatch_waves = 0;  ///< slots of an XCC that this dispatch can fill
  uint64_t device_bytes = 0;    ///< scratch of every slot, which may stay with the queue
  uint64_t dispatch_bytes = 0;  ///< scratch of this dispatch at full speed
  uint32_t xccs = 1;
  /// Memory for `waves` on each XCC.
  uint64_t bytes_of(uint32_t waves) const { return waves * wave_bytes * xccs; }
};

/// Returns nothing if a wave would need more than the hardware's maximum.
std::optional<ScratchNeed> scratch_need(const ScratchDevice& device, const ScratchDispatch& dispatch);

/// Returns the next number of concurrent waves to try if there is no memory for `waves`, or 0 if the dispatch
/// would make no progress with fewer. First removes whole work-groups from every compute unit. At one
/// work-group per compute unit or less, removes one wave at a time from every engine, down to one work-group
/// per engine. Every engine has the same share of the slots.
uint32_t fewer_scratch_waves(const ScratchDevice& device, const ScratchNeed& need, uint32_t waves);

/// Returns the number of `waves` that can reach their scratch. The offset in a scalar register and the
/// descriptor's number of records have 32 bits. Returns 0 if the dispatch would make no progress.
uint32_t reachable_scratch_waves(const ScratchDevice& device, const ScratchNeed& need, uint32_t waves);

struct ScratchMemory {
  uint64_t va = 0;          ///< 0: none
  uint64_t bytes = 0;       ///< size for one XCC; the scratch of the other XCCs follows that of the first
  uint64_t wave_bytes = 0;  ///< ScratchNeed::wave_bytes
  uint32_t lanes_per_wave = 64;
};

using ScratchResource = std::array<uint32_t, 4>;
// `host_page_tables` has no effect on gfx10 and gfx11.
ScratchResource scratch_resource_gfx8(const ScratchMemory& memory, bool host_page_tables);  ///< gfx8 and gfx9
ScratchResource scratch_resource_gfx10(const ScratchMemory& memory, bool host_page_tables);
ScratchResource scratch_resource_gfx11(const ScratchMemory& memory, bool host_page_tables);

/// Returns the value of COMPUTE_TMPRING_SIZE: the number of waves, and the size for each. 0: no scratch.
uint32_t tmpring_size(const ScratchDevice& device, const ScratchMemory& memory);

/// Writes the scratch fields of `queue`, which must be idle. `location` is the base of flat scratch: the
/// address, or on gfx8 the offset from the base that SET_SCRATCH_BACKING_VA has set.
void set_scratch(amd_queue_t& queue, const ScratchMemory& memory, const ScratchResource& resource,
                 uint32_t tmpring, uint64_t location);

}  // namespace rigel::gfx
