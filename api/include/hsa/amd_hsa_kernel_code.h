// SPDX-License-Identifier: MIT

/**
 * @file
 * Layout of a kernel object in code objects of version 1 and 2: an ::amd_kernel_code_t and machine code at an
 * offset from it. Compilers write it and loaders place it. The command processor reads it for a dispatch
 * packet whose @c kernel_object has its address.
 *
 * Code objects since version 3 contain the 64-byte kernel descriptor of the LLVM AMDGPU user guide ("Kernel
 * Descriptor") instead. Some fields have the same offsets in both: the entry offset (byte 16), the two
 * resource words (48, 52) and the low half of the code properties (56). The command processor therefore reads
 * both alike, and the field enumerations below apply to both. The guide is the source of the fields'
 * meanings.
 */

#ifndef AMD_HSA_KERNEL_CODE_H
#define AMD_HSA_KERNEL_CODE_H

#include "amd_hsa_common.h"
#include "hsa.h"

/** Fixed-width form of ::amd_kernel_code_version_t. */
typedef uint32_t amd_kernel_code_version32_t;

/** Version of ::amd_kernel_code_t that this header describes. */
enum amd_kernel_code_version_t {
  /** Incremented if the layout changes. */
  AMD_KERNEL_CODE_VERSION_MAJOR = 1,
  /** Incremented for compatible additions. */
  AMD_KERNEL_CODE_VERSION_MINOR = 1
};

/** Fixed-width form of ::amd_machine_kind_t. */
typedef uint16_t amd_machine_kind16_t;

/** Processor family of the code. */
enum amd_machine_kind_t {
  /** Not specified. */
  AMD_MACHINE_KIND_UNDEFINED = 0,
  /** An AMD GPU. */
  AMD_MACHINE_KIND_AMDGPU = 1
};

/** One part of a gfx version: the parts of gfx803 are 8, 0, 3. */
typedef uint16_t amd_machine_version16_t;

/** Rounding of inexact floating-point results. */
enum amd_float_round_mode_t {
  /** To the nearest value, ties to even. */
  AMD_FLOAT_ROUND_MODE_NEAREST_EVEN = 0,
  /** Towards positive infinity. */
  AMD_FLOAT_ROUND_MODE_PLUS_INFINITY = 1,
  /** Towards negative infinity. */
  AMD_FLOAT_ROUND_MODE_MINUS_INFINITY = 2,
  /** Towards zero. */
  AMD_FLOAT_ROUND_MODE_ZERO = 3
};

/** Denormals that are replaced by a zero of the same sign. */
enum amd_float_denorm_mode_t {
  /** Operands and results. */
  AMD_FLOAT_DENORM_MODE_FLUSH_SOURCE_OUTPUT = 0,
  /** Results. */
  AMD_FLOAT_DENORM_MODE_FLUSH_OUTPUT = 1,
  /** Operands. */
  AMD_FLOAT_DENORM_MODE_FLUSH_SOURCE = 2,
  /** None. */
  AMD_FLOAT_DENORM_MODE_NO_FLUSH = 3
};

/** A word of ::amd_compute_pgm_rsrc_one_t fields. */
typedef uint32_t amd_compute_pgm_rsrc_one32_t;

/**
 * Fields of COMPUTE_PGM_RSRC1: the initial state of waves. If a field is "zero in the file", the command
 * processor sets it. The "reserved" bits 26-31 depend on the generation: from gfx9 on, bit 26 is FP16_OVFL.
 * From gfx10 on, bit 29 is WGP_MODE, 30 MEM_ORDERED, 31 FWD_PROGRESS.
 */
