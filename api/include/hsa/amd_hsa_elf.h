// SPDX-License-Identifier: MIT

/**
 * @file
 * Extensions of ELF for files with code for AMD GPUs. C++ only.
 *
 * Current values are in namespace ELF, with the names of LLVM (AMDGPU user guide, "ELF Code Object"). The
 * declarations after the namespace belong to code objects of version 1, which HSAIL finalizers wrote, and to
 * note records. Macros that use generic ELF ones (SHF_MASKOS, PT_LOOS, STT_LOOS, STB_LOOS) need <elf.h> where
 * they are used, included before or after this header.
 */

#ifndef __cplusplus
#error "amd_hsa_elf.h needs C++11"
#endif

// The system's <elf.h> may define this name as a macro; here it is an enumerator. Outside of the guard, so
// that a second inclusion of this header helps after <elf.h>.
#undef EM_AMDGPU

#ifndef AMD_HSA_ELF_H
#define AMD_HSA_ELF_H

#include <stdint.h>

namespace ELF {

/** e_machine. */
enum {
  /** An AMD GPU. */
  EM_AMDGPU = 224,
};

/** e_ident[EI_OSABI]. */
enum {
  /** HSA code objects, which this runtime can load. */
  ELFOSABI_AMDGPU_HSA = 64,
};

/** e_ident[EI_ABIVERSION] of files with ::ELFOSABI_AMDGPU_HSA. Version 1 has no mark. */
enum {
  ELFABIVERSION_AMDGPU_HSA_V2 = 0,
  ELFABIVERSION_AMDGPU_HSA_V3 = 1,
  ELFABIVERSION_AMDGPU_HSA_V4 = 2,
  ELFABIVERSION_AMDGPU_HSA_V5 = 3,
  ELFABIVERSION_AMDGPU_HSA_V6 = 4,
};

/** e_flags: the processor, and target features. The meaning of the features depends on the ABI version. */
enum : unsigned {
  /** Mask of the processor. */
  EF_AMDGPU_MACH = 0x0ff,

  /** No processor. */
  EF_AMDGPU_MACH_NONE = 0x000,

