#include "plugins/vgpu/exec/scalar.hpp"

namespace rigel::vgpu::exec {

Refusal lower_scalar(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  for (const auto part :
       {scalar::lower_alu, scalar::lower_control, scalar::lower_mask, scalar::lower_state}) {
    const Refusal refusal = part(instruction, context, out);
    if (refusal != scalar::kNotMine) return refusal;
  }
  return "a scalar instruction that is not executed";
}

}  // namespace rigel::vgpu::exec
