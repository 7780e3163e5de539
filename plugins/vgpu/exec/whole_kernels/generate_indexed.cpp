// Registers by an index in M0: relative ones, and what s_set_gpr_idx_on counts on from. Which registers these are is known here, so
// that all are the kernel's, or a few beyond its last where that is asked for.
#include "plugins/vgpu/exec/whole_kernels/generator.hpp"

#include <algorithm>

namespace rigel::vgpu::exec::whole {

namespace {
constexpr uint32_t kMostIndex = 7;
constexpr uint32_t kIndexesSource0 = 1, kIndexesTarget = 8;
}  // namespace

// Of instructions that M0 indexes: as many registers as there can be indices are behind each of theirs.
uint32_t Generator::move_indexed() {
  const auto vgpr = [&] { return data_vgpr(kMostIndex + 1); };
  const uint32_t to = vgpr(), one = v(vgpr()), other = vgpr();
  if (draw_.one_in(2)) {
    v_mov(to, one);
  } else {
    put(encoder_.vop2(op(one_of({"v_xor_b32", "v_max_u32", "v_lshrrev_b32"})), to, one, other));
  }
  return to;
}

// M0 in one of the ways that there are, `bits` being what is indexed until then: what is indexed from then on.
uint32_t Generator::write_index(uint32_t bits) {
  constexpr uint32_t kM0 = isa::code::kM0;
  const uint32_t wanted = draw_.one_in(3) ? 0 : draw_.below(16);
  const uint32_t value = wanted << 12 | draw_.below(kMostIndex + 1);
  switch (draw_.below(4)) {
    case 0: {
      const uint32_t from = data_sgpr();
      s_mov(from, value);
      put(encoder_.sop1(op("s_mov_b32"), kM0, from));
      return wanted;
    }
    case 1: {
      // A register that is itself indexed would be another.
      if ((bits & (kIndexesSource0 | kIndexesTarget)) != 0) break;
      const uint32_t from = data_vgpr();
      v_const(from, value);
      put(encoder_.vop1(op("v_readfirstlane_b32"), kM0, v(from)));
      return wanted;
    }
    case 2: {
      // Of words in memory these are good ones: halves of addresses.
      const bool has_bits = draw_.one_in(2);
      const uint32_t at = has_bits ? argument::kOut : one_of({argument::kIn + 4, argument::kAtomics + 4});
      static_assert((kOutVa & 0xffff) == 0xf000 && kInVa >> 32 <= kMostIndex &&
                    kAtomicsVa >> 32 <= kMostIndex);
      put(encoder_.smem(op("s_load_dword"), kM0, kKernarg, static_cast<int32_t>(at)));
      put(encoder_.sopp(op("s_waitcnt"), counters(kNoWait, 0)));
      return has_bits ? 15 : 0;
    }
    default:
      break;
  }
  s_mov(kM0, value);
  return wanted;
}

// A function on the spot, which may say itself what is indexed while it lasts.
void Generator::call_indexed(uint32_t bits) {
  const uint32_t at = sgpr::kTemporary, back = at + 2, body = new_label(), behind = new_label();
  if (!is_gfx8() && draw_.one_in(3)) {
    put(encoder_.sopk(op("s_call_b64"), back, 0));
    kernel_.items.back().label = body;
  } else {
    address_of({body}, at);
    put(encoder_.sop1(op("s_swappc_b64"), back, at));
  }
  branch("s_branch", behind);
  put_label(body);
  const bool changes = draw_.one_in(2);
  if (changes) put(encoder_.sopp(op("s_set_gpr_idx_mode"), draw_.below(16)));
  move_indexed();
  if (changes) put(encoder_.sopp(op("s_set_gpr_idx_mode"), bits));
  put(encoder_.sop1(op("s_setpc_b64"), 0, back));
  put_label(behind);
}

// Indexing is on for no operand at first, and M0, which says so, is written by all kinds of instructions. Branches, calls and
// instructions at which compiled code is left are in between.
void Generator::indexing() {
  if (is_gfx10()) return relative_registers();
  if (draw_.one_in(2)) {  // M0 would index, and is seen by somebody before it does not
    const uint32_t to = data_sgpr(), from = data_sgpr();
    s_mov(isa::code::kM0, draw_.below(16) << 12 | draw_.below(kMostIndex + 1));
    put(encoder_.sop1(op("s_movrels_b32"), to, from));
  }
  const uint32_t index = data_sgpr();
  uint32_t bits = draw_.one_in(4) ? draw_.below(16) : 0;
  s_mov(index, draw_.below(kMostIndex + 1));
  put(encoder_.sopc(op("s_set_gpr_idx_on"), index, bits));
  // Kernels that have either of these are not compiled.
  const bool calls = draw_.one_in(4), writes_index = draw_.one_in(3);
  const uint32_t steps = 1 + draw_.below(4);
  uint32_t moved = data_vgpr();
  for (uint32_t i = 0; i < steps; ++i) {
    if (calls && draw_.one_in(2)) call_indexed(bits);
    if (writes_index && draw_.one_in(2)) bits = write_index(bits);
    switch (draw_.below(7)) {
      case 0:
      case 1: {
        const uint32_t over = new_label();
        const uint32_t one = data_sgpr(), other = data_sgpr();
        put(encoder_.sopc(op(one_of({"s_cmp_eq_u32", "s_cmp_gt_i32"})), one, other));
        branch("s_cbranch_scc1", over);
        if (draw_.one_in(2)) leave();
        move_indexed();
        put_label(over);
        break;
      }
      case 2:
      case 3:
        leave();
        break;
      case 4:
        bits = draw_.one_in(2) ? 0 : draw_.below(16);
        put(encoder_.sopp(op("s_set_gpr_idx_mode"), bits));
        break;
      case 5:
        s_mov(index, draw_.below(kMostIndex + 1));
        put(encoder_.sop1(op("s_set_gpr_idx_idx"), 0, index));
        break;
      default:
        break;
    }
    if (!draw_.one_in(4)) moved = move_indexed();
  }
  put(encoder_.sopp(op("s_set_gpr_idx_off"), 0));
  s_mov(isa::code::kM0, ~0u);
  places_.clear();
  keep(moved);
}

// A number of a register of the wave's, or of one that it does not have. Registers that are there and that nobody has written are left
// out.
uint32_t Generator::relative_number(uint32_t is, uint32_t behind_last) {
  return draw_.one_in(3) ? behind_last + draw_.below(6) : is;
}

// M0 counts on from registers to others, now and then to some beyond the last.
void Generator::relative_registers() {
  const RegisterLayout layout = layout_of(kernel_);
  const uint32_t sgprs = layout.sgprs < kFlatScratchSgpr ? layout.sgprs : isa::code::kVccLo;
  const uint32_t count = 1 + draw_.below(4);
  for (uint32_t i = 0; i < count; ++i) {
    const bool wide = draw_.one_in(3), is_target = draw_.one_in(2), is_vector = !is_gfx9() && draw_.one_in(2);
    if (is_vector) {
      const uint32_t named = data_vgpr(), other = data_vgpr();
      const uint32_t number =
          std::max(relative_number(named + draw_.below(kernel_.vgprs - named), layout.vgprs), named);
      s_mov(isa::code::kM0, number - named);
      if (is_target) {
        put(encoder_.vop1(op("v_movreld_b32"), named, v(other)));
      } else {
        put(encoder_.vop1(op("v_movrels_b32"), other, v(named)));
      }
      continue;
    }
    const uint32_t dwords = wide ? 2 : 1, named = data_sgpr(dwords), other = data_sgpr(dwords);
    uint32_t number = relative_number(std::max(named, data_sgpr(dwords)), sgprs);
    if (wide) number &= ~1u;
    s_mov(isa::code::kM0, number - named);
    if (draw_.one_in(3)) leave();
    if (is_target) {
      put(encoder_.sop1(op(wide ? "s_movreld_b64" : "s_movreld_b32"), named, other));
    } else {
      put(encoder_.sop1(op(wide ? "s_movrels_b64" : "s_movrels_b32"), other, named));
    }
    if (draw_.one_in(2)) v_mov(data_vgpr(), is_target ? number < sgpr::kDataEnd ? number : named : other);
  }
  s_mov(isa::code::kM0, ~0u);
  places_.clear();
  if (draw_.one_in(2)) keep(data_vgpr());
}

}  // namespace rigel::vgpu::exec::whole
