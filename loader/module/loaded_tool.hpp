// Loading a tool plugin: from its entry in the configuration to functions that may be called.
//
// A tool of the runtime's own ABI (<hsa_plugin/hsa_tool.h>) is read as backends and transports are: the
// tables are the runtime's own copies, in which a null function is a thing that the tool does not do. Of a
// tool of ROCr's ABI there are two functions. Either library stays open to the end of the process.
#pragma once

#include <hsa_plugin/hsa_tool.h>

#include <string>

#include "loader/module/config.hpp"
#include "loader/module/loader_environment.hpp"
#include "loader/text/words.hpp"

namespace rigel {

struct LoadedTool {
  std::string path;  // real path of the library
  std::string name;  // the tool's own
  std::string version;
  uint32_t abi_minor = 0;
  hsatool_plugin_t table{};  // load and unload; its groups are null, the copies below are meant
  hsatool_call_ops_t calls{};
  hsatool_packet_ops_t packets{};
  hsatool_activity_ops_t activities{};
};

/// Copies and checks a table as a module's query returned it. `path` is only noted.
Explained<LoadedTool> read_tool_table(const hsatool_plugin_t* table, std::string path);

/// Loads a plugin of abi `rigel`, whose library is looked for beside the configuration file and in the folder
/// of installed plugins.
Explained<LoadedTool> load_tool(const PluginConfig& plugin, const RuntimeConfig& config,
                                const LoaderEnvironment& environment);

}  // namespace rigel
