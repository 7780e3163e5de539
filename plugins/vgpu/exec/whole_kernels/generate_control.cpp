#include "plugins/vgpu/exec/whole_kernels/generator.hpp"

#include <bit>
#include <string>
#include <utility>

#include "plugins/vgpu/isa/hardware_register.hpp"

namespace rigel::vgpu::exec::whole {

using isa::code::kLiteral;
using isa::code::kVccLo;

void Generator::barrier() {
  if (!function_ && !lds_shared_ && !draw_.one_in(4)) {  // so that there is something for others to read
    for (uint32_t at = 0; at < lds_own_; at += 4)
      put(encoder_.ds(op("ds_write_b32"), slot_, data_vgpr(), 0, at));
  }
  wait();
  put(encoder_.sopp(op("s_barrier"), 0));
  // A function is called between any barriers: what others read or write is not for it.
  if (!function_) lds_shared_ = !lds_shared_;
  const uint32_t count = 1 + draw_.below(3);
  for (uint32_t i = 0; i < count; ++i) lds();
}

// One of the work-group's is not waited for by others at their barriers.
void Generator::end_a_wave() {
  const uint32_t wave = sgpr::kTemporary;
  put(encoder_.vop1(op("v_readfirstlane_b32"), wave, v(item_)));
  put(encoder_.sop2(op("s_lshr_b32"), wave, wave, inline_integer(std::countr_zero(kernel_.wave_size()))));
  put(encoder_.sopc(op("s_cmp_eq_u32"), wave, inline_integer(static_cast<int32_t>(draw_.below(4)))));
  branch("s_cbranch_scc1", end_);
}

// What is at hand is multiplied and added up behind a barrier, once or time after time, as of tiles.
void Generator::products() {
  const uint32_t sum = data_vgpr(), count = sgpr::kLoopCount, again = new_label();
  const bool loops = draw_.one_in(2);
  if (loops) {
    s_mov(count, 1 + draw_.below(4));
    places_.clear();
    put_label(again);
  }
  if (draw_.one_in(2)) arithmetic(2);
  put(encoder_.sopp(op("s_barrier"), 0));
  const uint32_t steps = 1 + draw_.below(6);
  for (uint32_t i = 0; i < steps; ++i) {
    const uint32_t a = data_vgpr(), b = data_vgpr();
    const uint32_t to = draw_.one_in(4) ? data_vgpr() : sum;
    if (draw_.one_in(3)) {
      put(encoder_.vop2(op(one_of({"v_mul_f32", "v_add_f32", "v_max_f32"})), to, v(a), b));
    } else {
      put(encoder_.vop3(op("v_fma_f32"), to, v(a), v(b), v(sum)));
    }
  }
  if (draw_.one_in(2)) wait();
  if (loops) {
    put(encoder_.sop2(op("s_sub_u32"), count, count, inline_integer(1)));
    put(encoder_.sopc(op("s_cmp_lg_u32"), count, inline_integer(0)));
    branch("s_cbranch_scc1", again);
  }
  forget_written();
  store_of(sum);
}

// One that there is, or a new one.
Function Generator::function_to_call() {
  const uint32_t level = function_ ? function_->level + 1 : 1;
  std::vector<Function> known;
  for (const Function& one : functions_) {
    if (one.level == level && (same_for_group_ || !one.whole_group)) known.push_back(one);
  }
  if (known.size() < 2 && functions_.size() < 4 && (known.empty() || draw_.one_in(2))) {
    known.assign(1, {new_label(), level, same_for_group_ && draw_.one_in(2)});
    functions_.push_back(known.front());
  }
  return known.empty() ? Function{kNoLabel, level} : known[draw_.below(static_cast<uint32_t>(known.size()))];
}

void Generator::address_of(const Function& function, uint32_t to) {
  put(encoder_.sop1(op("s_getpc_b64"), to, 0));
  put(encoder_.sop2(op("s_add_u32"), to, to, kLiteral, 0));
  kernel_.items.back().label = function.label;
  put(encoder_.sop2(op("s_addc_u32"), to + 1, to + 1, inline_integer(0)));
}

void Generator::call(uint32_t depth) {
  const uint32_t level = function_ ? function_->level + 1 : 1;
  if (level > 2 || depth > level + 1) return arithmetic(3);
  const Function function = function_to_call();
  if (function.label == kNoLabel) return arithmetic(3);
  if (!is_gfx8() && draw_.one_in(2)) {
    put(encoder_.sopk(op("s_call_b64"), function.return_sgprs(), 0));
    kernel_.items.back().label = function.label;
  } else {
    address_of(function, sgpr::kCall);
    if (draw_.one_in(2)) {  // a scalar says which
      const Function other = function_to_call();
      const uint32_t a = same_for_group_ ? kFirstGroupId : data_sgpr();
      const uint32_t b = same_for_group_ ? inline_integer(static_cast<int32_t>(draw_.below(3))) : data_sgpr();
      address_of(other, sgpr::kTemporary);
      put(encoder_.sopc(op(one_of({"s_cmp_lt_u32", "s_cmp_gt_i32", "s_cmp_lg_u32"})), a, b));
      put(encoder_.sop2(op("s_cselect_b64"), sgpr::kCall, sgpr::kCall, sgpr::kTemporary));
    }
    put(encoder_.sop1(op("s_swappc_b64"), function.return_sgprs(), sgpr::kCall));
  }
  places_.clear();
}

// Control flow
// ---------------------------------------------------------------------------------------------------

void Generator::inside(uint32_t count, uint32_t depth, bool same_for_group) {
  const bool was_same = std::exchange(same_for_group_, same_for_group_ && same_for_group);
  const bool shared = lds_shared_;
  with_places_of_before([&] { statements(count, depth); });
  // Behind it LDS is what it was before.
  if (lds_shared_ != shared) {
    put(encoder_.sopp(op("s_barrier"), 0));
    lds_shared_ = shared;
  }
  same_for_group_ = was_same;
}

// A mask that lanes have made: its registers.
uint32_t Generator::condition() {
  static constexpr const char* kCompare[] = {"v_cmp_lt_u32", "v_cmp_gt_i32", "v_cmp_eq_u32", "v_cmp_lg_u32",
                                             "v_cmp_lt_f32", "v_cmp_ge_i32", "v_cmp_ngt_f32"};
  const char* const name = kCompare[draw_.below(7)];
  if (draw_.one_in(3)) {
    const uint32_t to = data_sgpr(2);
    const uint32_t one = v(data_vgpr());
    const uint32_t other = draw_.one_in(2) ? data_sgpr() : v(data_vgpr());
    put(encoder_.vop3(op(name), to, one, other));
    return to;
  }
  v_cmp(name, draw_.one_in(2) ? inline_integer(static_cast<int32_t>(draw_.below(64))) : v(data_vgpr()),
        draw_.one_in(3) ? item_ : data_vgpr());
  return kVccLo;
}

void Generator::region(uint32_t depth, bool with_else) {
  if (depth >= 4) return arithmetic(2);
  const uint32_t saved = saved_exec(depth + 1), exec = isa::code::kExecLo;
  const uint32_t over = new_label();
  if (draw_.one_in(4)) {  // v_cmpx
    put(encoder_.sop1(mask_op("s_mov"), saved, exec));
    put(alu_.narrows(draw_, registers()));
    if (draw_.one_in(2)) branch("s_cbranch_execz", over);
    inside(1 + draw_.below(3), depth + 1);
    put_label(over);
    put(encoder_.sop1(mask_op("s_mov"), exec, saved));
    return;
  }
  const uint32_t mask = condition();
  put(encoder_.sop1(mask_op("s_and_saveexec"), saved, mask));
  put(encoder_.sop2(mask_op("s_xor"), saved, exec, saved));
  if (!draw_.one_in(3)) branch("s_cbranch_execz", over);
  inside(1 + draw_.below(3), depth + 1);
  put_label(over);
  if (with_else) {
    const uint32_t end = new_label();
    put(encoder_.sop1(mask_op("s_or_saveexec"), saved, saved));
    put(encoder_.sop2(mask_op("s_xor"), exec, exec, saved));
    if (!draw_.one_in(3)) branch("s_cbranch_execz", end);
    inside(1 + draw_.below(3), depth + 1);
    put_label(end);
  }
  put(encoder_.sop2(mask_op("s_or"), exec, exec, saved));
}

void Generator::uniform_branch(uint32_t depth) {
  const uint32_t over = new_label(), end = new_label();
  const char* const conditions[] = {"s_cbranch_scc0", "s_cbranch_scc1", "s_cbranch_vccz", "s_cbranch_vccnz"};
  const uint32_t which = draw_.below(4);
  const bool same = which < 2 && draw_.one_in(2);  // for all waves of a work-group
  if (which < 2) {
    static constexpr const char* kCompare[] = {"s_cmp_lt_u32", "s_cmp_gt_i32", "s_cmp_eq_u32",
                                               "s_cmp_lg_i32"};
    const char* const compare = kCompare[draw_.below(4)];
    const uint32_t one = same ? one_of({sgpr::kLimit, kFirstGroupId, kFirstGroupId}) : data_sgpr();
    const uint32_t other = same ? inline_integer(static_cast<int32_t>(draw_.below(5))) : data_sgpr();
    put(encoder_.sopc(op(compare), one, other));
  } else if (draw_.one_in(2)) {
    condition();
  }
  branch(conditions[which], over);
  inside(1 + draw_.below(3), depth + 1, same);
  if (draw_.one_in(2)) {
    put_label(over);
    return;
  }
  branch("s_branch", end);
  put_label(over);
  inside(1 + draw_.below(2), depth + 1, same);
  put_label(end);
}

void Generator::uniform_loop(uint32_t depth) {
  if (depth >= 3) return arithmetic(2);
  const uint32_t count = sgpr::kLoopCount + depth, again = new_label();
  s_mov(count, 1 + draw_.below(5));
  places_.clear();
  put_label(again);
  inside(1 + draw_.below(3), depth + 1, true);
  places_.clear();
  switch (draw_.below(3)) {
    case 0:
      put(encoder_.sop2(op("s_sub_u32"), count, count, inline_integer(1)));
      put(encoder_.sopc(op("s_cmp_lg_u32"), count, inline_integer(0)));
      break;
    case 1:
      put(encoder_.sopk(op("s_addk_i32"), count, 0xffff));
      put(encoder_.sopk(op("s_cmpk_lg_i32"), count, 0));
      break;
    default:
      put(encoder_.sop2(op("s_add_i32"), count, count, inline_integer(-1)));
      put(encoder_.sopc(op("s_cmp_eq_u32"), count, inline_integer(0)));
      branch("s_cbranch_scc0", again);
      return;
  }
  branch("s_cbranch_scc1", again);
}

// Lanes leave it one after the other.
void Generator::lane_loop(uint32_t depth) {
  if (depth >= 2) return arithmetic(2);
  const uint32_t saved = saved_exec(depth + 1), exec = isa::code::kExecLo, count = loop_ + depth;
  const uint32_t again = new_label();
  const uint32_t most = one_of({1u, 3u, 7u});
  v_and_const(count, most, draw_.one_in(2) ? item_ : data_vgpr());
  put(encoder_.sop1(mask_op("s_mov"), saved, exec));
  places_.clear();
  put_label(again);
  inside(1 + draw_.below(2), depth + 1);
  places_.clear();
  v_add_const(count, -1, count);
  v_cmp("v_cmp_lt_i32", inline_integer(0), count);
  if (draw_.one_in(2)) {
    put(encoder_.sop2(mask_op("s_and"), exec, exec, kVccLo));
    branch("s_cbranch_execnz", again);
  } else {
    put(encoder_.sop2(mask_op("s_and"), kVccLo, exec, kVccLo));
    put(encoder_.sop1(mask_op("s_mov"), exec, kVccLo));
    branch("s_cbranch_vccnz", again);
  }
  put(encoder_.sop1(mask_op("s_mov"), exec, saved));
}

// Numbers are rounded otherwise for a while, or keep their denormals, as for divisions.
void Generator::mode_game(uint32_t depth) {
  const uint32_t before = mode_;
  const uint32_t shift = one_of({0u, 4u, 4u, 8u}), width = shift == 4 ? one_of({2u, 4u}) : shift == 0 ? 8 : 2;
  const auto set = [&](uint32_t mode) {
    mode_ = mode;
    if (is_gfx10() && shift != 8 && draw_.one_in(2)) {
      put(encoder_.sopp(op("s_round_mode"), mode & 0xf));
      put(encoder_.sopp(op("s_denorm_mode"), mode >> 4 & 0xf));
    } else {
      put(encoder_.sopk_literal(op("s_setreg_imm32_b32"), (width - 1) << 11 | shift << 6 | isa::hwreg::kMode,
                                mode >> shift));
    }
  };
  set(before ^ draw_.below(1u << width) << shift);
  const uint32_t count = 1 + draw_.below(3);
  for (uint32_t i = 0; i < count; ++i) arithmetic(3);
  if (depth < 3 && draw_.one_in(2)) inside(1 + draw_.below(2), depth + 1, true);
  if (!draw_.one_in(depth == 0 ? 6 : 40)) set(before);
}

// An instruction at which compiled code may be left.
void Generator::leave() {
  switch (draw_.below(5)) {
    case 0:
    case 1:
      put(encoder_.sopp(op("s_icache_inv"), 0));
      return;
    case 2:
      put(encoder_.sopp(op("s_sleep"), draw_.below(3)));
      return;
    case 3:
      put(encoder_.sopp(op("s_setprio"), draw_.below(4)));
      return;
    default:
      put(encoder_.sopp(op(one_of({"s_ttracedata", "s_ttracedata_imm"})), 0));
      return;
  }
}

// Such instructions in a branch, with registers that are wanted no more behind them, or not there.
void Generator::leaving() {
  const uint32_t exec = isa::code::kExecLo, over = new_label();
  const uint32_t kept = data_vgpr(), dead = data_vgpr(), scalar = data_sgpr(), other = data_sgpr();
  const bool of_lanes = draw_.one_in(2), loops = draw_.one_in(3);
  v_mov(dead, v(data_vgpr()));
  put(encoder_.sop2(op("s_xor_b32"), scalar, scalar, other));
  if (of_lanes) {
    const uint32_t mask = condition();
    put(encoder_.sop1(mask_op("s_and_saveexec"), sgpr::kOtherExec, mask));
    if (draw_.one_in(2)) branch("s_cbranch_execz", over);
  } else {
    put(encoder_.sopc(op(one_of({"s_cmp_lt_u32", "s_cmp_gt_i32", "s_cmp_lg_u32"})), scalar, other));
    branch(one_of({"s_cbranch_scc0", "s_cbranch_scc1"}), over);
  }
  const uint32_t again = new_label(), count = sgpr::kTemporary;
  if (loops) {
    s_mov(count, 1 + draw_.below(3));
    put_label(again);
  }
  if (draw_.one_in(2)) v_add(kept, scalar, dead);
  leave();
  if (draw_.one_in(2)) put(encoder_.vop2(op("v_xor_b32"), kept, v(dead), kept));
  if (draw_.one_in(2)) v_mov(dead, scalar);
  if (draw_.one_in(4)) leave();
  if (loops) {
    put(encoder_.sop2(op("s_sub_u32"), count, count, inline_integer(1)));
    put(encoder_.sopc(op("s_cmp_lg_u32"), count, inline_integer(0)));
    branch("s_cbranch_scc1", again);
  }
  put_label(over);
  if (of_lanes) put(encoder_.sop1(mask_op("s_mov"), exec, sgpr::kOtherExec));
  if (draw_.one_in(2)) v_mov(dead, inline_integer(static_cast<int32_t>(draw_.below(65))));
  if (draw_.one_in(2)) s_mov(scalar, draw_.value());
  keep(kept);
  if (draw_.one_in(2)) keep(dead);
}

// EXEC becomes something else for a while, also lanes that are not there: these must not store.
void Generator::exec_game() {
  const uint32_t saved = sgpr::kOtherExec, exec = isa::code::kExecLo;
  forget_written();
  const std::vector<Place> before = places_;
  places_.clear();
  put(encoder_.sop1(mask_op("s_mov"), saved, exec));
  switch (draw_.below(7)) {
    case 6:
      change_half(exec);
      break;
    case 0:
      put(encoder_.sop1(mask_op("s_mov"), exec, inline_integer(-1)));
      break;
    case 1:
      put(encoder_.sop1(mask_op("s_mov"), exec, data_sgpr(2)));
      break;
    case 2:
      put(encoder_.sop1(mask_op("s_not"), exec, exec));
      break;
    case 3:
      put(encoder_.sop1(mask_op("s_wqm"), exec, exec));
      break;
    case 4:
      put(encoder_.sop2(mask_op("s_xor"), exec, exec, data_sgpr(2)));
      break;
    default:
      put(encoder_.sop1(
          mask_op(one_of({"s_or_saveexec", "s_andn2_saveexec", "s_nand_saveexec", "s_xor_saveexec"})),
          data_sgpr(2), data_sgpr(2)));
      break;
  }
  const uint32_t count = 1 + draw_.below(3);
  for (uint32_t i = 0; i < count; ++i) {
    if (draw_.one_in(3)) {
      access(new_place(false), false);
    } else if (draw_.one_in(3)) {
      exchange();
    } else {
      arithmetic(3);
    }
  }
  put(encoder_.sop1(mask_op("s_mov"), exec, saved));
  places_ = before;
  forget_written();
}

}  // namespace rigel::vgpu::exec::whole
