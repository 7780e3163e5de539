// A background thread for compiling kernels.
#pragma once

#include <functional>

namespace rigel::vgpu::exec::compiler {

/// Queues a job for the process's background thread, which the first job starts. Jobs run one after the
/// other; exit() does not wait for them. A child after fork() starts a separate thread. Returns false if no
/// thread can be created. Any thread.
bool do_aside(std::function<void()> job);

}  // namespace rigel::vgpu::exec::compiler
