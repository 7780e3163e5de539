#include "backends/common/cu_mask.hpp"

#include <algorithm>

namespace rigel::gfx {
namespace {

uint32_t word_of(std::span<const uint32_t> mask, size_t i) {
  if (mask.empty()) return UINT32_MAX;
  return i < mask.size() ? mask[i] : 0;
}

bool splits_a_pair(uint32_t word) {
  constexpr uint32_t kFirsts = 0x55555555;
  return (word & kFirsts) != (word >> 1 & kFirsts);
}

}  // namespace

CuMask make_cu_mask(std::span<const uint32_t> asked, std::span<const uint32_t> allowed,
                    uint32_t compute_units, bool pairs) {
  CuMask mask;
  const size_t words = (compute_units + 31) / 32;
  mask.words.resize(words);
  bool any = false;
  for (size_t i = 0; i < std::max(words, asked.size()); ++i) {
    const uint32_t there = i >= words                ? 0
                           : i + 1 < words           ? UINT32_MAX
                           : compute_units % 32 == 0 ? UINT32_MAX
                                                     : (1u << compute_units % 32) - 1;
    const uint32_t given = word_of(asked, i) & word_of(allowed, i) & there;
    if (!asked.empty() && given != word_of(asked, i)) mask.reduced = true;
    if (i >= words) continue;
    mask.words[i] = given;
    any |= given != 0;
    if (pairs && splits_a_pair(given)) mask.status = HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  if (!any) mask.status = HSA_STATUS_ERROR_INVALID_ARGUMENT;
  return mask;
}

}  // namespace rigel::gfx
