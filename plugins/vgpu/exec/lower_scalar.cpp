#include "plugins/vgpu/exec/lowering.hpp"

namespace rigel::vgpu::exec {

Refusal lower_scalar(const isa::Instruction&, LoweringContext&, Emitter&) {
  return "scalar instructions are not executed";
}

}  // namespace rigel::vgpu::exec
