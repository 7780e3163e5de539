// Code objects on a device: which of them it takes, and what has to happen before they run.
#pragma once

#include "backends/common/code_fit.hpp"
#include "backends/common/gpu_device.hpp"

namespace rigel::gfx {

/// accepts(): 0 with the reason reported, or how well it fits.
uint32_t code_fit(const Device& device, const hsabe_code_target_t& target);

/// Makes instruction fetch see code that is in place. Nothing is kept.
hsabe_status_t load_code(Device& device, const hsabe_segment_t& segment, void** image);

}  // namespace rigel::gfx
