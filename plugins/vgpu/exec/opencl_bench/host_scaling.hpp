// What the machine itself gains by a second thread: no kernel can gain more.
#pragma once

namespace rigel::vgpu::bench {

/// Times as fast as one thread that `threads` of them are, elapsed time: a[i] = b[i] + 1.5 * c[i] over arrays
/// as large as the kernels' …
double triad_scaling(unsigned threads, int repetitions);
/// … and arithmetic in registers, as much as a processor can do at once.
double arithmetic_scaling(unsigned threads, int repetitions);

}  // namespace rigel::vgpu::bench
