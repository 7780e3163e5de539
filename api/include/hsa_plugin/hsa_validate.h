/* The reports of the tool "validate" (docs/guide/validate.md), as they are passed to the function of the program that
 * its option `callback` names.
 *
 * The header is C11 and C++20.
 */
#ifndef HSA_PLUGIN_HSA_VALIDATE_H_
#define HSA_PLUGIN_HSA_VALIDATE_H_

#include <hsa_plugin/hsa_tool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A rule that was broken. Valid for the call. */
typedef struct hsa_validate_report {
  uint64_t struct_size;
  uint32_t rule; /* its number: 102 */
  uint32_t reserved0;
  hsatool_str_t sentence; /* the rule in words */
  hsatool_str_t source;   /* where it is written */
  hsatool_str_t call;     /* the function of the API, or "packet" and the like */
  hsatool_str_t text;     /* the whole report: several lines, with no line break at the end */
} hsa_validate_report_t;
HSATOOL_CHECK(hsa_validate_report_t, text);

/* On the thread that breaks the rule, or one of the runtime's; many at once. It must not call the API, unless
 * on another thread. */
typedef void (*hsa_validate_callback_t)(const hsa_validate_report_t* report);

#ifdef __cplusplus
}
#endif

#endif /* HSA_PLUGIN_HSA_VALIDATE_H_ */
