// Which code objects a chip runs, and what a kernel descriptor says. Pure; any thread.
#pragma once

#include <string>

#include "backends/common/chip.hpp"

namespace rigel::gfx {

/// How well code fits, for accepts(): its own processor before the generic one of its group, and code that
/// insists on a feature as it is before code that works with it on and off.
enum Fit : uint32_t {
  kFitNone = 0,
  kFitGeneric = 1,
  kFitGenericExact = 2,
  kFitAny = 3,
  kFitExact = 4,
};

/// `facts` says which features are on. The reason for kFitNone is put into *why, if that is not null.
Fit fit_of(const Chip& chip, const NodeFacts& facts, const hsabe_code_target_t& target, std::string* why);

/// Reads the 64 bytes of a kernel descriptor (code objects v3 and later; the runtime itself reads those of
/// v2). *info is zeroed but for its struct_size.
hsabe_status_t describe_kernel(const Family& family, const void* descriptor, hsabe_kernel_info_t* info);

}  // namespace rigel::gfx
