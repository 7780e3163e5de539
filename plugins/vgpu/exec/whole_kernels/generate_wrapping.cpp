// Sums of 32 bits that wrap: of all lanes alike, so that the carry is known to be the same, or of some, whose addresses are then
// 4 GiB below those of the others.
#include "plugins/vgpu/exec/whole_kernels/generator.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace rigel::vgpu::exec::whole {

// Half of EXEC, or some of its lanes, is set or cleared. What is stored must be so under the one of before.
void Generator::wake_or_put_to_sleep(uint32_t half, bool wake) {
  const uint32_t exec = isa::code::kExecLo, saved = sgpr::kOtherExec;
  switch (draw_.below(10)) {
    case 0:
      if (wake) {
        put(encoder_.sop1(mask_op("s_mov"), exec, draw_.one_in(2) ? inline_integer(-1) : saved));
      } else {
        const uint32_t by = data_sgpr(2);
        put(encoder_.sop2(mask_op("s_and"), exec, exec, by));
      }
      return;
    case 1:
      put(encoder_.sop1(op("s_mov_b32"), exec + half, wake ? saved + half : data_sgpr()));
      return;
    default:
      put(encoder_.sop1(op("s_mov_b32"), exec + half, inline_integer(wake ? -1 : 0)));
      return;
  }
}

// A carry that lanes have in common, mostly, and lanes that wake up or fall asleep before it is used, or halves of it that are
// written. The rows that it is used with have been written under another EXEC.
void Generator::common_carry() {
  const uint32_t exec = isa::code::kExecLo, saved = sgpr::kOtherExec;
  const uint32_t low = data_vgpr(4), sum = low + 1, high = low + 2, result = low + 3;
  forget_written();
  const std::vector<Place> before = places_;
  put(encoder_.sop1(mask_op("s_mov"), saved, exec));
  if (!draw_.one_in(4)) put(encoder_.sop1(mask_op("s_mov"), exec, inline_integer(-1)));
  v_and_const(low, 63, item_);
  v_add_const(low, 0x100, low);
  v_mov(high, draw_.one_in(2) ? data_sgpr() : inline_integer(static_cast<int32_t>(draw_.below(65))));
  v_mov(result, v(data_vgpr()));
  // With these all wrap, none does, or those behind the 32nd do.
  const uint32_t by = data_sgpr();
  s_mov(by, one_of({0xffffff00u, 0xffffff00u, 0xffffff00u, 0xffffffc0u, 0xfffffec0u, 0xfffffee0u}));
  const uint32_t half = draw_.one_in(4) ? 0 : kernel_.wave_size() / 32 - 1;
  const bool asleep = draw_.one_in(2);
  if (asleep) wake_or_put_to_sleep(half, false);
  if (draw_.one_in(3)) put(encoder_.sopp(op("s_nop"), 0));
  const uint32_t mask = draw_.one_in(2) ? uint32_t{isa::code::kVccLo} : data_sgpr(2);
  const uint32_t way = draw_.below(6);
  if (way == 0) {
    put(encoder_.vop3(op("v_sub_co_u32"), sum, v(low), by, 0, mask));
  } else if (way == 1) {
    put(encoder_.vop3(op("v_cmp_gt_u32"), mask, by, v(low)));
  } else {
    put(encoder_.vop3(op("v_add_co_u32"), sum, by, v(low), 0, mask));
  }
  if (draw_.one_in(8)) arithmetic(1);
  if (asleep || draw_.one_in(2)) wake_or_put_to_sleep(half, asleep || draw_.one_in(4));
  if (draw_.one_in(asleep ? 6 : 2)) {
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
    const uint32_t more = inline_integer(draw_.one_in(3) ? -1 : 0);
    const char* const name = one_of({"v_addc_u32", "v_addc_u32", "v_subb_u32"});
    put(encoder_.vop3(op(name), result, more, v(high), mask, mask));
  }
  if (draw_.one_in(3)) wake_or_put_to_sleep(half, true);
  put(encoder_.sop1(mask_op("s_mov"), exec, saved));
  places_ = before;
  keep(result);
  if (draw_.one_in(3)) keep(sum);
}

// Loads of elements that overlap, mostly. The lower half of their addresses wraps in the middle of a wave and nothing is carried:
// the first lanes read where the input's 4 GiB end, the others where the input begins.
void Generator::loads_where_lanes_wrap() {
  const uint32_t stride = one_of({4u, 4u, 8u, 8u, 12u, 16u});
  const uint32_t items = kernel_.group[0] * kernel_.group[1] * kernel_.group[2];
  const uint32_t address = data_vgpr(2), by = data_sgpr(), sum = data_vgpr();
  // With an offset and an element behind it, all are within the least input that there is.
  uint32_t lanes = items, number = item_;
  if (items * stride > 2048) {
    lanes = 64;
    number = address;
    v_and_const(address, 63, item_);
  }
  v_scale(address, static_cast<int32_t>(stride), number);
  const uint32_t first = draw_.one_in(6) ? 0 : 4 * draw_.below(std::min(lanes, 64u) * stride / 4 + 1);
  s_mov(by, draw_.one_in(8) ? first : 0 - first);
  v_add(address, by, address);
  const bool has_base = !is_gfx8() && draw_.one_in(2), is_flat = is_gfx8() || (!has_base && draw_.one_in(3));
  if (!has_base) {
    if (draw_.one_in(2)) {
      v_mov(address + 1, sgpr::kIn + 1);
    } else {
      v_const(address + 1, static_cast<uint32_t>(kInVa >> 32));
    }
  }
  const bool has_offset = !is_flat || is_gfx9();
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
  keep(sum);
}

}  // namespace rigel::vgpu::exec::whole
