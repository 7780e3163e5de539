#include "api/entry/tools.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "api/entry/hsa_tools.hpp"
#include "api/entry/interception.hpp"
#include "api/support/log.hpp"
#include "api/support/mutex.hpp"
#include "core/tool/packet_tools.hpp"
#include "loader/text/words.hpp"

namespace rigel::api {
namespace {

// The tools of this runtime and of earlier ones. Never destroyed, because threads may return to them.
class ToolSet {
 public:
  Status load(ApiTables& tables, Runtime& runtime);
  void unload() noexcept;
  void abandon() noexcept;
  /// Returns the tools of this runtime in loading order. Any thread.
  std::vector<ToolFacts> facts() const;

 private:
  void note(ToolFacts facts);
  bool load_one(const PluginConfig& plugin, OpenedPlugin& opened, ApiTables& tables, Runtime& runtime);
  bool load_hsa_tool(const PluginConfig& plugin, const std::string& path, ApiTables& tables,
                     Runtime& runtime);
  void note_hsa_tools() { is_hsa_tool_.resize(used_ + hsa_tools_.count(), true); }
  void close_layer(ApiTables& tables, Runtime& runtime);

  std::vector<std::unique_ptr<Tool>> tools_;  // the first `used_` are of this runtime, in loading order
  size_t used_ = 0;
  HsaTools hsa_tools_;
  std::vector<bool> is_hsa_tool_;  // a flag for each loaded tool, in loading order
  std::vector<Tool*> layer_;       // tools of the layer that is being loaded, in loading order
  uint32_t layers_ = 0;
  bool abandoned_ = false;  // a tool has forked this child while it was loaded

