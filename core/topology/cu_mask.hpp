// Computes the CU mask of a queue: the requested compute units that are also allowed. Unit i is bit i % 32 of
// word i / 32. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace rigel {

struct CuGrant {
  std::vector<uint32_t> words;  ///< the mask; has as many bits as the device has units, rounded up to words
  bool reduced = false;         ///< whether an existing unit was requested that is not allowed
};

/// `asked` and `allowed` are masks. An empty mask means all units; otherwise missing words are 0. An empty
/// request therefore sets `reduced` if a unit is not allowed.
CuGrant grant_units(std::span<const uint32_t> asked, std::span<const uint32_t> allowed,
                    uint32_t compute_units);

}  // namespace rigel
