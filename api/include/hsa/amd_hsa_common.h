// SPDX-License-Identifier: MIT

/**
 * @file
 * Building blocks of the AMD GPU side of the HSA ABI: an alignment attribute and macros for
 * bit-fields that are described by a mask and a shift rather than by C bit-fields, whose layout
 * the language leaves open.
 *
 * The headers built on it describe memory that is shared with command-processor firmware, trap
 * handlers, compiled kernels and debuggers. None of those layouts may change:
 * amd_hsa_signal.h, amd_hsa_queue.h, amd_hsa_kernel_code.h, amd_hsa_elf.h.
 */

#ifndef AMD_HSA_COMMON_H
#define AMD_HSA_COMMON_H

#include <stddef.h>
#include <stdint.h>

/** Human-readable name of the ABI revision that these layouts follow. */
#define AMD_HSA_ABI_VERSION "AMD GPU Architecture v0.35 (June 25, 2015)"

/**
 * Raises the alignment of the type or variable that it decorates to @p x bytes (a power of two).
 * Where it stands matters: between `struct` and the tag it aligns the structure type; before
 * `struct` in a typedef it aligns only the typedef's name.
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

/** Stands before a member that is an unnamed union: C99 compilers take those, but only as an extension. */
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
 * Value of field @p mask of @p src, moved down to bit 0. @p mask must be the bare name of a field made
 * with ::AMD_HSA_BITS_CREATE_ENUM_ENTRIES; @p src an unsigned 32-bit (or narrower) lvalue or value.
 */
#define AMD_HSA_BITS_GET(src, mask) (((src) & (mask)) >> mask##_SHIFT)

/**
 * Statement that stores @p val in field @p mask of the lvalue @p dst and leaves the other bits alone.
 * Bits of @p val beyond the field's width are dropped. The new value is stored at once, so that nobody
 * sees a state in between, but load and store together are not atomic. @p dst appears twice in the
 * expansion and must have no side effects.
 */
#define AMD_HSA_BITS_SET(dst, mask, val)                            \
  do {                                                              \
    (dst) = ((dst) & ~(mask)) | (((val) << mask##_SHIFT) & (mask)); \
  } while (0)

#endif  // AMD_HSA_COMMON_H
