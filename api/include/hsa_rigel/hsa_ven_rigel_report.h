/* An HSA extension that returns the discovery report: the files, drivers, nodes and devices that hsa_init
 * found, with outcomes and reasons. Since version 1.1 it also returns the tools.
 *
 *   hsa_ven_rigel_report_1_pfn_t report;
 *   if (hsa_system_get_major_extension_table(HSA_EXTENSION_RIGEL_REPORT, 1, sizeof report, &report) ==
 *       HSA_STATUS_SUCCESS) { ... }
 *
 * Other runtimes return HSA_STATUS_ERROR.
 */
#ifndef HSA_RIGEL_HSA_VEN_RIGEL_REPORT_H_
#define HSA_RIGEL_HSA_VEN_RIGEL_REPORT_H_

#include <hsa/hsa.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HSA_EXTENSION_RIGEL_REPORT 0x5200

typedef enum {
  HSA_VEN_RIGEL_REPORT_TEXT = 0, /* one line per step, in columns */
  HSA_VEN_RIGEL_REPORT_JSON = 1  /* an array of objects: stage, outcome, subject, text */
} hsa_ven_rigel_report_format_t;

typedef enum {
  HSA_VEN_RIGEL_TOOL_LOADED = 0,
  HSA_VEN_RIGEL_TOOL_FAILED = 1,   /* `reason` has the reason */
  HSA_VEN_RIGEL_TOOL_DISABLED = 2, /* by the configuration */
  /* a library in the directory of tools that is not requested and not opened */
  HSA_VEN_RIGEL_TOOL_INSTALLED = 3
} hsa_ven_rigel_tool_state_t;

/* Activities of devices that a tool receives: bits of hsa_ven_rigel_tool_t.activities. */
enum {
  HSA_VEN_RIGEL_TOOL_KERNELS = 1u << 0,
  HSA_VEN_RIGEL_TOOL_BARRIERS = 1u << 1,
  HSA_VEN_RIGEL_TOOL_COPIES = 1u << 2
};

/* A tool, with its properties after it was loaded. Texts end in a NUL; an absent text is "". */
typedef struct hsa_ven_rigel_tool_s {
  uint64_t struct_size; /* bytes that the runtime filled in */
  uint32_t state;       /* hsa_ven_rigel_tool_state_t */
  uint32_t packets;     /* nonzero: it receives packets of queues */
  uint32_t activities;  /* bits HSA_VEN_RIGEL_TOOL_ */
  uint32_t reserved0;
  const char* name;     /* the name in the configuration, or that of the library */
  const char* version;  /* name and version that the tool provides; "" for abi "hsa_tools" */
  const char* library;  /* path; the requested name if the library was not found */
  const char* abi;      /* "rigel" or "hsa_tools"; "" if it was not opened */
  const char* named_by; /* "configuration", "HSA_TOOLS_LIB", …; "" if it is not requested */
  const char* reason;
  /* Number of functions that it intercepts. For abi "hsa_tools": functions that it replaced when it was
   * loaded. */
  uint64_t function_count;
  const char* const* functions;
} hsa_ven_rigel_tool_t;

typedef struct hsa_ven_rigel_report_1_pfn_s {
  /* Passes the report to `callback`, once, on the calling thread. `text` ends in a NUL that `size` (bytes)
   * does not include, and is valid for the call. Returns the result of the callback.
   * HSA_STATUS_ERROR_INVALID_ARGUMENT: an unknown format or a null callback.
   * HSA_STATUS_ERROR_NOT_INITIALIZED: hsa_init has not been called. */
  hsa_status_t (*hsa_ven_rigel_discovery_report)(hsa_ven_rigel_report_format_t format,
                                                 hsa_status_t (*callback)(const char* text, size_t size,
                                                                          void* data),
                                                 void* data);
  /* Version 1.1. Calls `callback` for each tool, the outermost first, on the calling thread; `tool` is valid
   * for the call. If the callback does not return HSA_STATUS_SUCCESS, stops and returns its result.
   * HSA_STATUS_ERROR_INVALID_ARGUMENT: a null callback. HSA_STATUS_ERROR_NOT_INITIALIZED: hsa_init has not
   * been called. */
  hsa_status_t (*hsa_ven_rigel_iterate_tools)(hsa_status_t (*callback)(const hsa_ven_rigel_tool_t* tool,
                                                                       void* data),
                                              void* data);
} hsa_ven_rigel_report_1_pfn_t;

#ifdef __cplusplus
}
#endif

#endif /* HSA_RIGEL_HSA_VEN_RIGEL_REPORT_H_ */
