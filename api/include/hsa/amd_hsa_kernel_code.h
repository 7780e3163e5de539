// SPDX-License-Identifier: MIT

/**
 * @file
 * What a kernel object looks like in code objects of version 1 and 2: an ::amd_kernel_code_t followed, at
 * some offset, by machine code. Compilers write it, loaders place it, the command processor reads it when it
 * takes a dispatch packet whose @c kernel_object points at it.
 *
 * Code objects since version 3 hold the 64-byte kernel descriptor of the LLVM AMDGPU user guide ("Kernel
 * Descriptor") instead. The command processor reads both alike, because the entry offset (byte 16), the two
 * resource words (48, 52) and the low half of the code properties (56) are in the same places; so the
 * field enumerations below serve both. That guide is the source of what the fields mean.
 */

#ifndef AMD_HSA_KERNEL_CODE_H
#define AMD_HSA_KERNEL_CODE_H

#include "amd_hsa_common.h"
#include "hsa.h"

/** Fixed-width form of ::amd_kernel_code_version_t. */
typedef uint32_t amd_kernel_code_version32_t;

/** Version of ::amd_kernel_code_t that this header describes. */
enum amd_kernel_code_version_t {
  /** Changes with the layout. */
  AMD_KERNEL_CODE_VERSION_MAJOR = 1,
  /** Changes with compatible additions. */
  AMD_KERNEL_CODE_VERSION_MINOR = 1
};

/** Fixed-width form of ::amd_machine_kind_t. */
typedef uint16_t amd_machine_kind16_t;

/** Family of processor that the code is for. */
enum amd_machine_kind_t {
  /** Not said. */
  AMD_MACHINE_KIND_UNDEFINED = 0,
  /** An AMD GPU. */
  AMD_MACHINE_KIND_AMDGPU = 1
};

/** One part of a gfx version: gfx803 is 8, 0, 3. */
typedef uint16_t amd_machine_version16_t;

/** How inexact floating-point results are rounded. */
enum amd_float_round_mode_t {
  /** To the nearest value, ties to even. */
  AMD_FLOAT_ROUND_MODE_NEAREST_EVEN = 0,
  /** Up. */
  AMD_FLOAT_ROUND_MODE_PLUS_INFINITY = 1,
  /** Down. */
  AMD_FLOAT_ROUND_MODE_MINUS_INFINITY = 2,
  /** Truncated. */
  AMD_FLOAT_ROUND_MODE_ZERO = 3
};

/** Which denormals are replaced by a zero of the same sign. */
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
 * Fields of COMPUTE_PGM_RSRC1: the state in which waves start. Those said to be zero in the file are filled
 * in by the command processor. What "reserved" bits 26-31 hold depends on the generation: from gfx9 on bit 26
 * is FP16_OVFL; from gfx10 on bit 29 is WGP_MODE, 30 MEM_ORDERED, 31 FWD_PROGRESS.
 */
enum amd_compute_pgm_rsrc_one_t {
  /**
   * VGPRs of a work-item, in allocation granules, less one. A granule is 4 registers; 8 on gfx90a and gfx94x,
   * and for 32-lane waves.
   */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_GRANULATED_WORKITEM_VGPR_COUNT, 0, 6),
  /**
   * SGPRs of a wave, VCC and its like included. Up to gfx8: granules of 8, less one. gfx9: twice (granules of
   * 16, less one). From gfx10 on: 0, the number being fixed.
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
  /** Start privileged, as a trap handler runs. Zero in the file. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_PRIV, 20, 1),
  /** Clamping turns a NaN into zero rather than passing it on. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_ENABLE_DX10_CLAMP, 21, 1),
  /** Start in single-step mode. Zero in the file. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_DEBUG_MODE, 22, 1),
  /** Signalling NaNs are quieted and passed on as IEEE 754-2008 wants, also by minimum and maximum. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_ENABLE_IEEE_MODE, 23, 1),
  /** One work-group at a time on a compute unit. Zero in the file. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_BULKY, 24, 1),
  /** Free for debuggers. Zero in the file. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_CDBG_USER, 25, 1),
  /** Zero up to gfx8; see above for later generations. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_ONE_RESERVED1, 26, 6)
};

/** Which work-item ids a wave finds in VGPRs when it starts. */
enum amd_system_vgpr_workitem_id_t {
  /** X. */
  AMD_SYSTEM_VGPR_WORKITEM_ID_X = 0,
  /** X and Y. */
  AMD_SYSTEM_VGPR_WORKITEM_ID_X_Y = 1,
  /** X, Y and Z. */
  AMD_SYSTEM_VGPR_WORKITEM_ID_X_Y_Z = 2,
  /** Not to be used. */
  AMD_SYSTEM_VGPR_WORKITEM_ID_UNDEFINED = 3
};

