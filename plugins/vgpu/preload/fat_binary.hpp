// The GPU code in HIP programs: its targets, and the GPUs without code.
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

/// Returns the targets of AMD GPUs in a bundle of clang-offload-bundler, without their triples:
/// "gfx906:xnack-". The bundle's size is derived from its contents. Empty: not such a bundle, or a compressed
/// one.
std::vector<std::string> bundle_targets(const std::byte* bundle);

/// Returns `gfx`, or the version in HSA_OVERRIDE_GFX_VERSION_<node> or HSA_OVERRIDE_GFX_VERSION, for example
/// "10.3.0". Both runtimes read these. `variable` returns the value of a variable, or null.
std::string gfx_by_environment(std::string gfx, uint32_t node,
                               const std::function<const char*(const char*)>& variable);

/// Returns a warning about the GPUs for which a file has no code. Empty: it has code for all GPUs, or no GPU
/// code at all. `name` is the board's.
struct GpuName {
  std::string name, gfx;
};
std::string missing_code(const std::string& file, const std::vector<std::string>& targets,
                         const std::vector<GpuName>& gpus);

}  // namespace rigel::vgpu
