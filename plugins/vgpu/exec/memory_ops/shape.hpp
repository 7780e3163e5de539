// The words of isa/memory_shape.hpp, as those that execute memory instructions use them.
#pragma once

#include "plugins/vgpu/isa/memory_shape.hpp"

namespace rigel::vgpu::exec {

using isa::Atomic;
using isa::Verb;
using Shape = isa::MemoryShape;

}  // namespace rigel::vgpu::exec
