// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The Rigel authors
/**
 * @file
 * AMD's loader extension, version 1.03: which code is loaded where. For debuggers, profilers and
 * language runtimes.
 *
 * There is no document of it besides ROCr. The functions are not exported by the library: fetch one of the
 * tables at the end of this file with ::hsa_system_get_major_extension_table (::HSA_EXTENSION_AMD_LOADER,
 * major version 1). The rules at the head of hsa.h hold here too.
 *
 * What is reported belongs to an executable and is valid until that is destroyed; every call sees an
 * executable either before or after a concurrent load or freeze, never in the middle.
 */
#ifndef HSA_VEN_AMD_LOADER_H
#define HSA_VEN_AMD_LOADER_H

#include "hsa.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Finds the host's view of loaded code or data: an address with the same contents that the host can read.
 *
 * That is the given address, if the host can read it anyway.
 * @param device_address [in] address within a loaded segment. Not NULL.
 * @param host_address [out] its counterpart, with the same lifetime. Not NULL.
 * @retval INVALID_ARGUMENT a NULL pointer, or no segment is loaded there.
 */
hsa_status_t hsa_ven_amd_loader_query_host_address(const void* device_address, const void** host_address);

/** Where the bytes of a code object came from. */
typedef enum {
  HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_NONE = 0,  /**< nowhere: zero-initialized data */
  HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_FILE = 1,  /**< a file */
  HSA_VEN_AMD_LOADER_CODE_OBJECT_STORAGE_TYPE_MEMORY = 2 /**< memory of this process */
} hsa_ven_amd_loader_code_object_storage_type_t;

/** A loaded segment: a piece of memory that loading a code object allocated. */
typedef struct hsa_ven_amd_loader_segment_descriptor_s {
  /** Agent for which it was loaded; 0 for a program code object. */
  hsa_agent_t agent;
  /** Executable that owns it. */
  hsa_executable_t executable;
  /** Kind of the code object's origin, which decides how to read the next three. */
  hsa_ven_amd_loader_code_object_storage_type_t code_object_storage_type;
  /** FILE: path, a string. MEMORY: first byte, readable by the host. NONE: NULL. */
  const void* code_object_storage_base;
  /** FILE: bytes of the path including the NUL. MEMORY: bytes of the code object. NONE: 0. */
  size_t code_object_storage_size;
  /** Byte offset in the code object from which the segment was copied. NONE: 0. */
  size_t code_object_storage_offset;
  /** Address of the segment on the agent. */
  const void* segment_base;
  /** Bytes in the segment. */
  size_t segment_size;
} hsa_ven_amd_loader_segment_descriptor_t;

/**
 * Counts the loaded segments of all executables, or describes them.
 *
 * Call it with NULL and 0 for the number, then with a buffer and exactly that number; repeat both when
 * INCOMPATIBLE_ARGUMENTS says that something was loaded or destroyed in between.
 * @param segment_descriptors [out] caller-owned array to fill, or NULL to count.
 * @param num_segment_descriptors [in,out] elements of the array; when counting, 0 in and the number out.
 *        Not NULL.
 * @retval INVALID_ARGUMENT NULL `num_segment_descriptors`, or just one of array and number given.
 * @retval INCOMPATIBLE_ARGUMENTS the number is not that of the loaded segments.
 */
hsa_status_t hsa_ven_amd_loader_query_segment_descriptors(
    hsa_ven_amd_loader_segment_descriptor_t* segment_descriptors, size_t* num_segment_descriptors);

/**
 * Finds the executable that owns a device address.
 *
 * @param device_address [in] address within a loaded segment, as the device sees it. Not NULL.
 * @param executable [out] its executable, which the caller must keep from being destroyed. Not NULL.
 * @retval INVALID_ARGUMENT a NULL pointer, or no segment is loaded there.
 */
hsa_status_t hsa_ven_amd_loader_query_executable(const void* device_address, hsa_executable_t* executable);

/**
 * Visits what was loaded into an executable, in the order of loading. Since 1.01.
 *
 * @param executable [in] executable; must not be destroyed by the callback.
 * @param callback [in] called with the executable, each loaded code object and `data`. Not NULL.
 * @param data [in] passed through. May be NULL.
 * @retval INVALID_EXECUTABLE `executable` is not valid.
 * @retval INVALID_ARGUMENT NULL `callback`. Any other value is the callback's.
 */
