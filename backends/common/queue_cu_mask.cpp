#include "backends/common/queue_cu_mask.hpp"

#include <algorithm>

namespace rigel::gfx {
namespace {

bool splits_a_pair(uint32_t word) {
  constexpr uint32_t kFirsts = 0x55555555;
  return (word & kFirsts) != (word >> 1 & kFirsts);
}

}  // namespace

CuMask make_cu_mask(std::span<const uint32_t> asked, uint32_t compute_units, bool pairs) {
  CuMask mask;
  mask.words.resize((compute_units + 31) / 32);
  std::copy_n(asked.begin(), std::min(asked.size(), mask.words.size()), mask.words.begin());
  if (compute_units % 32 != 0) mask.words.back() &= (1u << compute_units % 32) - 1;
  const bool any = std::any_of(mask.words.begin(), mask.words.end(), [](uint32_t word) { return word != 0; });
  if (!any || (pairs && std::any_of(mask.words.begin(), mask.words.end(), splits_a_pair)))
    mask.status = HSA_STATUS_ERROR_INVALID_ARGUMENT;
  return mask;
}

}  // namespace rigel::gfx
