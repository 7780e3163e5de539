// Hooks of dlsym() and dlvsym(). For RTLD_DEFAULT and RTLD_NEXT, the result depends on the caller's return
// address, so these calls jump to the dynamic linker's function. All other handles go to dlsym.cpp, with that
// address.
#if defined(__x86_64__)

.macro define_hook name, arguments
  .globl \name
  .type \name, @function
\name:
  .cfi_startproc
  endbr64
  leaq 1(%rdi), %rax
  cmpq $1, %rax  // RTLD_NEXT is -1, and RTLD_DEFAULT 0
  ja 1f
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  pushq %rdx
  .cfi_adjust_cfa_offset 8
  call vgpu_next_\name
  popq %rdx
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  jmpq *%rax
1:
  movq (%rsp), \arguments
  jmp vgpu_\name
  .cfi_endproc
  .size \name, . - \name
.endm

  .text
  define_hook dlsym, %rdx
  define_hook dlvsym, %rcx

#elif defined(__aarch64__)

.macro define_hook name, arguments
  .globl \name
  .type \name, %function
\name:
  .cfi_startproc
  hint #34  // bti c
  add x9, x0, #1
  cmp x9, #1  // RTLD_NEXT is -1, and RTLD_DEFAULT 0
  b.hi 1f
  stp x29, x30, [sp, #-48]!
  .cfi_def_cfa_offset 48
  .cfi_offset 29, -48
  .cfi_offset 30, -40
  stp x0, x1, [sp, #16]
  str x2, [sp, #32]
  bl vgpu_next_\name
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldr x2, [sp, #32]
  ldp x29, x30, [sp], #48
  .cfi_restore 30
  .cfi_restore 29
  .cfi_def_cfa_offset 0
  br x16
1:
  mov \arguments, x30
  b vgpu_\name
  .cfi_endproc
  .size \name, . - \name
.endm

  .text
  define_hook dlsym, x2
  define_hook dlvsym, x3

#endif
  .section .note.GNU-stack, "", %progbits
