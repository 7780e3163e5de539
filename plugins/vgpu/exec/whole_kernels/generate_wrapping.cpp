// Generates 32-bit additions that wrap. If all lanes wrap, the carry is uniform. If some lanes wrap, they
// address memory 4 GiB below that of the other lanes.
#include "plugins/vgpu/exec/whole_kernels/generator.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace rigel::vgpu::exec::whole {

// Activates or deactivates lanes: usually a half of EXEC, sometimes others. The caller restores EXEC before
// it generates stores.
void Generator::set_half_of_exec(uint32_t half, bool activate) {
  const uint32_t exec = isa::code::kExecLo, saved = sgpr::kOtherExec;
  switch (draw_.below(10)) {
    case 0:
      if (activate) {
        put(encoder_.sop1(mask_op("s_mov"), exec, draw_.one_in(2) ? inline_integer(-1) : saved));
      } else {
        const uint32_t by = data_sgpr(2);
        put(encoder_.sop2(mask_op("s_and"), exec, exec, by));
      }
      return;
    case 1:
      put(encoder_.sop1(op("s_mov_b32"), exec + half, activate ? saved + half : data_sgpr()));
      return;
    default:
      put(encoder_.sop1(op("s_mov_b32"), exec + half, inline_integer(activate ? -1 : 0)));
      return;
  }
}

// Generates a mask, mostly a uniform carry, and an instruction that uses it. In between, EXEC may change and
// code may write halves of the mask, so other operands may have been written under another EXEC.
void Generator::common_carry() {
  const uint32_t exec = isa::code::kExecLo, saved = sgpr::kOtherExec;
  const uint32_t low = data_vgpr(4), sum = low + 1, high = low + 2, result = low + 3;
  forget_written();
  const std::vector<Place> previous_places = places_;
  put(encoder_.sop1(mask_op("s_mov"), saved, exec));
  if (!draw_.one_in(4)) put(encoder_.sop1(mask_op("s_mov"), exec, inline_integer(-1)));
  v_and_const(low, 63, item_);
  v_add_const(low, 0x100, low);
  v_mov(high, draw_.one_in(2) ? data_sgpr() : inline_integer(static_cast<int32_t>(draw_.below(65))));
  v_mov(result, v(data_vgpr()));
  // With these addends, all lanes wrap, no lane wraps, or the lanes from 32 on wrap.
  const uint32_t addend = data_sgpr();
  s_mov(addend, one_of({0xffffff00u, 0xffffff00u, 0xffffff00u, 0xffffffc0u, 0xfffffec0u, 0xfffffee0u}));
  const uint32_t half = draw_.one_in(4) ? 0 : kernel_.wave_size() / 32 - 1;
  const bool inactive = draw_.one_in(2);
  if (inactive) set_half_of_exec(half, false);
  if (draw_.one_in(3)) put(encoder_.sopp(op("s_nop"), 0));
  const uint32_t mask = draw_.one_in(2) ? uint32_t{isa::code::kVccLo} : data_sgpr(2);
  const uint32_t operation = draw_.below(6);
  if (operation == 0) {
    put(encoder_.vop3(op("v_sub_co_u32"), sum, v(low), addend, 0, mask));
  } else if (operation == 1) {
    put(encoder_.vop3(op("v_cmp_gt_u32"), mask, addend, v(low)));
  } else {
    put(encoder_.vop3(op("v_add_co_u32"), sum, addend, v(low), 0, mask));
  }
  if (draw_.one_in(8)) arithmetic(1);
  if (inactive || draw_.one_in(2)) set_half_of_exec(half, inactive || draw_.one_in(4));
  if (draw_.one_in(inactive ? 6 : 2)) {
    if (draw_.one_in(2)) {
      const uint32_t of_mask = mask + draw_.below(kernel_.wave_size() / 32);
      put(encoder_.sop1(op("s_mov_b32"), of_mask, inline_integer(draw_.one_in(2) ? 0 : -1)));
    } else {
      change_half(mask);
    }
  }
  if (draw_.one_in(3)) {
    put(encoder_.vop3(op("v_cndmask_b32"), result, v(high), v(low), mask));
  } else if (mask == isa::code::kVccLo && draw_.one_in(2)) {
    v_addc(result, inline_integer(0), high);
  } else {
    const uint32_t operand = inline_integer(draw_.one_in(3) ? -1 : 0);
    const char* const name = one_of({"v_addc_u32", "v_addc_u32", "v_subb_u32"});
    put(encoder_.vop3(op(name), result, operand, v(high), mask, mask));
  }
  if (draw_.one_in(3)) set_half_of_exec(half, true);
  put(encoder_.sop1(mask_op("s_mov"), exec, saved));
  places_ = previous_places;
  store_or_accumulate(result);
  if (draw_.one_in(3)) store_or_accumulate(sum);
}

// Generates loads whose elements mostly overlap. The low dword of the address wraps between two lanes of a
// wave, but the high dword receives no carry. The first lanes read at the end of the input's 4 GiB, the
// others at the input's start.
void Generator::loads_where_lanes_wrap() {
  const uint32_t stride = one_of({4u, 4u, 8u, 8u, 12u, 16u});
  const uint32_t items = kernel_.group[0] * kernel_.group[1] * kernel_.group[2];
  const uint32_t address = data_vgpr(2), start = data_sgpr(), sum = data_vgpr();
  // Limits the lane number, so that all loaded bytes, including the offset, are within the smallest input.
  uint32_t lanes = items, number = item_;
  if (items * stride > 2048) {
    lanes = 64;
    number = address;
    v_and_const(address, 63, item_);
  }
  v_scale(address, static_cast<int32_t>(stride), number);
  const uint32_t first = draw_.one_in(6) ? 0 : 4 * draw_.below(std::min(lanes, 64u) * stride / 4 + 1);
  s_mov(start, draw_.one_in(8) ? first : 0 - first);
  v_add(address, start, address);
  const bool has_base = !is_gfx8() && draw_.one_in(2), is_flat = is_gfx8() || (!has_base && draw_.one_in(3));
  if (!has_base) {
    if (draw_.one_in(2)) {
      v_mov(address + 1, sgpr::kIn + 1);
    } else {
      v_const(address + 1, static_cast<uint32_t>(kInVa >> 32));
    }
  }
  const bool has_offset = !is_flat || flat_has_offset();
  std::vector<uint32_t> loaded;
  const uint32_t count = 1 + draw_.below(3);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t dwords = one_of({1u, 2u, 2u, 3u, 4u, 4u});
    uint32_t to = data_vgpr(dwords);
    while (to < address + 2 && address < to + dwords) to = data_vgpr(dwords);
    const auto offset = has_offset && draw_.one_in(2) ? static_cast<int32_t>(4 * draw_.below(64)) : 0;
    const std::string width = dwords == 1 ? "dword" : "dwordx" + std::to_string(dwords);
    const isa::Op load = op((is_flat ? "flat_load_" : "global_load_") + width);
    if (has_base) {
      put(encoder_.flat(load, address, to, offset, sgpr::kIn));
    } else {
      put(encoder_.flat(load, address, to, offset));
    }
    for (uint32_t dword = 0; dword < dwords; ++dword) loaded.push_back(to + dword);
  }
  if (draw_.one_in(3)) arithmetic(2);
  wait();
  for (const uint32_t vgpr : loaded) put(encoder_.vop2(op("v_xor_b32"), sum, v(vgpr), sum));
  store_or_accumulate(sum);
}

}  // namespace rigel::vgpu::exec::whole
