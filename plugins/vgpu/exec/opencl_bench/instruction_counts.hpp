// Instruction counts of kernels, from the virtual GPU's log. Logging would slow down measured runs, so the
// counts come from a separate run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rigel::vgpu::bench {

/// Returns the number of wave instructions of each kernel (`kernels`, or all) in one run. Empty if the GPU
/// does not log counts, as with a physical GPU.
std::map<std::string, uint64_t> instruction_counts(const std::vector<std::string>& kernels);

}  // namespace rigel::vgpu::bench
