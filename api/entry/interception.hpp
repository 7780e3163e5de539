// Wrappers for the functions of the API, from their one list: what stands in a slot of the open tables when
// tools of the runtime's own ABI see that function.
//
// A layer is a group of such tools that follow each other in the chain. Each layer has wrappers of its own,
// so that tools of ROCr's ABI, which know no layers and store to the tables, may stand between two of them.
#pragma once

#include <hsa_plugin/hsa_tool.h>

#include <cstdint>
#include <span>
#include <vector>

#include "api/entry/tables.hpp"
#include "core/tool/call_frame.hpp"

namespace rigel::api {

constexpr uint32_t kMaxToolLayers = 4;

/// All functions that tools can see. The same for the life of the process; described at the first call, which
/// is made by one thread.
std::span<const hsatool_function_t* const> tool_functions();

/// Puts wrappers in front of what the slots hold: of each function that one of `tools` wants, for those that
/// do. The first sees a call first. At most kMaxTools; each layer once before the next `prepare_open_tables`,
/// those of smaller numbers, which are further in, before.
/// Returns the number of wrapped functions.
uint32_t put_layer(ApiTables& tables, uint32_t layer, std::span<Tool* const> tools);

/// Names of the functions for which the tables hold different entries.
std::vector<const char*> differing_functions(const ApiTables& a, const ApiTables& b);

/// Whether calls of the function go through that layer to the tool.
bool is_seen(uint32_t layer, uint32_t function, const Tool& tool);

}  // namespace rigel::api
