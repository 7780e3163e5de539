// Compiles kernels beside the threads that run them.
#pragma once

#include <functional>

namespace rigel::vgpu::exec::compiler {

/// Has the job done by the process's thread for that, which the first job starts; one job after the other. A process that ends
/// waits for none. In a child after fork(), jobs are done by a thread of its own. False: no
/// thread can be had, and the job is not done. Any thread.
bool do_aside(std::function<void()> job);

}  // namespace rigel::vgpu::exec::compiler
