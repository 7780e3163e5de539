/* Kernels for the CPU backend in C. Include it in the sources of a code object only, since it emits the note
 * of abi.h, and compile them with optimisation. For C++, kernel.hpp is more convenient.
 *
 *   HSA_CPU_DESCRIBE(fill, sizeof(struct fill_args), 0, 0, 0, 0, 0);
 *   HSA_CPU_ENTRY(fill) {
 *     const struct fill_args* args = dispatch->kernarg;
 *     for (uint64_t group = first_group; group < first_group + group_count; ++group) ...
 *   }
 */
#ifndef HSA_CPU_KERNEL_H_
#define HSA_CPU_KERNEL_H_

#include <hsa_cpu/abi.h>
#include <hsa_cpu/features.h>

#define HSA_CPU_STRING2_(text) #text
#define HSA_CPU_STRING_(text) HSA_CPU_STRING2_(text)

/* A function that is never called and passes constants to assembler text. C and C++ do not accept the
 * distance in a descriptor as a constant, and a note must not be `progbits`. */
#define HSA_CPU_EMIT_(name) __attribute__((used, noinline)) static void name(void)

HSA_CPU_EMIT_(hsa_cpu_emit_note) {
  __asm__ volatile(
      ".pushsection .note.hsa_cpu,\"a\",%%note\n\t"
      ".p2align 2\n\t"
      ".long 8, 16, " HSA_CPU_STRING_(HSA_CPU_NOTE_TYPE) "\n\t"
      ".asciz \"" HSA_CPU_NOTE_NAME "\"\n\t"
      ".long " HSA_CPU_STRING_(HSA_CPU_ABI_MAJOR) ", " HSA_CPU_STRING_(HSA_CPU_ABI_MINOR) "\n\t"
      ".long %c0, %c1\n\t"
      ".popsection"
      :
      : "i"((uint32_t)hsa_cpu_compiled_features()), "i"((uint32_t)(hsa_cpu_compiled_features() >> 32)));
}

/* Defines the descriptor of the kernel `name`: bytes of its kernel arguments, of its group segment (a
 * multiple of 16) and of the private segment of a work-item, and the required work-group size (0, 0, 0:
 * any). */
#define HSA_CPU_DESCRIBE(name, kernarg_bytes, group_bytes, private_bytes, x, y, z)                      \
  HSA_CPU_EMIT_(hsa_cpu_describe_##name) {                                                              \
    __asm__ volatile(".pushsection .rodata.hsa_cpu." #name ",\"a\",%%progbits\n\t"                    \
                     ".p2align 6\n\t"                                                                 \
                     ".globl " #name ".kd\n\t"                                                        \
                     ".type " #name ".kd, %%object\n\t"                                               \
                     ".size " #name ".kd, 64\n"                                                       \
                     #name ".kd:\n"                                                                   \
                     "71:\n\t"                                                                        \
                     ".long %c0, %c1, %c2, 0\n\t"                                                     \
                     ".quad " #name " - 71b\n\t"                                                      \
                     ".long " HSA_CPU_STRING_(HSA_CPU_DESCRIPTOR_MAGIC) "\n\t"                        \
                     ".short " HSA_CPU_STRING_(HSA_CPU_ABI_MAJOR) ", %c3, %c4, %c5\n\t"               \
                     ".long 0, 0, 0, 0, 0, 0, 0\n\t"                                                  \
                     ".popsection"                                                                    \
                     :                                                                                \
                     : "i"((uint32_t)(group_bytes)), "i"((uint32_t)(private_bytes)),                  \
                       "i"((uint32_t)(kernarg_bytes)), "i"((uint32_t)(x)), "i"((uint32_t)(y)),        \
                       "i"((uint32_t)(z))); \
  }                                                                                                     \
  HSA_CPU_STATIC_ASSERT((group_bytes) % 16 == 0, "the dynamic group segment starts after the static one")

/* The head of an entry: parameters `dispatch`, `worker`, `first_group` and `group_count`. */
#define HSA_CPU_ENTRY(name)                                                                           \
  HSA_CPU_EXTERN_C __attribute__((visibility("hidden"), used, flatten)) void name(                    \
      const hsa_cpu_dispatch_t* dispatch, const hsa_cpu_worker_t* worker, uint64_t first_group,       \
      uint64_t group_count);                                                                          \
  void name(const hsa_cpu_dispatch_t* dispatch, const hsa_cpu_worker_t* worker, uint64_t first_group, \
            uint64_t group_count)

/* The head of a function for agent dispatch packets of `type`, an integer literal from 0x8000 to 0xffff (the
 * range that HSA reserves for users): parameters `arg` and `return_address`. */
#define HSA_CPU_AGENT_FUNCTION(type, name)                                                           \
  HSA_CPU_STATIC_ASSERT((type) >= 0x8000 && (type) <= 0xffff, "not a type that users may register"); \
  HSA_CPU_EXTERN_C __attribute__((visibility("default"), used)) void name(                           \
      const uint64_t* arg,                                                                           \
      void* return_address) __asm__(HSA_CPU_AGENT_FUNCTION_PREFIX HSA_CPU_STRING_(type));            \
  void name(const uint64_t* arg, void* return_address)

#endif /* HSA_CPU_KERNEL_H_ */
