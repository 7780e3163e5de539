#include "print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace rigel_info {
namespace {

// --- Text ------------------------------------------------------------------------------------------------

std::string bytes(uint64_t size) {
  constexpr std::string_view kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto number = static_cast<double>(size);
  size_t unit = 0;
  while (number >= 1024 && unit + 1 < std::size(kUnits)) {
    number /= 1024;
    ++unit;
  }
  return unit == 0 || number == static_cast<double>(static_cast<uint64_t>(number))
             ? fmt::format("{:.0f} {}", number, kUnits[unit])
             : fmt::format("{:.1f} {}", number, kUnits[unit]);
}

std::string joined(const std::vector<std::string>& words, std::string_view separator = ", ") {
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, separator));
}

class Lines {
 public:
  void title(std::string_view text) { text_ += fmt::format("{}{}\n", text_.empty() ? "" : "\n", text); }
  void field(std::string_view name, std::string_view value) {
    text_ += fmt::format("  {:<13} {}\n", name, value);
  }
  template <class T>
  void field(std::string_view name, const std::optional<T>& value, std::string_view format = "{}") {
    if (value) field(name, fmt::format(fmt::runtime(format), *value));
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void print_agent(Lines& lines, const Agent& agent, size_t number) {
  lines.title(fmt::format("Agent {}: {} {}", number, agent.type, agent.product.value_or(agent.name)));
  lines.field("name", fmt::format("{}, of {}", agent.name, agent.vendor));
  lines.field("uuid", agent.uuid);
  lines.field("node", fmt::format("{}", agent.node));
  lines.field("accepts", fmt::format("{}; {} profile", joined(agent.features), agent.profile));
  if (agent.queue_max_packets != 0) {
    lines.field("queues", fmt::format("{} of {} to {} packets", agent.queues_max, agent.queue_min_packets,
                                      agent.queue_max_packets));
  }
  if (agent.workgroup_max_size != 0) {
    lines.field("work-group", fmt::format("up to {} work-items, wavefronts of {}", agent.workgroup_max_size,
                                          agent.wavefront_size));
  }
  if (agent.compute_units) {
    lines.field("compute",
                agent.max_clock_mhz.value_or(0) == 0
                    ? fmt::format("{} units", *agent.compute_units)
                    : fmt::format("{} units, up to {} MHz", *agent.compute_units, *agent.max_clock_mhz));
  }
  if (agent.chip_id.value_or(0) != 0) lines.field("chip", agent.chip_id, "{:#06x}");
  for (const Isa& isa : agent.isas) lines.field("isa", isa.name);
  for (const Cache& cache : agent.caches) {
    lines.field("cache", fmt::format("L{} {:>9}  {}", cache.level, bytes(cache.bytes), cache.name));
  }
  for (const Pool& pool : agent.pools) {
    std::string text = fmt::format("{:<8} {:>9}", pool.segment, bytes(pool.bytes));
    if (!pool.flags.empty()) text += "  " + joined(pool.flags);
    if (pool.granule) text += fmt::format("; granule {}", bytes(*pool.granule));
    lines.field("pool", text);
  }
}

// Returns "gfx906" for "amdgcn-amd-amdhsa--gfx906:sramecc+": the name in compilers' options.
std::string isa_of(const Agent& agent) {
  if (agent.isas.empty()) return "-";
  const std::string& name = agent.isas.front().name;
  const size_t dashes = name.rfind("--");
  const size_t from = dashes == std::string::npos ? name.rfind('-') + 1 : dashes + 2;
  return name.substr(from, name.find(':', from) - from);
}

// --- JSON ------------------------------------------------------------------------------------------------

using Json = nlohmann::ordered_json;

template <class T>
void set_if_known(Json& object, const char* name, const std::optional<T>& value) {
  if (value) object[name] = *value;
}

Json json_of(const Agent& agent) {
  Json object{{"name", agent.name}, {"vendor", agent.vendor}, {"type", agent.type}};
  set_if_known(object, "product", agent.product);
  set_if_known(object, "uuid", agent.uuid);
  object["features"] = agent.features;
  object["profile"] = agent.profile;
  object["node"] = agent.node;
  set_if_known(object, "compute_units", agent.compute_units);
  set_if_known(object, "max_clock_mhz", agent.max_clock_mhz);
  set_if_known(object, "chip_id", agent.chip_id);
  set_if_known(object, "cacheline_bytes", agent.cacheline_bytes);
  set_if_known(object, "memory_available", agent.memory_available);
  object["queues"] = {{"max", agent.queues_max},
                      {"min_packets", agent.queue_min_packets},
                      {"max_packets", agent.queue_max_packets}};
  object["workgroup_max_size"] = agent.workgroup_max_size;
  object["wavefront_size"] = agent.wavefront_size;
  object["fbarriers"] = agent.fbarriers;
  object["isas"] = Json::array();
  for (const Isa& isa : agent.isas) {
    Json& item = object["isas"].emplace_back(Json{{"name", isa.name}});
    set_if_known(item, "wavefront_size", isa.wavefront_size);
    set_if_known(item, "workgroup_max_size", isa.workgroup_max_size);
    set_if_known(item, "grid_max_size", isa.grid_max_size);
  }
  object["caches"] = Json::array();
  for (const Cache& cache : agent.caches) {
    object["caches"].push_back({{"name", cache.name}, {"level", cache.level}, {"bytes", cache.bytes}});
  }
  object["pools"] = Json::array();
  for (const Pool& pool : agent.pools) {
    Json& item = object["pools"].emplace_back(Json{{"segment", pool.segment},
                                                   {"flags", pool.flags},
                                                   {"bytes", pool.bytes},
                                                   {"largest_allocation", pool.largest_allocation}});
    set_if_known(item, "granule", pool.granule);
    set_if_known(item, "alignment", pool.alignment);
    set_if_known(item, "accessible_by_all", pool.accessible_by_all);
  }
  return object;
}

Json json_of(const std::vector<Tool>& tools) {
  Json array = Json::array();
  for (const Tool& tool : tools) {
    Json& item =
        array.emplace_back(Json{{"name", tool.name}, {"state", tool.state}, {"library", tool.library}});
    const auto put_text = [&item](const char* name, const std::string& text) {
      if (!text.empty()) item[name] = text;
    };
    put_text("reason", tool.reason);
    put_text("version", tool.version);
    put_text("abi", tool.abi);
    put_text("named_by", tool.named_by);
    if (tool.state != "loaded") continue;
    item["functions"] = tool.functions;
    item["packets"] = tool.packets;
    item["activities"] = tool.activities;
  }
  return array;
}

}  // namespace

std::string to_text(const std::vector<Tool>& tools) {
  if (tools.empty()) return "no tools\n";
  Lines lines;
  for (const Tool& tool : tools) {
    lines.title(fmt::format("{}: {}", tool.name,
                            tool.state == "installed" ? "installed, not configured" : tool.state));
    lines.field("library", tool.library);
    if (!tool.reason.empty()) lines.field("reason", tool.reason);
    if (!tool.version.empty()) lines.field("version", tool.version);
    if (!tool.abi.empty()) lines.field("abi", tool.abi);
    if (!tool.named_by.empty()) lines.field("source", tool.named_by);
    if (tool.state != "loaded") continue;
    constexpr size_t kMaxListedFunctions = 8;
    std::string functions = fmt::format("{} functions", tool.functions.size());
    if (!tool.functions.empty() && tool.functions.size() <= kMaxListedFunctions)
      functions += ": " + joined(tool.functions);
    lines.field("intercepts", functions);
    if (tool.packets) lines.field("", "queue packets");
    if (!tool.activities.empty()) lines.field("activities", joined(tool.activities));
  }
  return lines.take();
}

std::string to_json(const std::vector<Tool>& tools) {
  return json_of(tools).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_text(const Inventory& inventory) {
  Lines lines;
  lines.title(inventory.build.value_or("libhsa-runtime64"));
  lines.field("library", inventory.library);
  lines.field("interface", inventory.amd_version
                               ? fmt::format("HSA {}, AMD {}", inventory.hsa_version, *inventory.amd_version)
                               : fmt::format("HSA {}", inventory.hsa_version));
  lines.field("clock", fmt::format("{} MHz", inventory.timestamp_hz / 1'000'000));
  lines.field("extensions", joined(inventory.extensions));
  for (size_t i = 0; i < inventory.agents.size(); ++i) print_agent(lines, inventory.agents[i], i);
  return lines.take();
}

std::string to_summary(const Inventory& inventory) {
  std::string text =
      fmt::format("{}, HSA {}\n", inventory.build.value_or(inventory.library), inventory.hsa_version);
  for (size_t i = 0; i < inventory.agents.size(); ++i) {
    const Agent& agent = inventory.agents[i];
    uint64_t largest = 0;  // the agent's memory: pools are views of one memory
    for (const Pool& pool : agent.pools) {
      if (pool.segment == "global") largest = std::max(largest, pool.bytes);
    }
    text += fmt::format("{:<2} {:<4} {:<8} {:<36} {:>9}  {:>3} units  {}\n", i, agent.type, isa_of(agent),
                        agent.product.value_or(agent.name), bytes(largest), agent.compute_units.value_or(0),
                        agent.uuid.value_or("-"));
  }
  return text;
}

std::string to_json(const Inventory& inventory, const std::string& report,
                    const std::optional<std::vector<Tool>>& tools) {
  Json object{{"library", inventory.library}};
  set_if_known(object, "build", inventory.build);
  object["hsa_version"] = inventory.hsa_version;
  set_if_known(object, "amd_version", inventory.amd_version);
  object["timestamp_hz"] = inventory.timestamp_hz;
  object["extensions"] = inventory.extensions;
  object["agents"] = Json::array();
  for (const Agent& agent : inventory.agents) object["agents"].push_back(json_of(agent));
  if (tools) object["tools"] = json_of(*tools);
  if (!report.empty()) object["report"] = Json::parse(report, nullptr, false);
  // Names that devices report are not always UTF-8.
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rigel_info
