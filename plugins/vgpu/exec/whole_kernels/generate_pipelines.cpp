// Loads in flight during other computations, as in unrolled loops, and tiles in LDS.
#include "plugins/vgpu/exec/whole_kernels/generator.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rigel::vgpu::exec::whole {

using isa::code::kVccLo;

template <class F>
void Generator::in_fewer_lanes(F statements) {
  const uint32_t exec = isa::code::kExecLo;
  put(encoder_.sop1(mask_op("s_mov"), sgpr::kOtherExec, exec));
  const uint32_t mask = condition();
  put(encoder_.sop2(mask_op("s_and"), exec, exec, mask));
  with_restored_places(statements);
  put(encoder_.sop1(mask_op("s_mov"), exec, sgpr::kOtherExec));
}

void Generator::work_during_loads(uint32_t max_count) {
  const uint32_t count = 1 + draw_.below(max_count);
  for (uint32_t i = 0; i < count; ++i) {
    if (draw_.one_in(8)) {
      wait_for_some();
    } else if (draw_.one_in(6)) {
      condition();
    } else {
      arithmetic(2);
    }
  }
}

// Some results of memory and LDS loads are used while others are still in flight.
void Generator::uses_of_loads() {
  std::vector<uint32_t> memory_results, lds_results;
  const uint32_t max_loads = 5, first_vgpr = data_vgpr(2 * max_loads), sum = data_vgpr();
  const uint32_t loads_before = 1 + draw_.below(2), loads_after = draw_.below(2);
  const uint32_t lds_count =
      kernel_.lds_bytes != 0 ? 2 + draw_.below(max_loads - loads_before - loads_after - 1) : 0;
  const auto load_from_memory = [&](uint32_t to) {
    const Place from = place(false);
    access(from, false, to);
    memory_results.push_back(to);
  };
  uint32_t to = first_vgpr;
  for (uint32_t i = 0; i < loads_before; ++i, to += 2) load_from_memory(to);
  if (lds_count != 0) {
    const uint32_t width = one_of({4u, 4u, 8u});
    const uint32_t address = lds_address(width);
    for (uint32_t i = 0; i < lds_count; ++i, to += 2) {
      lds_loads(address, width, 1, to);
      lds_results.push_back(to);
    }
  }
  for (uint32_t i = 0; i < loads_after; ++i, to += 2) load_from_memory(to);
  const auto use = [&](std::span<const uint32_t> loaded) {
    for (const uint32_t vgpr : loaded) put(encoder_.vop2(op("v_xor_b32"), sum, v(vgpr), sum));
  };
  const bool lds_first = draw_.one_in(2);
  const std::span<const uint32_t> first = lds_first ? lds_results : memory_results;
  const std::span<const uint32_t> second = lds_first ? memory_results : lds_results;
  const auto count = static_cast<uint32_t>(first.size());
  const uint32_t in_flight = draw_.one_in(3) ? draw_.below(count + 1) : 0;
  if (is_gfx12()) {
    put(encoder_.sopp(op(lds_first ? "s_wait_dscnt" : "s_wait_loadcnt"), in_flight));
  } else {
    put(encoder_.sopp(op("s_waitcnt"),
                      lds_first ? counters(kNoWait, in_flight) : counters(in_flight, kNoWait)));
  }
  use(first.first(count - in_flight));
  if (draw_.one_in(2)) work_during_loads(2);
  wait_for_all();
  use(first.last(in_flight));
  use(second);
  store_of(sum);
}

void Generator::pipeline() {
  if (kernel_.lds_bytes != 0 && !lds_shared_ && same_for_group_ && draw_.one_in(2)) barrier();
  if (draw_.one_in(2)) return uses_of_loads();
  const auto loads = [&] {
    const uint32_t count = 1 + draw_.below(3);
    for (uint32_t i = 0; i < count; ++i) {
      if (kernel_.lds_bytes != 0 && draw_.one_in(2)) {
        const uint32_t width = one_of({4u, 4u, 8u, 16u});
        const uint32_t address = lds_address(width);
        lds_loads(address, width, 1 + draw_.below(2));
      } else {
        load();
      }
      if (draw_.one_in(3)) wait_for_some();
      if (draw_.one_in(4)) work_during_loads(2);
    }
  };
  loads();
  work_during_loads(4);
  if (draw_.one_in(2)) {
    in_fewer_lanes([&] {
      if (draw_.one_in(2)) loads();
      work_during_loads(6);
    });
  }
  if (draw_.one_in(2)) loads();
  work_during_loads(8);
  wait();
  arithmetic(6);
  store();
}

