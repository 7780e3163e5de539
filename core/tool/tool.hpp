// A tool of Rigel's ABI: its callbacks from load to unload, and the runtime's services for it.
//
// *Lifetime:* never freed, because a thread that entered the API while the tool was loaded may return to it
// later. `generation` counts loads and unloads: odd while the tool may be called, and different
// after each load.
// *Threads:* one thread at a time calls load and unload; any thread calls everything else.
#pragma once

#include <hsa_plugin/hsa_tool.h>

#include <atomic>
#include <string>
#include <vector>

#include "api/support/status.hpp"
#include "loader/module/loaded_tool.hpp"

namespace rigel {

struct ToolFunctions {
  const void* tables;  ///< the runtime's HsaApiTable
  const hsatool_function_t* const* functions;
  uint64_t count;
};

class Tool {
 public:
  Tool() = default;
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;

  /// Calls the tool's load and starts a generation. On failure returns the reason, and the tool stays
  /// unloaded.
  Explained<void> load(LoadedTool loaded, const PluginConfig& config, const ToolFunctions& functions);
  /// Ends the generation, and calls unload.
  void unload() noexcept;
  /// Ends the generation in a forked child, where the tool does not exist.
  void abandon() noexcept;
  /// Disables all callbacks except unload, after a callback has thrown. Called in the exception's handler.
  void quarantine(const char* callback) noexcept;

  uint32_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }
  static constexpr bool is_alive(uint32_t generation) noexcept { return generation % 2 == 1; }

  const std::string& name() const { return name_; }
  const LoadedTool& loaded() const { return loaded_; }
  void* self() const noexcept { return self_; }
  bool has_calls() const { return loaded_.calls.enter != nullptr || loaded_.calls.exit != nullptr; }
  bool has_packets() const { return loaded_.packets.submit != nullptr; }

  /// Whether the configuration and the tool request interception of this function.
  bool wants(const hsatool_function_t& function) noexcept;
  /// Bits HSATOOL_ACTIVITY_ of observed activities.
  uint32_t activities() const noexcept { return activities_; }

  /// Runs a callback of a loaded tool; an exception quarantines the tool. Returns false if it has thrown.
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

  std::atomic<uint32_t> generation_{0};
  std::string name_;
  LoadedTool loaded_;
  std::vector<std::string> intercept_;
  ModuleOptions options_;
  std::string failure_;  // reported by load while it runs
  bool loading_ = false;
  bool loaded_well_ = false;  // unload must be called
  uint32_t activities_ = 0;
  hsatool_host_t host_{};
  void* self_ = nullptr;
};

}  // namespace rigel
