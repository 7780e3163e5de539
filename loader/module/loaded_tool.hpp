// Loading a tool plugin: from its entry in the configuration to functions that may be called.
//
// A tool of the runtime's own ABI (<hsa_plugin/hsa_tool.h>) is read as backends and transports are: the
// tables are the runtime's own copies, in which a null function is a thing that the tool does not do. Of a
// tool of ROCr's ABI there are two functions. Either library stays open to the end of the process.
#pragma once

#include <hsa_plugin/hsa_tool.h>

#include <string>
#include <vector>

#include "loader/module/config.hpp"
#include "loader/module/discovery_report.hpp"
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

/// What a tool finds wrong with options, each as "/file: is empty"; nothing if its ABI is before 1.2.
std::vector<std::string> mistakes_in(const ModuleOptions& options, const LoadedTool& tool);

/// A plugin of the configuration whose library has been found, and if it is of abi `rigel` opened.
struct OpenedPlugin {
  std::string path;          // real path of the library
  LoadedTool tool = {};      // of abi rigel
  std::string refusal = {};  // why it cannot be loaded; empty: nothing speaks against it
  bool is_mistaken = false;  // because its options are wrong
};

/// Opens the plugins of a configuration, whose libraries are looked for beside its file and in the folder of
/// installed plugins. Why one cannot be loaded is a line of the report, and each mistake in options one of its
/// own. There is an element for each plugin; those that are not enabled are not looked at. The caller holds no
/// lock: the constructors of a library may do whatever they like.
std::vector<OpenedPlugin> open_plugins(const RuntimeConfig& config, const LoaderEnvironment& environment,
                                       DiscoveryReport& report);

}  // namespace rigel
