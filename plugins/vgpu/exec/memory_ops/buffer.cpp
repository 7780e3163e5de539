#include "plugins/vgpu/exec/memory_ops/memory_handlers.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

Refusal lower_buffer(const isa::Instruction&, LoweringContext&, Emitter&) {
  return "buffer instructions are not executed";
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