  mutable Mutex facts_mutex_;
  std::vector<ToolFacts> facts_ RIGEL_GUARDED_BY(facts_mutex_);
  std::vector<size_t> facts_of_layer_;  // indices in facts_ of the layer that is being loaded
};

ToolSet& tool_set() {
  alignas(ToolSet) static std::byte place[sizeof(ToolSet)];  // never destroyed, and allocated statically
  static auto* const set = new (place) ToolSet;
  return *set;
}

ToolFacts facts_of(const PluginConfig& plugin, hsa_ven_rigel_tool_state_t state, std::string reason = {}) {
  return {.state = state,
          .name = plugin.name,
          .library = plugin.library,
          .abi = plugin.abi == PluginAbi::kHsaTools ? "hsa_tools" : "rigel",
          .named_by = "configuration",
          .reason = std::move(reason)};
}

void say(Runtime& runtime, Outcome outcome, const std::string& name, std::string_view text) {
  runtime.report().add(Stage::kTool, outcome, name, text);
}

// Reports patterns without matches, because a misspelled name would have no effect.
void warn_of_unused_patterns(const PluginConfig& plugin, Runtime& runtime) {
  const auto functions = tool_functions();
  for (const std::string& pattern : plugin.intercept) {
    const auto fits = [&pattern](const hsatool_function_t* function) {
      return glob_matches(pattern, function->name.data);
    };
    if (std::any_of(functions.begin(), functions.end(), fits)) continue;
    say(runtime, Outcome::kWarning, plugin.name,
        fmt::format("intercept: {} matches no function", in_quotes(pattern)));
  }
}

std::vector<ToolFacts> ToolSet::facts() const {
  const MutexLock lock(facts_mutex_);
  return facts_;
}

void ToolSet::note(ToolFacts facts) {
  const MutexLock lock(facts_mutex_);
  facts_.push_back(std::move(facts));
}

bool ToolSet::load_hsa_tool(const PluginConfig& plugin, const std::string& path, ApiTables& tables,
                            Runtime& runtime) {
  if (!plugin.intercept.empty()) {
    say(runtime, Outcome::kWarning, plugin.name,
        "intercept is ignored: tools of ABI hsa_tools change the API tables themselves");
  }
  const auto before = std::make_unique<const ApiTables>(tables);
  const auto done = hsa_tools_.load(plugin.name, path, plugin.table, tables);
  say(runtime, done ? Outcome::kOk : Outcome::kFailed, plugin.name, done ? *done : done.error());
  ToolFacts facts = done ? facts_of(plugin, HSA_VEN_RIGEL_TOOL_LOADED)
                         : facts_of(plugin, HSA_VEN_RIGEL_TOOL_FAILED, done.error());
  facts.library = path;
  facts.functions = differing_functions(*before, tables);
  note(std::move(facts));
  note_hsa_tools();
  return done.has_value();
}

bool ToolSet::load_one(const PluginConfig& plugin, OpenedPlugin& opened, ApiTables& tables,
                       Runtime& runtime) {
  const auto refuse = [&](std::string_view why) {
    say(runtime, Outcome::kFailed, plugin.name, why);
    note(facts_of(plugin, HSA_VEN_RIGEL_TOOL_FAILED, std::string(why)));
    return false;
  };
  if (!opened.refusal.empty()) {
    note(facts_of(plugin, HSA_VEN_RIGEL_TOOL_FAILED, opened.refusal));
    return false;
  }
  if (plugin.abi == PluginAbi::kHsaTools) {
    close_layer(tables, runtime);  // the layer of the previous, inner tools
    return load_hsa_tool(plugin, opened.path, tables, runtime);
  }
  if (layer_.size() == kMaxTools) return refuse(fmt::format("more than {} tools in succession", kMaxTools));
  if (layers_ == kMaxToolLayers) {
    return refuse(
        fmt::format("more than {} groups of tools of ABI rigel, separated by other tools", kMaxToolLayers));
  }
  log_message(LogLevel::kDebug, LogTopic::kChain, "tool {}: loading {}", plugin.name, plugin.library);
  if (used_ == tools_.size()) tools_.push_back(std::make_unique<Tool>());
  Tool& tool = *tools_[used_];
  const auto functions = tool_functions();
  // Reserves before loading, because a loaded tool must be in these lists to be unloaded.
  is_hsa_tool_.reserve(is_hsa_tool_.size() + 1);
  layer_.reserve(layer_.size() + 1);
  facts_of_layer_.reserve(facts_of_layer_.size() + 1);
  const auto begun =
      tool.load(std::move(opened.tool), plugin, {&own_tables(), functions.data(), functions.size()});
  if (!begun) return refuse(begun.error());
  ++used_;
  is_hsa_tool_.push_back(false);
  layer_.push_back(&tool);
  {
    const MutexLock lock(facts_mutex_);
    facts_of_layer_.push_back(facts_.size());
  }
  warn_of_unused_patterns(plugin, runtime);
  const LoadedTool& module = tool.loaded();
  ToolFacts facts = facts_of(plugin, HSA_VEN_RIGEL_TOOL_LOADED);
  facts.library = module.path;
  facts.version = module.name + " " + module.version;
  facts.packets = tool.has_packets();
  facts.activities = tool.activities() &
                     (HSA_VEN_RIGEL_TOOL_KERNELS | HSA_VEN_RIGEL_TOOL_BARRIERS | HSA_VEN_RIGEL_TOOL_COPIES);
  note(std::move(facts));
  return true;
}

// Wraps the functions that the layer's tools observe, and reports it. They were loaded innermost first.
void ToolSet::close_layer(ApiTables& tables, Runtime& runtime) {
  if (layer_.empty()) return;
  const std::vector<Tool*> outermost_first(layer_.rbegin(), layer_.rend());
  put_layer(tables, layers_++, outermost_first);
  const MutexLock lock(facts_mutex_);
  for (size_t i = 0; i < layer_.size(); ++i) {
    const Tool* const tool = layer_[i];
    auto& functions = facts_[facts_of_layer_[i]].functions;
    for (const hsatool_function_t* const function : tool_functions()) {
      if (is_seen(layers_ - 1, function->index, *tool)) functions.push_back(function->name.data);
    }
    const LoadedTool& loaded = tool->loaded();
    say(runtime, Outcome::kOk, tool->name(),
        fmt::format("{} {}, {}: {} functions{}{}", loaded.name, loaded.version, loaded.path, functions.size(),
                    tool->has_packets() ? ", packets" : "", tool->activities() != 0 ? ", activities" : ""));
  }
  layer_.clear();
  facts_of_layer_.clear();
}

Status ToolSet::load(ApiTables& tables, Runtime& runtime) {
  used_ = 0;
  layers_ = 0;
  abandoned_ = false;
  layer_.clear();
  facts_of_layer_.clear();
  is_hsa_tool_.clear();
  const auto& plugins = runtime.config().plugins;
  // Before the first layer, whose wrappers keep the found entries.
  if (std::any_of(plugins.begin(), plugins.end(), [](const PluginConfig& plugin) {
        return plugin.enabled && plugin.abi == PluginAbi::kHsaTools;
      }))
    guard_entries(tables);
  std::vector<ToolFacts> of_environment;
  hsa_tools_.load_from_environment(tables, runtime, of_environment);
  {
    const MutexLock lock(facts_mutex_);
    facts_ = std::move(of_environment);
  }
  note_hsa_tools();
  auto opened = open_plugins(runtime.config(), runtime.loader_environment(), runtime.report());
  for (size_t i = plugins.size(); i-- > 0 && !abandoned_;) {
    const PluginConfig& plugin = plugins[i];
    if (!plugin.enabled) {
      say(runtime, Outcome::kSkipped, plugin.name, "disabled by 'enabled: false' in the configuration");
      note(facts_of(plugin, HSA_VEN_RIGEL_TOOL_DISABLED));
      continue;
    }
    if (load_one(plugin, opened[i], tables, runtime) || !plugin.fail_on_error) continue;
    unload();
    return opened[i].is_mistaken ? HSA_STATUS_ERROR_INVALID_FILE : HSA_STATUS_ERROR;
  }
  if (abandoned_) return HSA_STATUS_ERROR;
  close_layer(tables, runtime);
  std::vector<Tool*> outermost_first;
  for (size_t i = used_; i-- > 0;) outermost_first.push_back(tools_[i].get());
  packet_tools().use(outermost_first, &runtime.driver_dispatcher());
  if (packet_tools().wants_copies()) runtime.copies().profiling_async_copy_enable(true);
  return HSA_STATUS_SUCCESS;
}

void ToolSet::unload() noexcept {
  packet_tools().use({}, nullptr);
  while (!is_hsa_tool_.empty()) {
    const bool is_hsa_tool = is_hsa_tool_.back();
    is_hsa_tool_.pop_back();  // before the call of the tool, which may fork: the child has no tools
    if (is_hsa_tool) {
      hsa_tools_.unload_last();
    } else {
      tools_[--used_]->unload();
    }
  }
}

void ToolSet::abandon() noexcept {
  new (&facts_mutex_) Mutex;  // a thread that does not exist in this process may hold it
  packet_tools().abandon();
  KeepTools::reset_after_fork();
  for (const auto& tool : tools_) tool->abandon();
  used_ = 0;
  abandoned_ = true;
  hsa_tools_.abandon();
  is_hsa_tool_.clear();
}

}  // namespace

Status load_tools(ApiTables& tables, Runtime& runtime) {
  return tool_set().load(tables, runtime);
}

hsa_status_t iterate_tools(Runtime& runtime, hsa_status_t (*callback)(const hsa_ven_rigel_tool_t*, void*),
                           void* data) {
  std::vector<ToolFacts> all = tool_set().facts();
  std::reverse(all.begin(), all.end());
  // Other installed tools, by name.
  std::error_code ignored;
  std::vector<std::filesystem::path> libraries;
  for (const auto& entry :
       std::filesystem::directory_iterator(runtime.loader_environment().plugin_folder, ignored)) {
    const auto& path = entry.path();
    const auto is_this = [&path, &ignored](const ToolFacts& tool) {
      return tool.library == path.filename() || std::filesystem::equivalent(tool.library, path, ignored);
    };
    if (path.extension() == ".so" && std::none_of(all.begin(), all.end(), is_this)) libraries.push_back(path);
  }
  std::sort(libraries.begin(), libraries.end());
  for (const auto& path : libraries) {
    all.push_back(
        {.state = HSA_VEN_RIGEL_TOOL_INSTALLED, .name = path.stem().string(), .library = path.string()});
  }
  for (const ToolFacts& facts : all) {
    const hsa_ven_rigel_tool_t tool{sizeof tool,
                                    static_cast<uint32_t>(facts.state),
                                    facts.packets,
                                    facts.activities,
                                    0,
                                    facts.name.c_str(),
                                    facts.version.c_str(),
                                    facts.library.c_str(),
                                    facts.abi.c_str(),
                                    facts.named_by.c_str(),
                                    facts.reason.c_str(),
                                    facts.functions.size(),
                                    facts.functions.data()};
    if (const hsa_status_t status = callback(&tool, data); status != HSA_STATUS_SUCCESS) return status;
  }
  return HSA_STATUS_SUCCESS;
}

void unload_tools() noexcept {
  tool_set().unload();
}

void abandon_tools() noexcept {
  tool_set().abandon();
}

}  // namespace rigel::api
