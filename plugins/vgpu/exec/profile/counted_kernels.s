// Kernels for gfx900 whose numbers of executed instructions follow from the code (event_counts_test.cpp). Kernel i is
// at byte 64 i. s[0:1] is the address of a buffer, s2 the work-group's number, v0 the work-item's number in it.
.amdgcn_target "amdgcn-amd-amdhsa--gfx900"
.text

.macro KERNEL name
  .p2align 6
  // \name
.endm

KERNEL empty
  s_endpgm
KERNEL vector
  v_mov_b32 v1, 1
  s_endpgm
KERNEL scalar
  s_mov_b32 s4, 1
  s_add_u32 s4, s4, s4
  s_cmp_eq_u32 s4, 2
  s_endpgm
KERNEL waits
  s_nop 5
  s_waitcnt vmcnt(0)
  s_setprio 1
  s_endpgm
KERNEL scalar_load
  s_load_dword s4, s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
  s_endpgm
KERNEL scalar_load_of_four
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_endpgm
KERNEL scalar_store
  s_mov_b32 s4, 1
  s_store_dword s4, s[0:1], 0x0
  s_endpgm
KERNEL global_load
  global_load_dword v1, v0, s[0:1]
  s_endpgm
KERNEL global_store
  v_lshlrev_b32 v1, 2, v0
  global_store_dword v1, v0, s[0:1]
  s_endpgm
KERNEL flat_load
  v_mov_b32 v2, s0
  v_mov_b32 v3, s1
  flat_load_dword v1, v[2:3]
  s_endpgm
KERNEL atomic_without_return
  v_mov_b32 v1, 0
  global_atomic_add v1, v0, s[0:1]
  s_endpgm
KERNEL atomic_with_return
  v_mov_b32 v1, 0
  global_atomic_add v2, v1, v0, s[0:1] glc
  s_endpgm
KERNEL buffer_load
  s_mov_b32 s4, s0
  s_mov_b32 s5, s1
  s_mov_b32 s6, -1
  s_mov_b32 s7, 0x27000
  buffer_load_dword v1, v0, s[4:7], 0 offen
  s_endpgm
KERNEL buffer_store
  s_mov_b32 s4, s0
  s_mov_b32 s5, s1
  s_mov_b32 s6, -1
  s_mov_b32 s7, 0x27000
  v_lshlrev_b32 v1, 2, v0
  buffer_store_dword v0, v1, s[4:7], 0 offen
  s_endpgm
KERNEL lds_write
  s_mov_b32 m0, -1
  v_lshlrev_b32 v1, 2, v0
  ds_write_b32 v1, v0
  s_endpgm
KERNEL lds_read_of_two
  s_mov_b32 m0, -1
  v_lshlrev_b32 v1, 2, v0
  ds_read2_b32 v[2:3], v1 offset0:0 offset1:1
  s_endpgm
KERNEL lds_atomic
  s_mov_b32 m0, -1
  v_mov_b32 v1, 0
  ds_add_u32 v1, v0
  s_endpgm
KERNEL lane_permutation
  v_lshlrev_b32 v1, 2, v0
  ds_bpermute_b32 v2, v1, v0
  ds_swizzle_b32 v3, v0 offset:0x041f
  s_endpgm
KERNEL global_data_share
  s_movk_i32 m0, 0x100
  v_mov_b32 v1, 0
  ds_add_u32 v1, v0 gds
  s_endpgm
KERNEL branch_not_taken
  s_cmp_eq_u32 s2, 99
  s_cbranch_scc1 0f
  v_mov_b32 v1, 1
0:
  s_endpgm
KERNEL branch_taken
  s_branch 0f
  v_mov_b32 v1, 1
  v_mov_b32 v1, 2
0:
  s_endpgm
KERNEL loop
  s_mov_b32 s4, 10
0:
  v_add_u32 v1, v1, v0
  s_sub_u32 s4, s4, 1
  s_cmp_lg_u32 s4, 0
  s_cbranch_scc1 0b
  s_endpgm
KERNEL loop_in_loop
  s_mov_b32 s4, 3
0:
  s_mov_b32 s5, 4
