// Runs of this program by itself, for what is settled when a program opens a GPU: its threads, its log.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace rigel::vgpu::bench {

/// Runs the program alone (without PoCL) with `environment` ("A=1 B=2") and `options`, on those kernels or
/// all. `timed` is given each kernel with its time in milliseconds; `said`, if any, every other line, and
/// then also those of the standard error. Says whether the run succeeded.
bool run_own(const std::string& environment, const std::string& options,
             const std::vector<std::string>& kernels,
             const std::function<void(const std::string& kernel, double ms)>& timed,
             const std::function<void(const char* line)>& said = nullptr);

}  // namespace rigel::vgpu::bench
