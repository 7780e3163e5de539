// The fields of MicroOp::aux in vector operations, which are the same at every SIMD level.
#pragma once

#ifndef RIGEL_SIMD_LEVEL
#define RIGEL_SIMD_LEVEL 0
#endif
#include "plugins/vgpu/exec/vector/values.hpp"

namespace rigel::vgpu::exec::compiler {

namespace aux = simd_baseline::aux;

}  // namespace rigel::vgpu::exec::compiler
