// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The Rigel authors
/**
 * @file
 * AMD's loader extension, version 1.03: reports which code is loaded at which address. For debuggers,
 * profilers and language runtimes.
 *
 * ROCr is the only document of the extension. The library does not export the functions: fetch one of the
 * tables at the end of this file with ::hsa_system_get_major_extension_table (::HSA_EXTENSION_AMD_LOADER,
 * major version 1). The rules at the top of hsa.h apply.
 *
 * Results belong to an executable and are valid until it is destroyed. Each call sees an executable either
 * before or after a concurrent load or freeze.
 */
#ifndef HSA_VEN_AMD_LOADER_H
#define HSA_VEN_AMD_LOADER_H

#include "hsa.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Returns the host's view of loaded code or data: an address with the same contents that the host can read.
 * If the host can read the given address, the result is that address.
 *
 * @param device_address [in] address within a loaded segment. Not NULL.
 * @param host_address [out] corresponding host address, with the same lifetime. Not NULL.
 * @retval INVALID_ARGUMENT a NULL pointer, or the address is not in a loaded segment.
 */
hsa_status_t hsa_ven_amd_loader_query_host_address(const void* device_address, const void** host_address);

/** Origin of the bytes of a code object. */
typedef enum {
  HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_NONE = 0,  /**< no origin: zero-initialized data */
  HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_FILE = 1,  /**< a file */
  HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY = 2 /**< memory of this process */
} hsa_ven_amd_loader_code_object_storage_type_t;

/** A loaded segment: memory that was allocated to load a code object. */
typedef struct hsa_ven_amd_loader_segment_descriptor_s {
  /** Agent of the segment; 0 for a program code object. */
  hsa_agent_t agent;
  /** Executable that owns the segment. */
  hsa_executable_t executable;
  /** Origin of the code object, which defines the next three members. */
  hsa_ven_amd_loader_code_object_storage_type_t code_object_storage_type;
  /** FILE: path, a string. MEMORY: first byte, readable by the host. NONE: NULL. */
  const void* code_object_storage_base;
  /** FILE: bytes of the path including the NUL. MEMORY: bytes of the code object. NONE: 0. */
  size_t code_object_storage_size;
  /** Offset in the code object of the segment's bytes. NONE: 0. */
  size_t code_object_storage_offset;
  /** Address of the segment on the agent. */
  const void* segment_base;
  /** Size of the segment, bytes. */
  size_t segment_size;
} hsa_ven_amd_loader_segment_descriptor_t;

/**
 * Returns the number of loaded segments of all executables, or their descriptions.
 *
 * First call it with NULL and 0 for the number, then with an array of exactly that number. If it returns
 * INCOMPATIBLE_ARGUMENTS, a segment was loaded or destroyed between the calls: repeat both.
 * @param segment_descriptors [out] array of the caller, or NULL to count.
 * @param num_segment_descriptors [in,out] elements of the array. To count: 0 in, the number out. Not NULL.
 * @retval INVALID_ARGUMENT NULL `num_segment_descriptors`, or only one of array and number is given.
 * @retval INCOMPATIBLE_ARGUMENTS the number is not the number of loaded segments. */
hsa_status_t hsa_ven_amd_loader_query_segment_descriptors(
    hsa_ven_amd_loader_segment_descriptor_t* segment_descriptors, size_t* num_segment_descriptors);

/**
 * Returns the executable that owns a device address.
 *
 * @param device_address [in] address within a loaded segment, as the device uses it. Not NULL.
 * @param executable [out] the executable. The caller must ensure that it is not destroyed. Not NULL.
 * @retval INVALID_ARGUMENT a NULL pointer, or the address is not in a loaded segment.
 */
hsa_status_t hsa_ven_amd_loader_query_executable(const void* device_address, hsa_executable_t* executable);

/**
 * Visits the loaded code objects of an executable, in the order of loading. Since 1.01.
 *
 * @param executable [in] executable. The callback must not destroy it.
 * @param callback [in] called with the executable, each loaded code object and `data`. Not NULL.
 * @param data [in] argument for the callback. May be NULL.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval INVALID_ARGUMENT NULL `callback`. Any other value is the callback's.
 */
hsa_status_t hsa_ven_amd_loader_executable_iterate_loaded_code_objects(
    hsa_executable_t executable,
    hsa_status_t (*callback)(hsa_executable_t executable, hsa_loaded_code_object_t loaded_code_object,
                             void* data),
    void* data);

/** Agents of a loaded code object. */
typedef enum {
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_PROGRAM = 1, /**< all agents together */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_AGENT = 2    /**< one agent */
} hsa_ven_amd_loader_loaded_code_object_kind_t;

