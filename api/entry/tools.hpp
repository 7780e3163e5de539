// Tools of the process: loaded in the first hsa_init, stored to the open tables, and unloaded in the last
// hsa_shut_down. One thread at a time.
#pragma once

#include "api/entry/tables.hpp"
#include "api/entry/tool_facts.hpp"
#include "core/runtime/runtime.hpp"

namespace rigel::api {

/// Loads the tools of the configuration and the environment, innermost first, and stores them to `tables`,
/// which are current: a tool may call the API while it is loaded. Reports the result of each. Fails if a tool
/// fails whose configuration forbids it.
Status load_tools(ApiTables& tables, Runtime& runtime);

/// Unloads the tools, the last loaded first. The runtime is still open.
void unload_tools() noexcept;

/// Calls `callback` for each tool of this runtime, outermost first, and for other installed tools. Stops at
/// and returns the callback's first status other than success. Any thread.
hsa_status_t iterate_tools(Runtime& runtime, hsa_status_t (*callback)(const hsa_ven_rigel_tool_t*, void*),
                           void* data);

/// Drops the tools in a forked child.
void abandon_tools() noexcept;

}  // namespace rigel::api
