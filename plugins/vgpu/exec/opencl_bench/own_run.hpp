// Runs this program as a child process, for settings that take effect when a program opens a GPU: threads
// and log.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace rigel::vgpu::bench {

/// Runs the program with --alone, `environment` ("A=1 B=2") and `options`, for `kernels` or all. Calls
/// `on_time` with each kernel and its time in milliseconds. If `on_line` is set, calls it with every other
/// line, including standard error. Returns whether the run succeeded.
bool run_own(const std::string& environment, const std::string& options,
             const std::vector<std::string>& kernels,
             const std::function<void(const std::string& kernel, double ms)>& on_time,
             const std::function<void(const char* line)>& on_line = nullptr);

}  // namespace rigel::vgpu::bench
