// The operations of all generations: one enumerator for each meaning. Arithmetic has the name of LLVM's
// pseudo instruction, memory operations have their mnemonic, without suffixes for encoding or addressing
// mode.
//
// If a name has several meanings, or a meaning several names:
//
//   v_add_co_u32     add with carry-out: v_add_u32 on gfx8, v_add_co_u32 on gfx9, gfx10; also sub, subrev
//   v_add_u32        add without carry: v_add_u32 on gfx9, v_add_nc_u32 on gfx10, absent on gfx8; also subs
//   v_add_i32, _i16  signed add without carry: v_add_nc_i32, v_add_nc_i16 on gfx10; also v_sub
//   v_addc_u32       add with carry-in: v_addc_u32, v_addc_co_u32, v_add_co_ci_u32; also subb, subbrev
//   v_add_u16        VOP2 of gfx8 and gfx9; v_add_nc_u16 is VOP3 of gfx10, with op_sel; also v_sub
//   v_mad_f16, v_mad_u16, v_mad_i16, v_fma_f16, v_div_fixup_f16, v_interp_p2_f16
//                    gfx9 and later: with op_sel, keep the other half of the destination.
//                    v_mad_legacy_f16 and so on: gfx8's v_mad_f16, which clears the upper half
//   v_cvt_f32_fp8    gfx942; v_cvt_f32_fp8_ocp is gfx12's v_cvt_f32_fp8, with OCP's formats; also the other
//                    conversions of fp8 and bf8
//   v_mad_mix_f32    gfx900, not fused; v_fma_mix_f32 has the same opcode on gfx906 and is fused
//
// Other 16-bit operations clear the upper half on gfx8 and gfx9, and keep it on gfx10. v_cmpx writes a mask
// and EXEC on gfx8 and gfx9, only EXEC on gfx10 (see dst). Atomics with and without a returned value (glc)
// are one operation, except those of LDS, which have two opcodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rigel::vgpu::isa {

/// Instruction sets. Chips of a family can differ in which instructions they have; see Target. The values are
/// bits of op.inc's second column.
enum class Family : uint8_t {
  kGfx8,
  kGfx9,
  kGfx10,
  kGfx11,
  kGfx12,
  kNone = 0xff,  ///< Of an unknown chip.
};

enum class Op : uint16_t {
  none,  ///< No operation: an instruction that was not decoded.
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

/// Number of enumerators, including `none`: the size of a table indexed by operation.
constexpr size_t kOpCount = sizeof(detail::kOpFamilies);

/// Returns the enumerator's name. Mnemonics depend on the generation; see disassembler.hpp.
constexpr std::string_view name(Op op) {
  const auto index = static_cast<size_t>(op);
  return index < kOpCount ? detail::kOpNames[index] : std::string_view("?");
}

/// Whether a chip of the family has the operation.
constexpr bool exists_on(Op op, Family family) {
  const auto index = static_cast<size_t>(op);
  return index < kOpCount && family != Family::kNone &&
         ((detail::kOpFamilies[index] >> static_cast<unsigned>(family)) & 1) != 0;
}

}  // namespace rigel::vgpu::isa
