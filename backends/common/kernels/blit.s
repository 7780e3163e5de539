// The kernels that copy and fill memory where no copy engine does. blit.hpp has their arguments and geometry.
//
// A range is a head of bytes, a main part of units of 16 bytes, and a tail. Work-item i of n does the units i, i + n,
// i + 2n and so on, four at a time as long as four are left, so that neighbours touch neighbouring memory. The
// head and the tail are fewer than 16 bytes and are done by the first work-group, a work-item each.
.include "target.s"

.set KERNARG_BYTES, 48
.text

KERNEL blit_copy_aligned, copy_aligned_entry, 28, KERNARG_BYTES
KERNEL blit_copy_misaligned, copy_misaligned_entry, 28, KERNARG_BYTES
KERNEL blit_fill, fill_entry, 28, KERNARG_BYTES

// s[4:5] destination, s[6:7] source, s[8:9] bytes of the main part, s[10:11] offsets below which a
// work-item has four units left, s12 bytes from unit to unit, s13 bytes of the head; s16 bytes of the tail,
// s17 the value of a fill. s18 and s19: twice and four times s12.
.macro LOAD_ARGUMENTS
  s_load_dwordx8 s[4:11], s[0:1], 0x0
  s_load_dwordx2 s[12:13], s[0:1], 0x20
  s_load_dwordx2 s[16:17], s[0:1], 0x28
  s_lshl_b32 s3, s2, 8
  ADD32 v1, s3, v0                          // number of the work-item
  v_lshlrev_b32 v2, 4, v1                   // v[2:3]: offset of its next unit
  v_lshrrev_b32 v3, 28, v1
  SAVE_EXEC
  s_waitcnt lgkmcnt(0)
  s_lshl_b32 s18, s12, 1
  s_lshl_b32 s19, s12, 2
.endm

// The first `count` work-items copy a byte each from v[2:3] + v0 to v[26:27] + v0.
.macro COPY_BYTE count
  LESS32 v0, \count
  KEEP_LANES
  ADD64 v4, v5, v2, v3, v0
  LOAD ubyte, v8, v[4:5]
  ADD64 v6, v7, v26, v27, v0
  WAIT_LOADS
  STORE byte, v[6:7], v8
.endm

// Work-group 0 copies the head and the tail. Every lane takes part again.
.macro COPY_ENDS
  s_cmp_lg_u32 s2, 0
  s_cbranch_scc1 1f
  RESTORE_EXEC
  v_mov_b32 v2, s6
  v_mov_b32 v3, s7
  v_mov_b32 v26, s4
  v_mov_b32 v27, s5
  COPY_BYTE s13
  RESTORE_EXEC
  s_add_u32 s8, s8, s13                     // where the tail begins
  s_addc_u32 s9, s9, 0
  s_add_u32 s6, s6, s8
  s_addc_u32 s7, s7, s9
  s_add_u32 s4, s4, s8
  s_addc_u32 s5, s5, s9
  v_mov_b32 v2, s6
  v_mov_b32 v3, s7
  v_mov_b32 v26, s4
  v_mov_b32 v27, s5
  COPY_BYTE s16
1:
.endm

// ---------------------------------------------------------------------------------------------------------------
.p2align 8
copy_aligned_entry:
  LOAD_ARGUMENTS
  s_add_u32 s20, s6, s13                    // the main parts
  s_addc_u32 s21, s7, 0
  s_add_u32 s22, s4, s13
  s_addc_u32 s23, s5, 0
  ADD64S v4, v5, s20, s21, v2, v3, v8       // v[4:5]: where it reads, v[6:7]: where it writes
  ADD64S v6, v7, s22, s23, v2, v3, v8

copy_aligned_four:
  LESS64 v[2:3], s[10:11]
  KEEP_LANES
  s_cbranch_execz copy_aligned_rest
  ADD64 v24, v25, v4, v5, s12
  LOAD dwordx4, v[8:11], v[4:5]
  LOAD dwordx4, v[12:15], v[24:25]
  ADD64 v4, v5, v4, v5, s18
  ADD64 v24, v25, v24, v25, s18
  LOAD dwordx4, v[16:19], v[4:5]
  LOAD dwordx4, v[20:23], v[24:25]
  ADD64 v26, v27, v6, v7, s12
  ADD64 v4, v5, v4, v5, s18
  ADD64 v2, v3, v2, v3, s19
  WAIT_LOADS
  STORE dwordx4, v[6:7], v[8:11]
  STORE dwordx4, v[26:27], v[12:15]
  ADD64 v6, v7, v6, v7, s18
  ADD64 v26, v27, v26, v27, s18
  STORE dwordx4, v[6:7], v[16:19]
  STORE dwordx4, v[26:27], v[20:23]
  ADD64 v6, v7, v6, v7, s18
  s_branch copy_aligned_four

