// Properties of each processor, and the limits that all processors of a family share.
//
// Constant tables: backends/gfx*/chips.cpp. Sources: LLVM's AMDGPU user guide (processors,
// features, limits), amdkfd (target versions, buffers), amdgpu (PCI ids, code names).
#pragma once

#include <span>
#include <string_view>

#include "backends/common/isa_names.hpp"
#include "backends/common/quirks.hpp"

namespace rigel::gfx {

/// Versions of copy-engine packets, named after the engine's version.
enum class SdmaVersion : uint8_t {
  kV3,  ///< gfx8: 32-bit indices that wrap in the ring; counts are exact
  kV4,  ///< gfx9: 64-bit indices that grow; counts are one less
  kV5,  ///< gfx10: as v4, with cache requests, and memory types in fences
  kV7   ///< gfx12: as v5, with wider fields of rectangles
};

struct Chip {
  GfxVersion version;
  std::string_view processor;  ///< "gfx906"
  uint8_t mach;                ///< EF_AMDGPU_MACH of its code
  uint8_t generic_mach;        ///< EF_AMDGPU_MACH of its generic target; 0: none
  IsaFeatures features;
  std::span<const hsabe_str_t, 4> isa_names;  ///< see kIsaNames
  uint32_t vgpr_bytes_per_cu;                 ///< size of a compute unit's waves in a save area
  uint32_t vgprs_per_lane;
  uint32_t sdma_copy_max;  ///< maximum bytes of a linear copy packet
};

/// Boards of a chip with a code name: PCI ids from `first` to `last`. Several chips can share a target
/// version (gfx803 is Fiji and all of Polaris); only the id distinguishes them.
struct Board {
  uint16_t first;
  uint16_t last;
  std::string_view code_name;
};

struct Generation;

struct Family {
  std::string_view name;
  std::span<const Chip> chips;
  std::span<const Board> boards;  ///< sorted by id
  std::span<const QuirkRule> quirks;
  uint32_t doorbell;  ///< HSABE_DOORBELL_, except as in aql_doorbell()
  SdmaVersion sdma;
  uint32_t wave_size;     ///< preferred
  uint32_t waves_per_cu;  ///< used by amdkfd for the save area of a compute unit
  uint32_t control_stack_bytes_per_wave;
  uint32_t control_stack_max;    ///< bytes; 0: no limit
  uint32_t sgprs_per_wave;       ///< addressable, without VCC and others
  uint32_t workgroup_lds_max;    ///< bytes
  const Generation* generation;  ///< functions for its queues and copies
};

/// Returns the chip with that version, or null.
const Chip* find_chip(const Family& family, GfxVersion version);

/// HSABE_DOORBELL_ of a device's AQL queues: the family's, unless the node's doorbells take dwords.
uint32_t aql_doorbell(const Family& family, const NodeFacts& facts);

/// Returns the code name of the board, or an empty string.
std::string_view find_code_name(const Family& family, uint32_t device_id);

}  // namespace rigel::gfx
