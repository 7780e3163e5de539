#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/exec/simd.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

Refusal lower_memory(const isa::Instruction&, LoweringContext&, Emitter&) {
  return "memory instructions are not executed";
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
