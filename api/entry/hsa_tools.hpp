// Tools of ROCr's ABI: libraries with OnLoad and OnUnload, which read and replace entries of the API tables
// (<hsa/hsa_api_trace.h>).
//
// As in ROCr, OnLoad receives the open tables (tables.hpp). A tool for ROCm 5's layout (tool_layout.hpp)
// receives a copy in that layout, whose entries are stored to the open tables after OnLoad. If OnLoad rejects
// one layout, it is called again with another. The changes of a tool are reverted if it fails, and when it is
// unloaded. Libraries are never closed.
//
// *Threads:* one thread at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/entry/tables.hpp"
#include "api/entry/tool_facts.hpp"
#include "core/runtime/runtime.hpp"
#include "loader/text/words.hpp"

namespace rigel::api {

/// Splits the value of HSA_TOOLS_LIB into names of libraries, which are separated by spaces. Between double
/// quotes, a space belongs to the name, and the closing quote ends the name. The character after a backslash
/// belongs to the name.
std::vector<std::string> split_tool_list(std::string_view list);

class HsaTools {
 public:
  /// Opens the library and calls its OnLoad. `path` is absolute, or a name for the dynamic linker. If
  /// `layout` is kEither, find_tool_layout() selects the layout. Returns a text for the discovery report: the
  /// path, or that the tool is already loaded.
  Explained<std::string> load(const std::string& name, const std::string& path, TableLayout layout,
                              ApiTables& tables);
  /// Loads the tools of the environment in ROCr's order. First passes the tables to rocprofiler-register. If
  /// that loads no tools, loads the tools of HSA_TOOLS_LIB, then the libraries in the process that export
  /// HSA_AMD_TOOL_PRIORITY. Adds the result of each to `facts`.
  void load_from_environment(ApiTables& tables, Runtime& runtime, std::vector<ToolFacts>& facts);

  /// Calls OnUnload of the tool that was loaded last, and reverts its changes. Returns false if there is
  /// none.
  bool unload_last() noexcept;
  size_t count() const { return loaded_.size(); }
  /// Drops all tools in a forked child.
  void abandon() noexcept {
    loaded_.clear();
    abandoned_ = true;
  }

 private:
  struct Rocm5Tables;
  struct Loaded {
    std::string name;
    void* handle;
    ApiTables* tables;
    ApiTables before;  // the original entries
    void (*on_unload)();
  };
  /// Passes the tables to rocprofiler-register. Returns true if no other tools must be loaded:
  /// rocprofiler-register has loaded tools, and HSA_TOOLS_ROCPROFILER_V1_TOOLS does not request others, too.
  bool hand_to_register(ApiTables& tables, Runtime& runtime, std::vector<ToolFacts>& facts);
  /// Calls OnLoad with tables of one layout, which is not kEither. Returns false if the tool rejects them.
  bool offer(void* on_load, ApiTables& tables, TableLayout layout);

  std::vector<Loaded> loaded_;
  std::vector<void*> tried_;         // handles of all libraries that this runtime has opened as tools
  std::vector<std::string> failed_;  // names of tools that failed; OnLoad of later tools receives them
  bool register_has_tools_ = false;  // whether rocprofiler-register last had tools
  bool abandoned_ = false;           // whether this is a forked child that has not loaded tools itself
};

}  // namespace rigel::api
