// Kernels for gfx1201 with transposing loads and blocks of registers (checked_code_test.cpp). Kernel i is at byte 256 i.
// s[0:1] is the address of a buffer, s[2:3] that of the wave's scratch, v0 the work-item's number in the work-group.
.amdgcn_target "amdgcn-amd-amdhsa--gfx1201"
.text

.macro KERNEL name
  .p2align 8
\name:
.endm

// The first of two waves goes on at `first`.
.macro BRANCH_IF_FIRST first
  v_readfirstlane_b32 s4, v0
  s_cmp_eq_u32 s4, 0
  v_and_b32 v0, 31, v0
  v_lshlrev_b32 v1, 6, v0
  s_cbranch_scc1 \first
.endm

KERNEL race_of_transposing_load
  BRANCH_IF_FIRST store_transposed
  global_load_tr_b128 v[4:7], v1, s[0:1]
  s_endpgm
store_transposed:
  global_store_b32 v1, v0, s[0:1] offset:8
  s_endpgm
KERNEL race_of_block_store
  BRANCH_IF_FIRST load_of_block
  s_mov_b32 m0, 5
  global_store_block v1, v[4:35], s[0:1]
  s_endpgm
load_of_block:
  global_load_b32 v4, v1, s[0:1] offset:8
  s_endpgm
KERNEL no_race_with_unselected_register
  BRANCH_IF_FIRST load_of_other
  s_mov_b32 m0, 5
  global_store_block v1, v[4:35], s[0:1]
  s_endpgm
load_of_other:
  global_load_b32 v4, v1, s[0:1] offset:4
  s_endpgm
KERNEL undefined_register_of_block
  s_mov_b32 m0, 3
  v_mov_b32 v5, 0
  scratch_load_block v[4:35], off, off
  s_wait_loadcnt 0x0
  v_cmp_ne_u32 vcc_lo, 0, v5
  s_cbranch_vccnz .Lend_undefined_register
.Lend_undefined_register:
  s_endpgm
KERNEL defined_register_of_block
  s_mov_b32 m0, 1
  v_mov_b32 v5, 0
  scratch_load_block v[4:35], off, off
  s_wait_loadcnt 0x0
  v_cmp_ne_u32 vcc_lo, 0, v5
  s_cbranch_vccnz .Lend_defined_register
.Lend_defined_register:
  s_endpgm
KERNEL block_stored_before
  s_mov_b32 m0, 3
  v_mov_b32 v4, 0
  v_mov_b32 v5, 0
  scratch_store_block off, v[4:35], off
  scratch_load_block v[4:35], off, off
  s_wait_loadcnt 0x0
  v_cmp_ne_u32 vcc_lo, v4, v5
  s_cbranch_vccnz .Lend_block_stored
.Lend_block_stored:
  s_endpgm
KERNEL undefined_part_of_transposed
  s_mov_b32 s5, 0xff
  s_branch .Ltransposed
KERNEL defined_parts_of_transposed
  s_mov_b32 s5, 0xffffff00
.Ltransposed:
  // All lanes but lane 5 store. Its parts become those of the lanes 0 to 7.
  v_lshlrev_b32 v1, 4, v0
  v_mov_b32 v4, 0
  v_mov_b32 v5, 0
  v_mov_b32 v6, 0
  v_mov_b32 v7, 0
  s_mov_b32 exec_lo, 0xffffffdf
  global_store_b128 v1, v[4:7], s[2:3]
  s_mov_b32 exec_lo, -1
  global_load_tr_b128 v[4:7], v1, s[2:3]
  s_wait_loadcnt 0x0
  s_mov_b32 exec_lo, s5
  v_cmp_ne_u32 vcc_lo, 0, v6
  s_cbranch_vccnz .Lend_transposed
.Lend_transposed:
  s_endpgm
KERNEL block_to_the_last_register
  s_mov_b32 m0, 0x8001
  v_lshlrev_b32 v1, 6, v0
  global_store_block v1, v[24:55], s[0:1]
  s_endpgm
KERNEL block_past_the_last_register
  s_mov_b32 m0, 0x10001
  v_lshlrev_b32 v1, 6, v0
  global_store_block v1, v[24:55], s[0:1]
  s_endpgm
KERNEL loaded_block_past_the_last_register
  s_mov_b32 m0, 0x10001
  v_lshlrev_b32 v1, 6, v0
  global_load_block v[24:55], v1, s[0:1]
  s_endpgm
KERNEL counted
  s_mov_b32 m0, 7
  v_lshlrev_b32 v1, 6, v0
  global_store_block v1, v[4:35], s[0:1]
  global_load_tr_b64 v[4:5], v1, s[0:1]
  s_endpgm
