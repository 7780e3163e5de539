// SPDX-License-Identifier: MIT

/**
 * @file
 * Versions of the API tables in hsa_api_trace.h. For C and C++.
 *
 * A table's ApiTableVersion contains the major version, the table's size in bytes (as minor version) and the
 * step. If the major version differs, the layout differs: do not use any entry. If it is equal, the smaller
 * table is a prefix of the larger one. Each addition increases the step.
 */

#ifndef HSA_RUNTIME_INC_HSA_API_TRACE_VERSION_H
#define HSA_RUNTIME_INC_HSA_API_TRACE_VERSION_H

/** Layout of HsaApiTable. OnLoad also receives it as the runtime version. */
#define HSA_API_TABLE_MAJOR_VERSION 0x03
/** Layout of CoreApiTable. */
#define HSA_CORE_API_TABLE_MAJOR_VERSION 0x02
/** Layout of AmdExtTable. */
#define HSA_AMD_EXT_API_TABLE_MAJOR_VERSION 0x02
/** Layout of FinalizerExtTable. */
#define HSA_FINALIZER_API_TABLE_MAJOR_VERSION 0x02
/** Layout of ImageExtTable. */
#define HSA_IMAGE_API_TABLE_MAJOR_VERSION 0x02
/** Layout of the function table in hsa_ven_amd_aqlprofile.h. */
#define HSA_AQLPROFILE_API_TABLE_MAJOR_VERSION 0x01
/** Layout of ToolsApiTable. */
#define HSA_TOOLS_API_TABLE_MAJOR_VERSION 0x01
/** Layout of PcSamplingExtTable. */
#define HSA_PC_SAMPLING_API_TABLE_MAJOR_VERSION 0x01

/** Additions to HsaApiTable. */
#define HSA_API_TABLE_STEP_VERSION 0x01
/** Additions to CoreApiTable. */
#define HSA_CORE_API_TABLE_STEP_VERSION 0x00
/** Additions to AmdExtTable. */
#define HSA_AMD_EXT_API_TABLE_STEP_VERSION 0x13
/** Additions to FinalizerExtTable. */
#define HSA_FINALIZER_API_TABLE_STEP_VERSION 0x00
/** Additions to ImageExtTable. */
#define HSA_IMAGE_API_TABLE_STEP_VERSION 0x01
/** Alias of ::HSA_IMAGE_API_TABLE_STEP_VERSION, for profilers. */
#define HSA_IMAGE_EXT_API_TABLE_STEP_VERSION HSA_IMAGE_API_TABLE_STEP_VERSION
/** Additions to the function table in hsa_ven_amd_aqlprofile.h. */
#define HSA_AQLPROFILE_API_TABLE_STEP_VERSION 0x00
/** Additions to ToolsApiTable. */
#define HSA_TOOLS_API_TABLE_STEP_VERSION 0x00
/** Additions to PcSamplingExtTable. */
#define HSA_PC_SAMPLING_API_TABLE_STEP_VERSION 0x00

#endif  // HSA_RUNTIME_INC_HSA_API_TRACE_VERSION_H
