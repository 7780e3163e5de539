// SPDX-License-Identifier: MIT

/**
 * @file
 * Versions of the API tables in hsa_api_trace.h. For C and C++.
 *
 * A table's ApiTableVersion holds the major version, the table's size in bytes (in the place of a minor
 * version) and the step. Another major version means another layout: no entry may be used. With the same
 * major version the smaller table is a prefix of the larger. The step grows with every addition.
 */

#ifndef HSA_RUNTIME_INC_HSA_API_TRACE_VERSION_H
#define HSA_RUNTIME_INC_HSA_API_TRACE_VERSION_H

/** Layout of HsaApiTable. It is also what OnLoad gets as the runtime version. */
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
/** Second name of ::HSA_IMAGE_API_TABLE_STEP_VERSION, which profilers look for. */
#define HSA_IMAGE_EXT_API_TABLE_STEP_VERSION HSA_IMAGE_API_TABLE_STEP_VERSION
/** Additions to the function table in hsa_ven_amd_aqlprofile.h. */
#define HSA_AQLPROFILE_API_TABLE_STEP_VERSION 0x00
/** Additions to ToolsApiTable. */
#define HSA_TOOLS_API_TABLE_STEP_VERSION 0x00
/** Additions to PcSamplingExtTable. */
#define HSA_PC_SAMPLING_API_TABLE_STEP_VERSION 0x00

#endif  // HSA_RUNTIME_INC_HSA_API_TRACE_VERSION_H
