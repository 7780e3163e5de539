// One row of facts for each processor, and for each family the limits that all its processors share.
//
// Constant tables: backends/gfx8|gfx9|gfx10/chips.cpp. Sources: LLVM's AMDGPU user guide (processors,
// features, limits), amdkfd (target versions, buffers), amdgpu (PCI ids, code names).
#pragma once

#include <span>
#include <string_view>

#include "backends/common/isa_names.hpp"
#include "backends/common/quirks.hpp"

namespace rigel::gfx {

/// The dialects of copy-engine packets. Named after the engine's version.
enum class SdmaVersion : uint8_t {
  kV3,  ///< gfx8: 32-bit indices that wrap in the ring; counts as they are
  kV4,  ///< gfx9: 64-bit indices that grow; counts less one
  kV5   ///< gfx10: v4, with cache requests, and memory types in fences
};

struct Chip {
  GfxVersion version;
  std::string_view processor;  ///< "gfx906"
  uint8_t mach;                ///< EF_AMDGPU_MACH of code for it
  uint8_t generic_mach;        ///< that of the generic target it belongs to; 0: none
  IsaFeatures features;
  std::span<const hsabe_str_t, 4> isa_names;  ///< see kIsaNames
  uint32_t vgpr_bytes_per_cu;                 ///< what saving a compute unit's waves has to hold
  uint32_t vgprs_per_lane;
  uint32_t sdma_copy_max;  ///< bytes of one linear copy packet
};

/// PCI ids from `first` to `last` are boards of the chip with that code name. Several chips can share a
/// target version (gfx803 is Fiji and all of Polaris), and an id alone tells them apart.
struct Board {
  uint16_t first;
  uint16_t last;
  std::string_view code_name;
};

struct Generation;

/// What all chips of a family have in common.
struct Family {
  std::string_view name;
  std::span<const Chip> chips;
  std::span<const Board> boards;  ///< sorted by id
  std::span<const QuirkRule> quirks;
  uint32_t doorbell;  ///< HSABE_DOORBELL_, but for aql_doorbell()
  SdmaVersion sdma;
  uint32_t wave_size;     ///< preferred
  uint32_t waves_per_cu;  ///< that amdkfd reckons with when it saves a compute unit
  uint32_t control_stack_bytes_per_wave;
  uint32_t control_stack_max;    ///< bytes; 0: no limit
  uint32_t sgprs_per_wave;       ///< addressable, without VCC and the like
  uint32_t workgroup_lds_max;    ///< bytes
  const Generation* generation;  ///< what its queues and copies are made of
};

/// The chip with that version, or null.
const Chip* find_chip(const Family& family, GfxVersion version);

/// HSABE_DOORBELL_ of a device's AQL queues: the family's, unless the node says that its doorbells take
/// dwords.
uint32_t aql_doorbell(const Family& family, const NodeFacts& facts);

/// The code name of the board, or an empty string.
std::string_view find_code_name(const Family& family, uint32_t device_id);

}  // namespace rigel::gfx
