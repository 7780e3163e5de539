// Code objects on a device: which it accepts, and their activation.
#pragma once

#include "backends/common/code_fit.hpp"
#include "backends/common/gpu_device.hpp"

namespace rigel::gfx {

/// accepts(): returns the rank of the code, or 0 and reports the reason.
uint32_t code_fit(const Device& device, const hsabe_code_target_t& target);

/// Makes code in memory visible to instruction fetch. Stores no state.
hsabe_status_t load_code(Device& device, const hsabe_segment_t& segment, void** image);

}  // namespace rigel::gfx
