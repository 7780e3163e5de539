// All environment variables of the virtual GPU. They are checked once at start, so that the components can
// ignore unknown values. Pure; any thread.
#pragma once

#include <string>
#include <vector>

namespace rigel::vgpu {

/// Upper limit of the number of threads that execute kernels.
constexpr unsigned kMostThreads = 1024;

/// Returns one sentence for each entry of `environment` (as environ, NAME=value) that has no effect: an
/// invalid value, or a name that is close to a variable's. The sentence lists the valid ones. VGPU_GPUS,
/// VGPU_LINK, VGPU_LOG and VGPU_WATCHDOG are not checked here; Settings and Log check their values.
std::vector<std::string> useless_variables(const char* const* environment);

}  // namespace rigel::vgpu