1:
  v_add_u32 v1, v1, v0
  s_sub_u32 s5, s5, 1
  s_cmp_lg_u32 s5, 0
  s_cbranch_scc1 1b
  s_sub_u32 s4, s4, 1
  s_cmp_lg_u32 s4, 0
  s_cbranch_scc1 0b
  s_endpgm
KERNEL loop_by_group
  s_add_u32 s4, s2, 1
0:
  v_add_u32 v1, v1, v0
  s_sub_u32 s4, s4, 1
  s_cmp_lg_u32 s4, 0
  s_cbranch_scc1 0b
  s_endpgm
KERNEL half_of_lanes
  v_cmp_gt_u32 vcc, 32, v0
  s_and_saveexec_b64 s[4:5], vcc
  v_mov_b32 v1, 1
  v_mov_b32 v1, 2
  s_mov_b64 exec, s[4:5]
  s_endpgm
KERNEL no_lane_skips
  v_cmp_gt_u32 vcc, 0, v0
  s_and_saveexec_b64 s[4:5], vcc
  s_cbranch_execz 0f
  v_mov_b32 v1, 1
0:
  s_endpgm
KERNEL no_lane_executes
  s_mov_b64 exec, 0
  v_mov_b32 v1, 1
  global_load_dword v1, v0, s[0:1]
  s_endpgm
KERNEL loop_by_lane
  v_and_b32 v1, 3, v0
0:
  v_add_u32 v2, v2, v0
  v_cmp_ne_u32 vcc, 0, v1
  v_subrev_u32 v1, 1, v1
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz 0b
  s_endpgm
KERNEL barrier
  v_mov_b32 v1, 1
  s_barrier
  v_mov_b32 v1, 2
  s_endpgm
KERNEL exchange_by_lds
  s_mov_b32 m0, -1
  v_lshlrev_b32 v1, 2, v0
  ds_write_b32 v1, v0
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_xor_b32 v1, 4, v1
  ds_read_b32 v2, v1
  s_waitcnt lgkmcnt(0)
  s_endpgm
KERNEL message
  s_mov_b32 m0, 0
  s_sendmsg sendmsg(MSG_INTERRUPT)
  s_endpgm
KERNEL sleep
  s_sleep 1
  v_mov_b32 v1, 1
  s_endpgm
KERNEL lane_reads
  v_readfirstlane_b32 s4, v0
  v_readlane_b32 s5, v0, 3
  v_writelane_b32 v1, s4, 2
  s_endpgm
KERNEL lane_modes
  v_mov_b32_dpp v1, v0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
  v_add_u32_sdwa v1, v0, v0 dst_sel:DWORD src0_sel:WORD_0 src1_sel:WORD_1
  v_cndmask_b32 v2, v0, v1, vcc
  s_endpgm
KERNEL call
  s_getpc_b64 s[4:5]
  s_add_u32 s4, s4, 16
  s_addc_u32 s5, s5, 0
  s_swappc_b64 s[6:7], s[4:5]
  s_endpgm
  v_mov_b32 v1, 1
  s_setpc_b64 s[6:7]
KERNEL clock
  s_memtime s[4:5]
  s_memrealtime s[6:7]
  s_waitcnt lgkmcnt(0)
  s_endpgm
KERNEL caches
  s_dcache_wb
  buffer_wbinvl1
  s_endpgm
KERNEL transcendental
  v_rcp_f32 v1, v0
  v_exp_f32 v2, v0
  v_fma_f64 v[4:5], v[0:1], v[0:1], v[0:1]
  v_nop
  s_endpgm
KERNEL wide_load_of_some
  s_mov_b64 exec, 0xff
  v_lshlrev_b32 v1, 4, v0
  global_load_dwordx4 v[4:7], v1, s[0:1]
  s_endpgm
KERNEL condition_of_vector
  v_cmp_eq_u32 vcc, 3, v0
  s_cbranch_vccz 0f
  v_mov_b32 v1, 1
0:
  s_endpgm
KERNEL packed
  v_pk_add_f16 v1, v0, v0
  v_pk_mul_lo_u16 v1, v0, v0
  s_endpgm
KERNEL mode
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0
  s_getreg_b32 s4, hwreg(HW_REG_MODE)
  s_endpgm
