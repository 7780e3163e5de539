// Which compute units a queue gets of those it asks for. Bit i of word i / 32 is unit i; no words stand for
// all units. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rigel {

struct CuGrant {
  std::vector<uint32_t> words;  ///< a bit for each unit that there is, none past the last
  bool reduced = false;         ///< units were asked for that are there and not allowed
};

/// Words that are missing at the end are 0. To ask for all is to ask for those that are not allowed as well.
CuGrant grant_units(std::span<const uint32_t> asked, std::span<const uint32_t> allowed,
                    uint32_t compute_units);

}  // namespace rigel
