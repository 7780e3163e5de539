// Detects the layout of AmdExtTable for which a tool of ROCr's ABI was compiled. ROCm has had three layouts
// (api/entry/hsa_tools.cpp), and tools of ROCm 5 do not check the table's version.
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

/// Returns the layout that the tool's name, dependencies and exports imply. If they imply none, returns the
/// layout of the HIP release in the process: tool and HIP are usually of one ROCm installation. `handle` is
/// from dlopen. Any thread.
ToolLayout find_tool_layout(void* handle);

/// Returns the layout that HSA_TOOLS_TABLE names. Returns kEither if the variable is not set, if the process
/// is elevated, or if the value is unknown, which is logged.
TableLayout tool_layout_of_environment();

}  // namespace rigel::api
