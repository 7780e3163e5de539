// How much faster the virtual GPU is with two threads than with one. How many it has is settled when a
// program opens it, so each measurement is a run of this program.
#pragma once

#include <string>
#include <vector>

namespace rigel::vgpu::bench {

/// Shows it for each kernel (of those named, or all), and beside it what the machine itself gains. Says
/// whether all runs succeeded. One thread only; the runs use whatever GPU the program would.
bool show_scaling(int repetitions, const std::vector<std::string>& kernels);

}  // namespace rigel::vgpu::bench
