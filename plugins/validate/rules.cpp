#include "plugins/validate/rules.hpp"

namespace validate {
namespace {

// The third parameter of VALIDATE_RULE: whether the rule is enabled by default. Correct programs may break
// advice.
constexpr bool kUsual = true;
constexpr bool kAdvice = false;

constexpr RuleText kRules[] = {
#define VALIDATE_RULE(number, name, usual, sentence, source) {number, usual, sentence, source},
#include "plugins/validate/rules.inc"
};

}  // namespace

std::span<const RuleText> all_rules() {
  return kRules;
}

const RuleText& text_of(Rule rule) {
  return kRules[static_cast<uint32_t>(rule)];
}

}  // namespace validate
