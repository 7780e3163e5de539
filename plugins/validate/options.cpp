#include "plugins/validate/options.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "plugins/validate/rules.hpp"

namespace validate {
namespace {

using Json = nlohmann::json;
using Problem = tl::unexpected<std::string>;

// "203", "2*" and "*".
bool names(std::string_view pattern, uint32_t number) {
  const std::string digits = std::to_string(number);
  if (pattern.ends_with('*'))
    return std::string_view(digits).starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == digits;
}

std::string turn(Options& options, const std::string& key, const Json& list, bool applies) {
  if (!list.is_array()) return fmt::format("option {} is not a list of rules, as [\"203\", \"4*\"]", key);
  for (const Json& item : list) {
    if (!item.is_string()) return fmt::format("option {} has an item that is no text: {}", key, item.dump());
    std::string pattern = item.get<std::string>();
    if (pattern.starts_with('V')) pattern.erase(0, 1);
    bool found = false;
    for (uint32_t i = 0; i < all_rules().size(); ++i) {
      if (!names(pattern, all_rules()[i].number)) continue;
      options.applies[i] = applies;
      found = true;
    }
    if (!found) return fmt::format("option {}: there is no rule {}", key, item.dump());
  }
  return {};
}

std::string read_number(uint32_t& value, const std::string& key, const Json& item, uint32_t most) {
  if (!item.is_number_unsigned() || item.get<uint64_t>() > most)
    return fmt::format("option {} is {}: it is a number from 0 to {}", key, item.dump(), most);
  value = item.get<uint32_t>();
  return {};
}

std::string read_text(std::string& value, const std::string& key, const Json& item) {
  if (!item.is_string()) return fmt::format("option {} is {}: it is a text", key, item.dump());
  value = item.get<std::string>();
  return {};
}

}  // namespace

tl::expected<Options, std::string> parse_options(std::string_view json) {
  Options options;
  for (const RuleText& rule : all_rules()) options.applies.push_back(rule.usual);
  const Json object = Json::parse(json, nullptr, false);
  if (!object.is_object()) return Problem("the options are no JSON object");
  // What is on and off does not depend on the order of the two.
  if (object.contains("on")) {
    if (std::string wrong = turn(options, "on", object["on"], true); !wrong.empty()) return Problem(wrong);
  }
  if (object.contains("off")) {
    if (std::string wrong = turn(options, "off", object["off"], false); !wrong.empty()) return Problem(wrong);
  }
  for (const auto& [key, item] : object.items()) {
    std::string wrong;
    if (key == "file") {
      wrong = read_text(options.file, key, item);
    } else if (key == "callback") {
      wrong = read_text(options.callback, key, item);
    } else if (key == "abort") {
      if (item.is_boolean()) {
        options.abort = item.get<bool>();
      } else {
        wrong = fmt::format("option abort is {}: it is true or false", item.dump());
      }
    } else if (key == "limit") {
      wrong = read_number(options.limit, key, item, 1000000);
    } else if (key == "stack") {
      wrong = read_number(options.stack, key, item, 32);
    } else if (key == "stall_seconds") {
      wrong = read_number(options.stall_seconds, key, item, 86400);
    } else if (key != "on" && key != "off") {
      options.unknown.push_back(key);
    }
    if (!wrong.empty()) return Problem(wrong);
  }
  for (size_t at = options.file.find("%p"); at != std::string::npos; at = options.file.find("%p"))
    options.file.replace(at, 2, std::to_string(::getpid()));
  return options;
}

}  // namespace validate
