// Loads tool plugins: from an entry of the configuration to functions that may be called.
//
// A tool of Rigel's ABI (<hsa_plugin/hsa_tool.h>) is read as backends and transports are: the tables are the
// runtime's copies, in which a null function is an unsupported feature. A tool of ROCr's ABI has two
// functions. Both kinds of libraries stay open until the process ends.
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
  std::string name;
  std::string version;
  uint32_t abi_minor = 0;
  hsatool_plugin_t table{};  // load and unload; its groups are null and replaced by the copies below
  hsatool_call_ops_t calls{};
  hsatool_packet_ops_t packets{};
  hsatool_activity_ops_t activities{};
};

/// Copies and checks a table from a module's query. `path` is stored only.
Explained<LoadedTool> read_tool_table(const hsatool_plugin_t* table, std::string path);

/// Returns a tool's errors in its options, each as "/file: is empty"; empty if its ABI is older than 1.2.
std::vector<std::string> mistakes_in(const ModuleOptions& options, const LoadedTool& tool);

/// A plugin of the configuration whose library has been found and, for abi `rigel`, opened.
struct OpenedPlugin {
  std::string path;          // real path of the library
  LoadedTool tool = {};      // the tool, if its abi is rigel
  std::string refusal = {};  // why it cannot be loaded; empty if it can
  bool is_mistaken = false;  // whether its options are invalid
};

/// Opens the plugins of a configuration, whose libraries are in its directory or that of installed plugins.
/// Reports each failure, and each error in options separately. Returns an element for each plugin; disabled
/// plugins are skipped. The caller must hold no lock, because constructors of a library run.
std::vector<OpenedPlugin> open_plugins(const RuntimeConfig& config, const LoaderEnvironment& environment,
                                       DiscoveryReport& report);

}  // namespace rigel
