// The interpreter's functions that compiled code calls between waves, by names that kernel_frame.cpp knows.
#include "plugins/vgpu/exec/wave_row.hpp"

namespace rigel::vgpu::exec {

extern "C" [[gnu::used]] Wave* after_end(Wave* wave, int64_t* budget) {
  return next_after_end(wave, *budget);
}
extern "C" [[gnu::used]] Wave* after_barrier(Wave* wave, int64_t* budget) {
  return next_after_barrier(wave, *budget);
}
extern "C" [[gnu::used]] Wave* after_yield(Wave* wave, int64_t* budget) {
  return next_after_yield(wave, *budget);
}

}  // namespace rigel::vgpu::exec