enum amd_compute_pgm_rsrc_one_t {
  /**
   * VGPRs of a work-item in allocation granules, minus 1. A granule has 4 registers; 8 on gfx90a and gfx94x,
   * and for 32-lane waves.
   */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_GRANULATED_WORKITEM_VGPR_COUNT, 0, 6),
  /**
   * SGPRs of a wave, including VCC and similar registers. Up to gfx8: granules of 8, minus 1. gfx9: 2 *
   * (granules of 16, minus 1). From gfx10 on: 0, because the number is fixed.
   */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_GRANULATED_WAVEFRONT_SGPR_COUNT, 6, 4),
  /** Wave priority. Zero in the file. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_PRIORITY, 10, 2),
  /** ::amd_float_round_mode_t of 32-bit operations. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_FLOAT_ROUND_MODE_32, 12, 2),
  /** ::amd_float_round_mode_t of 16- and 64-bit operations. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_FLOAT_ROUND_MODE_16_64, 14, 2),
  /** ::amd_float_denorm_mode_t of 32-bit operations. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_FLOAT_DENORM_MODE_32, 16, 2),
  /** ::amd_float_denorm_mode_t of 16- and 64-bit operations. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_FLOAT_DENORM_MODE_16_64, 18, 2),
  /** Waves start privileged, like a trap handler. Zero in the file. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_PRIV, 20, 1),
  /** Clamping converts a NaN to zero; otherwise the NaN remains. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_ENABLE_DX10_CLAMP, 21, 1),
  /** Waves start in single-step mode. Zero in the file. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_DEBUG_MODE, 22, 1),
  /** Signalling NaNs become quiet and propagate as in IEEE 754-2008, also for minimum and maximum. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_ENABLE_IEEE_MODE, 23, 1),
  /** At most one work-group runs on a compute unit. Zero in the file. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_BULKY, 24, 1),
  /** Reserved for debuggers. Zero in the file. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_CDBG_USER, 25, 1),
  /** Zero up to gfx8; see above for later generations. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_RESERVED1, 26, 6)
};

/** Work-item ids that a wave has in VGPRs at its start. */
enum amd_system_vgpr_workitem_id_t {
  /** X. */
  AMD_SYSTEM_VGPR_WORKITEM_ID_X = 0,
  /** X and Y. */
  AMD_SYSTEM_VGPR_WORKITEM_ID_X_Y = 1,
  /** X, Y and Z. */
  AMD_SYSTEM_VGPR_WORKITEM_ID_X_Y_Z = 2,
  /** Undefined. */
  AMD_SYSTEM_VGPR_WORKITEM_ID_UNDEFINED = 3
};

/** A word of ::amd_compute_pgm_rsrc_two_t fields. */
typedef uint32_t amd_compute_pgm_rsrc_two32_t;

/**
 * Fields of COMPUTE_PGM_RSRC2: initialized registers of waves, and exceptions that cause a trap. If a field
 * is "zero in the file", the command processor sets it.
 */
