// Detects the table layout of a tool of ROCr's ABI. AmdExtTable has had three layouts
// (api/entry/hsa_tools.cpp), and tools of ROCm 5 do not check its version.
//
// Sources: hsa_api_trace.h of ROCr 5.0 to 6.2; exports and dependencies of roctracer and rocprofiler of the
// same releases.
#pragma once

#include <string>

#include "loader/module/config.hpp"

namespace rigel::api {

struct ToolLayout {
  TableLayout layout;  ///< kEither: unknown
  std::string reason;  ///< for the log; empty if unknown
};

/// Detects the layout by the tool's name, dependencies and exports, then by the loaded HIP, which is of the
/// same release. `handle` is from dlopen. Any thread.
ToolLayout find_tool_layout(void* handle);

/// Returns the value of HSA_TOOLS_TABLE. Returns kEither, and logs, if the value is unknown or the process is
/// elevated.
TableLayout tool_layout_of_environment();

}  // namespace rigel::api
