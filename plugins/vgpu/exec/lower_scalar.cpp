#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/exec/simd.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

Refusal lower_scalar(const isa::Instruction&, LoweringContext&, Emitter&) {
  return "scalar instructions are not executed";
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