enum amd_compute_pgm_rsrc_two_t {
  /** The kernel uses scratch; an SGPR has the wave's scratch offset. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_SGPR_PRIVATE_SEGMENT_WAVE_BYTE_OFFSET, 0,
                                   1),
  /** Number of user SGPRs; at least the number that the code properties enable. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_USER_SGPR_COUNT, 1, 5),
  /** A trap handler is available. Zero in the file. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_TRAP_HANDLER, 6, 1),
  /** An SGPR has the work-group id in X. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_SGPR_WORKGROUP_ID_X, 7, 1),
  /** An SGPR has the work-group id in Y. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_SGPR_WORKGROUP_ID_Y, 8, 1),
  /** An SGPR has the work-group id in Z. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_SGPR_WORKGROUP_ID_Z, 9, 1),
  /**
   * An SGPR has the number of waves in the work-group (bits 5:0); bit 31 is set in its first wave.
   */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_SGPR_WORKGROUP_INFO, 10, 1),
  /** An ::amd_system_vgpr_workitem_id_t. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_VGPR_WORKITEM_ID, 11, 2),
  /** Trap on access to a watched address. Zero in the file. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_EXCEPTION_ADDRESS_WATCH, 13, 1),
  /** Trap on memory violations: bad address, misaligned atomic, LDS out of range. Zero in the file. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_EXCEPTION_MEMORY_VIOLATION, 14, 1),
  /**
   * LDS of a work-group, in granules (256 bytes on gfx6, then 512; 1280 on gfx950). Zero in the file: the
   * packet specifies the size.
   */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_GRANULATED_LDS_SIZE, 15, 9),
  /** Trap on an invalid floating-point operation. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_EXCEPTION_IEEE_754_FP_INVALID_OPERATION,
                                   24, 1),
  /** Trap on a denormal operand. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_EXCEPTION_FP_DENORMAL_SOURCE, 25, 1),
  /** Trap on floating-point division by zero. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_EXCEPTION_IEEE_754_FP_DIVISION_BY_ZERO, 26,
                                   1),
  /** Trap on floating-point overflow. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_EXCEPTION_IEEE_754_FP_OVERFLOW, 27, 1),
  /** Trap on floating-point underflow. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_EXCEPTION_IEEE_754_FP_UNDERFLOW, 28, 1),
  /** Trap on an inexact floating-point result. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_EXCEPTION_IEEE_754_FP_INEXACT, 29, 1),
  /** Trap on integer division by zero (raised by v_rcp_iflag_f32 only). */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_EXCEPTION_INT_DIVISION_BY_ZERO, 30, 1),
  /** Must be 0. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_RESERVED1, 31, 1)
};

/** Element size of swizzled scratch: number of consecutive bytes of one lane. */
enum amd_element_byte_size_t {
  /** 2 bytes. */
  AMD_ELEMENT_BYTE_SIZE_2 = 0,
  /** 4 bytes. */
  AMD_ELEMENT_BYTE_SIZE_4 = 1,
  /** 8 bytes. */
  AMD_ELEMENT_BYTE_SIZE_8 = 2,
  /** 16 bytes. */
  AMD_ELEMENT_BYTE_SIZE_16 = 3
};

/** A word of ::amd_kernel_code_properties_t fields. */
typedef uint32_t amd_kernel_code_properties32_t;

/**
 * Fields of amd_kernel_code_t::kernel_code_properties. The ENABLE_SGPR fields select the values that the
 * command processor loads into user SGPRs. The enabled ones start at SGPR 0, without gaps and in the order of
 * this list.
 */
enum amd_kernel_code_properties_t {
  /** 4 SGPRs: buffer resource descriptor of the scratch memory. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER, 0, 1),
  /** 2 SGPRs: address of the dispatch packet. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_DISPATCH_PTR, 1, 1),
  /** 2 SGPRs: address of the queue's amd_queue_t. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_QUEUE_PTR, 2, 1),
  /** 2 SGPRs: @c kernarg_address of the packet. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_KERNARG_SEGMENT_PTR, 3, 1),
  /** 2 SGPRs: index of the dispatch packet in its queue. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_DISPATCH_ID, 4, 1),
  /** 2 SGPRs with which the kernel initializes flat access to scratch. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_FLAT_SCRATCH_INIT, 5, 1),
  /** 1 SGPR: scratch bytes of a work-item. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_PRIVATE_SEGMENT_SIZE, 6, 1),
  /** 1 SGPR: number of work-groups in X. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_GRID_WORKGROUP_COUNT_X, 7, 1),
  /** 1 SGPR: number of work-groups in Y. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_GRID_WORKGROUP_COUNT_Y, 8, 1),
  /** 1 SGPR: number of work-groups in Z. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_GRID_WORKGROUP_COUNT_Z, 9, 1),
  /** Waves have 32 lanes instead of 64 (gfx10 and later). */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_WAVEFRONT_SIZE32, 10, 1),
  /**
   * Must be 0. In a kernel descriptor of version 5 and later, bit 11 means that the stack size is dynamic.
   */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_RESERVED1, 11, 5),
  /** The kernel appends to GDS in order of work-groups. This and the following fields are not part of a
   * kernel descriptor. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_ORDERED_APPEND_GDS, 16, 1),
  /** An ::amd_element_byte_size_t. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_PRIVATE_ELEMENT_SIZE, 17, 2),
  /** Global addresses are 64 bits wide. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_IS_PTR64, 19, 1),
  /** The call depth is unknown: the scratch size is a lower bound. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_IS_DYNAMIC_CALLSTACK, 20, 1),
  /** The code was compiled for a debugger: the debug SGPR fields below are valid. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_IS_DEBUG_ENABLED, 21, 1),
  /** The code is correct if memory accesses are replayed (XNACK). */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_IS_XNACK_ENABLED, 22, 1),
  /** Must be 0. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_RESERVED2, 23, 9)
};

/** Fixed-width form of ::amd_powertwo_t: the exponent of a power of two. */
typedef uint8_t amd_powertwo8_t;

