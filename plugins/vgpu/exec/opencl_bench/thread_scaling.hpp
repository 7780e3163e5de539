// Speedup of the virtual GPU with two threads over one. The number of threads is fixed when a program opens
// the GPU, so each measurement runs this program as a child process.
#pragma once

#include <string>
#include <vector>

namespace rigel::vgpu::bench {

/// Prints the speedup of each kernel (`kernels`, or all) and of the machine itself. Returns whether all
/// runs succeeded. The runs use the same GPU as the program.
///
/// Threads: one.
bool show_scaling(int repetitions, const std::vector<std::string>& kernels);

}  // namespace rigel::vgpu::bench
