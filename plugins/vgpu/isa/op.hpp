// The operations of all generations: one enumerator, one meaning. The names are LLVM's for the pseudo
// instruction (arithmetic) or the mnemonic (memory), without what says the encoding or the addressing mode.
//
// Where a name means different things on different generations, or different names the same:
//   v_add_co_u32     adds, gives a carry: v_add_u32 on gfx8, v_add_co_u32 on gfx9, gfx10; sub, subrev alike
//   v_add_u32        adds, no carry: v_add_u32 on gfx9, v_add_nc_u32 on gfx10, absent on gfx8; subs alike
//   v_add_i32, _i16  add signed, no carry: v_add_nc_i32, v_add_nc_i16 on gfx10; v_sub alike
//   v_addc_u32       adds with a carry: v_addc_u32, v_addc_co_u32, v_add_co_ci_u32; subb, subbrev alike
//   v_add_u16        VOP2 of gfx8 and gfx9; v_add_nc_u16 is VOP3 of gfx10, with op_sel; v_sub alike
//   v_mad_f16, v_mad_u16, v_mad_i16, v_fma_f16, v_div_fixup_f16, v_interp_p2_f16
//                    of gfx9 and later, with op_sel, which leave the other half of the destination alone;
//                    v_mad_legacy_f16 and so on are what gfx8 calls v_mad_f16: the upper half becomes zero
//   v_mad_mix_f32    gfx900, not fused; v_fma_mix_f32 has the same opcode on gfx906 and is fused
// What other 16-bit operations do to the upper half depends on the generation, not on the operation: zero on
// gfx8 and gfx9, unchanged on gfx10. v_cmpx writes a mask and EXEC on gfx8 and gfx9, EXEC alone on gfx10: see
// dst. Atomics of flat, global, scratch, buffer and scalar memory are one operation, with and without a
// returned value (glc); those of the LDS are two, as they are two opcodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rigel::vgpu::isa {

/// Instruction sets. Within one, the chips differ in which instructions they have: see Target.
enum class Family : uint8_t { kGfx8, kGfx9, kGfx10 };

enum class Op : uint16_t {
  none,  ///< No operation: what an instruction that was not decoded has.
#define RIGEL_OP(name, families, op_class) name,
#include "plugins/vgpu/isa/op.inc"
#undef RIGEL_OP
};

namespace detail {
constexpr std::string_view kOpNames[] = {
    "none",
#define RIGEL_OP(name, families, op_class) #name,
#include "plugins/vgpu/isa/op.inc"
#undef RIGEL_OP
};
constexpr uint8_t kOpFamilies[] = {
    0,
#define RIGEL_OP(name, families, op_class) families,
#include "plugins/vgpu/isa/op.inc"
#undef RIGEL_OP
};
}  // namespace detail

/// Enumerators, `none` included: the bound of a table by operation.
constexpr size_t kOpCount = sizeof(detail::kOpFamilies);

/// The enumerator's name; what assembly calls it depends on the generation: see disassembler.hpp.
constexpr std::string_view name(Op op) {
  const auto index = static_cast<size_t>(op);
  return index < kOpCount ? detail::kOpNames[index] : std::string_view("?");
}

/// Whether some chip of the family has the operation.
constexpr bool exists_on(Op op, Family family) {
  const auto index = static_cast<size_t>(op);
  return index < kOpCount && ((detail::kOpFamilies[index] >> static_cast<unsigned>(family)) & 1) != 0;
}

}  // namespace rigel::vgpu::isa
