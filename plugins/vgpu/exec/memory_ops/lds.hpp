// DS instructions that move data between lanes and touch no memory: permutations and swizzles.
#pragma once

#include "plugins/vgpu/exec/lowering.hpp"
#include "plugins/vgpu/exec/simd.hpp"

namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE {

constexpr bool is_lane_exchange(isa::Op op) {
  return op == isa::Op::ds_swizzle_b32 || op == isa::Op::ds_permute_b32 || op == isa::Op::ds_bpermute_b32;
}

Refusal lower_lane_exchange(const isa::Instruction& instruction, LoweringContext& context, Emitter& out);

}  // namespace rigel::vgpu::exec::RIGEL_SIMD_NAMESPACE
