// Register indexing by M0: relative moves, and s_set_gpr_idx_on. The generator limits indices so that they
// select the kernel's registers, or deliberately a few past the last.
#include "plugins/vgpu/exec/whole_kernels/generator.hpp"

#include <algorithm>

namespace rigel::vgpu::exec::whole {

namespace {
constexpr uint32_t kMaxIndex = 7;
constexpr uint32_t kIndexesSource0 = 1, kIndexesTarget = 8;
}  // namespace

// Emits a move that M0 may index. Each of its registers is followed by kMaxIndex further registers.
uint32_t Generator::move_indexed() {
  const auto vgpr = [&] { return data_vgpr(kMaxIndex + 1); };
  const uint32_t destination = vgpr(), first = v(vgpr()), second = vgpr();
  if (draw_.one_in(2)) {
    v_mov(destination, first);
  } else {
    put(encoder_.vop2(op(one_of({"v_xor_b32", "v_max_u32", "v_lshrrev_b32"})), destination, first, second));
  }
  return destination;
}

// Writes M0 in one of several ways. `bits` are the indexed operands before; returns those after.
uint32_t Generator::write_index(uint32_t bits) {
  constexpr uint32_t kM0 = isa::code::kM0;
  const uint32_t new_bits = draw_.one_in(3) ? 0 : draw_.below(16);
  const uint32_t value = new_bits << 12 | draw_.below(kMaxIndex + 1);
  switch (draw_.below(4)) {
    case 0: {
      const uint32_t source = data_sgpr();
      s_mov(source, value);
      put(encoder_.sop1(op("s_mov_b32"), kM0, source));
      return new_bits;
    }
    case 1: {
      // An indexed register would be a different one.
      if ((bits & (kIndexesSource0 | kIndexesTarget)) != 0) break;
      const uint32_t source = data_vgpr();
      v_const(source, value);
      put(encoder_.vop1(op("v_readfirstlane_b32"), kM0, v(source)));
      return new_bits;
    }
    case 2: {
      // Suitable words in memory: halves of addresses.
      const bool has_bits = draw_.one_in(2);
      const uint32_t offset = has_bits ? argument::kOut : one_of({argument::kIn + 4, argument::kAtomics + 4});
      static_assert((kOutVa & 0xffff) == 0xf000 && kInVa >> 32 <= kMaxIndex && kAtomicsVa >> 32 <= kMaxIndex);
      put(encoder_.smem(op("s_load_dword"), kM0, kKernarg, static_cast<int32_t>(offset)));
      if (is_gfx12()) {
        put(encoder_.sopp(op("s_wait_kmcnt"), 0));
      } else {
        put(encoder_.sopp(op("s_waitcnt"), counters(kNoWait, 0)));
      }
      return has_bits ? 15 : 0;
    }
    default:
      break;
  }
  s_mov(kM0, value);
  return new_bits;
}

// Calls an inline function, which may change the indexed operands until it returns.
void Generator::call_indexed(uint32_t bits) {
  const uint32_t target = sgpr::kTemporary, return_address = target + 2, body_label = new_label(),
                 after_label = new_label();
  if (!is_gfx8() && draw_.one_in(3)) {
    put(encoder_.sopk(op("s_call_b64"), return_address, 0));
    kernel_.items.back().label = body_label;
  } else {
    address_of({body_label}, target);
    put(encoder_.sop1(op("s_swappc_b64"), return_address, target));
  }
  branch("s_branch", after_label);
  put_label(body_label);
  const bool changes = draw_.one_in(2);
  if (changes) put(encoder_.sopp(op("s_set_gpr_idx_mode"), draw_.below(16)));
  move_indexed();
  if (changes) put(encoder_.sopp(op("s_set_gpr_idx_mode"), bits));
  put(encoder_.sop1(op("s_setpc_b64"), 0, return_address));
  put_label(after_label);
}

// Indexing starts without indexed operands, and various instructions write M0, which selects them.
// Branches, calls, and exits of compiled code are in between.
void Generator::indexing() {
  if (is_rdna()) return relative_registers();
  if (draw_.one_in(2)) {  // M0 has index bits and is read before indexing starts
    const uint32_t destination = data_sgpr(), source = data_sgpr();
    s_mov(isa::code::kM0, draw_.below(16) << 12 | draw_.below(kMaxIndex + 1));
    put(encoder_.sop1(op("s_movrels_b32"), destination, source));
  }
  const uint32_t index = data_sgpr();
  uint32_t bits = draw_.one_in(4) ? draw_.below(16) : 0;
  s_mov(index, draw_.below(kMaxIndex + 1));
  put(encoder_.sopc(op("s_set_gpr_idx_on"), index, bits));
  // Kernels with one of these are not compiled.
  const bool calls = draw_.one_in(4), writes_index = draw_.one_in(3);
  const uint32_t steps = 1 + draw_.below(4);
  uint32_t moved = data_vgpr();
  for (uint32_t i = 0; i < steps; ++i) {
    if (calls && draw_.one_in(2)) call_indexed(bits);
    if (writes_index && draw_.one_in(2)) bits = write_index(bits);
    switch (draw_.below(7)) {
      case 0:
      case 1: {
        const uint32_t skip_label = new_label();
        const uint32_t first = data_sgpr(), second = data_sgpr();
        put(encoder_.sopc(op(one_of({"s_cmp_eq_u32", "s_cmp_gt_i32"})), first, second));
        branch("s_cbranch_scc1", skip_label);
        if (draw_.one_in(2)) exit_compiled_code();
        move_indexed();
        put_label(skip_label);
        break;
      }
      case 2:
      case 3:
        exit_compiled_code();
        break;
      case 4:
        bits = draw_.one_in(2) ? 0 : draw_.below(16);
        put(encoder_.sopp(op("s_set_gpr_idx_mode"), bits));
        break;
      case 5:
        s_mov(index, draw_.below(kMaxIndex + 1));
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
  store_or_accumulate(moved);
}

// Returns `is`, or sometimes the number of a register past the last. Existing registers that were never
// written are avoided.
uint32_t Generator::relative_register(uint32_t number, uint32_t end) {
  return draw_.one_in(3) ? end + draw_.below(6) : number;
}

// M0 selects registers relative to named ones, sometimes past the last.
void Generator::relative_registers() {
  const RegisterLayout layout = layout_of(kernel_);
  const uint32_t sgprs = layout.sgprs < kFlatScratchSgpr ? layout.sgprs : isa::code::kVccLo;
  const uint32_t count = 1 + draw_.below(4);
  for (uint32_t i = 0; i < count; ++i) {
    const bool wide = draw_.one_in(3), is_target = draw_.one_in(2), is_vector = !is_gfx9() && draw_.one_in(2);
    if (is_vector) {
      const uint32_t named = data_vgpr(), other = data_vgpr();
      const uint32_t number =
          std::max(relative_register(named + draw_.below(kernel_.vgprs - named), layout.vgprs), named);
      s_mov(isa::code::kM0, number - named);
      if (is_target) {
        put(encoder_.vop1(op("v_movreld_b32"), named, v(other)));
      } else {
        put(encoder_.vop1(op("v_movrels_b32"), other, v(named)));
      }
      continue;
    }
    const uint32_t dwords = wide ? 2 : 1, named = data_sgpr(dwords), other = data_sgpr(dwords);
    uint32_t number = relative_register(std::max(named, data_sgpr(dwords)), sgprs);
    if (wide) number &= ~1u;
    s_mov(isa::code::kM0, number - named);
    if (draw_.one_in(3)) exit_compiled_code();
    if (is_target) {
      put(encoder_.sop1(op(wide ? "s_movreld_b64" : "s_movreld_b32"), named, other));
    } else {
      put(encoder_.sop1(op(wide ? "s_movrels_b64" : "s_movrels_b32"), other, named));
    }
    if (draw_.one_in(2)) v_mov(data_vgpr(), is_target ? number < sgpr::kDataEnd ? number : named : other);
  }
  s_mov(isa::code::kM0, ~0u);
  places_.clear();
  if (draw_.one_in(2)) store_or_accumulate(data_vgpr());
}

}  // namespace rigel::vgpu::exec::whole
