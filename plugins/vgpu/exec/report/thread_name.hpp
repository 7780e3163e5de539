// Names of the threads that execute work-groups: which kernel's, and which of them. For debuggers: gdb's
// `info threads` and `thread name`, and top(1).
//
// A name is a system call for each work-group, so threads have them only if somebody asks: with
// VGPU_THREAD_NAMES=1, or by running the program in a debugger.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rigel::vgpu::exec {

/// Of threads that execute nothing.
constexpr const char* kIdleThreadName = "vgpu-shader";

/// Whether threads are to have names of what they execute: VGPU_THREAD_NAMES, else whether a debugger traces
/// the process now.
bool thread_names_wanted();

/// "shift 12" for work-group 12 of "void ns::shift<int>(int*, int)": at most 15 characters, which the system
/// allows, with all of the number.
std::string thread_name(std::string_view kernel, uint64_t group);

/// Names the calling thread.
void set_thread_name(const std::string& name) noexcept;

}  // namespace rigel::vgpu::exec
