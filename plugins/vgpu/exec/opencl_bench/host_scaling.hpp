// Speedup of the machine itself with several threads: an upper bound for kernels.
#pragma once

namespace rigel::vgpu::bench {

/// Returns the speedup (elapsed time) of `threads` threads over one for a[i] = b[i] + 1.5 * c[i], with
/// arrays as large as the kernels'.
double triad_scaling(unsigned threads, int repetitions);
/// Returns the speedup for arithmetic in registers at the CPU's full throughput.
double arithmetic_scaling(unsigned threads, int repetitions);

}  // namespace rigel::vgpu::bench