hsa_status_t hsa_ven_amd_loader_executable_iterate_loaded_code_objects(
    hsa_executable_t executable,
    hsa_status_t (*callback)(hsa_executable_t executable, hsa_loaded_code_object_t loaded_code_object,
                             void* data),
    void* data);

/** For whom a code object was loaded. */
typedef enum {
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_PROGRAM = 1, /**< all agents together */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_KIND_AGENT = 2    /**< one agent */
} hsa_ven_amd_loader_loaded_code_object_kind_t;

/**
 * Attributes for ::hsa_ven_amd_loader_loaded_code_object_get_info; the value's type comes first.
 *
 * "Frozen" marks values that are meaningful only once the executable is frozen.
 */
typedef enum hsa_ven_amd_loader_loaded_code_object_info_e {
  /** ::hsa_executable_t that it is part of. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_EXECUTABLE = 1,
  /** uint32_t: an ::hsa_ven_amd_loader_loaded_code_object_kind_t. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_KIND = 2,
  /** ::hsa_agent_t for which it was loaded. INVALID_ARGUMENT if its kind is PROGRAM. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_AGENT = 3,
  /** uint32_t: an ::hsa_ven_amd_loader_code_object_storage_type_t. ROCr says MEMORY for files too. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_TYPE = 4,
  /** uint64_t: host address of its first byte. Storage MEMORY. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_BASE = 5,
  /** uint64_t: bytes. Storage MEMORY. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_MEMORY_SIZE = 6,
  /** int: descriptor of the file it was read from. Storage FILE. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_CODE_OBJECT_STORAGE_FILE = 7,
  /** int64_t: bytes to add to an address in the ELF file to get the one in memory. Frozen. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA = 8,
  /** uint64_t: address of the lowest loaded segment. Frozen. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE = 9,
  /** uint64_t: bytes from the lowest to the end of the highest loaded segment. Frozen. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE = 10,
  /** uint32_t: length of the URI, without a NUL. */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH = 11,
  /**
   * char[]: URI of the code object, exactly that many bytes; as in ROCr, not terminated.
   *
   * Either `file://PATH`, with `#offset=N&size=N` after it if it is a part of the file, or
   * `memory://PID#offset=N&size=N` with the decimal process id. N is a C integer literal: for a file,
   * bytes from its start (default: all of it), and for memory, address and size. In PATH, bytes other
   * than letters, digits and `/ _ . ~ -` are written as `%` and two upper-case hexadecimal digits. Readers
   * should take `?` in place of `#`.
   */
  HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI = 12
} hsa_ven_amd_loader_loaded_code_object_info_t;

/**
 * Queries an attribute of a loaded code object. Since 1.01.
 *
 * @param loaded_code_object [in] loaded code object.
 * @param attribute [in] what to query.
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
 * Otherwise as ::hsa_code_object_reader_create_from_file. What the bytes are is checked at loading.
 * @param file [in] descriptor, open for reading; the caller keeps it open as long as the reader lives.
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
 * Meanwhile none is created or destroyed: other threads wait, and the callback must not try.
 * @param callback [in] called with each executable and `data`. Not NULL.
 * @param data [in] passed through. May be NULL.
 * @retval INVALID_ARGUMENT NULL `callback`. Any other value is the callback's.
 */
hsa_status_t hsa_ven_amd_loader_iterate_executables(hsa_status_t (*callback)(hsa_executable_t executable,
                                                                             void* data),
                                                    void* data);

/** Version of the extension, major * 1000 + minor in its digits. Beware: C reads it as octal. */
#define hsa_ven_amd_loader 001003

/** Functions of version 1.00. Each is described at the declaration of the same name above. */
typedef struct hsa_ven_amd_loader_1_00_pfn_s {
  hsa_status_t (*hsa_ven_amd_loader_query_host_address)(const void* device_address,
                                                        const void** host_address);
  hsa_status_t (*hsa_ven_amd_loader_query_segment_descriptors)(
      hsa_ven_amd_loader_segment_descriptor_t* segment_descriptors, size_t* num_segment_descriptors);
  hsa_status_t (*hsa_ven_amd_loader_query_executable)(const void* device_address,
                                                      hsa_executable_t* executable);
} hsa_ven_amd_loader_1_00_pfn_t;

/** Functions of version 1.01: those of 1.00 and two more. */
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

/** Functions of version 1.02: those of 1.01 and one more. */
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

/** Functions of version 1.03: those of 1.02 and one more. */
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
