// SPDX-License-Identifier: MIT
// The AMD headers seen by a C program: values, layouts and signatures, checked by compiling this. Written for
// C99, which has no static assertion: a false one is an array of negative length.
#include <hsa/hsa_amd_tool.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_pc_sampling.h>
#include <stddef.h>

#define ABI_CAT_(a, b) a##b
#define ABI_CAT(a, b) ABI_CAT_(a, b)
#define ABI_ASSERT(condition) extern const char ABI_CAT(abi_assert_, __LINE__)[(condition) ? 1 : -1]

#define ABI_VALUE(name, value) ABI_ASSERT((name) == (value))
#define ABI_ENUM(type, underlying) ABI_ASSERT(sizeof(type) == sizeof(underlying))
#define ABI_TAG(tag, type) ABI_ASSERT(sizeof((tag*)0 == (type*)0)) /* other types don't compare */
#define ABI_RECORD(type, size, alignment) \
  ABI_ASSERT(sizeof(type) == (size) && __alignof__(type) == (alignment))
#define ABI_FIELD(record, field, offset, type) \
  ABI_ASSERT(offsetof(record, field) == (offset) && sizeof(((record*)0)->field) == sizeof(type))
#define ABI_FLEXIBLE(record, field, offset, type) \
  ABI_ASSERT(offsetof(record, field) == (offset) && sizeof(((record*)0)->field[0]) == sizeof(type))
#define ABI_SLOT(record, function, offset) \
  ABI_ASSERT(offsetof(record, function) == (offset) && sizeof(((record*)0)->function == &(function)))
#define ABI_FUNCTION(name, result, parameters) result name parameters /* another type can't be redeclared */
#include "api/tests/abi_ext_amd.inc"
