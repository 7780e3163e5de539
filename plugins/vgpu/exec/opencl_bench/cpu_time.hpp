// The processor time of this process.
#pragma once

namespace rigel::vgpu::bench {

/// Of all its threads, in seconds. The clock of the process would not do: Linux brings it up to date for the thread that asks,
/// and for others only when they stop or at a tick, which comes a few times in the time of a kernel (kernel/sched/cputime.c,
/// thread_group_cputime()).
double cpu_seconds();

}  // namespace rigel::vgpu::bench