/**
 * Attributes for ::hsa_ven_amd_loader_loaded_code_object_get_info. The value's type comes first.
 *
 * "Frozen" marks values that are defined only after the executable is frozen.
 */
typedef enum hsa_ven_amd_loader_loaded_code_object_info_e {
  /** ::hsa_executable_t of the code object. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_EXECUTABLE = 1,
  /** uint32_t: an ::hsa_ven_amd_loader_loaded_code_object_kind_t. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_KIND = 2,
  /** ::hsa_agent_t of the code object. INVALID_ARGUMENT if its kind is PROGRAM. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT = 3,
  /** uint32_t: an ::hsa_ven_amd_loader_code_object_storage_type_t. ROCr reports MEMORY for files too. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE = 4,
  /** uint64_t: host address of the first byte. Storage MEMORY. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE = 5,
  /** uint64_t: size in bytes. Storage MEMORY. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE = 6,
  /** int: descriptor of the file. Storage FILE. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_FILE = 7,
  /** int64_t: difference between an address in memory and the address in the ELF file, bytes. Frozen. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA = 8,
  /** uint64_t: address of the lowest loaded segment. Frozen. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE = 9,
  /** uint64_t: bytes from the start of the lowest to the end of the highest loaded segment. Frozen. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE = 10,
  /** uint32_t: length of the URI without a NUL. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH = 11,
  /**
   * char[]: URI of the code object, exactly that many bytes; as in ROCr, without a NUL.
   *
   * The URI has one of two forms. N is a C integer literal.
   *
   *  - `file://PATH`, followed by `#offset=N&size=N` if the code object is a part of the file. Both are
   *    bytes; the offset counts from the start of the file.
   *  - `memory://PID#offset=N&size=N` with the decimal process id, the address and the size in bytes.
   *
   * In PATH, bytes other than letters, digits and `/ _ . ~ -` are written as `%` and two upper-case
   * hexadecimal digits. Readers should also accept `?` instead of `#`.
   */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI = 12
} hsa_ven_amd_loader_loaded_code_object_info_t;

/**
 * Returns an attribute of a loaded code object. Since 1.01.
 *
 * @param loaded_code_object [in] loaded code object.
 * @param attribute [in] the attribute.
 * @param value [out] buffer of the attribute's type. Not NULL.
 * @retval INVALID_CODE_OBJECT `loaded_code_object` is not valid.
 * @retval INVALID_ARGUMENT `attribute` is unknown or undefined for this object, or NULL `value`.
 */
hsa_status_t hsa_ven_amd_loader_loaded_code_object_get_info(
    hsa_loaded_code_object_t loaded_code_object, hsa_ven_amd_loader_loaded_code_object_info_t attribute,
    void* value);

/**
 * Creates a reader for a code object that is part of a file. Since 1.02.
 *
 * Like ::hsa_code_object_reader_create_from_file. Loading checks the bytes; this function does not.
 * @param file [in] descriptor, open for reading. The caller keeps it open while the reader exists.
 * @param offset [in] first byte of the code object, from the start of the file.
 * @param size [in] bytes of the code object, at least 1.
 * @param code_object_reader [out] the reader; destroy it with ::hsa_code_object_reader_destroy. Not NULL.
 * @retval INVALID_FILE `file` cannot be read.
 * @retval INVALID_CODE_OBJECT `size` is 0, or the range exceeds the file.
 * @retval OUT_OF_RESOURCES out of memory.
 * @retval INVALID_ARGUMENT NULL `code_object_reader`.
 */
hsa_status_t hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size(
    hsa_file_t file, size_t offset, size_t size, hsa_code_object_reader_t* code_object_reader);

/**
 * Visits all executables. Since 1.03.
 *
 * During the call, no executable is created or destroyed: other threads wait, and the callback must not try.
 * @param callback [in] called with each executable and `data`. Not NULL.
 * @param data [in] argument for the callback. May be NULL.
 * @retval INVALID_ARGUMENT NULL `callback`. Any other value is the callback's.
 */
hsa_status_t hsa_ven_amd_loader_iterate_executables(hsa_status_t (*callback)(hsa_executable_t executable,
                                                                             void* data),
                                                    void* data);

/** Version of the extension: major * 1000 + minor in its digits. C reads the literal as octal. */
#define hsa_ven_amd_loader 001003

