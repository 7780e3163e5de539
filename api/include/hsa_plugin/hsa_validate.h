/* The report that the tool "validate" (docs/guide/validate.md) passes to the function that its option
 * `callback` names.
 *
 * The header is C11 and C++20.
 */
#ifndef HSA_PLUGIN_HSA_VALIDATE_H_
#define HSA_PLUGIN_HSA_VALIDATE_H_

#include <hsa_plugin/hsa_tool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A violation of a rule. Valid for the call. */
typedef struct hsa_validate_report {
  uint64_t struct_size;
  uint32_t rule; /* its number, for example 102 */
  uint32_t reserved0;
  hsatool_str_t sentence; /* the text of the rule */
  hsatool_str_t source;   /* the section that specifies the rule */
  hsatool_str_t call;     /* the function of the API, or for example "packet" */
  hsatool_str_t text;     /* the complete report: several lines, without a line break at the end */
} hsa_validate_report_t;
HSATOOL_CHECK(hsa_validate_report_t, text);

/* Called on the thread that violates the rule or on a thread of the runtime, by several threads at a time. It
 * must not call the API on the same thread. */
typedef void (*hsa_validate_callback_t)(const hsa_validate_report_t* report);

#ifdef __cplusplus
}
#endif

#endif /* HSA_PLUGIN_HSA_VALIDATE_H_ */
