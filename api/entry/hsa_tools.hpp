// Tools of ROCr's ABI: libraries with OnLoad and OnUnload, which read and replace entries of the API tables
// (<hsa/hsa_api_trace.h>).
//
// Such a tool receives the open tables, as from ROCr. A tool for ROCm 5's layout (tool_layout.hpp) receives a
// copy in that layout, whose changed entries are adopted after OnLoad. A tool that rejects one layout is
// offered another. The changes of a tool are reverted when it fails and when it is unloaded. Libraries are
// never closed.
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

/// Returns the libraries of HSA_TOOLS_LIB: separated by spaces. In double quotes a space is part of a name,
/// which the second quote ends; a backslash makes the next character part of the name.
std::vector<std::string> split_tool_list(std::string_view list);

class HsaTools {
 public:
  /// Opens the library and calls its OnLoad. `path` is absolute, or a name for the dynamic linker. Layout
  /// kEither means the tool's probable layout. Returns remarks about the tool.
  Explained<std::string> load(const std::string& name, const std::string& path, TableLayout layout,
                              ApiTables& tables);
  /// Loads the tools of the environment in ROCr's order: rocprofiler-register, and if it has no tools,
  /// HSA_TOOLS_LIB and loaded libraries with HSA_AMD_TOOL_PRIORITY. Adds the result of each to `facts`.
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
  /// Returns true if it has loaded tools, so that no others are needed.
  bool hand_to_register(ApiTables& tables, Runtime& runtime, std::vector<ToolFacts>& facts);
  /// Calls OnLoad with tables of one layout, which is not kEither. Returns false if the tool rejects them.
  bool offer(void* on_load, ApiTables& tables, TableLayout layout);

  std::vector<Loaded> loaded_;
  std::vector<void*> tried_;         // handles, in this runtime
  std::vector<std::string> failed_;  // names, reported to later tools
  bool register_has_tools_ = false;  // result of the last call
  bool abandoned_ = false;           // in a child, until it loads tools
};

}  // namespace rigel::api
