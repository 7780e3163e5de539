// The interpreter's functions that continue with the next wave; kernel_frame.cpp calls them by these names.
#include "plugins/vgpu/exec/wave_row.hpp"

namespace rigel::vgpu::exec {

extern "C" [[gnu::used]] Wave* after_end(WorkGroup* group, Wave* wave, int64_t* budget) {
  return next_after_end(*group, wave, *budget);
}
extern "C" [[gnu::used]] bool next_group(WorkGroup* group) {
  return start_next_group(*group);
}
extern "C" [[gnu::used]] Wave* after_barrier(WorkGroup* group, Wave* wave, int64_t* budget) {
  return next_after_barrier(*group, wave, *budget);
}
extern "C" [[gnu::used]] Wave* after_yield(WorkGroup* group, Wave* wave, int64_t* budget) {
  return next_after_yield(*group, wave, *budget);
}

}  // namespace rigel::vgpu::exec
