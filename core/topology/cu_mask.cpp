#include "core/topology/cu_mask.hpp"

#include <algorithm>

namespace rigel {
namespace {

// Returns word `i` of a mask whose words may be missing.
uint32_t word_of(std::span<const uint32_t> mask, size_t i) {
  if (mask.empty()) return UINT32_MAX;
  return i < mask.size() ? mask[i] : 0;
}

}  // namespace

CuGrant grant_units(std::span<const uint32_t> asked, std::span<const uint32_t> allowed,
                    uint32_t compute_units) {
  CuGrant grant;
  for (uint32_t first = 0; first < compute_units; first += 32) {
    const uint32_t count = std::min(compute_units - first, 32u);
    const uint32_t wanted = word_of(asked, first / 32) & UINT32_MAX >> (32 - count);
    grant.words.push_back(wanted & word_of(allowed, first / 32));
    grant.reduced |= grant.words.back() != wanted;
  }
  return grant;
}

}  // namespace rigel