  // Processors by their gfx name. Numbers were assigned in order of arrival; RESERVED ones have no known
  // processor. GENERIC ones are code for all members of a family.
  // clang-format off
  EF_AMDGPU_MACH_AMDGCN_GFX600          = 0x020,
  EF_AMDGPU_MACH_AMDGCN_GFX601          = 0x021,
  EF_AMDGPU_MACH_AMDGCN_GFX700          = 0x022,
  EF_AMDGPU_MACH_AMDGCN_GFX701          = 0x023,
  EF_AMDGPU_MACH_AMDGCN_GFX702          = 0x024,
  EF_AMDGPU_MACH_AMDGCN_GFX703          = 0x025,
  EF_AMDGPU_MACH_AMDGCN_GFX704          = 0x026,
  EF_AMDGPU_MACH_AMDGCN_RESERVED_0X27   = 0x027,
  EF_AMDGPU_MACH_AMDGCN_GFX801          = 0x028,
  EF_AMDGPU_MACH_AMDGCN_GFX802          = 0x029,
  EF_AMDGPU_MACH_AMDGCN_GFX803          = 0x02a,
  EF_AMDGPU_MACH_AMDGCN_GFX810          = 0x02b,
  EF_AMDGPU_MACH_AMDGCN_GFX900          = 0x02c,
  EF_AMDGPU_MACH_AMDGCN_GFX902          = 0x02d,
  EF_AMDGPU_MACH_AMDGCN_GFX904          = 0x02e,
  EF_AMDGPU_MACH_AMDGCN_GFX906          = 0x02f,
  EF_AMDGPU_MACH_AMDGCN_GFX908          = 0x030,
  EF_AMDGPU_MACH_AMDGCN_GFX909          = 0x031,
  EF_AMDGPU_MACH_AMDGCN_GFX90C          = 0x032,
  EF_AMDGPU_MACH_AMDGCN_GFX1010         = 0x033,
  EF_AMDGPU_MACH_AMDGCN_GFX1011         = 0x034,
  EF_AMDGPU_MACH_AMDGCN_GFX1012         = 0x035,
  EF_AMDGPU_MACH_AMDGCN_GFX1030         = 0x036,
  EF_AMDGPU_MACH_AMDGCN_GFX1031         = 0x037,
  EF_AMDGPU_MACH_AMDGCN_GFX1032         = 0x038,
  EF_AMDGPU_MACH_AMDGCN_GFX1033         = 0x039,
  EF_AMDGPU_MACH_AMDGCN_GFX602          = 0x03a,
  EF_AMDGPU_MACH_AMDGCN_GFX705          = 0x03b,
  EF_AMDGPU_MACH_AMDGCN_GFX805          = 0x03c,
  EF_AMDGPU_MACH_AMDGCN_GFX1035         = 0x03d,
  EF_AMDGPU_MACH_AMDGCN_GFX1034         = 0x03e,
  EF_AMDGPU_MACH_AMDGCN_GFX90A          = 0x03f,
  EF_AMDGPU_MACH_AMDGCN_GFX940          = 0x040,
  EF_AMDGPU_MACH_AMDGCN_GFX1100         = 0x041,
  EF_AMDGPU_MACH_AMDGCN_GFX1013         = 0x042,
  EF_AMDGPU_MACH_AMDGCN_GFX1150         = 0x043,
  EF_AMDGPU_MACH_AMDGCN_GFX1103         = 0x044,
  EF_AMDGPU_MACH_AMDGCN_GFX1036         = 0x045,
  EF_AMDGPU_MACH_AMDGCN_GFX1101         = 0x046,
  EF_AMDGPU_MACH_AMDGCN_GFX1102         = 0x047,
  EF_AMDGPU_MACH_AMDGCN_GFX1200         = 0x048,
  EF_AMDGPU_MACH_AMDGCN_RESERVED_0X49   = 0x049,
  EF_AMDGPU_MACH_AMDGCN_GFX1151         = 0x04a,
  EF_AMDGPU_MACH_AMDGCN_GFX941          = 0x04b,
  EF_AMDGPU_MACH_AMDGCN_GFX942          = 0x04c,
  EF_AMDGPU_MACH_AMDGCN_RESERVED_0X4D   = 0x04d,
  EF_AMDGPU_MACH_AMDGCN_GFX1201         = 0x04e,
  EF_AMDGPU_MACH_AMDGCN_GFX950          = 0x04f,
  EF_AMDGPU_MACH_AMDGCN_RESERVED_0X50   = 0x050,
  EF_AMDGPU_MACH_AMDGCN_GFX9_GENERIC    = 0x051,
  EF_AMDGPU_MACH_AMDGCN_GFX10_1_GENERIC = 0x052,
  EF_AMDGPU_MACH_AMDGCN_GFX10_3_GENERIC = 0x053,
  EF_AMDGPU_MACH_AMDGCN_GFX11_GENERIC   = 0x054,
  EF_AMDGPU_MACH_AMDGCN_GFX1152         = 0x055,
  EF_AMDGPU_MACH_AMDGCN_RESERVED_0X56   = 0x056,
  EF_AMDGPU_MACH_AMDGCN_RESERVED_0X57   = 0x057,
  EF_AMDGPU_MACH_AMDGCN_GFX1153         = 0x058,
  EF_AMDGPU_MACH_AMDGCN_GFX12_GENERIC   = 0x059,
  EF_AMDGPU_MACH_AMDGCN_GFX9_4_GENERIC  = 0x05f,
  // clang-format on

  /** Minimum of the processor numbers. */
  EF_AMDGPU_MACH_AMDGCN_FIRST = EF_AMDGPU_MACH_AMDGCN_GFX600,
  /** Maximum of the processor numbers. */
  EF_AMDGPU_MACH_AMDGCN_LAST = EF_AMDGPU_MACH_AMDGCN_GFX9_4_GENERIC,

  /** Version 2: all code in the file was compiled with xnack on. */
  EF_AMDGPU_FEATURE_XNACK_V2 = 0x01,
  /** Version 2: all code in the file needs a trap handler. */
  EF_AMDGPU_FEATURE_TRAP_HANDLER_V2 = 0x02,

