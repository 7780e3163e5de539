// Short names for isa/memory_shape.hpp, for memory handlers.
#pragma once

#include "plugins/vgpu/isa/memory_shape.hpp"

namespace rigel::vgpu::exec {

using isa::Atomic;
using isa::Verb;
using Shape = isa::MemoryShape;

}  // namespace rigel::vgpu::exec
