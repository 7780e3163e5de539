#pragma once

namespace rigel::vgpu::bench {

/// Returns the CPU time of all threads, in seconds. The process clock is too coarse: Linux updates other
/// threads' time only when they stop or at a tick (kernel/sched/cputime.c, thread_group_cputime()). Ticks
/// are rare in the run time of a kernel.
double cpu_seconds();

}  // namespace rigel::vgpu::bench
