/* The discovery report, as an HSA extension: what the runtime found when it started, and what became of it.
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

#ifdef __cplusplus
extern "C" {
#endif

#define HSA_EXTENSION_RIGEL_REPORT 0x5200

typedef enum {
  HSA_VEN_RIGEL_REPORT_TEXT = 0, /* a line for each step, in columns */
  HSA_VEN_RIGEL_REPORT_JSON = 1  /* an array of objects: stage, outcome, subject, text */
} hsa_ven_rigel_report_format_t;

typedef struct hsa_ven_rigel_report_1_pfn_s {
  /* Hands the report to `callback`, once, on the calling thread; `text` ends in a NUL that `size` (bytes)
   * does not count and is valid for the call. Returns what the callback returns.
   * HSA_STATUS_ERROR_INVALID_ARGUMENT: an unknown format or a null callback.
   * HSA_STATUS_ERROR_NOT_INITIALIZED: hsa_init has not been called. */
  hsa_status_t (*hsa_ven_rigel_discovery_report)(hsa_ven_rigel_report_format_t format,
                                                 hsa_status_t (*callback)(const char* text, size_t size,
                                                                          void* data),
                                                 void* data);
} hsa_ven_rigel_report_1_pfn_t;

#ifdef __cplusplus
}
#endif

#endif /* HSA_RIGEL_HSA_VEN_RIGEL_REPORT_H_ */
