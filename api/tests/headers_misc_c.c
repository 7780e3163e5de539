// SPDX-License-Identifier: MIT
// The image, finalizer, aqlprofile and amd_hsa headers seen by a C program: values, layouts and signatures,
// checked by compiling this. Written for C99, which has no static assertion: a false one is an array of
// negative length.
#include <hsa/amd_hsa_common.h>
#include <hsa/amd_hsa_kernel_code.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa_api_trace_version.h>
#include <hsa/hsa_ext_finalize.h>
#include <hsa/hsa_ext_image.h>
#include <hsa/hsa_ven_amd_aqlprofile.h>
#include <stddef.h>

#define ABI_ASSERT(...) extern const char abi_assert[(__VA_ARGS__) ? 1 : -1]
#define ABI_SAME(a, ...) ABI_ASSERT(__builtin_types_compatible_p(a, __VA_ARGS__))

#define ABI_VALUE(name, value) ABI_ASSERT((name) == (value))
#define ABI_VARIABLE(name, value) ABI_SAME(__typeof__(name), __typeof__(value)) /* no constant in C */
#define ABI_ENUM(type, underlying) ABI_ASSERT(sizeof(type) == sizeof(underlying))
#define ABI_TAG(tag, type) ABI_SAME(tag, type)
#define ABI_RECORD(type, size, alignment) \
  ABI_ASSERT(sizeof(type) == (size) && __alignof__(type) == (alignment))
#define ABI_OFFSET(record, field, offset) ABI_ASSERT(offsetof(record, field) == (offset))
#define ABI_FIELD(record, field, offset, ...)       \
  ABI_ASSERT(offsetof(record, field) == (offset) && \
             __builtin_types_compatible_p(__typeof__(((record*)0)->field), __VA_ARGS__))
#define ABI_SLOT(record, function, offset) ABI_FIELD(record, function, offset, __typeof__(&function))
#define ABI_TYPEDEF(name, ...) ABI_SAME(name, __VA_ARGS__)
#define ABI_FUNCTION(name, result, parameters) result name parameters /* another type can't be redeclared */

#include "api/tests/abi_misc/amd_hsa_kernel_code.inc"
#include "api/tests/abi_misc/amd_hsa_queue.inc"
#include "api/tests/abi_misc/amd_hsa_signal.inc"
#include "api/tests/abi_misc/hsa_api_trace_version.inc"
#include "api/tests/abi_misc/hsa_ext_finalize.inc"
#include "api/tests/abi_misc/hsa_ext_image.inc"
#include "api/tests/abi_misc/hsa_ven_amd_aqlprofile.inc"

// The macros for bit-fields, in the hands of C.
uint32_t abi_misc_bits_in_c(uint32_t word, uint32_t value);
uint32_t abi_misc_bits_in_c(uint32_t word, uint32_t value) {
  AMD_HSA_BITS_SET(word, AMD_COMPUTE_PGM_RSRC_ONE_FLOAT_DENORM_MODE_16_64, value);
  if (AMD_HSA_BITS_GET(word, AMD_COMPUTE_PGM_RSRC_ONE_FLOAT_DENORM_MODE_16_64) == value)
    AMD_HSA_BITS_SET(word, AMD_COMPUTE_PGM_RSRC_ONE_RESERVED1, 0x3fu);
  else
    AMD_HSA_BITS_SET(word, AMD_COMPUTE_PGM_RSRC_ONE_RESERVED1, 0u);
  return word;
}