/** A word of ::amd_compute_pgm_rsrc_two_t fields. */
typedef uint32_t amd_compute_pgm_rsrc_two32_t;

/**
 * Fields of COMPUTE_PGM_RSRC2: registers that waves find set up when they start, and exceptions that they
 * trap on. Those said to be zero in the file are filled in by the command processor.
 */
enum amd_compute_pgm_rsrc_two_t {
  /** The kernel uses scratch; its waves get an SGPR with their own offset in it. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_SGPR_PRIVATE_SEGMENT_WAVE_BYTE_OFFSET, 0,
                                   1),
  /** Number of user SGPRs: at least as many as the code properties enable. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_USER_SGPR_COUNT, 1, 5),
  /** Traps are possible. Zero in the file. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_TRAP_HANDLER, 6, 1),
  /** An SGPR holds the work-group id in X. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_SGPR_WORKGROUP_ID_X, 7, 1),
  /** An SGPR holds the work-group id in Y. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_SGPR_WORKGROUP_ID_Y, 8, 1),
  /** An SGPR holds the work-group id in Z. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_COMPUTE_PGM_RSRC_TWO_ENABLE_SGPR_WORKGROUP_ID_Z, 9, 1),
  /**
   * An SGPR holds the number of waves in the work-group (bits 5:0) and whether this is its first (bit 31).
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
   * packet says how much.
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

/** Element size of swizzled scratch: how many consecutive bytes belong to one lane. */
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
 * Fields of amd_kernel_code_t::kernel_code_properties. The ENABLE_SGPR fields choose what the command
 * processor loads into user SGPRs; enabled ones are packed from SGPR 0 up in the order given here.
 */
enum amd_kernel_code_properties_t {
  /** 4 SGPRs: buffer resource descriptor of the scratch memory. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_PRIVATE_SEGMENT_BUFFER, 0, 1),
  /** 2 SGPRs: address of the dispatch packet. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_DISPATCH_PTR, 1, 1),
  /** 2 SGPRs: address of the queue's amd_queue_t. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_QUEUE_PTR, 2, 1),
  /** 2 SGPRs: the packet's @c kernarg_address. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_KERNARG_SEGMENT_PTR, 3, 1),
  /** 2 SGPRs: index of the dispatch packet in its queue. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_DISPATCH_ID, 4, 1),
  /** 2 SGPRs from which the kernel sets up flat access to scratch. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_FLAT_SCRATCH_INIT, 5, 1),
  /** 1 SGPR: scratch bytes of a work-item. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_PRIVATE_SEGMENT_SIZE, 6, 1),
  /** 1 SGPR: number of work-groups in X. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_GRID_WORKGROUP_COUNT_X, 7, 1),
  /** 1 SGPR: number of work-groups in Y. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_GRID_WORKGROUP_COUNT_Y, 8, 1),
  /** 1 SGPR: number of work-groups in Z. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_SGPR_GRID_WORKGROUP_COUNT_Z, 9, 1),
  /** Waves have 32 lanes rather than 64 (gfx10 on). */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_WAVEFRONT_SIZE32, 10, 1),
  /**
   * Must be 0. In a kernel descriptor of version 5 and later, bit 11 says that the stack grows dynamically.
   */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_RESERVED1, 11, 5),
  /** The kernel appends to GDS in order of work-groups. From here on not part of a kernel descriptor. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_ENABLE_ORDERED_APPEND_GDS, 16, 1),
  /** An ::amd_element_byte_size_t. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_PRIVATE_ELEMENT_SIZE, 17, 2),
  /** Global addresses are 64 bits wide. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_IS_PTR64, 19, 1),
  /** The depth of calls is not known in advance: stated scratch is a lower bound. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_IS_DYNAMIC_CALLSTACK, 20, 1),
  /** The code was made for a debugger: the debug SGPR fields below are valid. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_IS_DEBUG_ENABLED, 21, 1),
  /** The code is correct when memory accesses are replayed (XNACK). */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_IS_XNACK_ENABLED, 22, 1),
  /** Must be 0. */
  AMD_HSA_BITS_CREATE_ENUM_ENTRIES(AMD_KERNEL_CODE_PROPERTIES_RESERVED2, 23, 9)
};

