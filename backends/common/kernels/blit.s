// The kernels that copy and fill memory where no copy engine does. blit.hpp has their arguments and geometry.
//
// A range is a head of bytes, chunks of 16 KiB, a rest of units of 16 bytes, and a tail of bytes. Group i does the chunks
// i, i + n, i + 2n and so on. Of a chunk every wave has a run without gaps, and every work-item four units of it,
// which are on their way at the same time. All addresses of a wave are a scalar base and a constant for each lane, so
// going on to the next chunk costs the vector unit nothing. One group does the rest; the head and the tail, fewer than
// 16 bytes each, are the first group's, a work-item each.
.include "target.s"

.set KERNARG_BYTES, 48
.set VGPRS, 32                              // kVgprs in blit.cpp
.set CHUNK_SHIFT, 14
.set PASS, 256 * 16                         // bytes that a group does with a unit for each work-item
.if WAVE32
  .set LANES_SHIFT, 5
.else
  .set LANES_SHIFT, 6
.endif
.set UNIT, 16 << LANES_SHIFT                // bytes from a work-item's unit to its next: one for each lane
.text

KERNEL blit_copy_aligned, copy_aligned_entry, VGPRS, KERNARG_BYTES
KERNEL blit_copy_misaligned, copy_misaligned_entry, VGPRS, KERNARG_BYTES
KERNEL blit_fill, fill_entry, VGPRS, KERNARG_BYTES

// s[4:5] destination, s[6:7] source, s8 number of chunks, s9 number of groups, s10 bytes of the rest, s11 the group
// that does it, s12 bytes of the head, s13 bytes of the tail, s16 the value of a fill.
// s18 bytes from a group's chunk to its next, v1 a lane's first unit in a chunk, v2 its unit in the rest.
.macro LOAD_ARGUMENTS
  WORK_GROUP_NUMBER
  s_load_dwordx8 s[4:11], s[0:1], 0x0
  s_load_dwordx2 s[12:13], s[0:1], 0x20
  s_load_dword s16, s[0:1], 0x28
  v_lshrrev_b32 v1, LANES_SHIFT, v0         // number of the wave
  v_lshlrev_b32 v1, LANES_SHIFT + 2, v1
  v_and_b32 v2, (1 << LANES_SHIFT) - 1, v0
  v_or_b32 v1, v1, v2
  v_lshlrev_b32 v1, 4, v1
  v_lshlrev_b32 v2, 4, v0
  SAVE_EXEC
  WAIT_SCALAR_LOADS
  s_lshl_b32 s18, s9, CHUNK_SHIFT
.endm

// s[lo:hi] += chunks << CHUNK_SHIFT. s[24:25] is scratch.
.macro SKIP_CHUNKS lo, hi, chunks
  s_mov_b32 s24, \chunks
  s_mov_b32 s25, 0
  s_lshl_b64 s[24:25], s[24:25], CHUNK_SHIFT
  s_add_u32 s\lo, s\lo, s24
  s_addc_u32 s\hi, s\hi, s25
.endm
.macro ADVANCE lo, hi, bytes
  s_add_u32 s\lo, s\lo, \bytes
  s_addc_u32 s\hi, s\hi, 0
.endm

// The first `count` work-items copy a byte each, from s[6:7] to s[4:5].
.macro COPY_BYTE count
  LESS32 v0, \count
  KEEP_LANES
  LOAD_AT ubyte, v8, v0, 6, 7, 0
  WAIT_LOADS
  STORE_AT byte, v8, v0, 4, 5, 0
  SCALARS_READ
  RESTORE_EXEC
.endm

// Group 0 copies the head and the tail.
.macro COPY_ENDS
  s_cmp_lg_u32 s2, 0
  s_cbranch_scc1 1f
  COPY_BYTE s12
  s_add_u32 s10, s10, s12                   // where the tail begins, behind the chunks
  ADVANCE 6, 7, s10
  ADVANCE 4, 5, s10
  SKIP_CHUNKS 6, 7, s8
  SKIP_CHUNKS 4, 5, s8
  COPY_BYTE s13
1:
.endm

// ---------------------------------------------------------------------------------------------------------------
.p2align 8
copy_aligned_entry:
  LOAD_ARGUMENTS
  s_add_u32 s20, s6, s12                    // the chunks: s[20:21] where they are read, s[22:23] where they go
  s_addc_u32 s21, s7, 0
  s_add_u32 s22, s4, s12
  s_addc_u32 s23, s5, 0
  SKIP_CHUNKS 20, 21, s2
  SKIP_CHUNKS 22, 23, s2
  s_mov_b32 s3, s2

copy_aligned_chunk:
  s_cmp_ge_u32 s3, s8
  s_cbranch_scc1 copy_aligned_rest
  LOAD_AT dwordx4, v[8:11], v1, 20, 21, 0
  LOAD_AT dwordx4, v[12:15], v1, 20, 21, UNIT
  LOAD_AT dwordx4, v[16:19], v1, 20, 21, 2 * UNIT
  LOAD_AT dwordx4, v[20:23], v1, 20, 21, 3 * UNIT
  SCALARS_READ
  ADVANCE 20, 21, s18
  s_add_u32 s3, s3, s9
  WAIT_LOADS
  STORE_AT dwordx4, v[8:11], v1, 22, 23, 0
  STORE_AT dwordx4, v[12:15], v1, 22, 23, UNIT
  STORE_AT dwordx4, v[16:19], v1, 22, 23, 2 * UNIT
  STORE_AT dwordx4, v[20:23], v1, 22, 23, 3 * UNIT
  SCALARS_READ
  ADVANCE 22, 23, s18
  s_branch copy_aligned_chunk

