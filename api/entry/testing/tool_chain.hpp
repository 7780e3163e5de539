// A runtime with tools, for a test. The constructor writes a configuration file, open() calls hsa_init, and
// close() or the destructor calls hsa_shut_down.
#pragma once

#include <hsa/hsa.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

#include "api/entry/testing/tool_notes.hpp"

namespace rigel::testing {

struct PluginEntry {
  std::string name;
  std::string options = {};  // members of the JSON object with the tool's options
  std::string more = {};     // additional members of the plugin's entry in the configuration file
  std::string library = RIGEL_TEST_TOOL;
};

class ToolChain {
 public:
  ToolChain(std::initializer_list<PluginEntry> plugins) {
    path_ = std::filesystem::temp_directory_path() / ("rigel-tools-" + std::to_string(::getpid()) + ".json");
    std::ofstream file(path_);
    file << R"({"config_version": "1.0", "plugins": [)";
    const char* separator = "";
    for (const PluginEntry& plugin : plugins) {
      file << separator << R"({"name": ")" << plugin.name << R"(", "library": ")" << plugin.library << "\", "
           << plugin.more << (plugin.more.empty() ? "" : ", ") << R"("config": {)" << plugin.options
           << (plugin.options.empty() ? "" : ", ") << recorder.as_option() << "}}";
      separator = ", ";
    }
    file << "]}";
    file.close();
    ::setenv("HSA_PLUGIN_CONFIG", path_.c_str(), 1);
  }
  ~ToolChain() {
    if (open_) ::hsa_shut_down();
    std::filesystem::remove(path_);
    ::setenv("HSA_PLUGIN_CONFIG", "none", 1);
  }
  ToolChain(const ToolChain&) = delete;
  ToolChain& operator=(const ToolChain&) = delete;

  hsa_status_t open() {
    const hsa_status_t status = ::hsa_init();
    open_ = status == HSA_STATUS_SUCCESS;
    return status;
  }
  void close() {
    ::hsa_shut_down();
    open_ = false;
  }

  std::string path() const { return path_; }

  ToolNotes recorder;

 private:
  std::filesystem::path path_;
  bool open_ = false;
};

}  // namespace rigel::testing