  /** Version 3: all code in the file was compiled with xnack on. */
  EF_AMDGPU_FEATURE_XNACK_V3 = 0x100,
  /** Version 3: all code in the file was compiled with sramecc on. */
  EF_AMDGPU_FEATURE_SRAMECC_V3 = 0x200,

  /** Version 4 and later: mask of the xnack setting, one of the following four. */
  EF_AMDGPU_FEATURE_XNACK_V4 = 0x300,
  /** The processor does not support xnack. */
  EF_AMDGPU_FEATURE_XNACK_UNSUPPORTED_V4 = 0x000,
  /** The code runs with xnack on or off. */
  EF_AMDGPU_FEATURE_XNACK_ANY_V4 = 0x100,
  /** The code runs only with xnack off. */
  EF_AMDGPU_FEATURE_XNACK_OFF_V4 = 0x200,
  /** The code runs only with xnack on. */
  EF_AMDGPU_FEATURE_XNACK_ON_V4 = 0x300,

  /** Version 4 and later: mask of the sramecc setting, one of the following four. */
  EF_AMDGPU_FEATURE_SRAMECC_V4 = 0xc00,
  /** The processor does not support sramecc. */
  EF_AMDGPU_FEATURE_SRAMECC_UNSUPPORTED_V4 = 0x000,
  /** The code runs with sramecc on or off. */
  EF_AMDGPU_FEATURE_SRAMECC_ANY_V4 = 0x400,
  /** The code runs only with sramecc off. */
  EF_AMDGPU_FEATURE_SRAMECC_OFF_V4 = 0x800,
  /** The code runs only with sramecc on. */
  EF_AMDGPU_FEATURE_SRAMECC_ON_V4 = 0xc00,

  /** Version 6: mask of the minimum revision of a GENERIC processor that the code needs. 0 for other
   * processors. */
  EF_AMDGPU_GENERIC_VERSION = 0xff000000,
  /** Lowest bit of that mask. */
  EF_AMDGPU_GENERIC_VERSION_OFFSET = 24,
  /** First revision. */
  EF_AMDGPU_GENERIC_VERSION_MIN = 1,
  /** Last revision that the mask can contain. */
  EF_AMDGPU_GENERIC_VERSION_MAX = 0xff,
};

/**
 * Relocations that a linked code object can contain. S: value of the symbol, A: addend, B: load address minus
 * link address of the file.
 */
enum : unsigned {
  /** No relocation. */
  R_AMDGPU_NONE = 0,
  /** Lower half of S + A, 32 bits. */
  R_AMDGPU_ABS32_LO = 1,
  /** Upper half of S + A, 32 bits. */
  R_AMDGPU_ABS32_HI = 2,
  /** S + A, 64 bits. */
  R_AMDGPU_ABS64 = 3,
  /** S + A, 32 bits. */
  R_AMDGPU_ABS32 = 6,
  /** B + A, 64 bits. */
  R_AMDGPU_RELATIVE64 = 13,
};

}  // namespace ELF

/** @name Code objects of version 1: sections, segments and symbols
 *  Data is global or read-only; global data is shared by the program or allocated once for each agent.
 *  @{ */

/** sh_flags: contains global variables. */
#define SHF_AMDGPU_HSA_GLOBAL (0x00100000 & SHF_MASKOS)
/** sh_flags: contains read-only variables. */
#define SHF_AMDGPU_HSA_READONLY (0x00200000 & SHF_MASKOS)
/** sh_flags: contains machine code. */
#define SHF_AMDGPU_HSA_CODE (0x00400000 & SHF_MASKOS)
/** sh_flags: allocated once per agent. */
#define SHF_AMDGPU_HSA_AGENT (0x00800000 & SHF_MASKOS)

/** Contents of a loadable segment; PT_LOOS plus the value is the segment's p_type. */
typedef enum {
  /** Global variables of the program. */
  AMDGPU_HSA_SEGMENT_GLOBAL_PROGRAM = 0,
  /** Global variables of an agent. */
  AMDGPU_HSA_SEGMENT_GLOBAL_AGENT = 1,
  /** Read-only variables of an agent. */
  AMDGPU_HSA_SEGMENT_READONLY_AGENT = 2,
  /** Machine code. */
  AMDGPU_HSA_SEGMENT_CODE_AGENT = 3,
  /** Number of kinds. */
  AMDGPU_HSA_SEGMENT_LAST,
} amdgpu_hsa_elf_segment_t;

