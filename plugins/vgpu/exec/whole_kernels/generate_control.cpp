#include "plugins/vgpu/exec/whole_kernels/generator.hpp"

#include <bit>
#include <string>
#include <utility>

#include "plugins/vgpu/isa/hardware_register.hpp"

namespace rigel::vgpu::exec::whole {

using isa::code::kLiteral;
using isa::code::kVccLo;

void Generator::barrier() {
  if (!function_ && !lds_shared_ && !draw_.one_in(4)) {  // so that other work-items have data to read
    for (uint32_t at = 0; at < lds_own_; at += 4)
      put(encoder_.ds(op("ds_write_b32"), slot_, data_vgpr(), 0, at));
  }
  wait();
  put_barrier();
  // Functions can be called in any LDS phase, so they access only the work-item's own LDS.
  if (!function_) lds_shared_ = !lds_shared_;
  const uint32_t count = 1 + draw_.below(3);
  for (uint32_t i = 0; i < count; ++i) lds();
}

// A wave of the work-group ends. Other waves do not wait for it at barriers.
void Generator::end_a_wave() {
  const uint32_t wave = sgpr::kTemporary;
  put(encoder_.vop1(op("v_readfirstlane_b32"), wave, v(item_)));
  put(encoder_.sop2(op("s_lshr_b32"), wave, wave, inline_integer(std::countr_zero(kernel_.wave_size()))));
  put(encoder_.sopc(op("s_cmp_eq_u32"), wave, inline_integer(static_cast<int32_t>(draw_.below(4)))));
  branch("s_cbranch_scc1", end_);
}

// Multiplies and adds after a barrier, once or in a loop, as in tiled matrix products.
void Generator::multiply_add_chain() {
  const uint32_t sum = data_vgpr(), count = sgpr::kLoopCount, loop_label = new_label();
  const bool loops = draw_.one_in(2);
  if (loops) {
    s_mov(count, 1 + draw_.below(4));
    places_.clear();
    put_label(loop_label);
  }
  if (draw_.one_in(2)) arithmetic(2);
  put_barrier();
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
    branch("s_cbranch_scc1", loop_label);
  }
  forget_written();
  store_of(sum);
}