/** Powers of two, for alignments in bytes and wave sizes in lanes. */
enum amd_powertwo_t {
  /** 1. */
  AMD_POWERTWO_1 = 0,
  /** 2. */
  AMD_POWERTWO_2 = 1,
  /** 4. */
  AMD_POWERTWO_4 = 2,
  /** 8. */
  AMD_POWERTWO_8 = 3,
  /** 16. */
  AMD_POWERTWO_16 = 4,
  /** 32. */
  AMD_POWERTWO_32 = 5,
  /** 64. */
  AMD_POWERTWO_64 = 6,
  /** 128. */
  AMD_POWERTWO_128 = 7,
  /** 256. */
  AMD_POWERTWO_256 = 8
};

/** Bit-set of ::amd_enabled_control_directive_t. */
typedef uint64_t amd_enabled_control_directive64_t;

/** Members of ::amd_control_directives_t that apply. Names are those of the HSAIL control directives. */
enum amd_enabled_control_directive_t {
  /** @c enable_break_exceptions. */
  AMD_ENABLED_CONTROL_DIRECTIVE_ENABLE_BREAK_EXCEPTIONS = 1,
  /** @c enable_detect_exceptions. */
  AMD_ENABLED_CONTROL_DIRECTIVE_ENABLE_DETECT_EXCEPTIONS = 2,
  /** @c max_dynamic_group_size. */
  AMD_ENABLED_CONTROL_DIRECTIVE_MAX_DYNAMIC_GROUP_SIZE = 4,
  /** @c max_flat_grid_size. */
  AMD_ENABLED_CONTROL_DIRECTIVE_MAX_FLAT_GRID_SIZE = 8,
  /** @c max_flat_workgroup_size. */
  AMD_ENABLED_CONTROL_DIRECTIVE_MAX_FLAT_WORKGROUP_SIZE = 16,
  /** @c required_dim. */
  AMD_ENABLED_CONTROL_DIRECTIVE_REQUIRED_DIM = 32,
  /** @c required_grid_size. */
  AMD_ENABLED_CONTROL_DIRECTIVE_REQUIRED_GRID_SIZE = 64,
  /** @c required_workgroup_size. */
  AMD_ENABLED_CONTROL_DIRECTIVE_REQUIRED_WORKGROUP_SIZE = 128,
  /** The grid is a whole number of work-groups. Has no member. */
  AMD_ENABLED_CONTROL_DIRECTIVE_REQUIRE_NO_PARTIAL_WORKGROUPS = 256
};

/** Bit-set of ::amd_exception_kind_t. */
typedef uint16_t amd_exception_kind16_t;

/** Floating-point exceptions of HSAIL, one bit each. */
enum amd_exception_kind_t {
  /** An operation without a defined result, such as 0 times infinity. */
  AMD_EXCEPTION_KIND_INVALID_OPERATION = 1,
  /** A finite, non-zero value divided by zero. */
  AMD_EXCEPTION_KIND_DIVISION_BY_ZERO = 2,
  /** The magnitude of the result is too large. */
  AMD_EXCEPTION_KIND_OVERFLOW = 4,
  /** The magnitude of the result is too small. */
  AMD_EXCEPTION_KIND_UNDERFLOW = 8,
  /** The result was rounded. */
  AMD_EXCEPTION_KIND_INEXACT = 16
};

