// Computes the compute units of a queue from the requested ones. Bit i of word i / 32 is unit i; no words
// mean all units. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rigel {

struct CuGrant {
  std::vector<uint32_t> words;  ///< a bit for each existing unit
  bool reduced = false;         ///< existing units were requested that are not allowed
};

/// Missing words are 0. A request for all units includes those that are not allowed.
CuGrant grant_units(std::span<const uint32_t> asked, std::span<const uint32_t> allowed,
                    uint32_t compute_units);

}  // namespace rigel