copy_aligned_rest:
  RESTORE_EXEC
copy_aligned_one:
  LESS64 v[2:3], s[8:9]
  KEEP_LANES
  s_cbranch_execz copy_aligned_ends
  LOAD dwordx4, v[8:11], v[4:5]
  ADD64 v2, v3, v2, v3, s12
  ADD64 v4, v5, v4, v5, s12
  WAIT_LOADS
  STORE dwordx4, v[6:7], v[8:11]
  ADD64 v6, v7, v6, v7, s12
  s_branch copy_aligned_one

copy_aligned_ends:
  COPY_ENDS
  s_endpgm

// ---------------------------------------------------------------------------------------------------------------
// The destination's main part begins at a dword, the source's s24 (1 to 3) bytes into one: every dword that is
// written is put together from two that are read. No dword is read that has no byte of the source.
.p2align 8
copy_misaligned_entry:
  LOAD_ARGUMENTS
  s_add_u32 s20, s6, s13
  s_addc_u32 s21, s7, 0
  s_add_u32 s22, s4, s13
  s_addc_u32 s23, s5, 0
  s_and_b32 s24, s20, 3
  s_sub_u32 s20, s20, s24
  s_subb_u32 s21, s21, 0
  ADD64S v4, v5, s20, s21, v2, v3, v8
  ADD64S v6, v7, s22, s23, v2, v3, v8

copy_misaligned_one:
  LESS64 v[2:3], s[8:9]
  KEEP_LANES
  s_cbranch_execz copy_misaligned_ends
  ADD64 v24, v25, v4, v5, 16
  LOAD dwordx4, v[8:11], v[4:5]
  LOAD dword, v12, v[24:25]
  ADD64 v2, v3, v2, v3, s12
  ADD64 v4, v5, v4, v5, s12
  WAIT_LOADS
  v_alignbyte_b32 v16, v9, v8, s24
  v_alignbyte_b32 v17, v10, v9, s24
  v_alignbyte_b32 v18, v11, v10, s24
  v_alignbyte_b32 v19, v12, v11, s24
  STORE dwordx4, v[6:7], v[16:19]
  ADD64 v6, v7, v6, v7, s12
  s_branch copy_misaligned_one

copy_misaligned_ends:
  COPY_ENDS
  s_endpgm

// ---------------------------------------------------------------------------------------------------------------
// The destination begins at a dword, and the tail is whole dwords. There is no head.
.p2align 8
fill_entry:
  LOAD_ARGUMENTS
  ADD64S v6, v7, s4, s5, v2, v3, v8
  v_mov_b32 v8, s17
  v_mov_b32 v9, s17
  v_mov_b32 v10, s17
  v_mov_b32 v11, s17

fill_four:
  LESS64 v[2:3], s[10:11]
  KEEP_LANES
  s_cbranch_execz fill_rest
  ADD64 v26, v27, v6, v7, s12
  STORE dwordx4, v[6:7], v[8:11]
  STORE dwordx4, v[26:27], v[8:11]
  ADD64 v6, v7, v6, v7, s18
  ADD64 v26, v27, v26, v27, s18
  ADD64 v2, v3, v2, v3, s19
  STORE dwordx4, v[6:7], v[8:11]
  STORE dwordx4, v[26:27], v[8:11]
  ADD64 v6, v7, v6, v7, s18
  s_branch fill_four

fill_rest:
  RESTORE_EXEC
fill_one:
  LESS64 v[2:3], s[8:9]
  KEEP_LANES
  s_cbranch_execz fill_ends
  STORE dwordx4, v[6:7], v[8:11]
  ADD64 v2, v3, v2, v3, s12
  ADD64 v6, v7, v6, v7, s12
  s_branch fill_one

fill_ends:
  s_cmp_lg_u32 s2, 0
  s_cbranch_scc1 fill_end
  RESTORE_EXEC
  s_lshr_b32 s16, s16, 2
  LESS32 v0, s16
  KEEP_LANES
  s_cbranch_execz fill_end
  s_add_u32 s4, s4, s8
  s_addc_u32 s5, s5, s9
  v_mov_b32 v2, s4
  v_mov_b32 v3, s5
  v_lshlrev_b32 v0, 2, v0
  ADD64 v6, v7, v2, v3, v0
  STORE dword, v[6:7], v8
fill_end:
  s_endpgm

// Instructions are fetched ahead of where they end.
.p2align 6
.rept 16
  s_nop 0
.endr
