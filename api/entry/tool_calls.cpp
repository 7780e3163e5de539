// Prints api/include/hsa_plugin/hsa_tool_calls.h, numbers and arguments of the functions that tools observe,
// from the list of functions.
#include <cstddef>
#include <cstdio>
#include <string>

#include "api/entry/parameter_text.hpp"
#include "api/entry/tables.hpp"

namespace {

using rigel::api::ApiTables;
using rigel::api::tool_function_id;

void print_id(const char* name, uint32_t id) {
  std::printf("  HSATOOL_ID_%s = %#x,\n", name, id);
}

void print_arguments(const char* name, const char* parameters) {
  std::printf("\ntypedef struct hsatool_%s_args {\n", name);
  const auto all = rigel::api::parse_parameters(parameters);
  for (const auto& parameter : all) std::printf("  %s;\n", parameter.declaration.c_str());
  if (all.empty()) std::puts("  char none; /* C has no empty structs */");
  std::printf("} hsatool_%s_args_t;\n", name);
}

}  // namespace

int main() {
  std::puts(
      R"(/* The functions that tools can intercept: the number and the arguments of each. Numbers never change.
 *
 * Generated from api/entry/functions.inc by `tool_calls`; do not edit. A number is 0x10000 times the number
 * of the API table plus the index of the entry. New entries are appended. C11 and C++20.
 */
#ifndef HSA_PLUGIN_HSA_TOOL_CALLS_H_
#define HSA_PLUGIN_HSA_TOOL_CALLS_H_

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_finalize.h>
#include <hsa/hsa_ext_image.h>
#include <hsa/hsa_ven_amd_pc_sampling.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <hsa/hsa_api_trace.h>
#else
/* Pointers to functions that only C++ can spell: hsa_api_trace.h. */
typedef void (*hsa_amd_queue_intercept_handler)(void);
typedef void (*hsa_amd_runtime_queue_notifier)(void);
#endif

/* clang-format off */
enum {)");
#define RIGEL_API(table, result, name, parameters, arguments) \
  print_id(#name, tool_function_id(offsetof(ApiTables, table.name##_fn)));
#define RIGEL_API_TABLE_ONLY RIGEL_API
#define RIGEL_API_EXPORT_ONLY(group, result, name, parameters, arguments) \
  RIGEL_API(unlisted, result, name, parameters, arguments)
#include "api/entry/functions.inc"
  std::puts("  HSATOOL_ID_NONE = 0\n};");
#define RIGEL_API(table, result, name, parameters, arguments) print_arguments(#name, #parameters);
#define RIGEL_API_TABLE_ONLY RIGEL_API
#define RIGEL_API_EXPORT_ONLY RIGEL_API
#include "api/entry/functions.inc"
  std::puts("/* clang-format on */\n\n#endif /* HSA_PLUGIN_HSA_TOOL_CALLS_H_ */");
  return 0;
}
