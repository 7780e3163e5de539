// Background threads for compiling kernels.
#pragma once

#include <cstddef>
#include <functional>

namespace rigel::vgpu::exec::compiler {

/// Queues a job for the process's background threads, one for each compiler that may run
/// (compilers_at_a_time()). Jobs of lower cost start first, jobs of equal cost in their order; exit() does
/// not wait for them. A child after fork() starts separate threads. Returns false if no thread can be
/// created. Any thread.
bool do_aside(size_t cost, std::function<void()> job);

}  // namespace rigel::vgpu::exec::compiler
