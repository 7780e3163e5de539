// SPDX-License-Identifier: MIT

/**
 * @file
 * HSA extension "finalizer", version 1: programs of HSAIL modules, compiled to code objects at run time (HSA
 * Runtime Programmer's Reference Manual 1.1, "Finalizer"). No compiler emits HSAIL, and this runtime has no
 * finalizer. The functions are exported for programs that link them, and return an error status.
 * hsa_system_major_extension_supported reports that the extension is not supported. This header describes the
 * contract of a finalizer.
 *
 * The rules of hsa.h apply, except that calls for one program must not overlap.
 */

#ifndef HSA_RUNTIME_INC_HSA_EXT_FINALIZE_H_
#define HSA_RUNTIME_INC_HSA_EXT_FINALIZE_H_

#include "hsa.h"

#undef HSA_API
#ifdef HSA_EXPORT_FINALIZER
#define HSA_API HSA_API_EXPORT
#else
#define HSA_API HSA_API_IMPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Head of a BRIG module, the binary form of HSAIL. Defined in Brig.h, which this header does not need. */
struct BrigModuleHeader;
/** A BRIG module in memory, 16-byte aligned. */
typedef struct BrigModuleHeader* BrigModule_t;

/** Statuses that the extension adds to ::hsa_status_t. */
enum {
  /** The handle is not a program. */
  HSA_EXT_STATUS_ERROR_INVALID_PROGRAM = 0x2000,
  /** The module is not valid BRIG. */
  HSA_EXT_STATUS_ERROR_INVALID_MODULE = 0x2001,
  /** Machine model or profile of module and program differ. */
  HSA_EXT_STATUS_ERROR_INCOMPATIBLE_MODULE = 0x2002,
  /** The program already contains the module. */
  HSA_EXT_STATUS_ERROR_MODULE_ALREADY_INCLUDED = 0x2003,
  /** Two modules have different declarations of a symbol. */
  HSA_EXT_STATUS_ERROR_SYMBOL_MISMATCH = 0x2004,
  /** A kernel or indirect function could not be compiled. */
  HSA_EXT_STATUS_ERROR_FINALIZATION_FAILED = 0x2005,
  /** A control directive in the code contradicts a directive of the application or of called code. */
  HSA_EXT_STATUS_ERROR_DIRECTIVE_MISMATCH = 0x2006
};

/** An HSAIL module. */
typedef BrigModule_t hsa_ext_module_t;

/** A program: a set of modules that refer to each other's kernels, functions and variables. */
typedef struct hsa_ext_program_s {
  /** Opaque. */
  uint64_t handle;
} hsa_ext_program_t;

/**
 * Creates a program without modules.
 *
 * @param machine_model [in] machine model of its modules.
 * @param profile [in] profile of its modules.
 * @param default_float_rounding_mode [in] rounding mode of modules that do not specify one.
 * @param options [in] options of the vendor, a null-terminated string. May be NULL.
 * @param program [out] the program. Not NULL.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_ARGUMENT `program` is NULL, or another argument has no valid value.
 */
hsa_status_t HSA_API hsa_ext_program_create(hsa_machine_model_t machine_model, hsa_profile_t profile,
                                            hsa_default_float_rounding_mode_t default_float_rounding_mode,
                                            const char* options, hsa_ext_program_t* program);

/**
 * Destroys a program. Code objects made from it remain valid; modules may be freed afterwards.
 *
 * @param program [in] the program.
 * @retval HSA_EXT_STATUS_ERROR_INVALID_PROGRAM
 */
hsa_status_t HSA_API hsa_ext_program_destroy(hsa_ext_program_t program);

/**
 * Adds a module to a program, once. The program does not copy it. The application owns the module and keeps
 * it unchanged until the program is destroyed.
 *
 * @param program [in] the program.
 * @param module [in] a module with the program's machine model and profile, and with its rounding mode if the
 *   module specifies one.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval HSA_EXT_STATUS_ERROR_INVALID_PROGRAM
 * @retval HSA_EXT_STATUS_ERROR_INVALID_MODULE
 * @retval HSA_EXT_STATUS_ERROR_INCOMPATIBLE_MODULE
 * @retval HSA_EXT_STATUS_ERROR_MODULE_ALREADY_INCLUDED
 * @retval HSA_EXT_STATUS_ERROR_SYMBOL_MISMATCH
 */
hsa_status_t HSA_API hsa_ext_program_add_module(hsa_ext_program_t program, hsa_ext_module_t module);

/**
 * Calls a function for every module of a program, in the calling thread.
 *
 * @param program [in] the program.
 * @param callback [in] receives the program, a module and `data`. A status other than HSA_STATUS_SUCCESS ends
 *   the iteration, and the function returns it. Not NULL.
 * @param data [in] argument for `callback`. May be NULL.
 * @retval HSA_EXT_STATUS_ERROR_INVALID_PROGRAM
 * @retval INVALID_ARGUMENT `callback` is NULL.
 */
hsa_status_t HSA_API hsa_ext_program_iterate_modules(
    hsa_ext_program_t program,
    hsa_status_t (*callback)(hsa_ext_program_t program, hsa_ext_module_t module, void* data), void* data);

/** Attributes of a program: the values of its creation. */
typedef enum {
  /** Type ::hsa_machine_model_t. */
  HSA_EXT_PROGRAM_INFO_MACHINE_MODEL = 0,
  /** Type ::hsa_profile_t. */
  HSA_EXT_PROGRAM_INFO_PROFILE = 1,
  /** Type ::hsa_default_float_rounding_mode_t. */
  HSA_EXT_PROGRAM_INFO_DEFAULT_FLOAT_ROUNDING_MODE = 2
} hsa_ext_program_info_t;

