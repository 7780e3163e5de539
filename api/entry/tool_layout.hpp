// The tables that a tool of ROCr's ABI was built for. AmdExtTable has had three layouts (api/entry/hsa_tools.cpp),
// and tools of ROCm 5 do not look at its version.
//
// Source of the facts: hsa_api_trace.h of ROCr 5.0 to 6.2; exports and dependencies of roctracer and rocprofiler of
// the same releases.
#pragma once

#include <string>

#include "loader/module/config.hpp"

namespace rigel::api {

struct ToolLayout {
  TableLayout layout;  ///< kEither: nothing is known
  std::string reason;  ///< for the log; empty if nothing is known
};

/// Judges a tool by its name, its dependencies and exports, then by the HIP in the process, whose release tools share.
/// `handle` is the tool's, of dlopen. Any thread.
ToolLayout find_tool_layout(void* handle);

/// The value of HSA_TOOLS_TABLE, or kEither with a line in the log if the value is unknown. Ignored, with a
/// warning, in an elevated process.
TableLayout tool_layout_of_environment();

}  // namespace rigel::api
