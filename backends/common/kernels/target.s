// What differs between the generations, as macros, so that kernels are written once.
//
// Waves have 64 lanes on gfx8 and gfx9, and 32 from gfx10 on. Names of kernels' own registers are theirs.

.if .amdgcn.gfx_generation_number >= 10
  .set WAVE32, 1
.else
  .set WAVE32, 0
.endif

.if .amdgcn.gfx_generation_number == 9 && .amdgcn.gfx_generation_minor >= 4
  .set GFX9_4, 1
.else
  .set GFX9_4, 0
.endif

.if .amdgcn.gfx_generation_number >= 12
  .set GFX12, 1
.else
  .set GFX12, 0
.endif

// The 64 bytes that a dispatch packet names (LLVM AMDGPU user guide, "Kernel Descriptor"), and the kernel's entry.
// User SGPRs: s[0:1] is the address of the arguments; s2 is the work-group's number, v0 the work-item's.
.macro KERNEL name, entry, vgprs, kernarg_bytes
  .p2align 6
  .globl \name
\name:
  .long 0, 0, \kernarg_bytes, 0
  .quad \entry - \name
  .long 0, 0, 0, 0, 0
  .long 0                                   // compute_pgm_rsrc3: see blit.cpp for chips that want more
  .if WAVE32
    .set VGPR_GRANULES, (\vgprs + 7) / 8 - 1
    .set SGPR_GRANULES, 0
    .set ORDERED, 1 << 30                   // loads return in order
  .else
    .set VGPR_GRANULES, (\vgprs + 3) / 4 - 1
    .set SGPR_GRANULES, 4                   // 48, of which the last 6 are vcc and the like
    .set ORDERED, 0
  .endif
  .if GFX12
    .set MODES, 0                           // no DX10_CLAMP and no IEEE: the bits are others
  .else
    .set MODES, 1 << 21 | 1 << 23
  .endif
  .long VGPR_GRANULES | SGPR_GRANULES << 6 | 3 << 18 | MODES | ORDERED
  .long 2 << 1 | 1 << 7                     // two user SGPRs, work-group number
  .short 1 << 3 | WAVE32 << 10
  .short 0
  .long 0
.endm

// At the entry: s2 is the work-group's number, which gfx12 has in a trap register.
.macro WORK_GROUP_NUMBER
  .if GFX12
    s_mov_b32 s2, ttmp9
  .endif
.endm

.macro ADD32 d, a, b
  .if .amdgcn.gfx_generation_number == 8
    v_add_u32 \d, vcc, \a, \b
  .elseif WAVE32
    v_add_nc_u32 \d, \a, \b
  .else
    v_add_u32 \d, \a, \b
  .endif
.endm

// Comparisons of all lanes, into vcc.
.macro LESS32 a, b
  .if WAVE32
    v_cmp_gt_u32 vcc_lo, \b, \a
  .else
    v_cmp_gt_u32 vcc, \b, \a
  .endif
.endm

// The execution mask: s[14:15] is where it is kept.
.macro SAVE_EXEC
  .if WAVE32
    s_mov_b32 s14, exec_lo
  .else
    s_mov_b64 s[14:15], exec
  .endif
.endm
.macro RESTORE_EXEC
  .if WAVE32
    s_mov_b32 exec_lo, s14
  .else
    s_mov_b64 exec, s[14:15]
  .endif
.endm
.macro KEEP_LANES                           // those whose comparison held
  .if WAVE32
    s_and_b32 exec_lo, exec_lo, vcc_lo
  .else
    s_and_b64 exec, exec, vcc
  .endif
.endm

// Memory, at s[lo:hi] + offset + at; the offset is a VGPR of 32 bits, `at` a constant below 4096, or 2048 with waves of
// 32. On gfx8, whose instructions add nothing, v[4:5], vcc and s[26:27] are clobbered.
.macro ADDRESS offset, lo, hi, at
  s_add_u32 s26, s\lo, \at
  s_addc_u32 s27, s\hi, 0
  v_mov_b32 v5, s27
  v_add_u32 v4, vcc, s26, \offset
  v_addc_u32 v5, vcc, 0, v5, vcc
.endm
.macro LOAD_AT kind, d, offset, lo, hi, at
  .if .amdgcn.gfx_generation_number == 8
    ADDRESS \offset, \lo, \hi, \at
    flat_load_\kind \d, v[4:5]
  .else
    global_load_\kind \d, \offset, s[\lo:\hi] offset:\at
  .endif
.endm
.macro STORE_AT kind, d, offset, lo, hi, at
  .if .amdgcn.gfx_generation_number == 8
    ADDRESS \offset, \lo, \hi, \at
    flat_store_\kind v[4:5], \d
  .else
    global_store_\kind \offset, \d, s[\lo:\hi] offset:\at
  .endif
.endm
.macro STORE kind, a, d                     // at a 64-bit address in two VGPRs
  .if .amdgcn.gfx_generation_number == 8
    flat_store_\kind \a, \d
  .elseif GFX9_4
    global_store_\kind \a, \d, off sc0 sc1
  .elseif GFX12
    global_store_\kind \a, \d, off scope:SCOPE_SYS
  .else
    global_store_\kind \a, \d, off
  .endif
.endm
// Before a scalar instruction writes what memory instructions before it read, which gfx10.1 does not look after.
.macro SCALARS_READ
  .if .amdgcn.gfx_generation_number == 10
    v_nop
  .endif
.endm
.macro WAIT_LOADS
  .if .amdgcn.gfx_generation_number == 8
    s_waitcnt vmcnt(0) & lgkmcnt(0)         // flat loads count in both
  .elseif GFX12
    s_wait_loadcnt 0x0
  .else
    s_waitcnt vmcnt(0)
  .endif
.endm
.macro WAIT_STORES
  .if GFX12
    s_wait_storecnt 0x0
  .elseif WAVE32
    s_waitcnt_vscnt null, 0x0
  .endif
  WAIT_LOADS
.endm
.macro WAIT_SCALAR_LOADS                    // and messages
  .if GFX12
    s_wait_kmcnt 0x0
  .else
    s_waitcnt lgkmcnt(0)
  .endif
.endm
// A load that other devices' writes reach.
.macro SCALAR_LOAD kind, d, base, offset
  .if GFX12
    s_load_\kind \d, \base, \offset scope:SCOPE_SYS
  .else
    s_load_\kind \d, \base, \offset glc
  .endif
.endm
// Behind the code: instructions are fetched ahead of where it ends. Lines of gfx11's instruction cache have 128 bytes,
// and it fetches three ahead.
.macro END_OF_CODE
  .if .amdgcn.gfx_generation_number >= 11
    .p2align 7
    .rept 96
      s_code_end
    .endr
  .else
    .p2align 6
    .rept 16
      s_nop 0
    .endr
  .endif
.endm
