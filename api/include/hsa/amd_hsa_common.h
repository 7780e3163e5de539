// SPDX-License-Identifier: MIT

/**
 * @file
 * Parts of the AMD GPU side of the HSA ABI: an alignment attribute, and macros for bit-fields that are
 * described by a mask and a shift. (The layout of C's own bit-fields depends on the compiler.)
 *
 * Headers that include this one describe memory that command-processor firmware, trap handlers, compiled
 * kernels and debuggers share. None of those layouts may change: amd_hsa_signal.h, amd_hsa_queue.h,
 * amd_hsa_kernel_code.h, amd_hsa_elf.h.
 */

#ifndef AMD_HSA_COMMON_H
#define AMD_HSA_COMMON_H

#include <stddef.h>
#include <stdint.h>

/** Human-readable name of the ABI revision that these layouts follow. */
#define AMD_HSA_ABI_VERSION "AMD GPU Architecture v0.35 (June 25, 2015)"

/**
 * Raises the alignment of a type or variable to @p x bytes (a power of two). The position matters: between
 * `struct` and the tag, it aligns the structure type. Before `struct` in a typedef, it aligns only the name
 * of the typedef.
 */
#if defined(__GNUC__)
#define __ALIGNED__(x) __attribute__((aligned(x)))
#elif defined(_MSC_VER)
#define __ALIGNED__(x) __declspec(align(x))
#elif defined(RC_INVOKED)
#define __ALIGNED__(x)
#else
#error "No alignment attribute is known for this compiler"
#endif

/** Precedes a member that is an unnamed union. C99 compilers accept such members only as an extension. */
#if defined(__GNUC__)
#define AMD_HSA_UNNAMED __extension__
#else
#define AMD_HSA_UNNAMED
#endif

/**
 * Expands to the three enumerators that describe the field @p name, @p width bits wide (1 to 31)
 * with its lowest bit at @p shift (0 to 31): `name_SHIFT`, `name_WIDTH`, and the in-place mask `name`.
 * Masks are `int`: one that includes bit 31 is negative.
 */
#define AMD_HSA_BITS_CREATE_ENUM_ENTRIES(name, shift, width) \
  name##_SHIFT = (shift), name##_WIDTH = (width), name = (int)(((1u << (width)) - 1u) << (shift))

/**
 * Returns the field @p mask of @p src, shifted to bit 0. @p mask must be the name of a field made with
 * ::AMD_HSA_BITS_CREATE_ENUM_ENTRIES. @p src is an unsigned value of at most 32 bits.
 */
#define AMD_HSA_BITS_GET(src, mask) (((src) & (mask)) >> mask##_SHIFT)

/**
 * Stores @p val in the field @p mask of the lvalue @p dst without changing the other bits. Bits of @p val
 * beyond the width of the field are dropped. One store writes the new value, so that no thread sees an
 * intermediate state, but load and store together are not atomic. The expansion contains @p dst twice, so it
 * must have no side effects.
 */
#define AMD_HSA_BITS_SET(dst, mask, val)                            \
  do {                                                              \
    (dst) = ((dst) & ~(mask)) | (((val) << mask##_SHIFT) & (mask)); \
  } while (0)

#endif  // AMD_HSA_COMMON_H