// Returns an LDS address for elements of `width` bytes: a column or row of a tile, overlapping elements, or
// elements at the end of LDS. If other work-items may write, it is the work-item's own slot.
uint32_t Generator::lds_address(uint32_t width) {
  if (!lds_shared_ || function_) return slot_;
  const uint32_t address = data_vgpr();
  const auto pitch = static_cast<int32_t>(4 * one_of({17u, 33u, 17u, 33u, 32u, 5u}));
  const auto end = static_cast<int32_t>(kernel_.lds_bytes);
  switch (draw_.below(5)) {
    case 0:
      v_and_const(address, 31, item_);
      v_scale(address, pitch, address);
      break;
    case 1: {
      const uint32_t column = data_vgpr();
      v_and_const(address, 31, item_);
      v_scale(address, 4, address);
      if (column == address) break;
      put(encoder_.vop2(op("v_lshrrev_b32"), column, inline_integer(5), item_));
      v_scale(column, pitch, column);
      v_add(address, v(column), address);
      break;
    }
    case 2:
      v_scale(address, -one_of({4, 8, 16, pitch}), item_);
      v_add_const(address, end - static_cast<int32_t>(width), address);
      break;
    case 3:
      v_scale(address, one_of({4, 8, 12, 2, 1}), item_);
      break;
    default:
      v_scale(address, one_of({4, 8, 16}), item_);
      v_add_const(address, end - 4 * static_cast<int32_t>(draw_.below(80)), address);
      break;
  }
  if (is_gfx8()) {
    v_and_const(address, ~(width - 1), address);
  } else if (draw_.one_in(6)) {
    v_add_const(address, one_of({1, 2, 3, 4}), address);
  }
  return address;
}

// Loads from one address, which none of them overwrites.
void Generator::lds_loads(uint32_t address, uint32_t width, uint32_t count, std::optional<uint32_t> wanted) {
  for (uint32_t i = 0; i < count; ++i) {
    if (address == slot_) {
      lds_load(slot_, lds_own_ % width == 0 ? width : 4);
      continue;
    }
    const bool two = draw_.one_in(3);
    const uint32_t dwords = two ? 2 : width / 4;
    uint32_t to = wanted ? std::min(*wanted, kernel_.vgprs - dwords) : data_vgpr(dwords);
    while (to <= address && address < to + dwords) to = data_vgpr(dwords);
    const uint32_t offset = draw_.one_in(2) ? 0 : draw_.below(16) * width, other = draw_.below(64);
    if (two) {
      put(encoder_.ds(op("ds_read2_b32"), address, to, 0, offset / width, other));
    } else {
      put(encoder_.ds(op("ds_read_b" + std::to_string(width * 8)), address, to, 0, offset));
    }
  }
}

// Reads a tile, with long arithmetic before it. Masks that were computed before the loads select after
// them.
void Generator::tile() {
  if (!lds_shared_ && same_for_group_) barrier();
  const uint32_t parts = 1 + draw_.below(3);
  for (uint32_t i = 0; i < parts; ++i) {
    for (uint32_t n = 0; n < 15; ++n) arithmetic(6);
    const uint32_t width = one_of({4u, 4u, 8u, 16u}), address = lds_address(width);
    const uint32_t mask = condition(), to = data_vgpr(), from = data_vgpr(), other = v(data_vgpr());
    lds_loads(address, width, 1 + draw_.below(4));
    if (draw_.one_in(2)) arithmetic(2);
    wait();
    if (draw_.one_in(3)) {
      put(encoder_.vop3(op("v_addc_u32"), to, other, v(from), mask, kVccLo));
    } else {
      put(encoder_.vop3(op("v_cndmask_b32"), to, other, v(from), mask));
    }
    if (draw_.one_in(2)) store_of(to);
  }
  store();
}

}  // namespace rigel::vgpu::exec::whole
