#include "backends/common/quirks.hpp"

namespace rigel::gfx {
namespace {

bool holds(const QuirkRule& rule, const NodeFacts& facts) {
  if (facts.version < rule.first || facts.version > rule.last) return false;
  switch (rule.firmware) {
    case QuirkRule::Firmware::kNone:
      return true;
    case QuirkRule::Firmware::kMec:
      return facts.mec_firmware < rule.fixed_in;
    case QuirkRule::Firmware::kSdma:
      return facts.sdma_firmware < rule.fixed_in;
  }
  return true;
}

}  // namespace

Quirks find_quirks(std::span<const QuirkRule> rules, const NodeFacts& facts) {
  Quirks quirks = 0;
  for (const QuirkRule& rule : rules) {
    if (holds(rule, facts)) quirks |= rule.bit;
  }
  return quirks;
}

}  // namespace rigel::gfx