/** p_type of ::AMDGPU_HSA_SEGMENT_GLOBAL_PROGRAM. */
#define PT_AMDGPU_HSA_LOAD_GLOBAL_PROGRAM (PT_LOOS + AMDGPU_HSA_SEGMENT_GLOBAL_PROGRAM)
/** p_type of ::AMDGPU_HSA_SEGMENT_GLOBAL_AGENT. */
#define PT_AMDGPU_HSA_LOAD_GLOBAL_AGENT (PT_LOOS + AMDGPU_HSA_SEGMENT_GLOBAL_AGENT)
/** p_type of ::AMDGPU_HSA_SEGMENT_READONLY_AGENT. */
#define PT_AMDGPU_HSA_LOAD_READONLY_AGENT (PT_LOOS + AMDGPU_HSA_SEGMENT_READONLY_AGENT)
/** p_type of ::AMDGPU_HSA_SEGMENT_CODE_AGENT. */
#define PT_AMDGPU_HSA_LOAD_CODE_AGENT (PT_LOOS + AMDGPU_HSA_SEGMENT_CODE_AGENT)

/** Symbol type: a kernel; its value is the address of the ::amd_kernel_code_t. Also in version 2. */
#define STT_AMDGPU_HSA_KERNEL (STT_LOOS + 0)
/** Symbol type: an indirect function. */
#define STT_AMDGPU_HSA_INDIRECT_FUNCTION (STT_LOOS + 1)
/** Symbol type: an initializer of an image or sampler. */
#define STT_AMDGPU_HSA_METADATA (STT_LOOS + 2)

/** Symbol binding: defined by the application. */
#define STB_AMDGPU_HSA_EXTERNAL (STB_LOOS + 0)

/** ::amdgpu_hsa_symbol_allocation_t in the st_other field @p o. */
#define ELF64_ST_AMDGPU_ALLOCATION(o) (((o) >> 2) & 0x3)
/** ::amdgpu_hsa_symbol_flag_t in the st_other field @p o. */
#define ELF64_ST_AMDGPU_FLAGS(o) ((o) >> 4)
/** An st_other field of flags @p f, allocation @p a and visibility @p v. */
#define ELF64_ST_AMDGPU_OTHER(f, a, v) (((f) << 4) + (((a)&0x3) << 2) + ((v)&0x3))

/** Allocation of a symbol's variable. */
typedef enum {
  /** As for its section. */
  AMDGPU_HSA_SYMBOL_ALLOCATION_DEFAULT = 0,
  /** Global, of the program. */
  AMDGPU_HSA_SYMBOL_ALLOCATION_GLOBAL_PROGRAM = 1,
  /** Global, of an agent. */
  AMDGPU_HSA_SYMBOL_ALLOCATION_GLOBAL_AGENT = 2,
  /** Read-only, of an agent. */
  AMDGPU_HSA_SYMBOL_ALLOCATION_READONLY_AGENT = 3,
  /** Number of values. */
  AMDGPU_HSA_SYMBOL_ALLOCATION_LAST,
} amdgpu_hsa_symbol_allocation_t;

/** Alias of ::AMDGPU_HSA_SYMBOL_ALLOCATION_DEFAULT. */
#define STA_AMDGPU_HSA_DEFAULT AMDGPU_HSA_SYMBOL_ALLOCATION_DEFAULT
/** Alias of ::AMDGPU_HSA_SYMBOL_ALLOCATION_GLOBAL_PROGRAM. */
#define STA_AMDGPU_HSA_GLOBAL_PROGRAM AMDGPU_HSA_SYMBOL_ALLOCATION_GLOBAL_PROGRAM
/** Alias of ::AMDGPU_HSA_SYMBOL_ALLOCATION_GLOBAL_AGENT. */
#define STA_AMDGPU_HSA_GLOBAL_AGENT AMDGPU_HSA_SYMBOL_ALLOCATION_GLOBAL_AGENT
/** Alias of ::AMDGPU_HSA_SYMBOL_ALLOCATION_READONLY_AGENT. */
#define STA_AMDGPU_HSA_READONLY_AGENT AMDGPU_HSA_SYMBOL_ALLOCATION_READONLY_AGENT

