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

/// What is wrong, all of it.
class Problems {
 public:
  void add(const std::string& problem) { text_ += (text_.empty() ? "" : "; ") + problem; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void turn(Options& options, const std::string& key, const Json& list, bool applies, Problems& problems) {
  if (!list.is_array())
    return problems.add(fmt::format("option {} is not a list of rules, as [\"203\", \"4*\"]", key));
  for (const Json& item : list) {
    if (!item.is_string()) {
      problems.add(fmt::format("option {} has an item that is no text: {}", key, item.dump()));
      continue;
    }
    std::string pattern = item.get<std::string>();
    if (pattern.starts_with('V')) pattern.erase(0, 1);
    bool found = false;
    for (uint32_t i = 0; i < all_rules().size(); ++i) {
      if (!names(pattern, all_rules()[i].number)) continue;
      options.applies[i] = applies;
      found = true;
    }
    if (!found) problems.add(fmt::format("option {}: there is no rule {}", key, item.dump()));
  }
}

void read_number(uint32_t& value, const std::string& key, const Json& item, uint32_t most,
                 Problems& problems) {
  if (item.is_number_unsigned() && item.get<uint64_t>() <= most) {
    value = item.get<uint32_t>();
  } else {
    problems.add(fmt::format("option {} is {}: it is a number from 0 to {}", key, item.dump(), most));
  }
}

void read_text(std::string& value, const std::string& key, const Json& item, Problems& problems) {
  if (item.is_string()) {
    value = item.get<std::string>();
  } else {
    problems.add(fmt::format("option {} is {}: it is a text", key, item.dump()));
  }
}

}  // namespace

tl::expected<Options, std::string> parse_options(std::string_view json) {
  Options options;
  for (const RuleText& rule : all_rules()) options.applies.push_back(rule.usual);
  const Json object = Json::parse(json, nullptr, false);
  if (!object.is_object()) return Problem("the options are no JSON object");
  Problems problems;
  // What is on and off does not depend on the order of the two.
  if (object.contains("on")) turn(options, "on", object["on"], true, problems);
  if (object.contains("off")) turn(options, "off", object["off"], false, problems);
  for (const auto& [key, item] : object.items()) {
    if (key == "file") {
      read_text(options.file, key, item, problems);
    } else if (key == "callback") {
      read_text(options.callback, key, item, problems);
    } else if (key == "abort") {
      if (item.is_boolean()) {
        options.abort = item.get<bool>();
      } else {
        problems.add(fmt::format("option abort is {}: it is true or false", item.dump()));
      }
    } else if (key == "limit") {
      read_number(options.limit, key, item, 1000000, problems);
    } else if (key == "stack") {
      read_number(options.stack, key, item, 32, problems);
    } else if (key == "stall_seconds") {
      read_number(options.stall_seconds, key, item, 86400, problems);
    } else if (key != "on" && key != "off") {
      options.unknown.push_back(key);
    }
  }
  if (!problems.text().empty()) return Problem(problems.text());
  for (size_t at = options.file.find("%p"); at != std::string::npos; at = options.file.find("%p"))
    options.file.replace(at, 2, std::to_string(::getpid()));
  return options;
}

}  // namespace validate
