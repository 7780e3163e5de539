// The interpreter's functions that continue with the next wave; kernel_frame.cpp calls them by these names.
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