/** Properties of a symbol. */
typedef enum {
  /** No property. */
  AMDGPU_HSA_SYMBOL_FLAG_DEFAULT = 0,
  /** The variable is constant. */
  AMDGPU_HSA_SYMBOL_FLAG_CONST = 1,
  /** Number of values. */
  AMDGPU_HSA_SYMBOL_FLAG_LAST,
} amdgpu_hsa_symbol_flag_t;

/** Alias of ::AMDGPU_HSA_SYMBOL_FLAG_CONST. */
#define STF_AMDGPU_HSA_CONST AMDGPU_HSA_SYMBOL_FLAG_CONST

/** Relocation: none. */
#define R_AMDGPU_V1_NONE 0
/** Relocation: lower half of an address, 32 bits. */
#define R_AMDGPU_V1_32_LOW 1
/** Relocation: upper half of an address, 32 bits. */
#define R_AMDGPU_V1_32_HIGH 2
/** Relocation: address, 64 bits. */
#define R_AMDGPU_V1_64 3
/** Relocation: handle of the sampler made from an ::amdgpu_hsa_sampler_descriptor_t. */
#define R_AMDGPU_V1_INIT_SAMPLER 4
/** Relocation: handle of the image made from an ::amdgpu_hsa_image_descriptor_t. */
#define R_AMDGPU_V1_INIT_IMAGE 5
/** Relocation: load address minus link address, plus addend, 64 bits. */
#define R_AMDGPU_V1_RELATIVE64 13

// Names of version 1's relocations in ROCm 5. LLVM uses two of these names too: as macros they would break
// the enumerators in sources that include both headers.
using ELF::R_AMDGPU_NONE;
using ELF::R_AMDGPU_RELATIVE64;
/** Earlier name of ::R_AMDGPU_V1_32_LOW. */
#define R_AMDGPU_32_LOW R_AMDGPU_V1_32_LOW
/** Earlier name of ::R_AMDGPU_V1_32_HIGH. */
#define R_AMDGPU_32_HIGH R_AMDGPU_V1_32_HIGH
/** Earlier name of ::R_AMDGPU_V1_64. */
#define R_AMDGPU_64 R_AMDGPU_V1_64
/** Earlier name of ::R_AMDGPU_V1_INIT_SAMPLER. */
#define R_AMDGPU_INIT_SAMPLER R_AMDGPU_V1_INIT_SAMPLER
/** Earlier name of ::R_AMDGPU_V1_INIT_IMAGE. */
#define R_AMDGPU_INIT_IMAGE R_AMDGPU_V1_INIT_IMAGE
/** @} */

/** @name Note records
 * Types of the notes with the name "AMD" (code objects of versions 1 and 2) or "AMDGPU".
 *  @{ */

/** ::amdgpu_hsa_note_code_object_version_t. */
#define NT_AMD_HSA_CODE_OBJECT_VERSION 1
/** ::amdgpu_hsa_note_hsail_t. */
#define NT_AMD_HSA_HSAIL 2
/** ::amdgpu_hsa_note_isa_t. */
#define NT_AMD_HSA_ISA_VERSION 3
/** ::amdgpu_hsa_note_producer_t. */
#define NT_AMD_HSA_PRODUCER 4
/** ::amdgpu_hsa_note_producer_options_t. */
#define NT_AMD_HSA_PRODUCER_OPTIONS 5
/** Names of the required extensions. */
#define NT_AMD_HSA_EXTENSION 6
/** Name of the instruction set, as for hsa_isa_from_name. */
#define NT_AMD_HSA_ISA_NAME 11
/** In core files: state of the runtime, its agents and queues, for debuggers. */
#define NT_AMDGPU_CORE_STATE 33
/** HSAIL-level debug information. */
#define NT_AMD_HSA_HLDEBUG_DEBUG 101
/** Target of that debug information. */
#define NT_AMD_HSA_HLDEBUG_TARGET 102