copy_aligned_rest:                          // the group is now at the chunk that is not whole, if it does that
  s_cmp_lg_u32 s2, s11
  s_cbranch_scc1 copy_aligned_ends
copy_aligned_unit:
  LESS32 v2, s10
  KEEP_LANES
  s_cbranch_execz copy_aligned_ends
  LOAD_AT dwordx4, v[8:11], v2, 20, 21, 0
  WAIT_LOADS
  STORE_AT dwordx4, v[8:11], v2, 22, 23, 0
  ADD32 v2, PASS, v2
  s_branch copy_aligned_unit

copy_aligned_ends:
  RESTORE_EXEC
  COPY_ENDS
  s_endpgm

// ---------------------------------------------------------------------------------------------------------------
// The chunks go to a dword, and come from s17 (1 to 3) bytes behind one: every dword that is written is put
// together from two that are read. No dword is read that has no byte of the source.
.macro LOAD_FIVE first, fourth, fifth, offset, unit
  LOAD_AT dwordx4, v[\first:\fourth], \offset, 20, 21, \unit
  LOAD_AT dword, v\fifth, \offset, 20, 21, 16 + \unit
.endm
.macro STORE_FOUR first, second, third, fourth, fifth, offset, unit
  v_alignbyte_b32 v\first, v\second, v\first, s17
  v_alignbyte_b32 v\second, v\third, v\second, s17
  v_alignbyte_b32 v\third, v\fourth, v\third, s17
  v_alignbyte_b32 v\fourth, v\fifth, v\fourth, s17
  STORE_AT dwordx4, v[\first:\fourth], \offset, 22, 23, \unit
.endm

.p2align 8
copy_misaligned_entry:
  LOAD_ARGUMENTS
  s_add_u32 s20, s6, s12
  s_addc_u32 s21, s7, 0
  s_add_u32 s22, s4, s12
  s_addc_u32 s23, s5, 0
  s_and_b32 s17, s20, 3
  s_sub_u32 s20, s20, s17
  s_subb_u32 s21, s21, 0
  SKIP_CHUNKS 20, 21, s2
  SKIP_CHUNKS 22, 23, s2
  s_mov_b32 s3, s2

copy_misaligned_chunk:
  s_cmp_ge_u32 s3, s8
  s_cbranch_scc1 copy_misaligned_rest
  LOAD_FIVE 8, 11, 12, v1, 0
  LOAD_FIVE 14, 17, 18, v1, UNIT
  LOAD_FIVE 20, 23, 24, v1, 2 * UNIT
  LOAD_FIVE 26, 29, 30, v1, 3 * UNIT
  SCALARS_READ
  ADVANCE 20, 21, s18
  s_add_u32 s3, s3, s9
  WAIT_LOADS
  STORE_FOUR 8, 9, 10, 11, 12, v1, 0
  STORE_FOUR 14, 15, 16, 17, 18, v1, UNIT
  STORE_FOUR 20, 21, 22, 23, 24, v1, 2 * UNIT
  STORE_FOUR 26, 27, 28, 29, 30, v1, 3 * UNIT
  SCALARS_READ
  ADVANCE 22, 23, s18
  s_branch copy_misaligned_chunk

copy_misaligned_rest:
  s_cmp_lg_u32 s2, s11
  s_cbranch_scc1 copy_misaligned_ends
copy_misaligned_unit:
  LESS32 v2, s10
  KEEP_LANES
  s_cbranch_execz copy_misaligned_ends
  LOAD_FIVE 8, 11, 12, v2, 0
  WAIT_LOADS
  STORE_FOUR 8, 9, 10, 11, 12, v2, 0
  ADD32 v2, PASS, v2
  s_branch copy_misaligned_unit

copy_misaligned_ends:
  RESTORE_EXEC
  COPY_ENDS
  s_endpgm

// ---------------------------------------------------------------------------------------------------------------
// The destination begins at a dword, and the tail is whole dwords. There is no head.
.p2align 8
fill_entry:
  LOAD_ARGUMENTS
  v_mov_b32 v8, s16
  v_mov_b32 v9, s16
  v_mov_b32 v10, s16
  v_mov_b32 v11, s16
  s_mov_b32 s22, s4
  s_mov_b32 s23, s5
  SKIP_CHUNKS 22, 23, s2
  s_mov_b32 s3, s2

fill_chunk:
  s_cmp_ge_u32 s3, s8
  s_cbranch_scc1 fill_rest
  STORE_AT dwordx4, v[8:11], v1, 22, 23, 0
  STORE_AT dwordx4, v[8:11], v1, 22, 23, UNIT
  STORE_AT dwordx4, v[8:11], v1, 22, 23, 2 * UNIT
  STORE_AT dwordx4, v[8:11], v1, 22, 23, 3 * UNIT
  SCALARS_READ
  ADVANCE 22, 23, s18
  s_add_u32 s3, s3, s9
  s_branch fill_chunk

fill_rest:
  s_cmp_lg_u32 s2, s11
  s_cbranch_scc1 fill_end
fill_unit:
  LESS32 v2, s10
  KEEP_LANES
  s_cbranch_execz fill_tail
  STORE_AT dwordx4, v[8:11], v2, 22, 23, 0
  ADD32 v2, PASS, v2
  s_branch fill_unit

fill_tail:                                  // by the same group: it is there
  RESTORE_EXEC
  s_lshr_b32 s13, s13, 2
  LESS32 v0, s13
  KEEP_LANES
  ADVANCE 22, 23, s10
  v_lshlrev_b32 v0, 2, v0
  STORE_AT dword, v8, v0, 22, 23, 0
fill_end:
  s_endpgm

END_OF_CODE
