// Operations that are not compared with the model, with the reason. All others must be compared.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

#include "plugins/vgpu/isa/op.hpp"

namespace rigel::vgpu::exec::reference {

struct Exception {
  isa::Op op;
  std::string_view reason;
};

/// Not run by tests of arithmetic; control_test compares them in the middle of code.
constexpr Exception kNotRun[] = {
    {isa::Op::s_endpgm, "ends or parks the wave"},
    {isa::Op::s_endpgm_saved, "ends or parks the wave"},
    {isa::Op::s_setkill, "ends or parks the wave"},
    {isa::Op::s_endpgm_ordered_ps_done, "ends or parks the wave"},
    {isa::Op::s_sleep, "ends or parks the wave"},
    {isa::Op::s_barrier, "ends or parks the wave"},
    {isa::Op::s_barrier_wait, "ends or parks the wave"},
    {isa::Op::s_sleep_var, "ends or parks the wave"},
    {isa::Op::s_barrier_signal, "depends on other waves"},
    {isa::Op::s_barrier_signal_isfirst, "depends on other waves"},
    {isa::Op::s_barrier_init, "depends on other waves"},
    {isa::Op::s_barrier_join, "depends on other waves"},
    {isa::Op::s_barrier_leave, "depends on other waves"},
    {isa::Op::s_wakeup_barrier, "depends on other waves"},
    {isa::Op::s_get_barrier_state, "depends on other waves"},
    {isa::Op::s_trap, "ends or parks the wave"},
    {isa::Op::s_sethalt, "ends or parks the wave"},
    {isa::Op::s_wakeup, "ends or parks the wave"},
    {isa::Op::s_code_end, "ends or parks the wave"},
    {isa::Op::s_branch, "branches"},
    {isa::Op::s_cbranch_scc0, "branches"},
    {isa::Op::s_cbranch_scc1, "branches"},
    {isa::Op::s_cbranch_vccz, "branches"},
    {isa::Op::s_cbranch_vccnz, "branches"},
    {isa::Op::s_cbranch_execz, "branches"},
    {isa::Op::s_cbranch_execnz, "branches"},
    {isa::Op::s_cbranch_cdbgsys, "branches"},
    {isa::Op::s_cbranch_cdbguser, "branches"},
    {isa::Op::s_cbranch_cdbgsys_or_user, "branches"},
    {isa::Op::s_cbranch_cdbgsys_and_user, "branches"},
    {isa::Op::s_cbranch_g_fork, "branches"},
    {isa::Op::s_cbranch_i_fork, "branches"},
    {isa::Op::s_cbranch_join, "branches"},
    {isa::Op::s_setpc_b64, "branches"},
    {isa::Op::s_swappc_b64, "branches"},
    {isa::Op::s_call_b64, "branches"},
    {isa::Op::s_rfe_b64, "branches"},
    {isa::Op::s_rfe_restore_b64, "branches"},
    {isa::Op::s_subvector_loop_begin, "branches"},
    {isa::Op::s_subvector_loop_end, "branches"},
    {isa::Op::s_sendmsg, "reads the device's state"},
    {isa::Op::s_sendmsghalt, "reads the device's state"},
    {isa::Op::s_sendmsg_rtn_b32, "reads the device's state"},
    {isa::Op::s_sendmsg_rtn_b64, "reads the device's state"},
    {isa::Op::s_icache_inv, "reads the device's state"},
    {isa::Op::s_getreg_b32, "reads or changes hardware registers and the mode that code is translated for"},
    {isa::Op::s_setreg_b32, "reads or changes hardware registers and the mode that code is translated for"},
    {isa::Op::s_setreg_imm32_b32,
     "reads or changes hardware registers and the mode that code is translated for"},
    {isa::Op::s_round_mode, "reads or changes hardware registers and the mode that code is translated for"},
    {isa::Op::s_denorm_mode, "reads or changes hardware registers and the mode that code is translated for"},
    {isa::Op::s_set_gpr_idx_on,
     "reads or changes hardware registers and the mode that code is translated for"},
    {isa::Op::s_set_gpr_idx_off,
     "reads or changes hardware registers and the mode that code is translated for"},
    {isa::Op::s_set_gpr_idx_mode,
     "reads or changes hardware registers and the mode that code is translated for"},
    {isa::Op::s_set_gpr_idx_idx,
     "reads or changes hardware registers and the mode that code is translated for"},
    {isa::Op::s_setvskip, "reads or changes hardware registers and the mode that code is translated for"},
    {isa::Op::s_incperflevel, "performance counters and traces"},
    {isa::Op::s_decperflevel, "performance counters and traces"},
    {isa::Op::s_ttracedata, "performance counters and traces"},
    {isa::Op::s_ttracedata_imm, "performance counters and traces"},
};

/// Of those: rejected, and therefore not compared at all.
constexpr Exception kRefused[] = {
    {isa::Op::s_endpgm_ordered_ps_done, "pixel shaders only"},
    {isa::Op::s_code_end, "end of the code"},
    {isa::Op::s_barrier_init, "named barriers"},
    {isa::Op::s_barrier_join, "named barriers"},
    {isa::Op::s_barrier_leave, "named barriers"},
    {isa::Op::s_wakeup_barrier, "named barriers"},
    {isa::Op::s_get_barrier_state, "named barriers"},
};

/// Executed, but not modelled.
constexpr Exception kNotModelled[] = {
    {isa::Op::v_interp_p1_f32, "graphics"},        {isa::Op::v_interp_p2_f32, "graphics"},
    {isa::Op::v_interp_mov_f32, "graphics"},       {isa::Op::v_interp_p1ll_f16, "graphics"},
    {isa::Op::v_interp_p1lv_f16, "graphics"},      {isa::Op::v_interp_p2_f16, "graphics"},
    {isa::Op::v_interp_p2_legacy_f16, "graphics"}, {isa::Op::v_screen_partition_4se_b32, "graphics"},
    {isa::Op::v_s_exp_f16, "approximate"},         {isa::Op::v_s_exp_f32, "approximate"},
    {isa::Op::v_s_log_f16, "approximate"},         {isa::Op::v_s_log_f32, "approximate"},
    {isa::Op::v_s_rcp_f16, "approximate"},         {isa::Op::v_s_rcp_f32, "approximate"},
    {isa::Op::v_s_rsq_f16, "approximate"},         {isa::Op::v_s_rsq_f32, "approximate"},
    {isa::Op::v_s_sqrt_f16, "approximate"},        {isa::Op::v_s_sqrt_f32, "approximate"},
};

/// Memory operations that are not compared.
constexpr Exception kMemoryNotCompared[] = {
    {isa::Op::ds_bvh_stack_rtn_b32, "rejected: ray tracing"},
    {isa::Op::ds_add_gs_reg_rtn, "rejected: graphics"},
    {isa::Op::ds_sub_gs_reg_rtn, "rejected: graphics"},
    {isa::Op::global_atomic_ordered_add_b64, "rejected: the count starts again at a value of graphics"},
    {isa::Op::ds_ordered_count, "orders waves: tested with several of them"},
    {isa::Op::image_load_pck, "rejected: raw data"},
    {isa::Op::image_load_pck_sgn, "rejected: raw data"},
    {isa::Op::image_load_mip_pck, "rejected: raw data"},
    {isa::Op::image_load_mip_pck_sgn, "rejected: raw data"},
    {isa::Op::image_store_pck, "rejected: raw data"},
    {isa::Op::image_store_mip_pck, "rejected: raw data"},
    {isa::Op::image_gather4h, "rejected: its result is not documented"},
    {isa::Op::image_msaa_load, "rejected: multisampled images"},
    {isa::Op::image_bvh_intersect_ray, "rejected: graphics"},
    {isa::Op::image_bvh64_intersect_ray, "rejected: graphics"},
};

/// Matrix operations, and AGPR moves of CDNA: matrix_test.cpp and wave_matrix_test.cpp test them.
inline bool is_of_matrices(isa::Op op) {
  return isa::name(op).starts_with("v_wmma") || isa::name(op).starts_with("v_swmmac") ||
         isa::name(op).starts_with("v_mfma") || isa::name(op).starts_with("v_smfmac") ||
         isa::name(op).starts_with("v_accvgpr");
}

template <typename List>
bool is_in_list(const List& list, isa::Op op) {
  return std::any_of(std::begin(list), std::end(list), [op](const Exception& e) { return e.op == op; });
}

}  // namespace rigel::vgpu::exec::reference