/** Version of the code object format. */
typedef struct amdgpu_hsa_note_code_object_version_s {
  /** Major version, 1 or 2. */
  uint32_t major_version;
  /** Minor version. */
  uint32_t minor_version;
} amdgpu_hsa_note_code_object_version_t;

/** Properties of the HSAIL that the code was compiled from. */
typedef struct amdgpu_hsa_note_hsail_s {
  /** Major version of HSAIL. */
  uint32_t hsail_major_version;
  /** Minor version of HSAIL. */
  uint32_t hsail_minor_version;
  /** An hsa_profile_t. */
  uint8_t profile;
  /** An hsa_machine_model_t. */
  uint8_t machine_model;
  /** An hsa_default_float_rounding_mode_t. */
  uint8_t default_float_round;
} amdgpu_hsa_note_hsail_t;

/** Processor of the code. */
typedef struct amdgpu_hsa_note_isa_s {
  /** Bytes of the vendor's name, including the closing zero. */
  uint16_t vendor_name_size;
  /** Bytes of the architecture's name, including the closing zero. */
  uint16_t architecture_name_size;
  /** First part of the gfx version. */
  uint32_t major;
  /** Second part of the gfx version. */
  uint32_t minor;
  /** Third part of the gfx version. */
  uint32_t stepping;
  /** Vendor's name, followed by the architecture's name. The two sizes define the length of the array. */
  char vendor_and_architecture_name[1];
} amdgpu_hsa_note_isa_t;

/** Tool that created the code. */
typedef struct amdgpu_hsa_note_producer_s {
  /** Bytes of the name. */
  uint16_t producer_name_size;
  /** Must be 0. */
  uint16_t reserved;
  /** Major version of the tool. */
  uint32_t producer_major_version;
  /** Minor version of the tool. */
  uint32_t producer_minor_version;
  /** Name of the tool. Its size defines the length of the array. */
  char producer_name[1];
} amdgpu_hsa_note_producer_t;

/** Options of the tool. */
typedef struct amdgpu_hsa_note_producer_options_s {
  /** Bytes of the options. */
  uint16_t producer_options_size;
  /** The options. Their size defines the length of the array. */
  char producer_options[1];
} amdgpu_hsa_note_producer_options_t;
/** @} */

/** @name Code objects of version 1: initializers of images and samplers
 *  The values are those of the same names in BRIG and in hsa_ext_image.h.
 *  @{ */

/** Fixed-width form of ::amdgpu_hsa_metadata_kind_t. */
typedef uint16_t amdgpu_hsa_metadata_kind16_t;
/** Kinds of initializer. */
typedef enum {
  /** No object. */
  AMDGPU_HSA_METADATA_KIND_NONE = 0,
  /** A sampler. */
  AMDGPU_HSA_METADATA_KIND_INIT_SAMP = 1,
  /** A read-only image. */
  AMDGPU_HSA_METADATA_KIND_INIT_ROIMG = 2,
  /** A write-only image. */
  AMDGPU_HSA_METADATA_KIND_INIT_WOIMG = 3,
  /** A read-write image. */
  AMDGPU_HSA_METADATA_KIND_INIT_RWIMG = 4
} amdgpu_hsa_metadata_kind_t;

/** Fixed-width form of ::amdgpu_hsa_sampler_coord_t. */
typedef uint8_t amdgpu_hsa_sampler_coord8_t;
/** Scale of a sampler's coordinates. */
typedef enum {
  /** In image elements. */
  AMDGPU_HSA_SAMPLER_COORD_UNNORMALIZED = 0,
  /** From 0 to 1 over the whole image. */
  AMDGPU_HSA_SAMPLER_COORD_NORMALIZED = 1
} amdgpu_hsa_sampler_coord_t;

