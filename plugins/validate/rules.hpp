// The rules, with their sentences and sources.
//
// rules.inc is the only list of rules. A number never changes its meaning; its hundreds are the chapter.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace validate {

enum class Rule : uint32_t {
#define VALIDATE_RULE(number, name, usual, sentence, source) name,
#include "plugins/validate/rules.inc"
};

struct RuleText {
  uint32_t number;
  bool usual;  ///< enabled by default
  std::string_view sentence;
  std::string_view source;
};

std::span<const RuleText> all_rules();
const RuleText& text_of(Rule rule);

}  // namespace validate
