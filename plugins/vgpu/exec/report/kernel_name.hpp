// The name of a kernel, from the code object that it was loaded with.
//
// Loaders copy the segments of a code object as they are, its ELF header and its dynamic symbols among them.
// So the header lies on a page before the kernel object, and a symbol there has the kernel object's address.
#pragma once

#include <string>

#include "plugins/vgpu/exec/wave_memory.hpp"

namespace rigel::vgpu::exec {

/// Empty if there is no such symbol. Reads only what is mapped. Inside a scope of `memory`.
std::string kernel_name(WaveMemory& memory, uint64_t kernel_object_va);

}  // namespace rigel::vgpu::exec
