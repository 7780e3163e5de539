// The variables of the environment that the virtual GPU reads, by whichever of its parts: so that a wrong one is said once,
// where the GPU begins, and parts may pass over what they do not know. Pure; any thread.
#pragma once

#include <string>
#include <vector>

namespace rigel::vgpu {

/// How many threads may execute kernels, at most.
constexpr unsigned kMostThreads = 1024;

/// What of `environment` (as environ, NAME=value) has no effect although it was meant to: a value that is none of a
/// variable's, and a name that is nearly a variable's. A sentence each, with what there is. Of VGPU_GPUS, VGPU_LINK,
/// VGPU_LOG and VGPU_WATCHDOG nothing: settings.hpp and the log look at their values.
std::vector<std::string> useless_variables(const char* const* environment);

}  // namespace rigel::vgpu
