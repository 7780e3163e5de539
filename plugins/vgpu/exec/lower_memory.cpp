#include "plugins/vgpu/exec/memory_ops/memory_handlers.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

Refusal lower_memory(const isa::Instruction& instruction, LoweringContext& context, Emitter& out) {
  using isa::Encoding;
  switch (instruction.encoding) {
    case Encoding::kSmem:
      return lower_scalar_memory(instruction, context, out);
    case Encoding::kDs:
      return lower_lds(instruction, context, out);
    case Encoding::kFlat:
    case Encoding::kGlobal:
    case Encoding::kScratch:
      return lower_flat(instruction, context, out);
    case Encoding::kMubuf:
    case Encoding::kMtbuf:
      return lower_buffer(instruction, context, out);
    case Encoding::kMimg:
      return lower_image(instruction, context, out);
    default:
      return "not a memory instruction";
  }
}

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