/** Fixed-width form of ::amdgpu_hsa_sampler_filter_t. */
typedef uint8_t amdgpu_hsa_sampler_filter8_t;
/** Combination of image elements by a sampler. */
typedef enum {
  /** Value of the nearest element. */
  AMDGPU_HSA_SAMPLER_FILTER_NEAREST = 0,
  /** Interpolation between neighbours. */
  AMDGPU_HSA_SAMPLER_FILTER_LINEAR = 1
} amdgpu_hsa_sampler_filter_t;

/** Fixed-width form of ::amdgpu_hsa_sampler_addressing_t. */
typedef uint8_t amdgpu_hsa_sampler_addressing8_t;
/** Meaning of coordinates outside the image. */
typedef enum {
  /** Undefined: the program uses no such coordinates. */
  AMDGPU_HSA_SAMPLER_ADDRESSING_UNDEFINED = 0,
  /** The element at the edge. */
  AMDGPU_HSA_SAMPLER_ADDRESSING_CLAMP_TO_EDGE = 1,
  /** The border colour. */
  AMDGPU_HSA_SAMPLER_ADDRESSING_CLAMP_TO_BORDER = 2,
  /** The image repeats. */
  AMDGPU_HSA_SAMPLER_ADDRESSING_REPEAT = 3,
  /** The image repeats; every other copy is mirrored. */
  AMDGPU_HSA_SAMPLER_ADDRESSING_MIRRORED_REPEAT = 4
} amdgpu_hsa_sampler_addressing_t;

/** Initializer of a sampler. */
typedef struct amdgpu_hsa_sampler_descriptor_s {
  /** Size of this structure in bytes. */
  uint16_t size;
  /** ::AMDGPU_HSA_METADATA_KIND_INIT_SAMP. */
  amdgpu_hsa_metadata_kind16_t kind;
  /** An ::amdgpu_hsa_sampler_coord_t. */
  amdgpu_hsa_sampler_coord8_t coord;
  /** An ::amdgpu_hsa_sampler_filter_t. */
  amdgpu_hsa_sampler_filter8_t filter;
  /** An ::amdgpu_hsa_sampler_addressing_t. */
  amdgpu_hsa_sampler_addressing8_t addressing;
  /** Must be 0. */
  uint8_t reserved1;
} amdgpu_hsa_sampler_descriptor_t;

/** Fixed-width form of ::amdgpu_hsa_image_geometry_t. */
typedef uint8_t amdgpu_hsa_image_geometry8_t;
/** Geometry of an image; see ::hsa_ext_image_geometry_t. */
typedef enum {
  AMDGPU_HSA_IMAGE_GEOMETRY_1D = 0,
  AMDGPU_HSA_IMAGE_GEOMETRY_2D = 1,
  AMDGPU_HSA_IMAGE_GEOMETRY_3D = 2,
  AMDGPU_HSA_IMAGE_GEOMETRY_1DA = 3,
  AMDGPU_HSA_IMAGE_GEOMETRY_2DA = 4,
  AMDGPU_HSA_IMAGE_GEOMETRY_1DB = 5,
  AMDGPU_HSA_IMAGE_GEOMETRY_2DDEPTH = 6,
  AMDGPU_HSA_IMAGE_GEOMETRY_2DADEPTH = 7
} amdgpu_hsa_image_geometry_t;

/** Fixed-width form of ::amdgpu_hsa_image_channel_order_t. */
typedef uint8_t amdgpu_hsa_image_channel_order8_t;
/** Channels of an image element and their order; see ::hsa_ext_image_channel_order_t. */
typedef enum {
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_A = 0,
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_R = 1,
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_RX = 2,
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_RG = 3,
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_RGX = 4,
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_RA = 5,
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_RGB = 6,
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_RGBX = 7,
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_RGBA = 8,
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_BGRA = 9,
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_ARGB = 10,
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_ABGR = 11,
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_SRGB = 12,
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_SRGBX = 13,
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_SRGBA = 14,
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_SBGRA = 15,
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_INTENSITY = 16,
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_LUMINANCE = 17,
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_DEPTH = 18,
  AMDGPU_HSA_IMAGE_CHANNEL_ORDER_DEPTH_STENCIL = 19
} amdgpu_hsa_image_channel_order_t;

