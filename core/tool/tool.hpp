// A tool of the runtime's own ABI, from its load to its unload: its callbacks, and what the runtime does for
// it.
//
// A Tool is never freed: a thread that entered the API while the tool was there may come back to it at any
// later time. What it finds then is `life`: odd while the tool may be called, another number in each life.
// load and unload are called by one thread at a time, everything else by any thread.
#pragma once

#include <hsa_plugin/hsa_tool.h>

#include <atomic>
#include <string>
#include <vector>

#include "core/base/status.hpp"
#include "loader/module/loaded_tool.hpp"

namespace rigel {

/// The functions of the API as tools know them.
struct ToolFunctions {
  const void* tables;  ///< HsaApiTable of the runtime's own
  const hsatool_function_t* const* functions;
  uint64_t count;
};

class Tool {
 public:
  Tool() = default;
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;

  /// Begins a life: calls the tool's load. On failure the text says why, and there is no life.
  Explained<void> load(LoadedTool loaded, const PluginConfig& config, const ToolFunctions& functions);
  /// Ends it, and calls unload.
  void unload() noexcept;
  /// Ends it in a forked child, where the tool does not exist.
  void abandon() noexcept;
  /// Nothing of the tool is called again but unload. For a callback that has thrown, from within the handler
  /// of the exception.
  void quarantine(const char* callback) noexcept;

  uint32_t life() const noexcept { return life_.load(std::memory_order_acquire); }
  static constexpr bool is_alive(uint32_t life) noexcept { return life % 2 == 1; }

  const std::string& name() const { return name_; }
  const LoadedTool& loaded() const { return loaded_; }
  void* self() const noexcept { return self_; }
  bool has_calls() const { return loaded_.calls.enter != nullptr || loaded_.calls.exit != nullptr; }
  bool has_packets() const { return loaded_.packets.submit != nullptr; }

  /// Whether the configuration and the tool want this function intercepted.
  bool wants(const hsatool_function_t& function) noexcept;
  /// The kinds of activities, HSATOOL_ACTIVITY_.
  uint32_t activities() const noexcept { return activities_; }

  /// Calls a callback of a tool that is alive: what it throws ends the life. False if it has thrown.
  template <class Callback>
  bool guarded(const char* what, Callback&& callback) noexcept {
    try {
      callback();
      return true;
    } catch (...) {
      quarantine(what);
      return false;
    }
  }

 private:
  static int32_t log_enabled(void* self, uint32_t level) noexcept;
  static void log(void* self, uint32_t level, hsatool_str_t text) noexcept;
  static void report(void* self, hsatool_str_t text) noexcept;
  static const hsatool_services_t kServices;

  std::atomic<uint32_t> life_{0};
  std::string name_;
  LoadedTool loaded_;
  std::vector<std::string> intercept_;
  ModuleOptions options_;
  std::string failure_;  // what load has reported; while it runs
  bool loading_ = false;
  bool loaded_well_ = false;  // unload is due
  uint32_t activities_ = 0;
  hsatool_host_t host_{};
  void* self_ = nullptr;
};

}  // namespace rigel
