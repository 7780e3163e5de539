#include "backends/common/chip.hpp"

#include <algorithm>

namespace rigel::gfx {

const Chip* find_chip(const Family& family, GfxVersion version) {
  const auto found = std::find_if(family.chips.begin(), family.chips.end(),
                                  [&](const Chip& chip) { return chip.version == version; });
  return found != family.chips.end() ? &*found : nullptr;
}

uint32_t aql_doorbell(const Family& family, const NodeFacts& facts) {
  if (family.doorbell == HSABE_DOORBELL_INDEX32_LEGACY && facts.doorbell_type() == 0)
    return HSABE_DOORBELL_DWORDS32_LEGACY;
  return family.doorbell;
}

std::string_view find_code_name(const Family& family, uint32_t device_id) {
  const auto found = std::find_if(family.boards.begin(), family.boards.end(), [&](const Board& board) {
    return device_id >= board.first && device_id <= board.last;
  });
  return found != family.boards.end() ? found->code_name : std::string_view{};
}

}  // namespace rigel::gfx