/** Alignment of ::amd_control_directives_t, in bytes. */
#define AMD_CONTROL_DIRECTIVES_ALIGN_BYTES 64
/** Attribute that gives a type the alignment of control directives. */
#define AMD_CONTROL_DIRECTIVES_ALIGN __ALIGNED__(AMD_CONTROL_DIRECTIVES_ALIGN_BYTES)

/**
 * Promises about every dispatch of a kernel, on which its code may rely. 128 bytes. A member applies only if
 * its bit is set in @c enabled_control_directives; otherwise it is 0.
 */
typedef AMD_CONTROL_DIRECTIVES_ALIGN struct amd_control_directives_s {
  /** Mask of ::amd_enabled_control_directive_t. */
  amd_enabled_control_directive64_t enabled_control_directives;
  /** Mask of ::amd_exception_kind_t that stop the wave. */
  uint16_t enable_break_exceptions;
  /** Mask of ::amd_exception_kind_t that are recorded. */
  uint16_t enable_detect_exceptions;
  /** Maximum bytes of group memory that a dispatch adds to the static size. */
  uint32_t max_dynamic_group_size;
  /** Maximum work-items of a grid. */
  uint64_t max_flat_grid_size;
  /** Maximum work-items of a work-group. */
  uint32_t max_flat_workgroup_size;
  /** Number of grid dimensions, 1 to 3. */
  uint8_t required_dim;
  /** Must be 0. */
  uint8_t reserved1[3];
  /** Exact size of the grid, in work-items. */
  uint64_t required_grid_size[3];
  /** Exact size of a work-group, in work-items. */
  uint32_t required_workgroup_size[3];
  /** Must be 0. */
  uint8_t reserved2[60];
} amd_control_directives_t;

/** Alignment of a kernel object's machine code, in bytes. */
#define AMD_ISA_ALIGN_BYTES 256
/** Alignment of ::amd_kernel_code_t, in bytes. */
#define AMD_KERNEL_CODE_ALIGN_BYTES 64
/** Attribute that gives a type the alignment of a kernel object. */
#define AMD_KERNEL_CODE_ALIGN __ALIGNED__(AMD_KERNEL_CODE_ALIGN_BYTES)

/**
 * Kernel object of code object versions 1 and 2. 256 bytes. The firmware reads the entry offset, resource
 * words, code properties and memory sizes. Runtimes, debuggers and disassemblers read the other members.
 */
