// The runtime's implementation of every API function: rigel::api::hsa_x implements ::hsa_x.
//
// The exported functions call these through the current API table (tables.hpp), so that tools can wrap them.
// While the runtime is closed, exported functions call the closed set. The functions here may therefore
// assume that the runtime is open, except for hsa_init, hsa_shut_down and hsa_status_string.
//
// *Errors:* functions that return a status may throw, because tables.cpp fences them. The others do not
// throw.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ext_finalize.h>
#include <hsa/hsa_ext_image.h>
#include <hsa/hsa_ven_amd_pc_sampling.h>

#include <type_traits>

namespace rigel::api {

#define RIGEL_API(table, result, name, parameters, arguments) \
  result name parameters noexcept(!std::is_same_v<result, hsa_status_t>);
#define RIGEL_API_TABLE_ONLY(table, result, name, parameters, arguments) result name parameters;
#define RIGEL_API_EXPORT_ONLY(group, result, name, parameters, arguments) result name parameters;
#include "api/entry/functions.inc"

}  // namespace rigel::api
