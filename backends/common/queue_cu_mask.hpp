// Compute-unit masks of queues. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <hsa/hsa.h>

namespace rigel::gfx {

struct CuMask {
  hsa_status_t status = HSA_STATUS_SUCCESS;
  std::vector<uint32_t> words;  ///< one bit a compute unit, for SET_CU_MASK
};

/// The mask that a queue gets which asks for `asked`, on a device with `compute_units`. `pairs`: compute
/// units work in pairs, and both of a pair are on or off (gfx10). A mask that splits a pair or leaves nothing
/// on is HSA_STATUS_ERROR_INVALID_ARGUMENT.
CuMask make_cu_mask(std::span<const uint32_t> asked, uint32_t compute_units, bool pairs);

}  // namespace rigel::gfx
