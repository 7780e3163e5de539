// How many instructions the kernels execute. Only the virtual GPU's log tells, and logging would cost time in
// the runs that are measured, so this is a run of its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rigel::vgpu::bench {

/// Of each kernel (of those named, or all): instructions of all waves in one run, each counted once for all
/// its lanes. Empty if the GPU doesn't tell, as real ones do not.
std::map<std::string, uint64_t> instruction_counts(const std::vector<std::string>& kernels);

}  // namespace rigel::vgpu::bench
