// The rules: what each says and where that is written.
//
// rules.inc is the only list of them. A rule's number never changes its meaning; the hundreds are chapters.
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
  bool usual;  ///< applies unless the options say otherwise
  std::string_view sentence;
  std::string_view source;
};

std::span<const RuleText> all_rules();
const RuleText& text_of(Rule rule);

}  // namespace validate