Function Generator::function_to_call() {
  const uint32_t level = function_ ? function_->level + 1 : 1;
  std::vector<Function> candidates;
  for (const Function& function : functions_) {
    if (function.level == level && (same_for_group_ || !function.whole_group)) candidates.push_back(function);
  }
  if (candidates.size() < 2 && functions_.size() < 4 && (candidates.empty() || draw_.one_in(2))) {
    candidates.assign(1, {new_label(), level, same_for_group_ && draw_.one_in(2)});
    functions_.push_back(candidates.front());
  }
  return candidates.empty() ? Function{kNoLabel, level}
                            : candidates[draw_.below(static_cast<uint32_t>(candidates.size()))];
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
    if (draw_.one_in(2)) {  // a scalar selects the function
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

void Generator::nested_statements(uint32_t count, uint32_t depth, bool same_for_group) {
  const bool was_same = std::exchange(same_for_group_, same_for_group_ && same_for_group);
  const bool shared = lds_shared_;
  with_restored_places([&] { statements(count, depth); });
  // LDS returns to its previous phase after the statements.
  if (lds_shared_ != shared) {
    put_barrier();
    lds_shared_ = shared;
  }
  same_for_group_ = was_same;
}

uint32_t Generator::condition() {
  static constexpr const char* kCompare[] = {"v_cmp_lt_u32", "v_cmp_gt_i32", "v_cmp_eq_u32", "v_cmp_lg_u32",
                                             "v_cmp_lt_f32", "v_cmp_ge_i32", "v_cmp_ngt_f32"};
  const char* const name = kCompare[draw_.below(7)];
  if (draw_.one_in(3)) {
    const uint32_t to = data_sgpr(2);
    const uint32_t first = v(data_vgpr());
    const uint32_t second = draw_.one_in(2) ? data_sgpr() : v(data_vgpr());
    put(encoder_.vop3(op(name), to, first, second));
    return to;
  }
  v_cmp(name, draw_.one_in(2) ? inline_integer(static_cast<int32_t>(draw_.below(64))) : v(data_vgpr()),
        draw_.one_in(3) ? item_ : data_vgpr());
  return kVccLo;
}

void Generator::region(uint32_t depth, bool with_else) {
  if (depth >= 4) return arithmetic(2);
  const uint32_t saved = saved_exec(depth + 1), exec = isa::code::kExecLo;
  const uint32_t skip_label = new_label();
  if (draw_.one_in(4)) {  // v_cmpx
    put(encoder_.sop1(mask_op("s_mov"), saved, exec));
    put(alu_.narrows(draw_, registers()));
    if (draw_.one_in(2)) branch("s_cbranch_execz", skip_label);
    nested_statements(1 + draw_.below(3), depth + 1);
    put_label(skip_label);
    put(encoder_.sop1(mask_op("s_mov"), exec, saved));
    return;
  }
  const uint32_t mask = condition();
  put(encoder_.sop1(mask_op("s_and_saveexec"), saved, mask));
  put(encoder_.sop2(mask_op("s_xor"), saved, exec, saved));
  if (!draw_.one_in(3)) branch("s_cbranch_execz", skip_label);
  nested_statements(1 + draw_.below(3), depth + 1);
  put_label(skip_label);
  if (with_else) {
    const uint32_t end = new_label();
    put(encoder_.sop1(mask_op("s_or_saveexec"), saved, saved));
    put(encoder_.sop2(mask_op("s_xor"), exec, exec, saved));
    if (!draw_.one_in(3)) branch("s_cbranch_execz", end);
    nested_statements(1 + draw_.below(3), depth + 1);
    put_label(end);
  }
  put(encoder_.sop2(mask_op("s_or"), exec, exec, saved));
}

void Generator::uniform_branch(uint32_t depth) {
  const uint32_t skip_label = new_label(), end = new_label();
  const char* const conditions[] = {"s_cbranch_scc0", "s_cbranch_scc1", "s_cbranch_vccz", "s_cbranch_vccnz"};
  const uint32_t which = draw_.below(4);
  const bool same = which < 2 && draw_.one_in(2);  // the same for all waves of a work-group
  if (which < 2) {
    static constexpr const char* kCompare[] = {"s_cmp_lt_u32", "s_cmp_gt_i32", "s_cmp_eq_u32",
                                               "s_cmp_lg_i32"};
    const char* const compare = kCompare[draw_.below(4)];
    const uint32_t first = same ? one_of({sgpr::kLimit, kFirstGroupId, kFirstGroupId}) : data_sgpr();
    const uint32_t second = same ? inline_integer(static_cast<int32_t>(draw_.below(5))) : data_sgpr();
    put(encoder_.sopc(op(compare), first, second));
  } else if (draw_.one_in(2)) {
    condition();
  }
  branch(conditions[which], skip_label);
  nested_statements(1 + draw_.below(3), depth + 1, same);
  if (draw_.one_in(2)) {
    put_label(skip_label);
    return;
  }
  branch("s_branch", end);
  put_label(skip_label);
  nested_statements(1 + draw_.below(2), depth + 1, same);
  put_label(end);
}

void Generator::uniform_loop(uint32_t depth) {
  if (depth >= 3) return arithmetic(2);
  const uint32_t count = sgpr::kLoopCount + depth, loop_label = new_label();
  s_mov(count, 1 + draw_.below(5));
  places_.clear();
  put_label(loop_label);
  nested_statements(1 + draw_.below(3), depth + 1, true);
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
      branch("s_cbranch_scc0", loop_label);
      return;
  }
  branch("s_cbranch_scc1", loop_label);
}

// A loop that lanes leave one after the other.
void Generator::lane_loop(uint32_t depth) {
  if (depth >= 2) return arithmetic(2);
  const uint32_t saved = saved_exec(depth + 1), exec = isa::code::kExecLo, count = loop_ + depth;
  const uint32_t loop_label = new_label();
  const uint32_t max_count = one_of({1u, 3u, 7u});
  v_and_const(count, max_count, draw_.one_in(2) ? item_ : data_vgpr());
  put(encoder_.sop1(mask_op("s_mov"), saved, exec));
  places_.clear();
  put_label(loop_label);
  nested_statements(1 + draw_.below(2), depth + 1);
  places_.clear();
  v_add_const(count, -1, count);
  v_cmp("v_cmp_lt_i32", inline_integer(0), count);
  if (draw_.one_in(2)) {
    put(encoder_.sop2(mask_op("s_and"), exec, exec, kVccLo));
    branch("s_cbranch_execnz", loop_label);
  } else {
    put(encoder_.sop2(mask_op("s_and"), kVccLo, exec, kVccLo));
    put(encoder_.sop1(mask_op("s_mov"), exec, kVccLo));
    branch("s_cbranch_vccnz", loop_label);
  }
  put(encoder_.sop1(mask_op("s_mov"), exec, saved));
}

// Changes rounding or denormals for some statements, as divisions do.
void Generator::temporary_mode(uint32_t depth) {
  const uint32_t previous = mode_;
  const uint32_t shift = one_of({0u, 4u, 4u, 8u}), width = shift == 4 ? one_of({2u, 4u}) : shift == 0 ? 8 : 2;
  const auto set = [&](uint32_t mode) {
    mode_ = mode;
    if (is_rdna() && shift != 8 && draw_.one_in(2)) {
      put(encoder_.sopp(op("s_round_mode"), mode & 0xf));
      put(encoder_.sopp(op("s_denorm_mode"), mode >> 4 & 0xf));
    } else {
      put(encoder_.sopk_literal(op("s_setreg_imm32_b32"), (width - 1) << 11 | shift << 6 | isa::hwreg::kMode,
                                mode >> shift));
    }
  };
  set(previous ^ draw_.below(1u << width) << shift);
  const uint32_t count = 1 + draw_.below(3);
  for (uint32_t i = 0; i < count; ++i) arithmetic(3);
  if (depth < 3 && draw_.one_in(2)) nested_statements(1 + draw_.below(2), depth + 1, true);
  if (!draw_.one_in(depth == 0 ? 6 : 40)) set(previous);
}

// Emits an instruction at which compiled code may return to the interpreter.
void Generator::exit_compiled_code() {
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

// Emits such instructions in a branch, with registers that are dead or undefined after it.
void Generator::branch_with_exit() {
  const uint32_t exec = isa::code::kExecLo, skip_label = new_label();
  const uint32_t live = data_vgpr(), dead = data_vgpr(), scalar = data_sgpr(), other = data_sgpr();
  const bool is_divergent = draw_.one_in(2), loops = draw_.one_in(3);
  v_mov(dead, v(data_vgpr()));
  put(encoder_.sop2(op("s_xor_b32"), scalar, scalar, other));
  if (is_divergent) {
    const uint32_t mask = condition();
    put(encoder_.sop1(mask_op("s_and_saveexec"), sgpr::kOtherExec, mask));
    if (draw_.one_in(2)) branch("s_cbranch_execz", skip_label);
  } else {
    put(encoder_.sopc(op(one_of({"s_cmp_lt_u32", "s_cmp_gt_i32", "s_cmp_lg_u32"})), scalar, other));
    branch(one_of({"s_cbranch_scc0", "s_cbranch_scc1"}), skip_label);
  }
  const uint32_t loop_label = new_label(), count = sgpr::kTemporary;
  if (loops) {
    s_mov(count, 1 + draw_.below(3));
    put_label(loop_label);
  }
  if (draw_.one_in(2)) v_add(live, scalar, dead);
  exit_compiled_code();
  if (draw_.one_in(2)) put(encoder_.vop2(op("v_xor_b32"), live, v(dead), live));
  if (draw_.one_in(2)) v_mov(dead, scalar);
  if (draw_.one_in(4)) exit_compiled_code();
  if (loops) {
    put(encoder_.sop2(op("s_sub_u32"), count, count, inline_integer(1)));
    put(encoder_.sopc(op("s_cmp_lg_u32"), count, inline_integer(0)));
    branch("s_cbranch_scc1", loop_label);
  }
  put_label(skip_label);
  if (is_divergent) put(encoder_.sop1(mask_op("s_mov"), exec, sgpr::kOtherExec));
  if (draw_.one_in(2)) v_mov(dead, inline_integer(static_cast<int32_t>(draw_.below(65))));
  if (draw_.one_in(2)) s_mov(scalar, draw_.value());
  store_or_accumulate(live);
  if (draw_.one_in(2)) store_or_accumulate(dead);
}

// Changes EXEC for some statements, including lanes that do not exist. These lanes must not store.
void Generator::temporary_exec() {
  const uint32_t saved = sgpr::kOtherExec, exec = isa::code::kExecLo;
  forget_written();
  const std::vector<Place> previous_places = places_;
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
  places_ = previous_places;
  forget_written();
}

}  // namespace rigel::vgpu::exec::whole
