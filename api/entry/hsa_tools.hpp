// Tools of ROCr's ABI: libraries with OnLoad and OnUnload, which read and replace the entries of the API
// tables (<hsa/hsa_api_trace.h>).
//
// Such a tool gets the open tables themselves, as it does from ROCr. A tool that was built for the layout of
// ROCm 5 (tool_layout.hpp) gets a copy in that layout, whose changed entries are taken over when it has loaded.
// A tool that refuses one layout is offered another. What a tool has stored is undone when it fails and when it
// is unloaded. Libraries are never closed. One thread at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/entry/tables.hpp"
#include "api/entry/tool_facts.hpp"
#include "core/runtime/runtime.hpp"
#include "loader/text/words.hpp"

namespace rigel::api {

/// The libraries of HSA_TOOLS_LIB: separated by spaces; in double quotes a space is part of a name, which the
/// second quote ends; a backslash makes the next character part of it.
std::vector<std::string> split_tool_list(std::string_view list);

class HsaTools {
 public:
  /// Opens the library and calls its OnLoad. `path` is absolute, or a name for the dynamic linker. Layout kEither
  /// is the one that the tool was probably built for. Returns what there is to say about it.
  Explained<std::string> load(const std::string& name, const std::string& path, TableLayout layout,
                              ApiTables& tables);
  /// What the environment asks for, in ROCr's order: rocprofiler-register, and if that has no tools
  /// HSA_TOOLS_LIB and the libraries of the process that say by HSA_AMD_TOOL_PRIORITY that they are tools.
  /// Adds to `facts` what became of each.
  void load_from_environment(ApiTables& tables, Runtime& runtime, std::vector<ToolFacts>& facts);

  /// Calls the OnUnload of the one that was loaded last, and undoes what it has stored. False: there is none.
  bool unload_last() noexcept;
  size_t count() const { return loaded_.size(); }
  /// Forgets all in a forked child.
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
    ApiTables before;  // what the entries were
    void (*on_unload)();
  };
  /// True: there are its tools, and no others are wanted.
  bool hand_to_register(ApiTables& tables, Runtime& runtime, std::vector<ToolFacts>& facts);
  /// Calls OnLoad with tables of one layout, which is not kEither. False if it refuses them.
  bool offer(void* on_load, ApiTables& tables, TableLayout layout);

  std::vector<Loaded> loaded_;
  std::vector<void*> tried_;         // handles, of this life of the runtime
  std::vector<std::string> failed_;  // names, for the tools that come after
  bool register_has_tools_ = false;  // when it was asked last
  bool abandoned_ = false;           // in a child, until it loads tools of its own
};

}  // namespace rigel::api