/** Fixed-width form of ::amd_powertwo_t: a power of two by its exponent. */
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

/** Which members of ::amd_control_directives_t apply. Names are those of the HSAIL control directives. */
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
  /** The grid must be a whole number of work-groups. No member of its own. */
  AMD_ENABLED_CONTROL_DIRECTIVE_REQUIRE_NO_PARTIAL_WORKGROUPS = 256
};

/** Bit-set of ::amd_exception_kind_t. */
typedef uint16_t amd_exception_kind16_t;

/** Floating-point exceptions of HSAIL, one bit each. */
enum amd_exception_kind_t {
  /** An operation without a meaningful result, such as 0 times infinity. */
  AMD_EXCEPTION_KIND_INVALID_OPERATION = 1,
  /** A finite, non-zero value divided by zero. */
  AMD_EXCEPTION_KIND_DIVISION_BY_ZERO = 2,
  /** The result is too large. */
  AMD_EXCEPTION_KIND_OVERFLOW = 4,
  /** The result is too small. */
  AMD_EXCEPTION_KIND_UNDERFLOW = 8,
  /** The result had to be rounded. */
  AMD_EXCEPTION_KIND_INEXACT = 16
};

/** Alignment of ::amd_control_directives_t, in bytes. */
#define AMD_CONTROL_DIRECTIVES_ALIGN_BYTES 64
/** Attribute that gives a type the alignment of control directives. */
#define AMD_CONTROL_DIRECTIVES_ALIGN __ALIGNED__(AMD_CONTROL_DIRECTIVES_ALIGN_BYTES)

/**
 * Promises about every dispatch of a kernel, which its code may rely on. 128 bytes. A member counts only
 * if its bit is set in @c enabled_control_directives, and is 0 otherwise.
 */
