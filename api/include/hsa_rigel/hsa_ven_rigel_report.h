/* The discovery report, as an HSA extension: what the runtime found when it started, and what became of it;
 * and since version 1.1 the tools.
 *
 *   hsa_ven_rigel_report_1_pfn_t report;
 *   if (hsa_system_get_major_extension_table(HSA_EXTENSION_RIGEL_REPORT, 1, sizeof report, &report) ==
 *       HSA_STATUS_SUCCESS) { ... }
 *
 * A runtime that is not Rigel answers HSA_STATUS_ERROR.
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
  HSA_VEN_RIGEL_REPORT_TEXT = 0, /* a line for each step, in columns */
  HSA_VEN_RIGEL_REPORT_JSON = 1  /* an array of objects: stage, outcome, subject, text */
} hsa_ven_rigel_report_format_t;

typedef enum {
  HSA_VEN_RIGEL_TOOL_LOADED = 0,
  HSA_VEN_RIGEL_TOOL_FAILED = 1,   /* `reason` says why */
  HSA_VEN_RIGEL_TOOL_DISABLED = 2, /* by the configuration */
  HSA_VEN_RIGEL_TOOL_INSTALLED = 3 /* a library in the folder of tools that nothing names; it is not opened */
} hsa_ven_rigel_tool_state_t;

/* What devices do that a tool is told of: bits of hsa_ven_rigel_tool_t.activities. */
enum {
  HSA_VEN_RIGEL_TOOL_KERNELS = 1u << 0,
  HSA_VEN_RIGEL_TOOL_BARRIERS = 1u << 1,
  HSA_VEN_RIGEL_TOOL_COPIES = 1u << 2
};

/* A tool, as it was when it had been loaded. Texts end in a NUL, and are "" where there is nothing to say. */
typedef struct hsa_ven_rigel_tool_s {
  uint64_t struct_size; /* bytes that the runtime has filled */
  uint32_t state;       /* hsa_ven_rigel_tool_state_t */
  uint32_t packets;     /* not 0: it sees packets of queues */
  uint32_t activities;  /* HSA_VEN_RIGEL_TOOL_, combined */
  uint32_t reserved0;
  const char* name;     /* in the configuration, or of the library */
  const char* version;  /* the tool's own name and version; of abi "hsa_tools" there is none */
  const char* library;  /* path; the name that was looked for if it was not found */
  const char* abi;      /* "rigel" or "hsa_tools"; "" of what has not been opened */
  const char* named_by; /* "configuration", "HSA_TOOLS_LIB", …; "" if nothing names it */
  const char* reason;
  uint64_t
      function_count; /* of those that it intercepts; of abi "hsa_tools": has replaced when it was loaded */
  const char* const* functions;
} hsa_ven_rigel_tool_t;

typedef struct hsa_ven_rigel_report_1_pfn_s {
  /* Hands the report to `callback`, once, on the calling thread; `text` ends in a NUL that `size` (bytes)
   * does not count and is valid for the call. Returns what the callback returns.
   * HSA_STATUS_ERROR_INVALID_ARGUMENT: an unknown format or a null callback.
   * HSA_STATUS_ERROR_NOT_INITIALIZED: hsa_init has not been called. */
  hsa_status_t (*hsa_ven_rigel_discovery_report)(hsa_ven_rigel_report_format_t format,
                                                 hsa_status_t (*callback)(const char* text, size_t size,
                                                                          void* data),
                                                 void* data);
  /* Version 1.1. Calls back for each tool, the outermost first, on the calling thread; what is passed is valid
   * for the call. Ends early and returns what the callback returns if that is not HSA_STATUS_SUCCESS.
   * HSA_STATUS_ERROR_INVALID_ARGUMENT: a null callback.
   * HSA_STATUS_ERROR_NOT_INITIALIZED: hsa_init has not been called. */
  hsa_status_t (*hsa_ven_rigel_iterate_tools)(hsa_status_t (*callback)(const hsa_ven_rigel_tool_t* tool,
                                                                       void* data),
                                              void* data);
} hsa_ven_rigel_report_1_pfn_t;

#ifdef __cplusplus
}
#endif

#endif /* HSA_RIGEL_HSA_VEN_RIGEL_REPORT_H_ */