typedef AMD_KERNEL_CODE_ALIGN struct amd_kernel_code_s {
  /** ::AMD_KERNEL_CODE_VERSION_MAJOR. */
  amd_kernel_code_version32_t amd_kernel_code_version_major;
  /** ::AMD_KERNEL_CODE_VERSION_MINOR. */
  amd_kernel_code_version32_t amd_kernel_code_version_minor;
  /** An ::amd_machine_kind_t. */
  amd_machine_kind16_t amd_machine_kind;
  /** First part of the gfx version. */
  amd_machine_version16_t amd_machine_version_major;
  /** Second part of the gfx version. */
  amd_machine_version16_t amd_machine_version_minor;
  /** Third part of the gfx version. */
  amd_machine_version16_t amd_machine_version_stepping;
  /** Bytes from the start of this structure to the first instruction; may be negative. Multiple of 256. */
  int64_t kernel_code_entry_byte_offset;
  /** Bytes from the start of this structure to the code to prefetch. */
  int64_t kernel_code_prefetch_byte_offset;
  /** Bytes of code to prefetch. 0: no hint. */
  uint64_t kernel_code_prefetch_byte_size;
  /** Maximum scratch bytes of all waves of a dispatch. 0: not specified. */
  uint64_t max_scratch_backing_memory_byte_size;
  /** ::amd_compute_pgm_rsrc_one_t fields. */
  amd_compute_pgm_rsrc_one32_t compute_pgm_rsrc1;
  /** ::amd_compute_pgm_rsrc_two_t fields. */
  amd_compute_pgm_rsrc_two32_t compute_pgm_rsrc2;
  /** ::amd_kernel_code_properties_t fields. */
  amd_kernel_code_properties32_t kernel_code_properties;
  /** Scratch bytes of a work-item. */
  uint32_t workitem_private_segment_byte_size;
  /** Group memory of a work-group, in bytes, without memory that a dispatch adds. */
  uint32_t workgroup_group_segment_byte_size;
  /** GDS of a dispatch, in bytes. */
  uint32_t gds_segment_byte_size;
  /** Size of the kernel's arguments, in bytes. */
  uint64_t kernarg_segment_byte_size;
  /** Number of HSAIL fine-grained barriers of a work-group. */
  uint32_t workgroup_fbarrier_count;
  /** SGPRs of a wave, including VCC and similar registers, without those of a trap handler. */
  uint16_t wavefront_sgpr_count;
  /** VGPRs of a work-item. */
  uint16_t workitem_vgpr_count;
  /** First VGPR reserved for a debugger, if @c reserved_vgpr_count is not 0. */
  uint16_t reserved_vgpr_first;
  /** Number of VGPRs reserved for a debugger. */
  uint16_t reserved_vgpr_count;
  /** First SGPR reserved for a debugger, if @c reserved_sgpr_count is not 0. */
  uint16_t reserved_sgpr_first;
  /** Number of SGPRs reserved for a debugger. */
  uint16_t reserved_sgpr_count;
  /** SGPR that has the wave's scratch offset throughout the code; UINT16_MAX: none. 0 unless
   * IS_DEBUG_ENABLED. */
  uint16_t debug_wavefront_private_segment_offset_sgpr;
  /**
   * First of 4 SGPRs that have the scratch descriptor throughout the code; UINT16_MAX: none. 0 unless
   * IS_DEBUG_ENABLED.
   */
  uint16_t debug_private_segment_buffer_sgpr;
  /** Alignment of the arguments. At least ::AMD_POWERTWO_16. */
  amd_powertwo8_t kernarg_segment_alignment;
  /** Alignment of group memory. At least ::AMD_POWERTWO_16. */
  amd_powertwo8_t group_segment_alignment;
  /** Alignment of private memory. At least ::AMD_POWERTWO_16. */
  amd_powertwo8_t private_segment_alignment;
  /** Lanes in a wave. */
  amd_powertwo8_t wavefront_size;
  /** Call convention of the finalizer; -1 if the code object has no indirect functions. */
  int32_t call_convention;
  /** Must be 0. */
  uint8_t reserved1[12];
  /**
   * 0 in the file. A loader stores the address of its ::amd_runtime_loader_debug_info_t here, for debuggers.
   */
  uint64_t runtime_loader_kernel_symbol;
  /** Promises on which the code relies. */
  amd_control_directives_t control_directives;
} amd_kernel_code_t;

/**
 * Data of a loaded kernel that a loader provides for a debugger. The loader owns it. It is valid as long as
 * the executable, and constant after the kernel can be dispatched.
 */
typedef struct amd_runtime_loader_debug_info_s {
  /** The code object in the form in which it was read. */
  const void* elf_raw;
  /** Size of the code object in bytes. */
  size_t elf_size;
  /** Name of the kernel, null-terminated. */
  const char* kernel_name;
  /** Opaque identifier of the loaded segment that contains the kernel. */
  const void* owning_segment;
} amd_runtime_loader_debug_info_t;

#endif  // AMD_HSA_KERNEL_CODE_H
