// The trap handler: what runs when a wave meets an illegal instruction, a memory violation, an enabled arithmetic
// exception or s_trap. It says which on the wave's queue and halts the wave for good; the runtime stops the queue.
// trap.hpp has its data.
//
// It is the second of two. amdkfd's own handler, which saves and restores waves, calls it with
//   ttmp[0:1]   address of the instruction (48 bits); trap number in bits 23:16 of ttmp1, bit 24 for the host's traps.
//               gfx12: trap number in bits 31:28
//   STATUS      ttmp12 (gfx8: ttmp4), to be written back; gfx12: STATE_PRIV
//   DATA        ttmp[14:15] (gfx8: ttmp[10:11]), the address that SET_TRAP_HANDLER was given
//   ttmp11      gfx9, gfx10.1: parts of IB_STS to be written back; ttmp6 is the debugger's. gfx9.4: ttmp13; ttmp11
//               is the debugger's
//   ttmp7       gfx12: with ttmp8 and ttmp9 the wave's place in the grid, to be kept
//
// EXCEPTIONS: the driver takes errors of waves itself, from the interrupt's payload (KFD 1.13 and later). Otherwise
// the error goes into the queue's inactive signal, by vector instructions of lane 0: scalar stores and atomics
// are not everywhere. A wave that has failed loses v0 to v3 of that lane, and its execution mask.
.include "target.s"

.ifndef EXCEPTIONS
  .set EXCEPTIONS, 0
.endif

.set TRAP_ABORT, 2
.if GFX12                                   // Linux, cwsr_trap_handler_gfx12.asm
  .set STATE_PRIV, 4                        // hardware registers
  .set EXCP_FLAG_PRIV, 17
  .set EXCP_FLAG_USER, 18
  .set TRAP_CTRL, 19
  .set TRAPSTS, EXCP_FLAG_PRIV
  .set TRAPSTS_MEMORY, 4
  .set TRAPSTS_ILLEGAL, 6
  .set TRAPSTS_XNACK, 12
  .set STATUS_HALT, 14
  .set STATE_PRIV_SCC, 9                    // the first of the bits that are written back, up to STATUS_HALT
.else
  .set TRAPSTS, 3
  .set TRAPSTS_MEMORY, 8
  .set TRAPSTS_ILLEGAL, 11
  .set TRAPSTS_XNACK, 28                    // gfx9 and later: translation failed; the driver knows more
  .set STATUS_HALT, 13
.endif

.set CODE_APERTURE, 0x20000000
.set CODE_ILLEGAL, 0x40000000
.set CODE_TRAP, 0x80000000

.set DOORBELL_MASK, 0x3ff
.set EXCEPTION_ABORT, 1 << 10
.set EXCEPTION_ARITHMETIC, 1 << 12
.set EXCEPTION_ILLEGAL, 1 << 13
.set EXCEPTION_MEMORY, 1 << 14
.set EXCEPTION_APERTURE, 1 << 15

.set QUEUE_INACTIVE_SIGNAL, 0xc0            // of amd_queue_t
// Of amd_signal_t, from its value on.
.set SIGNAL_VALUE, 8
.set VALUE_MAILBOX, 8
.set VALUE_EVENT, 16

.if .amdgcn.gfx_generation_number == 8
  .set STATUS, 4
  .set DATA, 10
  .set SIGNAL, 6                            // pair
  .set FREE, 9
  .set REASON, 3
.else
  .set STATUS, 12
  .set DATA, 14
  .set SIGNAL, 4
  .if GFX9_4
    .set FREE, 6
    .set IB_STS, 13
  .else
    .set FREE, 13
    .set IB_STS, 11
  .endif
  .if GFX12
    .set PLACE, 10                          // receives the address of the instruction, for a debugger
  .else
    .set PLACE, 7
  .endif
  .set REASON, 3
.endif

.if EXCEPTIONS
  .set REASON_ABORT, EXCEPTION_ABORT
  .set REASON_ARITHMETIC, EXCEPTION_ARITHMETIC
  .set REASON_ILLEGAL, EXCEPTION_ILLEGAL
  .set REASON_APERTURE, EXCEPTION_APERTURE
.else
  .set REASON_ABORT, CODE_TRAP
  .set REASON_ARITHMETIC, CODE_TRAP
  .set REASON_ILLEGAL, CODE_ILLEGAL
  .set REASON_APERTURE, CODE_APERTURE
.endif

.text
trap_entry:
.if GFX12
  s_lshr_b32 ttmp2, ttmp1, 28
  s_cbranch_scc0 exception
.else
  s_bfe_u32 ttmp2, ttmp1, 16 | 8 << 16
  s_cbranch_scc0 exception                  // no trap: something happened
  s_bitcmp1_b32 ttmp1, 24
  s_cbranch_scc1 return                     // the host's: nobody here asked for it
