#include "loader/module/loaded_tool.hpp"

#include <fmt/core.h>

#include "api/support/fence.hpp"
#include "api/support/log.hpp"
#include "loader/module/module_query.hpp"

namespace rigel {
namespace {

constexpr size_t kMaxMistakes = 32;  // maximum of reported errors of one tool

auto no(std::string why) {
  return tl::unexpected(std::move(why));
}

Explained<LoadedTool> open_tool(const std::string& path) {
  const auto table =
      query_module<hsatool_plugin_t>(path, HSATOOL_ENTRY_SYMBOL, HSATOOL_ABI_MAJOR, HSATOOL_ABI_MINOR);
  if (!table) return no(table.error().text);
  return read_tool_table(*table, path);
}

// Returns a copy of an optional group; zero if it is missing.
template <class Group>
Explained<Group> copy_group(const Group* group, uint64_t least, const char* what) {
  return group == nullptr ? Group{} : copy_sized(group, least, what);
}

}  // namespace

Explained<LoadedTool> read_tool_table(const hsatool_plugin_t* table, std::string path) {
  const auto own = copy_sized(table, HSATOOL_END(hsatool_plugin_t, activities), "the table");
  if (!own) return no(own.error());
  if (own->abi_major != HSATOOL_ABI_MAJOR) {
    return no(fmt::format("built for tool ABI {}.{}; this runtime has {}.{}", own->abi_major, own->abi_minor,
                          HSATOOL_ABI_MAJOR, HSATOOL_ABI_MINOR));
  }
  if (own->sanitizer != HSABE_SANITIZER) {
    return no("its sanitizer differs from that of the runtime");
  }
  if (own->load == nullptr) return no("the function 'load' is missing");

  LoadedTool tool;
  tool.path = std::move(path);
  tool.abi_minor = own->abi_minor;
  auto name = copy_text(own->name, "name");
  if (!name) return no(name.error());
  tool.name = std::move(*name);
  auto version = copy_text(own->version, "version");
  if (!version) return no(version.error());
  tool.version = std::move(*version);

  const auto calls = copy_group(own->calls, HSATOOL_END(hsatool_call_ops_t, exit), "the calls' table");
  if (!calls) return no(calls.error());
  tool.calls = *calls;
  const auto packets =
      copy_group(own->packets, HSATOOL_END(hsatool_packet_ops_t, submit), "the packets' table");
  if (!packets) return no(packets.error());
  tool.packets = *packets;
  if (own->packets != nullptr && packets->submit == nullptr)
    return no("the packets' table has no function 'submit'");
  const auto activities =
      copy_group(own->activities, HSATOOL_END(hsatool_activity_ops_t, done), "the activities' table");
  if (!activities) return no(activities.error());
  tool.activities = *activities;
  if (own->activities != nullptr && (activities->wants == nullptr || activities->done == nullptr))
    return no("the activities' table has no function 'wants' or 'done'");

  tool.table = *own;
  tool.table.calls = nullptr;
  tool.table.packets = nullptr;
  tool.table.activities = nullptr;
  return tool;
}

std::vector<std::string> mistakes_in(const ModuleOptions& options, const LoadedTool& tool) {
  if (tool.table.check == nullptr) return {};
  struct Found {
    std::vector<std::string> mistakes;
    ExceptionCarrier carrier;
  } found;
  const auto add = [](void* self, hsatool_str_t text) {
    auto& own = *static_cast<Found*>(self);
    own.carrier.run([&own, text] {
      if (own.mistakes.size() < kMaxMistakes) own.mistakes.emplace_back(text.data, text.size);
    });
  };
  const hsatool_mistakes_t mistakes{sizeof mistakes, &found, add};
  const std::string_view json = options.json();
  try {
    tool.table.check({json.data(), json.size()}, &mistakes);
  } catch (...) {
    found.mistakes.emplace_back("check() of the tool threw an exception");
  }
  found.carrier.rethrow();
  return std::move(found.mistakes);
}

std::vector<OpenedPlugin> open_plugins(const RuntimeConfig& config, const LoaderEnvironment& environment,
                                       DiscoveryReport& report) {
  std::vector<OpenedPlugin> all(config.plugins.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const PluginConfig& plugin = config.plugins[i];
    OpenedPlugin& opened = all[i];
    if (!plugin.enabled || plugin.library.empty()) continue;  // a plugin without a library has been reported
    const auto refuse = [&](std::string why) {
      report.add(Stage::kTool, Outcome::kFailed, plugin.name, why);
      opened.refusal = std::move(why);
    };
    auto path = environment.find_library(plugin.library, config.folder(), {environment.plugin_folder});
    if (!path) {
      refuse(path.error());
      continue;
    }
    opened.path = std::move(*path);
    if (plugin.abi != PluginAbi::kRigel) continue;
    log_message(LogLevel::kDebug, LogTopic::kChain, "tool {}: opening {}", plugin.name, opened.path);
    auto tool = open_tool(opened.path);
    if (!tool) {
      refuse(tool.error());
      continue;
    }
    opened.tool = std::move(*tool);
    for (const std::string& mistake : mistakes_in(plugin.config, opened.tool)) {
      report.add(Stage::kTool, Outcome::kFailed, config.path,
                 fmt::format("/plugins/{}/config{}{}", i, mistake.starts_with('/') ? "" : ": ", mistake));
      opened.refusal += (opened.is_mistaken ? "; " : "invalid options: ") + mistake;
      opened.is_mistaken = true;
    }
  }
  return all;
}

}  // namespace rigel