/**
 * Returns an attribute of a program.
 *
 * @param program [in] the program.
 * @param attribute [in] the attribute.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval HSA_EXT_STATUS_ERROR_INVALID_PROGRAM
 * @retval INVALID_ARGUMENT `value` is NULL, or `attribute` is unknown.
 */
hsa_status_t HSA_API hsa_ext_program_get_info(hsa_ext_program_t program, hsa_ext_program_info_t attribute,
                                              void* value);

/** Call conventions with a special meaning; others are numbers from 0. */
typedef enum {
  /** The finalizer chooses. */
  HSA_EXT_FINALIZER_CALL_CONVENTION_AUTO = -1
} hsa_ext_finalizer_call_convention_t;

/**
 * Promises about every dispatch of the kernels in a program. A member applies if the bit of its BRIG
 * directive is set in `control_directives_mask`; otherwise it must be 0. If the code has the same directive,
 * the values must be equal, with the exceptions below. 144 bytes.
 */
typedef struct hsa_ext_control_directives_s {
  /** Members that apply: one bit for each BrigControlDirective. */
  uint64_t control_directives_mask;
  /** Exceptions that stop a wave, one bit for each of BRIG's. Combined with those of the code. */
  uint16_t break_exceptions_mask;
  /** Exceptions that are recorded. Combined with those of the code. */
  uint16_t detect_exceptions_mask;
  /** Maximum bytes of group memory that a dispatch adds. */
  uint32_t max_dynamic_group_size;
  /**
   * Maximum work-items of a grid; at least the product of `required_grid_size`. May be less than in the code.
   */
  uint64_t max_flat_grid_size;
  /**
   * Maximum work-items of a work-group; at least the product of `required_workgroup_size`. May be less than
   * in the code.
   */
  uint32_t max_flat_workgroup_size;
  /** Must be 0. */
  uint32_t reserved1;
  /** Exact size of grids, in work-items; no dimension is 0. */
  uint64_t required_grid_size[3];
  /** Exact size of work-groups, in work-items; no dimension is 0. */
  hsa_dim3_t required_workgroup_size;
  /** Number of dimensions: 1, 2 or 3. The sizes above must match it. */
  uint8_t required_dim;
  /** Must be 0. */
  uint8_t reserved2[75];
} hsa_ext_control_directives_t;

/**
 * Compiles all kernels and indirect functions of a program. A module of the program must define each function
 * that they call. Variables, and kernels and indirect functions whose address is taken, may be declared only.
 *
 * @param program [in] the program.
 * @param isa [in] instruction set to compile for.
 * @param call_convention [in] ::HSA_EXT_FINALIZER_CALL_CONVENTION_AUTO, or less than
 *        HSA_ISA_INFO_CALL_CONVENTION_COUNT of `isa`.
 * @param control_directives [in] promises about dispatches.
 * @param options [in] options of the vendor, a null-terminated string. May be NULL.
 * @param code_object_type [in] kind of code object.
 * @param code_object [out] the new code object, independent of the program and its modules. The application
 *   destroys it. Not NULL.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval HSA_EXT_STATUS_ERROR_INVALID_PROGRAM
 * @retval INVALID_ISA `isa` is not valid.
 * @retval HSA_EXT_STATUS_ERROR_DIRECTIVE_MISMATCH
 * @retval HSA_EXT_STATUS_ERROR_FINALIZATION_FAILED
 */
hsa_status_t HSA_API hsa_ext_program_finalize(hsa_ext_program_t program, hsa_isa_t isa,
                                              int32_t call_convention,
                                              hsa_ext_control_directives_t control_directives,
                                              const char* options, hsa_code_object_type_t code_object_type,
                                              hsa_code_object_t* code_object);

/** This header has the function table of version 1.00. */
#define hsa_ext_finalizer_1_00

/** Functions of the extension, for hsa_system_get_major_extension_table. */
typedef struct hsa_ext_finalizer_1_00_pfn_s {
  /** See the function of this name. */
  hsa_status_t (*hsa_ext_program_create)(hsa_machine_model_t machine_model, hsa_profile_t profile,
                                         hsa_default_float_rounding_mode_t default_float_rounding_mode,
                                         const char* options, hsa_ext_program_t* program);
  /** See the function of this name. */
  hsa_status_t (*hsa_ext_program_destroy)(hsa_ext_program_t program);
  /** See the function of this name. */
  hsa_status_t (*hsa_ext_program_add_module)(hsa_ext_program_t program, hsa_ext_module_t module);
  /** See the function of this name. */
  hsa_status_t (*hsa_ext_program_iterate_modules)(
      hsa_ext_program_t program,
      hsa_status_t (*callback)(hsa_ext_program_t program, hsa_ext_module_t module, void* data), void* data);
  /** See the function of this name. */
  hsa_status_t (*hsa_ext_program_get_info)(hsa_ext_program_t program, hsa_ext_program_info_t attribute,
                                           void* value);
  /** See the function of this name. */
  hsa_status_t (*hsa_ext_program_finalize)(hsa_ext_program_t program, hsa_isa_t isa, int32_t call_convention,
                                           hsa_ext_control_directives_t control_directives,
                                           const char* options, hsa_code_object_type_t code_object_type,
                                           hsa_code_object_t* code_object);
} hsa_ext_finalizer_1_00_pfn_t;

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // HSA_RUNTIME_INC_HSA_EXT_FINALIZE_H_