typedef AMD_CONTROL_DIRECTIVES_ALIGN struct amd_control_directives_s {
  /** Set of ::amd_enabled_control_directive_t. */
  amd_enabled_control_directive64_t enabled_control_directives;
  /** Set of ::amd_exception_kind_t that stop the wave. */
  uint16_t enable_break_exceptions;
  /** Set of ::amd_exception_kind_t that are recorded. */
  uint16_t enable_detect_exceptions;
  /** Most bytes of group memory that a dispatch adds to the static ones. */
  uint32_t max_dynamic_group_size;
  /** Most work-items in a grid. */
  uint64_t max_flat_grid_size;
  /** Most work-items in a work-group. */
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

/** Alignment of machine code that a kernel object points at, in bytes. */
#define AMD_ISA_ALIGN_BYTES 256
/** Alignment of ::amd_kernel_code_t, in bytes. */
#define AMD_KERNEL_CODE_ALIGN_BYTES 64
/** Attribute that gives a type the alignment of a kernel object. */
#define AMD_KERNEL_CODE_ALIGN __ALIGNED__(AMD_KERNEL_CODE_ALIGN_BYTES)

/**
 * Kernel object of code object versions 1 and 2. 256 bytes. The firmware reads the entry offset, resource
 * words, code properties and memory sizes; the rest informs runtimes, debuggers and disassemblers.
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
  /** Bytes from the start of this structure to the code worth prefetching. */
  int64_t kernel_code_prefetch_byte_offset;
  /** Size of that code in bytes. 0: no hint. */
  uint64_t kernel_code_prefetch_byte_size;
  /** Most scratch bytes, over all waves, that a dispatch can use. 0: not said. */
  uint64_t max_scratch_backing_memory_byte_size;
  /** ::amd_compute_pgm_rsrc_one_t fields. */
  amd_compute_pgm_rsrc_one32_t compute_pgm_rsrc1;
  /** ::amd_compute_pgm_rsrc_two_t fields. */
  amd_compute_pgm_rsrc_two32_t compute_pgm_rsrc2;
  /** ::amd_kernel_code_properties_t fields. */
  amd_kernel_code_properties32_t kernel_code_properties;
  /** Scratch bytes of a work-item. */
  uint32_t workitem_private_segment_byte_size;
  /** Group memory of a work-group, in bytes, not counting what a dispatch adds. */
  uint32_t workgroup_group_segment_byte_size;
  /** GDS of a dispatch, in bytes. */
  uint32_t gds_segment_byte_size;
  /** Size of the kernel's arguments, in bytes. */
  uint64_t kernarg_segment_byte_size;
  /** Number of HSAIL fine-grained barriers of a work-group. */
  uint32_t workgroup_fbarrier_count;
  /** SGPRs of a wave, VCC and its like included, those of a trap handler not. */
  uint16_t wavefront_sgpr_count;
  /** VGPRs of a work-item. */
  uint16_t workitem_vgpr_count;
  /** First VGPR that the code leaves to a debugger, if @c reserved_vgpr_count is not 0. */
  uint16_t reserved_vgpr_first;
  /** Number of such VGPRs. */
  uint16_t reserved_vgpr_count;
  /** First SGPR that the code leaves to a debugger, if @c reserved_sgpr_count is not 0. */
  uint16_t reserved_sgpr_first;
  /** Number of such SGPRs. */
  uint16_t reserved_sgpr_count;
  /** SGPR that keeps the wave's scratch offset throughout; UINT16_MAX: none. 0 unless IS_DEBUG_ENABLED. */
  uint16_t debug_wavefront_private_segment_offset_sgpr;
  /**
   * First of 4 SGPRs that keep the scratch descriptor throughout; UINT16_MAX: none. 0 unless
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
  /** Finalizer's call convention; -1 if the code object has no indirect functions. */
  int32_t call_convention;
  /** Must be 0. */
  uint8_t reserved1[12];
  /**
   * 0 in the file; a loader stores the address of its ::amd_runtime_loader_debug_info_t here for debuggers.
   */
  uint64_t runtime_loader_kernel_symbol;
  /** Promises that the code relies on. */
  amd_control_directives_t control_directives;
} amd_kernel_code_t;

/**
 * What a loader tells a debugger about a loaded kernel. Owned by the loader, valid as long as the executable;
 * not changed once the kernel can be dispatched.
 */
typedef struct amd_runtime_loader_debug_info_s {
  /** The code object as it was read. */
  const void* elf_raw;
  /** Its size in bytes. */
  size_t elf_size;
  /** The kernel's name, null-terminated. */
  const char* kernel_name;
  /** Opaque identity of the loaded segment that the kernel lies in. */
  const void* owning_segment;
} amd_runtime_loader_debug_info_t;

#endif  // AMD_HSA_KERNEL_CODE_H