/** Fixed-width form of ::amdgpu_hsa_image_channel_type_t. */
typedef uint8_t amdgpu_hsa_image_channel_type8_t;
/** Representation of a channel; see ::hsa_ext_image_channel_type_t. */
typedef enum {
  AMDGPU_HSA_IMAGE_CHANNEL_TYPE_SNORM_INT8 = 0,
  AMDGPU_HSA_IMAGE_CHANNEL_TYPE_SNORM_INT16 = 1,
  AMDGPU_HSA_IMAGE_CHANNEL_TYPE_UNORM_INT8 = 2,
  AMDGPU_HSA_IMAGE_CHANNEL_TYPE_UNORM_INT16 = 3,
  AMDGPU_HSA_IMAGE_CHANNEL_TYPE_UNORM_INT24 = 4,
  AMDGPU_HSA_IMAGE_CHANNEL_TYPE_SHORT_555 = 5,
  AMDGPU_HSA_IMAGE_CHANNEL_TYPE_SHORT_565 = 6,
  AMDGPU_HSA_IMAGE_CHANNEL_TYPE_INT_101010 = 7,
  AMDGPU_HSA_IMAGE_CHANNEL_TYPE_SIGNED_INT8 = 8,
  AMDGPU_HSA_IMAGE_CHANNEL_TYPE_SIGNED_INT16 = 9,
  AMDGPU_HSA_IMAGE_CHANNEL_TYPE_SIGNED_INT32 = 10,
  AMDGPU_HSA_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8 = 11,
  AMDGPU_HSA_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16 = 12,
  AMDGPU_HSA_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32 = 13,
  AMDGPU_HSA_IMAGE_CHANNEL_TYPE_HALF_FLOAT = 14,
  AMDGPU_HSA_IMAGE_CHANNEL_TYPE_FLOAT = 15
} amdgpu_hsa_image_channel_type_t;

/** Initializer of an image. */
typedef struct amdgpu_hsa_image_descriptor_s {
  /** Size of this structure in bytes. */
  uint16_t size;
  /** One of the image kinds. */
  amdgpu_hsa_metadata_kind16_t kind;
  /** An ::amdgpu_hsa_image_geometry_t. */
  amdgpu_hsa_image_geometry8_t geometry;
  /** An ::amdgpu_hsa_image_channel_order_t. */
  amdgpu_hsa_image_channel_order8_t channel_order;
  /** An ::amdgpu_hsa_image_channel_type_t. */
  amdgpu_hsa_image_channel_type8_t channel_type;
  /** Must be 0. */
  uint8_t reserved1;
  /** Width in elements. */
  uint64_t width;
  /** Height in elements. */
  uint64_t height;
  /** Depth in elements. */
  uint64_t depth;
  /** Number of layers. */
  uint64_t array;
} amdgpu_hsa_image_descriptor_t;
/** @} */

/** Sections of a code object of version 1, by their variables. */
typedef enum {
  /** Constants of the program in global memory. */
  AMDGPU_HSA_RODATA_GLOBAL_PROGRAM = 0,
  /** Constants of an agent in global memory. */
  AMDGPU_HSA_RODATA_GLOBAL_AGENT,
  /** Constants of an agent in read-only memory. */
  AMDGPU_HSA_RODATA_READONLY_AGENT,
  /** Initialised variables of the program in global memory. */
  AMDGPU_HSA_DATA_GLOBAL_PROGRAM,
  /** Initialised variables of an agent in global memory. */
  AMDGPU_HSA_DATA_GLOBAL_AGENT,
  /** Initialised variables of an agent in read-only memory. */
  AMDGPU_HSA_DATA_READONLY_AGENT,
  /** Zeroed variables of the program in global memory. */
  AMDGPU_HSA_BSS_GLOBAL_PROGRAM,
  /** Zeroed variables of an agent in global memory. */
  AMDGPU_HSA_BSS_GLOBAL_AGENT,
  /** Zeroed variables of an agent in read-only memory. */
  AMDGPU_HSA_BSS_READONLY_AGENT,
  /** Number of kinds. */
  AMDGPU_HSA_SECTION_LAST,
} amdgpu_hsa_elf_section_t;

#endif  // AMD_HSA_ELF_H
