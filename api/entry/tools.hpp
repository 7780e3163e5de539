// The tools of the process: loaded in the first hsa_init, put into the open tables, and ended in the last
// hsa_shut_down. One thread at a time.
#pragma once

#include "api/entry/tables.hpp"
#include "api/entry/tool_facts.hpp"
#include "core/runtime/runtime.hpp"

namespace rigel::api {

/// Loads the tools that the configuration and the environment name, innermost first, and puts them into
/// `tables`, which are current already: a tool may call the API while it is loaded. What became of each is in
/// the runtime's report. Fails if a tool fails of which the configuration says that it must not.
Status load_tools(ApiTables& tables, Runtime& runtime);

/// Ends them, the last loaded first. The runtime is still open.
void unload_tools() noexcept;

/// Calls back for each tool of this life of the runtime, the outermost first, and for those that are installed and
/// not named. Any thread. Returns what the callback returns if that is not success, which ends it.
hsa_status_t iterate_tools(Runtime& runtime, hsa_status_t (*callback)(const hsa_ven_rigel_tool_t*, void*),
                           void* data);

/// Forgets them in a forked child.
void abandon_tools() noexcept;

}  // namespace rigel::api
