// The GPU code in HIP programs: for which targets it is, and which GPUs it leaves out.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rigel::vgpu {

/// The targets of a bundle of code objects, as clang-offload-bundler makes them, "gfx906:xnack-": those of
/// AMD GPUs, without their triples. Nothing says how long `bundle` is but its own numbers. Empty: it is no
/// such bundle, or a compressed one.
std::vector<std::string> bundle_targets(const std::byte* bundle);

/// Whether code for `target` may run on `gfx`, "gfx906". Settings of XNACK and ECC are not looked at.
bool fits(std::string_view target, std::string_view gfx);

/// The gfx name that a GPU is taken for: `gfx`, unless HSA_OVERRIDE_GFX_VERSION_<node> or HSA_OVERRIDE_GFX_VERSION,
/// "10.3.0", says otherwise. Both runtimes read these. `variable` returns the value of a variable, or null.
std::string gfx_by_environment(std::string gfx, uint32_t node,
                               const std::function<const char*(const char*)>& variable);

/// A warning about the GPUs that a file has no code for; empty: it has code for all, or none at all. A GPU's
/// `name` is its board's.
struct GpuName {
  std::string name, gfx;
};
std::string missing_code(const std::string& file, const std::vector<std::string>& targets,
                         const std::vector<GpuName>& gpus);

}  // namespace rigel::vgpu