.endif
  s_cmp_eq_u32 ttmp2, TRAP_ABORT
  s_cbranch_scc1 abort
  s_add_u32 ttmp0, ttmp0, 4                 // a breakpoint, and no debugger: on behind it
  s_addc_u32 ttmp1, ttmp1, 0
  s_branch return

exception:
  s_getreg_b32 ttmp2, hwreg(TRAPSTS)
  s_bitcmp1_b32 ttmp2, TRAPSTS_MEMORY
  s_cbranch_scc0 not_memory
.if .amdgcn.gfx_generation_number > 8
  s_bitcmp1_b32 ttmp2, TRAPSTS_XNACK
  .if EXCEPTIONS
    s_cbranch_scc0 not_translation
    s_mov_b32 ttmp[REASON], EXCEPTION_MEMORY
    s_branch report
not_translation:
  .else
    s_cbranch_scc1 halt                     // the driver has the fault and tells of it
  .endif
.endif
  s_mov_b32 ttmp[REASON], REASON_APERTURE
  s_branch report
not_memory:
  s_bitcmp1_b32 ttmp2, TRAPSTS_ILLEGAL
  s_cbranch_scc0 not_illegal
  s_mov_b32 ttmp[REASON], REASON_ILLEGAL
  s_branch report
not_illegal:
.if GFX12
  s_getreg_b32 ttmp2, hwreg(EXCP_FLAG_USER, 0, 7)
  s_getreg_b32 ttmp3, hwreg(TRAP_CTRL, 0, 7)
.else
  s_getreg_b32 ttmp3, hwreg(HW_REG_MODE, 12, 7)
.endif
  s_and_b32 ttmp2, ttmp2, ttmp3             // those that are enabled
  s_cbranch_scc0 return
  s_mov_b32 ttmp[REASON], REASON_ARITHMETIC
  s_branch report

.if .amdgcn.gfx_generation_number == 8
// Nothing says which queue a wave is of. Code that executes s_trap 2 has its queue in s[0:1] (AMDGPU ABI); for the
// rest there is one signal, at the start of the data.
abort:
  s_mov_b32 ttmp[REASON], REASON_ABORT
  s_load_dwordx2 ttmp[SIGNAL:SIGNAL+1], s[0:1], QUEUE_INACTIVE_SIGNAL
  s_branch have_signal
report:
  s_load_dwordx2 ttmp[SIGNAL:SIGNAL+1], ttmp[DATA:DATA+1], 0x0
have_signal:
  WAIT_SCALAR_LOADS
.else
abort:
  s_mov_b32 ttmp[REASON], REASON_ABORT
report:
  .if .amdgcn.gfx_generation_number >= 11
    s_sendmsg_rtn_b32 ttmp2, sendmsg(MSG_RTN_GET_DOORBELL)
    WAIT_SCALAR_LOADS
    s_and_b32 ttmp2, ttmp2, DOORBELL_MASK
  .else                                     // exec_lo receives it, and has bit 31 until the answer is there
    s_mov_b32 exec_lo, 0x80000000
    s_sendmsg sendmsg(MSG_GET_DOORBELL)
wait_for_doorbell:
    s_nop 7
    s_bitcmp1_b32 exec_lo, 31
    s_cbranch_scc1 wait_for_doorbell
    s_and_b32 ttmp2, exec_lo, DOORBELL_MASK
  .endif
  .if EXCEPTIONS
    s_or_b32 ttmp[REASON], ttmp[REASON], ttmp2
    s_mov_b32 m0, ttmp[REASON]
    s_nop 0
    s_sendmsg sendmsg(MSG_INTERRUPT)
    s_branch halt
  .else
    s_lshl_b32 ttmp2, ttmp2, 3              // the data is a table of queues by doorbell
    SCALAR_LOAD dwordx2, ttmp[SIGNAL:SIGNAL+1], ttmp[DATA:DATA+1], ttmp2
    WAIT_SCALAR_LOADS
    s_or_b32 ttmp2, ttmp[SIGNAL], ttmp[SIGNAL+1]
    s_cbranch_scc0 halt                     // not a queue of this runtime
    SCALAR_LOAD dwordx2, ttmp[SIGNAL:SIGNAL+1], ttmp[SIGNAL:SIGNAL+1], QUEUE_INACTIVE_SIGNAL
    WAIT_SCALAR_LOADS
  .endif
.endif