/** Functions of version 1.00. See the declarations of the same names above. */
typedef struct hsa_ven_amd_loader_1_00_pfn_s {
  hsa_status_t (*hsa_ven_amd_loader_query_host_address)(const void* device_address,
                                                        const void** host_address);
  hsa_status_t (*hsa_ven_amd_loader_query_segment_descriptors)(
      hsa_ven_amd_loader_segment_descriptor_t* segment_descriptors, size_t* num_segment_descriptors);
  hsa_status_t (*hsa_ven_amd_loader_query_executable)(const void* device_address,
                                                      hsa_executable_t* executable);
} hsa_ven_amd_loader_1_00_pfn_t;

/** Functions of version 1.01: those of 1.00 and two new ones. */
typedef struct hsa_ven_amd_loader_1_01_pfn_s {
  hsa_status_t (*hsa_ven_amd_loader_query_host_address)(const void* device_address,
                                                        const void** host_address);
  hsa_status_t (*hsa_ven_amd_loader_query_segment_descriptors)(
      hsa_ven_amd_loader_segment_descriptor_t* segment_descriptors, size_t* num_segment_descriptors);
  hsa_status_t (*hsa_ven_amd_loader_query_executable)(const void* device_address,
                                                      hsa_executable_t* executable);
  hsa_status_t (*hsa_ven_amd_loader_executable_iterate_loaded_code_objects)(
      hsa_executable_t executable,
      hsa_status_t (*callback)(hsa_executable_t executable, hsa_loaded_code_object_t loaded_code_object,
                               void* data),
      void* data);
  hsa_status_t (*hsa_ven_amd_loader_loaded_code_object_get_info)(
      hsa_loaded_code_object_t loaded_code_object, hsa_ven_amd_loader_loaded_code_object_info_t attribute,
      void* value);
} hsa_ven_amd_loader_1_01_pfn_t;

/** Functions of version 1.02: those of 1.01 and a new one. */
typedef struct hsa_ven_amd_loader_1_02_pfn_s {
  hsa_status_t (*hsa_ven_amd_loader_query_host_address)(const void* device_address,
                                                        const void** host_address);
  hsa_status_t (*hsa_ven_amd_loader_query_segment_descriptors)(
      hsa_ven_amd_loader_segment_descriptor_t* segment_descriptors, size_t* num_segment_descriptors);
  hsa_status_t (*hsa_ven_amd_loader_query_executable)(const void* device_address,
                                                      hsa_executable_t* executable);
  hsa_status_t (*hsa_ven_amd_loader_executable_iterate_loaded_code_objects)(
      hsa_executable_t executable,
      hsa_status_t (*callback)(hsa_executable_t executable, hsa_loaded_code_object_t loaded_code_object,
                               void* data),
      void* data);
  hsa_status_t (*hsa_ven_amd_loader_loaded_code_object_get_info)(
      hsa_loaded_code_object_t loaded_code_object, hsa_ven_amd_loader_loaded_code_object_info_t attribute,
      void* value);
  hsa_status_t (*hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size)(
      hsa_file_t file, size_t offset, size_t size, hsa_code_object_reader_t* code_object_reader);
} hsa_ven_amd_loader_1_02_pfn_t;

/** Functions of version 1.03: those of 1.02 and a new one. */
typedef struct hsa_ven_amd_loader_1_03_pfn_s {
  hsa_status_t (*hsa_ven_amd_loader_query_host_address)(const void* device_address,
                                                        const void** host_address);
  hsa_status_t (*hsa_ven_amd_loader_query_segment_descriptors)(
      hsa_ven_amd_loader_segment_descriptor_t* segment_descriptors, size_t* num_segment_descriptors);
  hsa_status_t (*hsa_ven_amd_loader_query_executable)(const void* device_address,
                                                      hsa_executable_t* executable);
  hsa_status_t (*hsa_ven_amd_loader_executable_iterate_loaded_code_objects)(
      hsa_executable_t executable,
      hsa_status_t (*callback)(hsa_executable_t executable, hsa_loaded_code_object_t loaded_code_object,
                               void* data),
      void* data);
  hsa_status_t (*hsa_ven_amd_loader_loaded_code_object_get_info)(
      hsa_loaded_code_object_t loaded_code_object, hsa_ven_amd_loader_loaded_code_object_info_t attribute,
      void* value);
  hsa_status_t (*hsa_ven_amd_loader_code_object_reader_create_from_file_with_offset_size)(
      hsa_file_t file, size_t offset, size_t size, hsa_code_object_reader_t* code_object_reader);
  hsa_status_t (*hsa_ven_amd_loader_iterate_executables)(hsa_status_t (*callback)(hsa_executable_t executable,
                                                                                  void* data),
                                                         void* data);
} hsa_ven_amd_loader_1_03_pfn_t;

#ifdef __cplusplus
}
#endif

#endif /* HSA_VEN_AMD_LOADER_H */
