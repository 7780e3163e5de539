// Cost of the checks (docs/guide/checking.md): each kernel with and without them, alternately, in one run.
#pragma once

#include <string>
#include <vector>

namespace rigel::vgpu::bench {

/// Prints the CPU time of the plain runs of `kernels` (empty: all), the slowdown by each of `checks`, a list
/// for vgpu-run --check such as "memory,init", and the peak memory. Returns whether all runs succeeded.
bool show_check_cost(int repetitions, const std::vector<std::string>& kernels,
                     const std::vector<std::string>& checks);

/// Runs the case that standard input names, as often as it requests, and prints the times. Returns whether
/// standard output could be written.
bool serve_runs(const std::string& folder);

}  // namespace rigel::vgpu::bench