.if !EXCEPTIONS
  s_or_b32 ttmp2, ttmp[SIGNAL], ttmp[SIGNAL+1]
  s_cbranch_scc0 halt                       // nobody to tell
  s_add_u32 ttmp[SIGNAL], ttmp[SIGNAL], SIGNAL_VALUE
  s_addc_u32 ttmp[SIGNAL+1], ttmp[SIGNAL+1], 0
  s_mov_b64 exec, 1
  v_mov_b32 v0, ttmp[SIGNAL]
  v_mov_b32 v1, ttmp[SIGNAL+1]
  v_mov_b32 v2, ttmp[REASON]
  v_mov_b32 v3, 0
  .if .amdgcn.gfx_generation_number == 8
    flat_atomic_swap_x2 v[2:3], v[0:1], v[2:3] glc
  .elseif GFX9_4                            // sc0 returns the value before, sc1 is the system's scope
    global_atomic_swap_x2 v[2:3], v[0:1], v[2:3], off sc0 sc1
  .elseif GFX12
    global_atomic_swap_b64 v[2:3], v[0:1], v[2:3], off th:TH_ATOMIC_RETURN scope:SCOPE_SYS
  .else
    global_atomic_swap_x2 v[2:3], v[0:1], v[2:3], off glc
  .endif
  WAIT_LOADS
  v_or_b32 v2, v2, v3
  v_readfirstlane_b32 ttmp2, v2
  s_cmp_lg_u32 ttmp2, 0
  s_cbranch_scc1 halt                       // an earlier error is told of
  SCALAR_LOAD dwordx2, ttmp[2:3], ttmp[SIGNAL:SIGNAL+1], VALUE_MAILBOX
  SCALAR_LOAD dword, ttmp[FREE], ttmp[SIGNAL:SIGNAL+1], VALUE_EVENT
  WAIT_SCALAR_LOADS
  s_or_b32 ttmp[SIGNAL], ttmp2, ttmp3
  s_cbranch_scc0 halt                       // nobody sleeps on it
  v_mov_b32 v0, ttmp2
  v_mov_b32 v1, ttmp3
  v_mov_b32 v2, ttmp[FREE]
  STORE dword, v[0:1], v2
  WAIT_STORES
  s_mov_b32 m0, ttmp[FREE]
  s_nop 0
  s_sendmsg sendmsg(MSG_INTERRUPT)
.endif

// A halted wave is restored in a loop of its own: at its instruction it would raise the exception again before it
// stops. Where it was is kept for a debugger, in PLACE and the register of IB_STS.
halt:
.if .amdgcn.gfx_generation_number > 8
  s_mov_b32 ttmp[PLACE], ttmp0
  s_and_b32 ttmp1, ttmp1, 0xffff
  s_lshl_b32 ttmp1, ttmp1, 7
  s_andn2_b32 ttmp[IB_STS], ttmp[IB_STS], 0xffff << 7
  s_or_b32 ttmp[IB_STS], ttmp[IB_STS], ttmp1
.endif
  s_getpc_b64 ttmp[0:1]
here:
  s_add_u32 ttmp0, ttmp0, parked - here
  s_addc_u32 ttmp1, ttmp1, 0
  s_bitset1_b32 ttmp[STATUS], STATUS_HALT
.if .amdgcn.gfx_generation_number == 8
  s_sethalt 1
.endif

return:
.if .amdgcn.gfx_generation_number == 9
  s_lshr_b32 ttmp2, ttmp[IB_STS], 26 - 15
  s_and_b32 ttmp2, ttmp2, 0x1f8000
  s_setreg_b32 hwreg(HW_REG_IB_STS), ttmp2
.elseif .amdgcn.gfx_generation_number == 10 && .amdgcn.gfx_generation_minor < 3
  s_lshr_b32 ttmp2, ttmp11, 24 - 15
  s_and_b32 ttmp3, ttmp2, 0x3f8000
  s_lshr_b32 ttmp2, ttmp11, 31 - 25
  s_and_b32 ttmp2, ttmp2, 0x2000000
  s_or_b32 ttmp2, ttmp2, ttmp3
  s_setreg_b32 hwreg(HW_REG_IB_STS), ttmp2
.endif
  s_and_b32 ttmp1, ttmp1, 0xffff
  s_and_b64 exec, exec, exec                // what says that they are zero cannot be written
  s_and_b64 vcc, vcc, vcc
.if GFX12                                   // barriers may have completed in the meantime: those bits stay
  s_lshr_b32 ttmp[STATUS], ttmp[STATUS], STATE_PRIV_SCC
  s_setreg_b32 hwreg(STATE_PRIV, STATE_PRIV_SCC, STATUS_HALT - STATE_PRIV_SCC + 1), ttmp[STATUS]
.else
  s_setreg_b32 hwreg(HW_REG_STATUS), ttmp[STATUS]
.endif
  s_rfe_b64 ttmp[0:1]

parked:
  s_sleep 1
  s_branch parked

END_OF_CODE
