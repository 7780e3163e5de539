// Code objects that a chip can run, and kernel descriptors. Pure; any thread.
#pragma once

#include <string>

#include "backends/common/chip.hpp"

namespace rigel::gfx {

/// Ranks of code for accepts(): the chip's processor before the generic one of its group, and code that
/// requires a feature setting before code for both settings.
enum Fit : uint32_t {
  kFitNone = 0,
  kFitGeneric = 1,
  kFitGenericExact = 2,
  kFitAny = 3,
  kFitExact = 4,
};

/// `facts` contains the enabled features. The reason for kFitNone is stored to *why, if that is not null.
Fit fit_of(const Chip& chip, const NodeFacts& facts, const hsabe_code_target_t& target, std::string* why);

/// Reads the 64 bytes of a kernel descriptor (code objects v3 and later; the runtime reads those of v2).
/// Zeroes *info except its struct_size.
hsabe_status_t describe_kernel(const Family& family, const void* descriptor, hsabe_kernel_info_t* info);

}  // namespace rigel::gfx
