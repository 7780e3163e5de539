// Names of worker threads: the kernel and work-group that they execute. Debuggers and top(1) show them, for
// example gdb's `info threads` and `thread name`.
//
// Setting a name costs a system call per work-group. Therefore it is done only with VGPU_THREAD_NAMES=1 or
// in a debugger.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rigel::vgpu::exec {

constexpr const char* kIdleThreadName = "vgpu-shader";

/// Whether threads get names of what they execute: VGPU_THREAD_NAMES, or by default whether a debugger
/// traces the process.
bool thread_names_wanted();

/// Returns "shift 12" for work-group 12 of "void ns::shift<int>(int*, int)". The name has at most 15
/// characters, the system's limit, and the complete number.
std::string thread_name(std::string_view kernel, uint64_t group);

void set_thread_name(const std::string& name) noexcept;

}  // namespace rigel::vgpu::exec
