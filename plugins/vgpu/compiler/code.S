/* Embeds the bitcode of the operations for both SIMD levels. */
    .section .rodata
    .balign 16
    .globl rigel_kernel_code_1
    .hidden rigel_kernel_code_1
rigel_kernel_code_1:
    .incbin LEVEL1
    .globl rigel_kernel_code_1_end
    .hidden rigel_kernel_code_1_end
rigel_kernel_code_1_end:
    .balign 16
    .globl rigel_kernel_code_2
    .hidden rigel_kernel_code_2
rigel_kernel_code_2:
    .incbin LEVEL2
    .globl rigel_kernel_code_2_end
    .hidden rigel_kernel_code_2_end
rigel_kernel_code_2_end:
    .section .note.GNU-stack,"",%progbits
