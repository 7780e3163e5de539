// Checks the environment variables of the virtual GPU, once at start. Components that read a variable later
// can therefore ignore an invalid value silently. Pure; any thread.
#pragma once

#include <string>
#include <vector>

namespace rigel::vgpu {

/// Upper limit of the number of threads that execute kernels.
constexpr unsigned kMostThreads = 1024;

/// Returns one sentence for each variable that has no effect because of an error. Either its value is
/// invalid: the sentence lists the valid values. Or its name is unknown but close to a variable's: the
/// sentence suggests that one. `environment` has the form of environ(7): strings NAME=value, then null. The
/// values of VGPU_GPUS, VGPU_LINK, VGPU_LOG and VGPU_WATCHDOG are checked by Settings and Log.
std::vector<std::string> useless_variables(const char* const* environment);

}  // namespace rigel::vgpu
