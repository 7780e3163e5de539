// Compute-unit masks of queues. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <hsa/hsa.h>

namespace rigel::gfx {

struct CuMask {
  hsa_status_t status = HSA_STATUS_SUCCESS;
  std::vector<uint32_t> words;  ///< one bit per compute unit, for SET_CU_MASK
};

/// Returns the mask for a queue that requests `asked`, on a device with `compute_units`. `pairs`: compute
/// units work in pairs, and both of a pair must be on or off (gfx10). Fails with
/// HSA_STATUS_ERROR_INVALID_ARGUMENT for a mask that splits a pair or is empty.
CuMask make_cu_mask(std::span<const uint32_t> asked, uint32_t compute_units, bool pairs);

}  // namespace rigel::gfx
