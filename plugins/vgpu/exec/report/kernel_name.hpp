// Name of a kernel, from its loaded code object.
//
// Loaders copy the segments of a code object unchanged, including its ELF header and dynamic symbols. The
// header is therefore on a page before the kernel object, and a symbol has the kernel object's address.
#pragma once

#include <string>

#include "plugins/vgpu/exec/wave_memory.hpp"

namespace rigel::vgpu::exec {

/// Returns the name, or an empty text if there is no such symbol. Reads mapped memory only. Called inside a
/// scope of `memory`.
std::string kernel_name(WaveMemory& memory, uint64_t kernel_object_va);

}  // namespace rigel::vgpu::exec
