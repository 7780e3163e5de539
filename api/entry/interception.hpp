// Wrappers of API functions, generated from the list: entries of the open tables for functions that tools of
// Rigel's ABI observe.
//
// A layer is a group of adjacent tools in the chain. Each layer has separate wrappers, so that tools of
// ROCr's ABI, which store to the tables, may be between two layers.
#pragma once

#include <hsa_plugin/hsa_tool.h>

#include <cstdint>
#include <span>
#include <vector>

#include "api/entry/tables.hpp"
#include "core/tool/call_frame.hpp"

namespace rigel::api {

constexpr uint32_t kMaxToolLayers = 4;

/// Returns all functions that tools can observe; the same until the process ends. Created by the first call,
/// which must not overlap with others.
std::span<const hsatool_function_t* const> tool_functions();

/// Wraps the functions in the tables that one of `tools` observes. The first tool receives a call first. At
/// most kMaxTools. Must be called once for each layer, in ascending order (inner layers first), before the
/// next `prepare_open_tables`. Returns the number of wrapped functions.
uint32_t put_layer(ApiTables& tables, uint32_t layer, std::span<Tool* const> tools);

/// Returns names of functions with different entries in the tables.
std::vector<const char*> differing_functions(const ApiTables& a, const ApiTables& b);

/// Whether calls of the function pass through that layer to the tool.
bool is_seen(uint32_t layer, uint32_t function, const Tool& tool);

}  // namespace rigel::api
