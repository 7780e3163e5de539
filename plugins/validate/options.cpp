#include "plugins/validate/options.hpp"

#include <unistd.h>

#include "loader/text/json_reader.hpp"
#include "loader/text/words.hpp"
#include "plugins/validate/rules.hpp"

namespace validate {
namespace {

using rigel::ObjectReader;

constexpr auto kOptional = ObjectReader::kOptional;

// Patterns are for example "203", "2*" and "*".
bool matches(std::string_view pattern, uint32_t number) {
  const std::string digits = std::to_string(number);
  if (pattern.ends_with('*'))
    return std::string_view(digits).starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == digits;
}

void set_rules(ObjectReader& reader, std::string_view key, bool applies, Options& options) {
  for (const std::string& item : reader.strings(key)) {
    const std::string_view pattern = std::string_view(item).substr(item.starts_with('V') ? 1 : 0);
    bool found = false;
    for (uint32_t i = 0; i < all_rules().size(); ++i) {
      if (!matches(pattern, all_rules()[i].number)) continue;
      options.applies[i] = applies;
      found = true;
    }
    if (!found) reader.diagnostics().error(reader.at(key), "unknown rule " + rigel::in_quotes(item));
  }
}

uint32_t number(ObjectReader& reader, std::string_view key, uint32_t default_value, uint32_t maximum) {
  return static_cast<uint32_t>(reader.integer(key, kOptional, default_value, 0, maximum));
}

}  // namespace

Options parse_options(std::string_view json, rigel::Diagnostics& diagnostics) {
  Options options;
  for (const RuleText& rule : all_rules()) options.applies.push_back(rule.usual);
  const auto document = rigel::parse_json(json, diagnostics);
  if (!document) return options;
  ObjectReader reader(&**document, "", diagnostics);
  set_rules(reader, "on", true, options);
  set_rules(reader, "off", false, options);
  options.file = reader.string("file", kOptional);
  options.callback = reader.string("callback", kOptional);
  options.abort = reader.boolean("abort", options.abort);
  options.limit = number(reader, "limit", options.limit, 1'000'000);
  options.stack = number(reader, "stack", options.stack, 32);
  options.stall_seconds = number(reader, "stall_seconds", options.stall_seconds, 86'400);
  reader.refuse_unknown_keys();
  for (size_t at = options.file.find("%p"); at != std::string::npos; at = options.file.find("%p"))
    options.file.replace(at, 2, std::to_string(::getpid()));
  return options;
}

}  // namespace validate
