// Target IDs of GPU code ("gfx906:xnack-"): which boards can execute the code.
//
// Threads: any.
#pragma once

#include <string_view>

namespace rigel::vgpu {

/// Whether code for `target` ("gfx906:xnack-", "gfx9-generic") can run on `gfx`, for example "gfx906".
/// Ignores XNACK and ECC. Source: LLVM's AMDGPU manual, "Generic processors".
bool fits(std::string_view target, std::string_view gfx);

}  // namespace rigel::vgpu
