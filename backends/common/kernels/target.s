// What differs between the generations, as macros, so that kernels are written once.
//
// Waves have 64 lanes on gfx8 and gfx9, and 32 on gfx10. Names of kernels' own registers are theirs.

.if .amdgcn.gfx_generation_number == 10
  .set WAVE32, 1
.else
  .set WAVE32, 0
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
    .set SGPR_GRANULES, 2                   // 32
    .set ORDERED, 0
  .endif
  .long VGPR_GRANULES | SGPR_GRANULES << 6 | 3 << 18 | 1 << 21 | 1 << 23 | ORDERED
  .long 2 << 1 | 1 << 7                     // two user SGPRs, work-group number
  .short 1 << 3 | WAVE32 << 10
  .short 0
  .long 0
.endm

// d = a + b, 64 bits each; b is a 32-bit SGPR or constant. Clobbers vcc.
.macro ADD64 dlo, dhi, alo, ahi, b
  .if .amdgcn.gfx_generation_number == 8
    v_add_u32 \dlo, vcc, \b, \alo
    v_addc_u32 \dhi, vcc, 0, \ahi, vcc
  .elseif WAVE32
    v_add_co_u32 \dlo, vcc_lo, \b, \alo
    v_add_co_ci_u32 \dhi, vcc_lo, 0, \ahi, vcc_lo
  .else
    v_add_co_u32 \dlo, vcc, \b, \alo
    v_addc_co_u32 \dhi, vcc, 0, \ahi, vcc
  .endif
.endm

// d = 64-bit SGPR pair (slo, shi) + 64-bit VGPRs. Clobbers vcc. `t` is scratch.
.macro ADD64S dlo, dhi, slo, shi, alo, ahi, t
  v_mov_b32 \t, \shi
  .if .amdgcn.gfx_generation_number == 8
    v_add_u32 \dlo, vcc, \slo, \alo
    v_addc_u32 \dhi, vcc, \t, \ahi, vcc
  .elseif WAVE32
    v_add_co_u32 \dlo, vcc_lo, \slo, \alo
    v_add_co_ci_u32 \dhi, vcc_lo, \t, \ahi, vcc_lo
  .else
    v_add_co_u32 \dlo, vcc, \slo, \alo
    v_addc_co_u32 \dhi, vcc, \t, \ahi, vcc
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
.macro LESS64 a, b
  .if WAVE32
    v_cmp_gt_u64 vcc_lo, \b, \a
  .else
    v_cmp_gt_u64 vcc, \b, \a
  .endif
.endm
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

// Memory, at a 64-bit address in two VGPRs.
.macro LOAD kind, d, a
  .if .amdgcn.gfx_generation_number == 8
    flat_load_\kind \d, \a
  .else
    global_load_\kind \d, \a, off
  .endif
.endm
.macro STORE kind, a, d
  .if .amdgcn.gfx_generation_number == 8
    flat_store_\kind \a, \d
  .else
    global_store_\kind \a, \d, off
  .endif
.endm
.macro WAIT_LOADS
  .if .amdgcn.gfx_generation_number == 8
    s_waitcnt vmcnt(0) & lgkmcnt(0)         // flat loads count in both
  .else
    s_waitcnt vmcnt(0)
  .endif
.endm
